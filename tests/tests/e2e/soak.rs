//! A long-running server uses memory only for what it stores. `prove --suite soak` runs for an hour.

use harness::binaries;
use harness::proof::RunLength;
use harness::proof::soak::run;

/// Number of events; five of six are new memories.
const EVENTS: usize = 3_000;

#[test]
fn server_memory_grows_only_with_memories() {
    run(&binaries!(), RunLength::Rounds(EVENTS), 20_260_128).assert_clean();
}
