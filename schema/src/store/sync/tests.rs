use std::fs;

use super::*;
use crate::files::database::LockTimeout;
use crate::intake::capture::capture;
use crate::intake::drain::drain;
use crate::intake::prepare::{Destination, Draft};
use crate::intake::spool;
use crate::log::LONG_TERM_FILE;
use crate::log::log_file::tests::{remove_aged, save_aged, set_old_mtime};
use crate::model::memory::MemoryType;
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;

const LOG: &str = "2026-01-28.md";
const TIMEOUT: Duration = Duration::from_secs(5);

fn store() -> (tempfile::TempDir, Store) {
    let project = tempfile::tempdir().unwrap();
    let store = Store::open(project.path(), LockTimeout::Server).unwrap();
    (project, store)
}

fn capture_text(store: &mut Store, kind: MemoryType, second: i64, content: &str) {
    let draft = Draft::new("s", kind, content, Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap());
    capture(store, draft, &Sanitizer::default()).unwrap();
}

/// Returns the texts of the rows, with waiting ones in brackets.
fn row_texts(store: &Store) -> Vec<String> {
    let rows = store.rows().inserted_after(0, 100).unwrap().into_iter();
    rows.map(|row| if row.is_pending() { format!("({})", row.memory.content) } else { row.memory.content }).collect()
}

#[test]
fn catch_up_waits_for_a_capture_and_does_not_read() {
    let (project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let file = store.layout().store_path(LOG);
    let lock = store.lock().unwrap();
    // A capture writes the log first, and its row with the stamp last. Reading the log would add a row for the entry, which has none here.
    let text = fs::read_to_string(&file).unwrap() + "- [10:30:20] **User Prompt**: two\n";
    fs::write(&file, &text).unwrap();
    assert!(store.is_stale(LOG).unwrap());
    let mut reader = Store::open(project.path(), LockTimeout::Server).unwrap();
    let busy = reader.catch_up(LOG, Duration::ZERO).unwrap_err();
    assert!(busy.is_busy(), "a reader waits for the capture: {busy}");
    store.rows().record_change(LOG, FileStamp::read(&file).unwrap(), None, true).unwrap();
    drop(lock);
    assert_eq!(reader.catch_up_stale(LOG, TIMEOUT).unwrap(), CatchUpOutcome::SyncedUnread);
    assert_eq!(store.rows().by_path(LOG).unwrap().len(), 1);
    // No capture is in progress any more, so the log is read.
    fs::write(&file, text + "- [10:30:21] **User Prompt**: three\n").unwrap();
    let read = CatchUpOutcome::SyncedByReading(SyncReport { added: 2, ..SyncReport::default() });
    assert_eq!(store.catch_up(LOG, TIMEOUT).unwrap(), read);
    assert_eq!(store.catch_up(LOG, TIMEOUT).unwrap(), CatchUpOutcome::AlreadyInSync);
}

#[test]
fn captures_during_a_sync_are_kept() {
    let (_project, mut store) = store();
    let kinds = [MemoryType::UserPrompt, MemoryType::Decision, MemoryType::Learning, MemoryType::UserPrompt];
    kinds.iter().zip(0..).for_each(|(kind, n)| capture_text(&mut store, *kind, n, &format!("text {n}\nand more")));
    // Rows that do not match the log.
    let damage = "UPDATE memories SET content = 'another' WHERE content LIKE 'text 0%'; DELETE FROM memories WHERE content LIKE 'text 2%';";
    store.db.execute_batch(damage).unwrap();
    let (seen, parsed, rows) = read(&store);
    capture_text(&mut store, MemoryType::UserPrompt, 10, "two\nlines");
    capture_text(&mut store, MemoryType::Decision, 11, "use redis");
    let mut work = SyncBatch::new(LOG, store.layout());
    assert!(store.apply_changes(&mut work, parsed, &rows, &seen).unwrap());
    assert_eq!(work.report, SyncReport { added: 1, changed: 1, removed: 0 });
    assert!(!store.is_stale(LOG).unwrap(), "captured entries are in sync");
    assert_eq!((row_texts(&store).len(), store.sync_log(LOG).unwrap()), (6, SyncReport::default()));
}

fn read(store: &Store) -> (ReadState, ParsedLog, Vec<MemoryRow>) {
    let LogSnapshot { seen, bytes, snapshot, lock, .. } = store.snapshot_log(LOG).unwrap().unwrap();
    let rows = Rows(&snapshot).by_path(LOG).unwrap();
    drop((snapshot, lock));
    (seen, parse(&String::from_utf8_lossy(&bytes), LogKind::from_path(LOG).unwrap()), rows)
}

#[test]
fn stale_reading_changes_no_rows() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    capture_text(&mut store, MemoryType::Decision, 1, "use redis");
    let file = store.layout().store_path(LOG);
    let before = fs::read(&file).unwrap();
    save_aged(&file, "- [10:00:00] **User Prompt**: another text\n");
    let (seen, parsed, rows) = read(&store);
    save_aged(&file, before);
    assert_eq!(store.sync_log(LOG).unwrap(), SyncReport::default());
    let mut work = SyncBatch::new(LOG, store.layout());
    assert!(!store.apply_changes(&mut work, parsed, &rows, &seen).unwrap());
    assert!(!store.is_stale(LOG).unwrap());
    assert_eq!(row_texts(&store), ["one", "use redis"]);
}

#[test]
fn log_being_rewritten_keeps_rows_and_captures_wait() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let file = store.layout().store_path(LOG);
    let text = fs::read(&file).unwrap();
    // An editor truncates the file before it writes.
    fs::write(&file, "").unwrap();
    assert_eq!(store.catch_up(LOG, TIMEOUT).unwrap(), CatchUpOutcome::Busy);
    capture_text(&mut store, MemoryType::UserPrompt, 1, "two");
    capture_text(&mut store, MemoryType::UserPrompt, 1, "two");
    assert_eq!(drain(&mut store, 10).unwrap(), 0);
    assert_eq!((row_texts(&store), fs::read(&file).unwrap().len()), (vec!["one".to_owned(), "(two)".to_owned()], 0));
    assert!(store.is_any_log_being_rewritten().unwrap());
    fs::write(&file, &text).unwrap();
    assert_eq!(drain(&mut store, 10).unwrap(), 1);
    assert_eq!((row_texts(&store), spool::count(store.layout())), (vec!["one".to_owned(), "two".to_owned()], 0));
    store.sync_log(LOG).unwrap();
    assert_eq!(row_texts(&store), ["one", "two"]);
    let log = fs::read_to_string(&file).unwrap();
    assert!(log.starts_with(&String::from_utf8(text).unwrap()) && log.ends_with("**User Prompt**: two\n"), "{log}");
}

#[test]
fn day_continues_in_next_file_after_ten_seconds() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let file = store.layout().store_path(LOG);
    fs::write(&file, "").unwrap();
    capture_text(&mut store, MemoryType::UserPrompt, 1, "two");
    store.db.execute_batch("UPDATE files SET disturbed_at = disturbed_at - 10000").unwrap();
    capture_text(&mut store, MemoryType::Decision, 2, "three");
    let later = fs::read_to_string(store.layout().store_path("2026-01-28.2.md")).unwrap();
    assert!(later.starts_with("# 2026-01-28\n\n## Decision\n\n- three"), "{later}");
    assert_eq!(drain(&mut store, 10).unwrap(), 1);
    assert_eq!(row_texts(&store), ["one", "two", "three"]);
    let ignored = fs::read_to_string(store.layout().store_path(".gitignore")).unwrap();
    assert!(ignored.contains("[0-9][0-9].[0-9].md"), "{ignored}");
}

#[test]
fn overwritten_entries_are_appended_again_once() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    capture_text(&mut store, MemoryType::UserPrompt, 1, "two");
    let file = store.layout().store_path(LOG);
    let opened = fs::read_to_string(&file).unwrap();
    capture_text(&mut store, MemoryType::UserPrompt, 2, "three");
    capture_text(&mut store, MemoryType::UserPrompt, 3, "four");
    // The editor saves what it opened, with one line more and one line less.
    let edited = opened.replace("- [10:30:15] **User Prompt**: one\n", "") + "\n" + &"A line of a person.\n".repeat(9);
    fs::write(&file, &edited).unwrap();
    store.sync_log(LOG).unwrap();
    assert_eq!(row_texts(&store), ["two", "(three)", "(four)"]);
    assert_eq!(drain(&mut store, 10).unwrap(), 0, "the editor may save it once more");
    set_old_mtime(&file);
    assert_eq!(drain(&mut store, 10).unwrap(), 2);
    store.sync_log(LOG).unwrap();
    assert_eq!(row_texts(&store), ["two", "three", "four"]);
    let log = fs::read_to_string(&file).unwrap();
    assert!(log.starts_with(&edited) && log.ends_with("three\n- [10:30:18] **User Prompt**: four\n"), "{log}");
    // When they are missing again, a person has deleted them.
    save_aged(&file, &edited);
    store.sync_log(LOG).unwrap();
    assert_eq!(row_texts(&store), ["two"]);
}

#[test]
fn next_capture_restores_overwritten_entries() {
    let (_project, mut store) = store();
    let file = store.layout().store_path(LOG);
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let opened = fs::read_to_string(&file).unwrap();
    capture_text(&mut store, MemoryType::Decision, 1, "two");
    fs::write(&file, opened.clone() + &"\nA line of a person, who makes it longer.\n".repeat(9)).unwrap();
    capture_text(&mut store, MemoryType::UserPrompt, 2, "three");
    assert_eq!(row_texts(&store), ["one", "(two)", "(three)"]);
    assert!(!fs::read_to_string(&file).unwrap().contains("three"));
    // A minute later.
    set_old_mtime(&file);
    let earlier =
        "UPDATE memories SET written_at = written_at - 60000; UPDATE files SET disturbed_at = disturbed_at - 60000";
    store.db.execute_batch(earlier).unwrap();
    capture_text(&mut store, MemoryType::UserPrompt, 3, "four");
    assert_eq!(drain(&mut store, 10).unwrap(), 2);
    store.sync_log(LOG).unwrap();
    assert_eq!(row_texts(&store), ["one", "two", "three", "four"]);
    let log = fs::read_to_string(&file).unwrap();
    let order = ["one", "A line", "four", "two", "three"].map(|text| log.find(text));
    assert!(order.is_sorted() && order[0].is_some(), "{log}");
}

#[test]
fn missing_log_is_accepted_after_two_seconds() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let file = store.layout().store_path(LOG);
    let text = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(store.catch_up(LOG, TIMEOUT).unwrap(), CatchUpOutcome::Busy);
    fs::write(&file, text).unwrap();
    assert_eq!(store.catch_up(LOG, TIMEOUT).unwrap(), CatchUpOutcome::SyncedByReading(SyncReport::default()));
    remove_aged(&file);
    let read = CatchUpOutcome::SyncedByReading(SyncReport { removed: 1, ..SyncReport::default() });
    assert_eq!(store.catch_up(LOG, TIMEOUT).unwrap(), read);
    assert!(!store.is_stale(LOG).unwrap());
}

#[test]
fn long_term_save_waits_for_another_writer() {
    let (_project, mut store) = store();
    let file = store.layout().store_path(LONG_TERM_FILE);
    let keep = |store: &mut Store, second: i64, content: &str| {
        let at = Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap();
        let (kind, destination) = (MemoryType::Decision, Destination::LongTerm);
        let draft = Draft { destination, ..Draft::new("s", kind, content, at) };
        capture(store, draft, &Sanitizer::default()).unwrap();
    };
    keep(&mut store, 0, "one");
    keep(&mut store, 1, "two");
    assert_eq!(row_texts(&store), ["one", "two"], "our own last change is waited for by nobody");
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\nA line of a person.\n").unwrap();
    keep(&mut store, 2, "three");
    assert_eq!(row_texts(&store), ["one", "two", "(three)"]);
    set_old_mtime(&file);
    assert_eq!(drain(&mut store, 10).unwrap(), 1);
    store.sync_log(LONG_TERM_FILE).unwrap();
    assert_eq!(row_texts(&store), ["one", "two", "three"]);
    assert_eq!(fs::read_to_string(&file).unwrap().matches("A line of a person.").count(), 1);
}

#[test]
fn entry_found_to_be_overwritten_during_a_reading_stays() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let rows = store.rows().by_path(LOG).unwrap();
    let file = store.layout().store_path(LOG);
    // An editor saves the log without the entry, but too long ago for it to count as overwritten.
    save_aged(&file, "# 2026-01-28\n");
    let parsed = parse("# 2026-01-28\n", LogKind::from_path(LOG).unwrap());
    let changes = store.diff_rows(LOG, parsed, &rows).unwrap();
    assert!(matches!(changes[..], [RowChange::Remove(_)]));
    let (rows, mut batch) = (store.rows(), SyncBatch::new(LOG, store.layout()));
    rows.set_entry_state(changes_seq(&changes), LOG, EntryState::Overwritten).unwrap();
    batch.apply(rows, &changes[0]).unwrap();
    assert_eq!(row_texts(&store), ["(one)"]);
    store.rows().set_entry_state(changes_seq(&changes), LOG, EntryState::At(now_millis() + 9)).unwrap();
    batch.apply(store.rows(), &changes[0]).unwrap();
    assert_eq!(row_texts(&store), ["one"]);
}

fn changes_seq(changes: &[RowChange<'_>]) -> i64 {
    let [RowChange::Remove(read)] = changes else { panic!("one row should be removed") };
    read.seq
}

#[test]
fn reading_ends_if_its_mark_is_never_stored() {
    let (_project, mut store) = store();
    capture_text(&mut store, MemoryType::UserPrompt, 0, "one");
    let lose = "UPDATE files SET reading = '' WHERE path = new.path";
    let triggers = ["INSERT ON", "UPDATE OF reading ON"].map(|event| {
        format!("CREATE TEMP TRIGGER \"{event}\" AFTER {event} main.files WHEN new.reading <> '' BEGIN {lose}; END;")
    });
    store.db.execute_batch(&triggers.concat()).unwrap();
    let failed = store.sync_log(LOG).unwrap_err();
    assert!(matches!(failed, StoreError::BeingRewritten(_)), "{failed}");
    assert_eq!(row_texts(&store), ["one"]);
}
