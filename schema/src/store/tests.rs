mod copies;
mod earlier;
mod go_version;
mod sessions;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use rstest::rstest;
use rusqlite::Connection;

use super::database_kind::{DatabaseKind, detect_kind};
use super::*;
use crate::files::database::{self, LockTimeout};
use crate::files::file_stamp::file_identity;
use crate::files::layout::Layout;
use crate::intake::capture::CaptureOutcome;
use crate::intake::forget::forget_rows;
use crate::intake::prepare::{Destination, Draft};
use crate::log::log_file::tests::{remove_aged, save_aged};
use crate::log::{LONG_TERM_FILE, LogKind, parse};
use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::Phase;
use crate::privacy::sanitizer::Sanitizer;

const LOG: &str = "2026-01-28.md";

fn moment(time: &str) -> Moment {
    Moment::parse_rfc3339(&format!("2026-01-28T{time}+09:00")).unwrap()
}

fn capture(store: &mut Store, draft: Draft) -> Result<Option<CaptureOutcome>, StoreError> {
    crate::intake::capture::capture(store, draft, &Sanitizer::default())
}

fn draft(kind: MemoryType, time: &str, content: &str) -> Draft {
    Draft::new("s1", kind, content, moment(time))
}

fn open(project: &Path) -> Store {
    Store::open(project, LockTimeout::Server).unwrap()
}

fn forget(store: &mut Store, id: &MemoryId) -> bool {
    let row = store.rows().by_id(id).unwrap();
    forget_rows(store, row.as_slice()).unwrap() == 1
}

fn sync(store: &mut Store) -> SyncReport {
    let changed = store.changed_logs().unwrap();
    sync_logs(store, changed)
}

fn sync_all(store: &mut Store) -> SyncReport {
    let all = store.all_logs().unwrap();
    sync_logs(store, all)
}

fn sync_logs(store: &mut Store, logs: impl IntoIterator<Item = String>) -> SyncReport {
    let mut total = SyncReport::default();
    for path in logs {
        let report = store.sync_log(&path).unwrap();
        total.added += report.added;
        total.changed += report.changed;
        total.removed += report.removed;
    }
    total
}

fn all_memories(store: &Store) -> Vec<Memory> {
    let rows = store.rows().list(&MemoryFilter::default(), 10_000).unwrap();
    let mut memories: Vec<Memory> = rows.into_iter().map(|row| row.memory).collect();
    memories.sort_by(|a, b| a.id.cmp(&b.id));
    memories
}

fn filled(project: &Path) -> Store {
    let mut store = open(project);
    for (n, kind) in MemoryType::ALL.into_iter().enumerate() {
        capture(&mut store, draft(kind, &format!("10:00:{n:02}"), &format!("text {n} of {kind}\n\nmore"))).unwrap();
    }
    store
}

#[test]
fn deleted_log_is_noticed_even_if_only_captured_to() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    capture(&mut store, draft(MemoryType::UserPrompt, "10:00:00", "one")).unwrap();
    assert_eq!(store.changed_logs().unwrap(), Vec::<String>::new());
    remove_aged(&store.layout().store_path(LOG));
    assert_eq!(store.changed_logs().unwrap(), [LOG]);
    assert_eq!((sync(&mut store).removed, all_memories(&store).len()), (1, 0));
    assert_eq!(store.changed_logs().unwrap(), Vec::<String>::new());
}

#[test]
fn rows_come_back_from_markdown_alone() {
    let project = tempfile::tempdir().unwrap();
    let store = filled(project.path());
    let before = all_memories(&store);
    assert_eq!(before.len(), 14);
    drop(store);
    fs::remove_file(Layout::new(project.path()).memory_db()).unwrap();
    let mut store = open(project.path());
    assert_eq!(sync(&mut store).added, 14);
    assert_eq!(all_memories(&store), before);
}

#[test]
fn lines_are_found_after_later_captures_moved_them() {
    let project = tempfile::tempdir().unwrap();
    let mut store = filled(project.path());
    sync(&mut store);
    let text = fs::read_to_string(store.layout().store_path(LOG)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for row in store.rows().list(&MemoryFilter::default(), 100).unwrap() {
        let first = row.memory.content.lines().next().unwrap();
        let (start, end) = store.locator().find_lines(&row);
        assert!(lines[start - 1].contains(first), "{row:?}");
        assert!(!lines[end - 1].is_empty(), "{row:?}");
    }
    assert_eq!(sync_all(&mut store), SyncReport::default(), "nothing is left to do");
}

#[test]
fn hand_edit_changes_memory_and_deleted_line_removes_it() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let decision = saved(capture(&mut store, draft(MemoryType::Decision, "10:00:00", "use redis")).unwrap());
    let prompt = saved(capture(&mut store, draft(MemoryType::UserPrompt, "10:00:01", "why?")).unwrap());
    sync(&mut store);
    let path = store.layout().store_path(LOG);
    let text = fs::read_to_string(&path).unwrap();
    let edited: Vec<&str> = text.lines().filter(|line| !line.contains("why?")).collect();
    save_aged(&path, edited.join("\n").replace("use redis", "use valkey"));
    assert_eq!(sync(&mut store), SyncReport { added: 0, changed: 1, removed: 1 });
    assert_eq!(store.rows().by_id(&decision).unwrap().unwrap().memory.content, "use valkey");
    assert_eq!(store.rows().by_id(&prompt).unwrap(), None);
    remove_aged(&path);
    assert_eq!(sync(&mut store).removed, 1);
}

fn saved(captured: Option<CaptureOutcome>) -> MemoryId {
    match captured {
        Some(CaptureOutcome::Saved { id, .. }) => id,
        other => panic!("not saved: {other:?}"),
    }
}

#[test]
fn moved_entry_keeps_its_id_and_copy_gets_its_own() {
    let project = tempfile::tempdir().unwrap();
    let mut store = open(project.path());
    let id = saved(capture(&mut store, draft(MemoryType::Decision, "10:00:00", "use redis")).unwrap());
    sync(&mut store);
    let log = store.layout().store_path(LOG);
    let text = fs::read_to_string(&log).unwrap();
    let line = text.lines().find(|line| line.contains("use redis")).unwrap();
    save_aged(&store.layout().store_path(LONG_TERM_FILE), format!("## Decision\n\n{line}\n"));
    assert_eq!(sync(&mut store).added, 1, "a copy is a second memory");
    assert_eq!(sync(&mut store), SyncReport::default());
    save_aged(&store.layout().store_path(LONG_TERM_FILE), "");
    assert_eq!(sync(&mut store).removed, 1);
    save_aged(&store.layout().store_path(LONG_TERM_FILE), format!("## Decision\n\n{line}\n"));
    save_aged(&log, text.replace(line, ""));
    sync(&mut store);
    assert_eq!(store.rows().by_id(&id).unwrap().unwrap().path, LONG_TERM_FILE);
    assert_eq!(all_memories(&store).len(), 1);
}

#[test]
fn forgotten_memory_is_removed_from_log_and_rows() {
    let project = tempfile::tempdir().unwrap();
    let mut store = filled(project.path());
    let gone = all_memories(&store).remove(3);
    assert!(forget(&mut store, &gone.id));
    assert!(!forget(&mut store, &gone.id));
    sync(&mut store);
    assert_eq!(all_memories(&store).len(), 13);
    assert!(crate::store::forgotten::is_forgotten(store.layout(), &gone.content).unwrap());
}

#[rstest]
#[case::garbage(b"this is no database, whatever its name says. ".repeat(100))]
#[case::torn([b"SQLite format 3\0".to_vec(), vec![0xff; 5000]].concat())]
fn damaged_database_is_copied_and_rebuilt_in_place(#[case] bytes: Vec<u8>) {
    let project = tempfile::tempdir().unwrap();
    let before = all_memories(&filled(project.path()));
    let layout = Layout::new(project.path());
    for ending in ["-wal", "-shm"] {
        let _ = fs::remove_file(layout.store_path(&format!("memory.db{ending}")));
    }
    fs::write(layout.memory_db(), &bytes).unwrap();
    let file = file_identity(&layout.memory_db());
    assert!(Store::open(project.path(), LockTimeout::Hook).unwrap_err().is_damage());
    let mut store = open(project.path());
    assert!(store.messages()[0].contains("a copy of it is memory.db.damaged-"), "{:?}", store.messages());
    assert_eq!(file_identity(&layout.memory_db()), file);
    sync(&mut store);
    assert_eq!(all_memories(&store), before);
    let aside = fs::read_dir(layout.store_dir()).unwrap().filter_map(Result::ok).map(|item| item.path());
    let aside: Vec<_> = aside.filter(|path| path.to_string_lossy().contains("damaged-")).collect();
    assert_eq!(fs::read(&aside[0]).unwrap(), bytes, "what was there is kept");
}

#[test]
fn newer_store_is_read_from_markdown_and_unchanged() {
    let project = tempfile::tempdir().unwrap();
    let before = all_memories(&filled(project.path()));
    let layout = Layout::new(project.path());
    let db = Connection::open(layout.memory_db()).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    db.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    drop(db);
    let listing = || {
        let mut files: Vec<_> = fs::read_dir(layout.store_dir()).unwrap().map(|item| item.unwrap().path()).collect();
        files.retain(|path| !path.to_string_lossy().ends_with("-shm") && !path.to_string_lossy().ends_with("-wal"));
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).ok())).collect::<Vec<_>>()
    };
    let files = listing();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(all_memories(&store), before);
    assert!(matches!(store.access(), StoreAccess::ReadOnly(ReadOnlyReason::Newer(99))));
    let refused = capture(&mut store, draft(MemoryType::Decision, "11:00:00", "x")).unwrap_err();
    assert!(refused.to_string().contains("update jikime-memory"), "{refused}");
    drop(store);
    assert_eq!(listing(), files, "no file was written");
}

#[test]
fn upgrade_by_a_later_version_is_not_damage() {
    let project = tempfile::tempdir().unwrap();
    let store = filled(project.path());
    assert!(store.is_current());
    let db = Connection::open(store.layout().memory_db()).unwrap();
    db.execute_batch("DROP TRIGGER memory_removed; ALTER TABLE memories RENAME TO entries; PRAGMA user_version = 99;")
        .unwrap();
    let fault = StoreError::from(store.rows().list(&MemoryFilter::default(), 1).unwrap_err());
    assert!(!fault.is_damage() && !store.is_current(), "{fault}");
    let mut store = open(project.path());
    assert_eq!(*store.access(), StoreAccess::ReadOnly(ReadOnlyReason::Newer(99)));
    assert!(!store.repair().unwrap() && db.table_exists(None, "entries").unwrap());
}

#[rstest]
#[case::trigger("CREATE TRIGGER planted AFTER INSERT ON memories BEGIN DELETE FROM memories; END")]
#[case::view("CREATE VIEW planted AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n")]
#[case::view_for_a_table("DROP TABLE meta; CREATE VIEW meta AS SELECT 'instance' AS key, 'x' AS value")]
#[case::table("CREATE TABLE planted (x)")]
#[case::index("CREATE INDEX planted ON memories (abs(seq))")]
#[case::column("ALTER TABLE memories ADD COLUMN planted GENERATED ALWAYS AS (hex(content))")]
#[case::missing_table("DROP TABLE sessions")]
#[case::version_that_never_was("PRAGMA user_version = 1")]
#[case::version_of_other_tables("PRAGMA user_version = 4")]
fn database_with_foreign_objects_is_reset(#[case] planted: &str) {
    let project = tempfile::tempdir().unwrap();
    let before = all_memories(&filled(project.path()));
    let db = Connection::open(Layout::new(project.path()).memory_db()).unwrap();
    db.execute_batch(planted).unwrap();
    drop(db);
    assert!(matches!(Store::open(project.path(), LockTimeout::Hook), Err(StoreError::NeedsServer)));
    let mut store = open(project.path());
    assert_eq!((store.access(), detect_kind(&store.db)), (&StoreAccess::Full, Ok(DatabaseKind::Current)));
    assert!(store.messages()[0].contains("is rebuilt from Markdown"), "{:?}", store.messages());
    sync(&mut store);
    assert_eq!(all_memories(&store), before);
}

#[test]
fn damage_in_the_middle_is_repaired_once() {
    use std::io::{Seek as _, SeekFrom, Write as _};
    let project = tempfile::tempdir().unwrap();
    let mut store = filled(project.path());
    let before = all_memories(&store);
    assert!(!store.repair().unwrap());
    assert!(database::truncate_wal(&store.db).unwrap());
    let mut file = fs::OpenOptions::new().write(true).open(store.layout().memory_db()).unwrap();
    file.seek(SeekFrom::Start(4_096)).unwrap();
    file.write_all(&[0x5a; 40_000]).unwrap();
    drop((file, store));
    let mut stores = [open(project.path()), open(project.path())];
    assert_eq!(stores.each_mut().map(|store| store.repair().unwrap()), [true, false]);
    for store in &mut stores {
        sync(store);
    }
    assert!(stores.iter().all(|store| all_memories(store) == before));
}

#[test]
fn rows_with_invalid_values_come_back_from_markdown() {
    let project = tempfile::tempdir().unwrap();
    let mut store = filled(project.path());
    let before = all_memories(&store);
    let sql = "UPDATE memories SET type = 'odd' WHERE seq = 2; UPDATE memories SET created_at = 7 WHERE seq = 5;
               UPDATE memories SET content = x'ff' WHERE seq = 6";
    store.db.execute_batch(sql).unwrap();
    let fault = StoreError::from(store.rows().list(&MemoryFilter::default(), 100).unwrap_err());
    assert!(!fault.is_damage(), "{fault}");
    assert_eq!(store.delete_unreadable_rows().unwrap(), 3);
    sync(&mut store);
    assert_eq!(all_memories(&store), before);
    assert_eq!(store.delete_unreadable_rows().unwrap(), 0);
}
