//! The worker with a store: what bursts of requests and an end come to.

use schema::settings::Settings;
use schema::tool::SaveInput;

use super::*;

fn project() -> (tempfile::TempDir, String) {
    let project = tempfile::tempdir().unwrap();
    let mut engine = Engine::open_with(project.path(), None, &Settings::default()).unwrap();
    let content = "Acknowledge \u{1b}[2J webhooks after the commit".to_owned();
    let kind = MemoryType::Decision;
    let saved = engine.save(&SaveInput { kind, content, metadata: None, long_term: false, supersedes: None });
    (project, saved.unwrap().id)
}

fn find(generation: u64, query: &str) -> Request {
    Request::Find { generation, query: query.to_owned(), kind: None, since: None }
}

fn next(worker: &Worker) -> Answer {
    worker.answers.recv_timeout(Duration::from_secs(30)).unwrap()
}

#[test]
fn of_a_burst_of_searches_the_last_is_answered() {
    let (project, id) = project();
    let worker = Worker::start(project.path().to_owned()).unwrap();
    let word = "webhooks";
    for generation in 1..=word.len() {
        worker.ask(find(generation as u64, &word[..generation]));
    }
    let last = loop {
        // Under load some of those before may have been worth a search.
        if let Answer::Found { generation: 8, items, .. } = next(&worker) {
            break items;
        }
    };
    assert_eq!(last.iter().map(|item| &item.id).collect::<Vec<_>>(), [&id]);
    assert!(!last[0].text.contains('\u{1b}'), "{:?}", last[0]);
    assert!(find(2, "b").replaces(&find(1, "a")));
    let delete = Request::Delete { id };
    assert!(!find(2, "b").replaces(&delete) && !delete.replaces(&find(1, "a")));
}

#[test]
fn a_word_that_is_not_whole_yet_is_found_by_its_letters() {
    let (project, id) = project();
    let worker = Worker::start(project.path().to_owned()).unwrap();
    for (generation, query, expected) in [(1, "acknowl commi", 1), (2, "acknowlx", 0), (3, "", 1)] {
        worker.ask(find(generation, query));
        let Answer::Found { items, .. } = next(&worker) else { panic!("{query}") };
        assert_eq!(items.len(), expected, "{query}");
    }
    worker.ask(Request::Open { id: id.clone(), look: Look::Read });
    worker.ask(Request::Locate { id });
    let Answer::Opened(opened) = next(&worker) else { panic!("a text") };
    assert_eq!(opened.content, "Acknowledge [2J webhooks after the commit");
    let Answer::Located { path, line } = next(&worker) else { panic!("a place") };
    let text = std::fs::read_to_string(project.path().join(path)).unwrap();
    assert!(text.lines().nth(line - 1).unwrap().contains("webhooks"), "{text}");
}

#[test]
fn what_was_asked_to_be_changed_is_changed_before_the_end() {
    let (project, id) = project();
    let worker = Worker::start(project.path().to_owned()).unwrap();
    worker.ask(find(1, "webhooks"));
    worker.ask(Request::Delete { id: id.clone() });
    drop(worker);
    let mut engine = Engine::open_with(project.path(), None, &Settings::default()).unwrap();
    assert_eq!(engine.peek(&id).unwrap(), None);
}

#[test]
fn what_cannot_be_done_is_said() {
    let (project, _) = project();
    let worker = Worker::start(project.path().to_owned()).unwrap();
    worker.ask(Request::Delete { id: "gone".to_owned() });
    let Answer::Failed(fault) = next(&worker) else { panic!("a fault") };
    assert!(fault.contains("no memory with the id"), "{fault}");
}
