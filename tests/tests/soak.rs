//! One server for long holds no more than what it remembers. `prove --suite soak` goes on for an hour.

#![cfg(target_os = "linux")]

use std::time::Duration;

use harness::binaries;
use harness::proof::soak::run;

#[test]
fn a_server_holds_no_more_after_long_than_what_it_remembers() {
    let tally = run(&binaries!(), Duration::from_secs(45), 20_260_128);
    tally.assert_clean();
    assert!(tally.rounds > 100, "{tally:?}");
}
