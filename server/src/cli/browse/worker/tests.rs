//! The worker with a store: bursts of requests, and the end.

use schema::model::memory::MemoryType;
use schema::settings::Settings;
use schema::tool::SaveInput;

use super::super::message::{FindRequest, ItemKind, ListKind};
use super::*;

fn project() -> (tempfile::TempDir, String) {
    let project = tempfile::tempdir().unwrap();
    let mut engine = Engine::open_with_settings(project.path(), &Settings::default()).unwrap();
    let content = "Acknowledge \u{1b}[2J webhooks after the commit".to_owned();
    let saved = engine.save(&SaveInput::new(MemoryType::Decision, content));
    (project, saved.unwrap().id)
}

fn find_request(generation: u64, query: &str) -> BrowseRequest {
    BrowseRequest::Find(FindRequest { generation, query: query.to_owned(), ..FindRequest::default() })
}

fn next_reply(worker: &BrowseWorker) -> BrowseReply {
    worker.answers.recv_timeout(Duration::from_secs(30)).unwrap()
}

#[test]
fn burst_of_searches_answers_the_last() {
    let (project, id) = project();
    let worker = BrowseWorker::start(project.path().to_owned()).unwrap();
    let word = "webhooks";
    for generation in 1..=word.len() {
        worker.send(find_request(generation as u64, &word[..generation]));
    }
    let last = loop {
        // On a slow machine some earlier searches may run too.
        if let BrowseReply::Results { generation: 8, items, .. } = next_reply(&worker) {
            break items;
        }
    };
    assert_eq!(last.iter().map(|item| &item.id).collect::<Vec<_>>(), [&id]);
    assert!(!last[0].text.contains('\u{1b}'), "{:?}", last[0]);
    assert!(find_request(2, "b").replaces(&find_request(1, "a")));
    let delete = BrowseRequest::Delete { ids: vec![id] };
    assert!(!find_request(2, "b").replaces(&delete) && !delete.replaces(&find_request(1, "a")));
}

#[test]
fn incomplete_word_is_found_by_its_letters() {
    let (project, id) = project();
    let worker = BrowseWorker::start(project.path().to_owned()).unwrap();
    for (generation, query, expected) in [(1, "acknowl commi", 1), (2, "acknowlx", 0), (3, "", 1)] {
        worker.send(find_request(generation, query));
        let BrowseReply::Results { items, .. } = next_reply(&worker) else { panic!("{query}") };
        assert_eq!(items.len(), expected, "{query}");
    }
    let item = ItemRef { id: id.clone(), kind: ItemKind::Memory(MemoryType::Decision) };
    worker.send(BrowseRequest::Open { item: item.clone(), mode: ReadMode::Read });
    worker.send(BrowseRequest::Copy { items: vec![item] });
    worker.send(BrowseRequest::Locate { id });
    let BrowseReply::Opened(opened) = next_reply(&worker) else { panic!("a text") };
    assert_eq!(opened.content, "Acknowledge [2J webhooks after the commit");
    let BrowseReply::Copied { text, count: 1 } = next_reply(&worker) else { panic!("a copy") };
    assert_eq!(text, opened.content);
    let BrowseReply::Location { path, line } = next_reply(&worker) else { panic!("a place") };
    let text = std::fs::read_to_string(project.path().join(path)).unwrap();
    assert!(text.lines().nth(line - 1).unwrap().contains("webhooks"), "{text}");
}

#[test]
fn requested_changes_finish_before_the_end() {
    let (project, id) = project();
    let worker = BrowseWorker::start(project.path().to_owned()).unwrap();
    worker.send(find_request(1, "webhooks"));
    worker.send(BrowseRequest::Delete { ids: vec![id.clone()] });
    drop(worker);
    let mut engine = Engine::open_with_settings(project.path(), &Settings::default()).unwrap();
    assert_eq!(engine.peek(&id).unwrap(), None);
}

#[test]
fn failed_request_reports_its_error() {
    let (project, _) = project();
    let worker = BrowseWorker::start(project.path().to_owned()).unwrap();
    worker.send(BrowseRequest::Pin { ids: vec!["gone".to_owned()], pinned: true });
    let BrowseReply::ChangeFailed(error) = next_reply(&worker) else { panic!("an error") };
    assert!(error.contains("no memory with the id"), "{error}");
}

#[test]
fn tasks_are_listed_with_their_state() {
    let (project, _) = project();
    let mut engine = Engine::open_with_settings(project.path(), &Settings::default()).unwrap();
    let input = |content: &str| SaveInput::new(MemoryType::Task, content.to_owned());
    let [done, open] = ["Rename the job", "Cut over the DNS"].map(|text| engine.save(&input(text)).unwrap().id);
    drop(engine);
    let worker = BrowseWorker::start(project.path().to_owned()).unwrap();
    worker.send(BrowseRequest::Close { id: done.clone(), closed: true });
    let BrowseReply::Done(_) = next_reply(&worker) else { panic!("a change") };
    worker.send(BrowseRequest::Find(FindRequest { list: ListKind::Tasks, ..FindRequest::default() }));
    let BrowseReply::Results { items, .. } = next_reply(&worker) else { panic!("a list") };
    let states: Vec<_> = items.iter().map(|item| (item.id.as_str(), item.label.as_str())).collect();
    assert_eq!(states, [(open.as_str(), "open"), (done.as_str(), "done")]);
}
