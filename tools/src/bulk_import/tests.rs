use schema::files::database::LockTimeout;
use schema::intake::capture::capture;
use schema::intake::prepare::{Draft, prepare};
use schema::privacy::sanitizer::Sanitizer;

use super::*;

const START: i64 = 1_769_563_800;

fn draft(session: &str, kind: MemoryType, content: &str, second: i64) -> Draft {
    Draft::new(session, kind, content, Moment::from_unix(START + second, Some(9 * 3600)).unwrap())
}

fn store() -> (tempfile::TempDir, Store) {
    let project = tempfile::tempdir().unwrap();
    let store = Store::open(project.path(), LockTimeout::Server).unwrap();
    (project, store)
}

fn keep(store: &mut Store, drafts: &[Draft]) -> ImportOutcome {
    let mut bulk = BulkImporter::new(store, ImportMode::Write).unwrap();
    let incoming = |draft: &Draft| IncomingMemory {
        prepared: prepare(draft.clone(), &Sanitizer::default()).unwrap(),
        exact: None,
    };
    bulk.import(store, drafts.iter().map(incoming).collect()).unwrap();
    bulk.outcome
}

#[test]
fn a_batch_is_what_capture_makes_of_its_memories_one_by_one() {
    let drafts: Vec<Draft> = (0..60)
        .map(|n| {
            let kind = MemoryType::ALL[n % 14];
            draft(["a", "b"][n % 2], kind, &format!("text\n{}", n % 17), n as i64 * 1_800)
        })
        .collect();
    let ((_one, mut one), (_other, mut other)) = (store(), store());
    for draft in &drafts {
        capture(&mut one, draft.clone(), &Sanitizer::default()).unwrap();
    }
    keep(&mut other, &drafts);
    let memories = |store: &Store| {
        let mut memories: Vec<Memory> =
            store.rows().inserted_after(0, 1_000).unwrap().into_iter().map(|row| row.memory).collect();
        memories.sort_by(|a, b| a.id.cmp(&b.id));
        memories
    };
    assert_eq!(memories(&other), memories(&one));
    let kept = memories(&other);
    for path in other.changed_logs().unwrap() {
        let report = other.sync_log(&path).unwrap();
        assert_eq!((report.added, report.changed, report.removed), (0, 0, 0));
    }
    assert_eq!((keep(&mut other, &drafts).total(), memories(&other)), (0, kept));
}

#[rstest::rstest]
#[case::the_same_event(draft("a", MemoryType::UserPrompt, "yes", 0), false)]
#[case::told_a_moment_later(draft("a", MemoryType::UserPrompt, "yes", 59), false)]
#[case::said_again(draft("a", MemoryType::UserPrompt, "yes", 61), true)]
#[case::copied_into_another_session(draft("fork", MemoryType::UserPrompt, "yes", 1), false)]
#[case::said_in_another_session(draft("b", MemoryType::UserPrompt, "yes", 30), true)]
#[case::an_answer_nobody_said_anything_after(draft("a", MemoryType::AssistantResponse, "done", 900), false)]
#[case::a_conclusion_drawn_before(draft("b", MemoryType::Decision, "so it is", 90_000), false)]
fn known_memories_are_distinguished_from_new(#[case] arriving: Draft, #[case] is_new: bool) {
    let (_project, mut store) = store();
    for (kind, text) in
        [(MemoryType::UserPrompt, "yes"), (MemoryType::AssistantResponse, "done"), (MemoryType::Decision, "so it is")]
    {
        capture(&mut store, draft("a", kind, text, 0), &Sanitizer::default()).unwrap();
    }
    assert_eq!(keep(&mut store, &[arriving]).total(), usize::from(is_new));
}

#[test]
fn entry_without_row_after_crash_is_not_duplicated() {
    let (_project, mut store) = store();
    let drafts = [draft("a", MemoryType::UserPrompt, "yes", 0), draft("a", MemoryType::Decision, "so it is", 1)];
    keep(&mut store, &drafts);
    let path = store.layout().store_path("2026-01-28.md");
    let log = std::fs::read(&path).unwrap();
    let database = rusqlite::Connection::open(store.layout().memory_db()).unwrap();
    database.execute_batch("DELETE FROM memories; DELETE FROM files").unwrap();
    keep(&mut store, &drafts);
    assert_eq!(std::fs::read(&path).unwrap(), log);
    assert_eq!(store.rows().inserted_after(0, 10).unwrap().len(), 2);
}
