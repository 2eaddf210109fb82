//! Everybody at once on one store. `prove --suite concurrency` goes on for longer.

use std::time::Duration;

use harness::binaries;
use harness::proof::concurrency::{opening, run};

#[test]
fn hooks_servers_command_lines_and_an_editor_at_once_lose_nothing_and_show_no_trouble() {
    let tally = run(&binaries!(), Duration::from_secs(15), 20_260_128);
    tally.assert_clean();
    assert!(tally.rounds > 50, "{tally:?}");
}

#[test]
fn whoever_opens_an_index_that_is_replaced_all_the_time_is_shown_no_trouble() {
    let tally = opening(&binaries!(), Duration::from_secs(8), 20_260_128);
    tally.assert_clean();
    assert!(tally.rounds > 50, "{tally:?}");
}
