//! Editors and git next to hooks and saves. `prove --suite editors` does more rounds.

use harness::binaries;
use harness::proof::editors::{Editor, Intake, run_all};

#[test]
fn editors_and_git_next_to_hooks_lose_nothing() {
    let tallies = run_all(&binaries!(), "", |_| 15, 20_260_128);
    assert_eq!(tallies.len(), Editor::ALL.len() * Intake::ALL.len());
    let findings: Vec<&String> = tallies.iter().flat_map(|tally| &tally.findings).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    for tally in tallies {
        assert!(tally.faults > 0, "nothing was sent while it worked: {tally:?}");
    }
}
