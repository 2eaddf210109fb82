//! Deletes memories from their logs and the database, and records their hashes so that they do not return.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;

use crate::files::crash_point;
use crate::log::log_file;
use crate::log::{LogEntry, LogKind, ParsedLog, parse, remove_entries};
use crate::model::memory::MemoryId;
use crate::model::state_note::StateNote;
use crate::store::forgotten;
use crate::store::{IdClaims, MemoryRow, ROWS_AT_ONCE, Store, StoreError};

/// Deletes many memories, log by log, and returns how many. After an interruption, the next call finishes the work, and the next reading of
/// a log synchronises its rows.
///
/// An entry whose text was changed by hand since its row was read stays. A daily log that becomes empty is deleted as well.
pub fn forget_rows(store: &mut Store, rows: &[MemoryRow]) -> Result<usize, StoreError> {
    store.require_writable()?;
    let mut by_path: BTreeMap<&str, Vec<&MemoryRow>> = BTreeMap::new();
    for row in rows {
        by_path.entry(&row.path).or_default().push(row);
    }
    for (path, rows) in &mut by_path {
        let changed = changed_entries(store, path, rows)?;
        rows.retain(|row| !changed.contains(&row.memory.id));
    }
    remove_notes_about(store, &by_path.values().flatten().map(|row| &row.memory.id).collect())?;
    let mut gone = 0;
    for (path, mut rows) in by_path {
        let _lock = store.lock()?;
        // Record the hashes first: after a crash in between, the memories do not return.
        forgotten::add_memories(store.layout(), &rows, &store.rows().by_path(path)?)?;
        crash_point::crash_if_armed("forget.hash");
        let removed = remove_from_file(store, path, &rows);
        crash_point::crash_if_armed("forget.log");
        let stays = |row: &&MemoryRow| removed.as_ref().map_or(true, |changed| changed.contains(&row.memory.id));
        for row in rows.extract_if(.., |row| stays(row)) {
            forgotten::unforget(store.layout(), path, &row.memory)?;
        }
        removed?;
        for batch in rows.chunks(ROWS_AT_ONCE) {
            let mut claims = IdClaims::new(store.layout());
            let sessions: HashSet<&str> = batch.iter().map(|row| row.memory.session_id.as_str()).collect();
            store.with_transaction(|table| {
                for row in batch {
                    table.delete(row.seq)?;
                    claims.release_id(table, &row.memory.id)?;
                }
                sessions.iter().try_for_each(|session| table.refresh_session(session))
            })?;
            crash_point::crash_if_armed("forget.rows");
            gone += batch.len();
        }
    }
    Ok(gone)
}

/// Removes the notes about memories from all logs: a reason for closing a task may repeat its text.
fn remove_notes_about(store: &mut Store, ids: &HashSet<&MemoryId>) -> Result<(), StoreError> {
    let mut paths = BTreeSet::new();
    for id in ids {
        paths.extend(store.rows().paths_of_notes(id)?);
    }
    for path in paths {
        let lock = store.lock()?;
        let is_about = |line: &[u8]| {
            let notes = StateNote::parse(&String::from_utf8_lossy(line));
            !notes.is_empty() && notes.iter().all(|note| ids.contains(&note.about))
        };
        store.rewrite_log(&path, |bytes| {
            let kept: Vec<&[u8]> =
                bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_about(line)).collect();
            let kept = kept.concat();
            (kept.len() < bytes.len()).then_some(kept)
        })?;
        drop(lock);
        store.sync_log(&path)?;
    }
    Ok(())
}

/// Entries of a file that belong to rows.
#[derive(Debug, Default)]
struct EntriesOfRows {
    /// Places in the parsed file.
    unchanged: HashSet<usize>,
    /// Ids of rows whose entries have another text now.
    changed: HashSet<MemoryId>,
}

impl EntriesOfRows {
    fn find(parsed: &ParsedLog, path: &str, rows: &[&MemoryRow]) -> Self {
        let by_id: HashMap<&MemoryId, &MemoryRow> = rows.iter().map(|row| (&row.memory.id, *row)).collect();
        let mut found = Self::default();
        for (at, LogEntry { memory, .. }) in parsed.entries.iter().enumerate() {
            match by_id.get(&memory.id).or_else(|| by_id.get(&memory.id.for_copy(path))) {
                Some(row) if row.memory.content != memory.content => found.changed.insert(row.memory.id.clone()),
                Some(_) => found.unchanged.insert(at),
                None => false,
            };
        }
        found
    }
}

/// Returns the ids of rows whose entries were changed by hand.
fn changed_entries(store: &Store, path: &str, rows: &[&MemoryRow]) -> Result<HashSet<MemoryId>, StoreError> {
    let Some(kind) = LogKind::from_path(path) else { return Ok(HashSet::new()) };
    let bytes = log_file::read(&store.layout().store_path(path))?;
    Ok(EntriesOfRows::find(&parse(&String::from_utf8_lossy(&bytes), kind), path, rows).changed)
}

/// Removes the entries of rows, and returns the ids of rows whose entries stay because their text was changed.
fn remove_from_file(store: &Store, path: &str, rows: &[&MemoryRow]) -> Result<HashSet<MemoryId>, StoreError> {
    let mut changed = HashSet::new();
    let Some(kind) = LogKind::from_path(path) else { return Ok(changed) };
    let file = store.layout().store_path(path);
    store.rewrite_log(path, |bytes| {
        let parsed = parse(&String::from_utf8_lossy(bytes), kind);
        let found = EntriesOfRows::find(&parsed, path, rows);
        changed = found.changed;
        (!found.unchanged.is_empty()).then(|| remove_entries(bytes, &parsed, &found.unchanged))
    })?;
    if matches!(kind, LogKind::Daily(day) if is_title_only(&log_file::read(&file)?, &day.to_string())) {
        // It may be gone already.
        let _ = fs::remove_file(&file);
        store.rows().record_rewrite(path, None)?;
    }
    Ok(changed)
}

/// Whether a log has nothing but its title.
fn is_title_only(bytes: &[u8], day: &str) -> bool {
    let text = bytes.trim_ascii();
    text.is_empty() || text.strip_prefix(b"# ") == Some(day.as_bytes())
}

/// Whether an entry belongs to a row of its file. A copy carries the id of its original.
pub fn is_entry_of_row(entry: &LogEntry, row: &MemoryRow) -> bool {
    entry.memory.id == row.memory.id || entry.memory.id.for_copy(&row.path) == row.memory.id
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::files::database::LockTimeout;
    use crate::intake::capture::capture;
    use crate::intake::prepare::{Destination, Draft};
    use crate::model::memory::MemoryType;
    use crate::model::moment::Moment;
    use crate::privacy::sanitizer::Sanitizer;

    #[test]
    fn logs_and_rows_agree_after_forgetting() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        for n in 0..40 {
            let draft = Draft::new(
                format!("s{}", n % 3),
                MemoryType::ALL[n % MemoryType::ALL.len()],
                format!("text number {n}\nof several lines"),
                Moment::from_unix(1_769_563_800 + n as i64 * 7_200, Some(0)).unwrap(),
            );
            capture(&mut store, draft, &Sanitizer::default()).unwrap();
        }
        let all = store.rows().inserted_after(0, 100).unwrap();
        let (gone, left): (Vec<MemoryRow>, Vec<MemoryRow>) = all.into_iter().partition(|row| row.seq % 3 != 0);
        assert_eq!(forget_rows(&mut store, &gone).unwrap(), gone.len());
        for path in store.all_logs().unwrap() {
            let report = store.sync_log(&path).unwrap();
            assert_eq!((report.added, report.changed, report.removed), (0, 0, 0), "{path}");
        }
        let ids = |rows: &[MemoryRow]| rows.iter().map(|row| row.memory.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&store.rows().inserted_after(0, 100).unwrap()), ids(&left));
        assert!(gone.iter().all(|row| forgotten::is_forgotten(store.layout(), &row.memory.content).unwrap()));
        forget_rows(&mut store, &left).unwrap();
        assert_eq!(store.layout().markdown_files().unwrap(), Vec::<String>::new());
    }

    /// Saves decisions to `MEMORY.md`.
    fn store_with(contents: &[&str]) -> (tempfile::TempDir, Store) {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        for content in contents {
            let draft = Draft {
                destination: Destination::LongTerm,
                ..Draft::new("s", MemoryType::Decision, *content, Moment::from_unix(1_769_563_800, Some(0)).unwrap())
            };
            capture(&mut store, draft, &Sanitizer::default()).unwrap();
        }
        (project, store)
    }

    /// The texts of a store whose rows are read again from Markdown.
    fn texts_after_rebuild(project: &Path, store: Store) -> Vec<String> {
        let database = store.layout().memory_db();
        drop(store);
        fs::remove_file(database).unwrap();
        let mut store = Store::open(project, LockTimeout::Server).unwrap();
        store.sync_log("MEMORY.md").unwrap();
        store.rows().inserted_after(0, 10).unwrap().into_iter().map(|row| row.memory.content).collect()
    }

    #[test]
    fn an_entry_that_was_changed_meanwhile_stays() {
        let (project, mut store) = store_with(&["We deploy on Fridays.", "Tabs are four wide."]);
        let rows = store.rows().inserted_after(0, 10).unwrap();
        let file = store.layout().store_path("MEMORY.md");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("Fridays", "Mondays")).unwrap();
        assert_eq!(forget_rows(&mut store, &rows).unwrap(), 1);
        assert_eq!(texts_after_rebuild(project.path(), store), ["We deploy on Mondays."]);
    }

    #[test]
    #[cfg(unix)]
    fn a_deletion_that_failed_is_not_counted_as_forgotten() {
        let (project, mut store) = store_with(&["We deploy on Fridays."]);
        let rows = store.rows().inserted_after(0, 10).unwrap();
        let file = store.layout().store_path("MEMORY.md");
        let text = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(forget_rows(&mut store, &rows).is_err());
        fs::remove_dir(&file).unwrap();
        fs::write(&file, text).unwrap();
        assert_eq!(texts_after_rebuild(project.path(), store), ["We deploy on Fridays."]);
    }
}
