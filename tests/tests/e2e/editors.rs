//! Editors and git concurrent with hooks and saves. `prove --suite editors` runs more rounds.

use harness::binaries;
use harness::proof::editors::{Editor, EventSource, run_all};

#[test]
fn editors_and_git_next_to_hooks_lose_nothing() {
    let tallies = run_all(&binaries!(), "", Editor::rounds_of_a_loop, 20_260_128);
    assert_eq!(tallies.len(), Editor::ALL.len() * EventSource::ALL.len());
    let findings: Vec<&String> = tallies.iter().flat_map(|tally| &tally.findings).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    for tally in tallies {
        assert!(tally.faults > 0, "nothing was sent while it worked: {tally:?}");
    }
}
