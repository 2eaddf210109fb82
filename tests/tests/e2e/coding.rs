//! Minimum figures of the coding-memory benchmark in the parts that no other test has, and its way to drive other servers.

use std::time::Duration;

use harness::binaries;
use harness::coding::{self, CodeChangeCase, MemoryServer, coding_data, measure_code_changes, measure_retrieval};
use harness::peer::Peer;
use harness::stories::{own_stories, play_by_tools, read};

/// The time for each set, which only another server needs.
const LIMIT: Duration = Duration::from_mins(5);

#[test]
fn rules_and_notes_are_found_in_text_answers() {
    let folder = tempfile::tempdir().unwrap();
    let ours = MemoryServer::ours(&binaries!(), &folder.path().join("bin")).unwrap();
    let sets = coding::retrieval_sets().unwrap();
    let measured = |name: &str| {
        let set = sets.iter().find(|set| set.name == name).unwrap();
        let counts = measure_retrieval(&ours, set, LIMIT).unwrap();
        println!("{name}: {counts:?}");
        counts
    };
    let rules = measured("sde-bench in one store");
    assert!(rules.questions == 16 && rules.right_first >= 12 && rules.right_in_five >= 14 && rules.empty == 0);
    let notes = measured("notes");
    assert!(notes.questions == 36 && notes.right_first >= 34 && notes.empty == 0);
}

#[test]
fn answers_report_changed_code() {
    let folder = tempfile::tempdir().unwrap();
    let ours = MemoryServer::ours(&binaries!(), &folder.path().join("bin")).unwrap();
    let cases = CodeChangeCase::read_all(&coding_data("code-changes.json")).unwrap();
    // One of each kind of language: braces, indentation, and names that are not known.
    let cases: Vec<_> =
        cases.into_iter().filter(|case| [".rs", ".py", ".rb"].iter().any(|end| case.path.ends_with(end))).collect();
    let counts = measure_code_changes(&ours, &cases).unwrap();
    println!("{counts:?}");
    assert!(counts.changed.0 == counts.changed.1 && counts.unchanged.0 <= 4 && counts.not_found == 0);
}

#[test]
fn another_server_is_measured_by_its_tools() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    binaries!().copy_to(&bin);
    let described = MemoryServer::described(Peer::named("jikime-memory", &bin).unwrap());
    let notes = coding::retrieval_sets().unwrap().into_iter().find(|set| set.name == "notes").unwrap();
    let counts = measure_retrieval(&described, &notes, LIMIT).unwrap();
    assert!(counts.stores == (1, 1) && counts.right_first >= 34, "{counts:?}");
    assert_eq!(measure_retrieval(&described, &notes, Duration::ZERO).unwrap().stores, (0, 1));
    let story = &read(&own_stories("fresh.json"))[0];
    let result = play_by_tools(story, &described.peer).unwrap();
    assert_eq!((result.facts, result.brief.as_str()), ((0, 0), ""));
    assert!(result.searches.0 > 0, "{result:?}");
}
