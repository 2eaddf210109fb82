//! Upgrades a database of the Go version. Memories that no log has are written into the log of their day, entries of logs get the session
//! and metadata of their rows, and our tables replace the old ones. A copy of the database stays next to it.
//!
//! The entries are rewritten once. The Go version wrote no sessions into its logs and did not indent texts of several lines, so a blank
//! line, a bullet or a heading in a text ends the entry. Databases may be deleted, so the logs must have everything.

mod entry_match;
mod rows;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;

use super::database_kind::{self, DatabaseKind, detect_kind};
use super::{Store, StoreError};
use crate::files::crash_point;
use crate::files::database;
use crate::log::log_file::{self, LastChange};
use crate::log::{LogEnd, LogKind, LogTail, annotate_entries};
use crate::model::memory::Memory;
use crate::settings;
use entry_match::{EntryRef, GoLog, LogEntries};
use rows::{GoMemory, GoTime};

/// A copy of the database before the upgrade.
const BACKUP: &str = "memory.db.go-backup";

/// How often the logs are read again if somebody changes one meanwhile.
const ATTEMPTS: usize = 5;

/// Upgrades in place, and returns a report for people.
pub(super) fn upgrade_from_go(store: &mut Store) -> Result<String, StoreError> {
    let lock = store.lock()?;
    if detect_kind(&store.db)? != DatabaseKind::GoVersion {
        return Ok("memory.db of the Go version was upgraded".to_owned());
    }
    back_up(store)?;
    crash_point::crash_if_armed("upgrade.backed-up");
    let sanitizer = settings::load(store.layout()).sanitizer;
    let mut old = rows::read_memories(&store.db, &sanitizer)?;
    let written = sync_logs(store, &mut old)?;
    crash_point::crash_if_armed("upgrade.logged");
    let redactions = old.iter().map(|old| old.redactions).sum();
    // Nothing of the old schema stays: triggers of another program would act on our rows.
    database::reset(&store.layout.memory_db(), Some(&store.db), store.lock_timeout)?;
    database_kind::create_database(&mut store.db)?;
    if redactions > 0 {
        store.with_transaction(|rows| rows.add_redactions(redactions))?;
    }
    drop(lock);
    crash_point::crash_if_armed("upgrade.tables");
    for path in store.changed_logs()? {
        store.sync_log(&path)?;
    }
    keep_access_counts(store, &old)?;
    Ok(upgrade_report(&old, written, redactions))
}

fn upgrade_report(old: &[GoMemory], written: usize, redactions: usize) -> String {
    let mut text = format!(
        "memory.db of the Go version was upgraded: {} memories, {written} of them written into their daily logs",
        old.len()
    );
    let undated = old.iter().filter(|old| old.time == GoTime::Unreadable).count();
    if undated > 0 {
        text.push_str(&format!("; {undated} had no readable date and are dated today"));
    }
    if redactions > 0 {
        text.push_str(&format!("; secrets removed: {redactions}"));
    }
    text + &format!("; the old database, as it was, is {BACKUP}")
}

fn back_up(store: &Store) -> Result<(), StoreError> {
    let (path, temporary) = (store.layout.store_path(BACKUP), store.layout.store_path(".go-backup.tmp"));
    if path.exists() {
        return Ok(());
    }
    store.db.backup("main", &temporary, None::<fn(rusqlite::backup::Progress)>)?;
    crash_point::crash_if_armed("upgrade.copied");
    fs::rename(&temporary, &path).map_err(StoreError::io("write", path))
}

/// Synchronises the logs with the memories, and returns how many memories were missing in them.
fn sync_logs(store: &Store, old: &mut [GoMemory]) -> Result<usize, StoreError> {
    let mut written = 0;
    for _ in 0..ATTEMPTS {
        let places = LogEntries::read(store)?;
        places.decide_clocks(old);
        let found = places.match_rows(old);
        for (old, found) in old.iter_mut().zip(&found) {
            old.complete_from_log(found.as_ref().map(|found| &places.entry_of(found).memory));
        }
        if write_log(store, &places, old, &found, &mut written)? {
            return Ok(written);
        }
    }
    let busy = io::Error::new(io::ErrorKind::ResourceBusy, "another program keeps changing the logs");
    Err(StoreError::io("upgrade", store.layout.store_dir())(busy))
}

/// The changes of one log.
#[derive(Default)]
struct LogAdditions<'m> {
    /// By the index of the entry that is replaced.
    annotated: HashMap<usize, (&'m Memory, usize)>,
    missing: Vec<&'m Memory>,
}

/// Writes the changes, or returns `false` if a log is no longer as it was read.
fn write_log(
    store: &Store,
    places: &LogEntries,
    old: &[GoMemory],
    found: &[Option<EntryRef>],
    written: &mut usize,
) -> Result<bool, StoreError> {
    let mut logs: BTreeMap<String, LogAdditions<'_>> = BTreeMap::new();
    for (GoMemory { memory, .. }, found) in old.iter().zip(found) {
        match found {
            Some(found) => {
                let changes = logs.entry(places.log_of(found).path.clone()).or_default();
                changes.annotated.insert(found.entry, (memory, found.end_line));
            }
            None => logs.entry(LogKind::Daily(memory.at.date()).file_name()).or_default().missing.push(memory),
        }
    }
    let mut is_current = true;
    let empty = GoLog::default();
    for (path, changes) in logs {
        let log = places.log_by_path(&path).unwrap_or(&empty);
        let Some(kind @ LogKind::Daily(day)) = LogKind::from_path(&path) else { continue };
        let is_changed = log_file::rewrite_with(
            &store.layout.store_path(&path),
            LastChange::Unchanged,
            log_file::MAX_WAIT,
            |bytes| {
                if bytes != log.bytes {
                    is_current = false;
                    return None;
                }
                let mut file = annotate_entries(bytes, kind, &log.parsed, &changes.annotated);
                let mut ending = LogEnd::from_tail(LogTail::whole(&file));
                for memory in &changes.missing {
                    file.extend(ending.append_entry(memory, day));
                }
                (file != bytes).then_some(file)
            },
        )?;
        if is_changed {
            *written += changes.missing.len();
        }
    }
    Ok(is_current)
}

fn keep_access_counts(store: &mut Store, old: &[GoMemory]) -> Result<(), StoreError> {
    store.with_transaction(|rows| {
        for GoMemory { memory, access_count, .. } in old.iter().filter(|old| old.access_count > 0) {
            if let Some(row) = rows.by_id(&memory.id)? {
                rows.set_access_count(row.seq, *access_count)?;
            }
        }
        Ok(())
    })
}
