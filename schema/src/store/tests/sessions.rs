//! Rows of sessions.

use super::*;

#[test]
fn session_row_summarises_its_memories() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    for (kind, time, content) in [
        (MemoryType::UserPrompt, "10:00:00", "Implement the watcher\nplease"),
        (MemoryType::ToolUsage, "10:00:05", "Files modified: src/a.rs, src/b.rs\nCommands: cargo test"),
        (MemoryType::ToolUsage, "10:00:09", "Files modified: src/b.rs"),
        (MemoryType::Error, "10:00:10", "Exit code 3"),
    ] {
        capture(&mut store, draft(kind, time, content)).unwrap();
    }
    let row: String = store
        .db
        .query_row(
            "SELECT concat_ws(' | ', title, started_at, duration, prompts, files, tools, errors) FROM sessions WHERE id = 's1'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(row, r#"Implement the watcher | 2026-01-28T01:00:00Z | 10 | 1 | ["src/a.rs","src/b.rs"] | 4 | 1"#);
}

/// Memories that are added one by one, in order or late, give the row that all of them give at once.
#[test]
fn incremental_session_row_equals_derived_row() {
    use MemoryType::{AssistantResponse, Error, SessionSummary, ToolUsage, UserPrompt};
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let row = |store: &Store| -> String {
        let sql = "SELECT concat_ws(' | ', id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary) FROM sessions";
        store.db.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    for (kind, time, content) in [
        (AssistantResponse, "10:00:00", "Hello"),
        (UserPrompt, "10:00:01", "Implement the watcher"),
        (Error, "10:00:02", "Exit code 3"),
        (UserPrompt, "10:00:01", "At the same moment"),
        (ToolUsage, "10:00:05", "Files modified: src/a.rs"),
        (UserPrompt, "09:59:00", "Said before, told late"),
        (SessionSummary, "10:01:00", "All of it"),
        (UserPrompt, "10:02:00", "And on"),
        (AssistantResponse, "10:02:00", "Done"),
    ] {
        capture(&mut store, draft(kind, time, content)).unwrap();
        let added = row(&store);
        store.with_transaction(|rows| rows.refresh_session("s1")).unwrap();
        assert_eq!(added, row(&store), "after {content}");
    }
}

#[test]
fn later_conclusions_do_not_change_session_times() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    capture(&mut store, draft(MemoryType::UserPrompt, "10:00:00", "Which queue do we take?")).unwrap();
    capture(&mut store, draft(MemoryType::AssistantResponse, "10:00:10", "SQS, because it is managed.")).unwrap();
    let expected = store.rows().session("s1").unwrap().unwrap();
    capture(&mut store, draft(MemoryType::Decision, "18:00:00", "The queue is SQS")).unwrap();
    let added = store.rows().session("s1").unwrap().unwrap();
    store.with_transaction(|rows| rows.refresh_session("s1")).unwrap();
    let derived = store.rows().session("s1").unwrap().unwrap();
    for found in [added, derived] {
        assert_eq!((found.started, found.ended), (expected.started, expected.ended));
    }
}

#[test]
fn session_without_events_has_times_of_its_memories() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    capture(&mut store, draft(MemoryType::Decision, "10:00:00", "The queue is SQS")).unwrap();
    capture(&mut store, draft(MemoryType::Decision, "11:00:00", "The retries are five")).unwrap();
    assert_eq!(store.rows().session("s1").unwrap().unwrap().duration(), 3_600);
}

#[test]
fn session_title_is_the_first_real_request() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let title = |store: &Store| store.rows().session("s1").unwrap().unwrap().title;
    capture(&mut store, draft(MemoryType::UserPrompt, "10:00:00", "안녕하세요")).unwrap();
    assert_eq!(title(&store).as_deref(), Some("안녕하세요"));
    capture(&mut store, draft(MemoryType::UserPrompt, "10:00:01", "\nMove the queue to SQS\nplease")).unwrap();
    capture(&mut store, draft(MemoryType::UserPrompt, "10:00:02", "And the retries?")).unwrap();
    assert_eq!(title(&store).as_deref(), Some("Move the queue to SQS"));
}
