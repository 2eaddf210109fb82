//! Concurrent use of one store. `prove --suite concurrency` runs longer.

use harness::binaries;
use harness::proof::RunLength;
use harness::proof::concurrency::{run, run_opening};

#[test]
fn concurrent_writers_lose_nothing() {
    run(&binaries!(), RunLength::Rounds(3_000), 20_260_128).assert_clean();
}

#[test]
fn index_opens_while_it_is_constantly_replaced() {
    run_opening(&binaries!(), RunLength::Rounds(1_200), 20_260_128).assert_clean();
}
