//! Synchronises the rows with a log after any change: a crash during capture, an edit by a person, git, or a deletion.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior};

use super::id_claims::{AssignedId, IdClaims};
use super::memory_row::EntryState;
use super::{MemoryRow, Rows, Store, StoreAccess, StoreError};
use crate::files::crash_point;
use crate::files::file_stamp::{self, FileStamp};
use crate::files::layout::Layout;
use crate::files::lock::{FileLock, LockError};
use crate::log::log_file::{self, now_millis};
use crate::log::{LogKind, ParsedLog, parse};
use crate::model::memory::{Memory, MemoryId};
use crate::model::state_note::StateNote;
use crate::store::forgotten::ForgottenHashes;

/// The changes of rows that a synchronisation made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// The outcome of [`Store::catch_up`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUpOutcome {
    /// The rows matched the log already.
    AlreadyInSync,
    /// A capture finished meanwhile, and the rows match the log without a reading.
    SyncedUnread,
    SyncedByReading(SyncReport),
    /// Another program is writing the log. Its rows stay until it has finished.
    Busy,
}

/// How often a file that keeps changing is read again.
const ATTEMPTS: usize = 5;

/// The most rows that one transaction changes, so that hooks do not wait long.
pub(crate) const ROWS_AT_ONCE: usize = 200;

impl Store {
    /// Returns the logs that changed since their rows were derived, including deleted ones.
    pub fn changed_logs(&self) -> Result<Vec<String>, StoreError> {
        let present = self.existing_logs()?;
        let under_another_rule = self.team_files_under_another_rule(&present)?;
        let mut changed = file_stamp::changed_paths(&self.layout, present, self.known_files()?);
        for path in under_another_rule {
            if !changed.contains(&path) {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// Returns every log that exists or has rows, in whatever state.
    pub fn all_logs(&self) -> Result<BTreeSet<String>, StoreError> {
        let known = self.known_files()?.into_keys().chain(self.rows().paths()?);
        Ok(self.existing_logs()?.into_iter().chain(known).collect())
    }

    pub(super) fn existing_logs(&self) -> Result<Vec<String>, StoreError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(StoreError::io("list", self.layout.store_dir()))?;
        Ok(present.into_iter().filter(|path| LogKind::from_path(path).is_some()).collect())
    }

    /// Synchronises the rows of a log if they do not match it.
    ///
    /// During a capture the log is ahead of its rows for a moment. This waits for the capture, which is much shorter than reading the log,
    /// but for at most `timeout`.
    pub fn catch_up(&mut self, path: &str, timeout: Duration) -> Result<CatchUpOutcome, StoreError> {
        if !self.is_stale(path)? {
            return Ok(CatchUpOutcome::AlreadyInSync);
        }
        self.catch_up_stale(path, timeout)
    }

    /// Synchronises the rows of changed logs, the newest first, of at most `limit` bytes together, and the files of the team up to the same
    /// limit. The rest, and logs that another program is writing, are left to a process with more time.
    pub fn catch_up_within(&mut self, limit: u64, timeout: Duration) -> Result<(), StoreError> {
        let changed = self.changed_logs()?;
        let (of_team, mut logs): (Vec<String>, Vec<String>) =
            changed.into_iter().partition(|path| LogKind::from_path(path) == Some(LogKind::Team));
        if !of_team.is_empty() && self.team_size().is_ok_and(|size| size <= limit) {
            self.sync_team()?;
        }
        // `MEMORY.md` comes first, and daily logs are named for their dates.
        logs.sort_unstable_by(|a, b| b.cmp(a));
        let mut left = limit;
        for path in logs {
            let size = fs::symlink_metadata(self.layout.store_path(&path)).map_or(0, |metadata| metadata.len());
            if let Some(rest) = left.checked_sub(size) {
                left = rest;
                self.catch_up(&path, timeout)?;
            }
        }
        Ok(())
    }

    /// Synchronises the rows of a log that was just found to be ahead of them; see [`Store::catch_up`].
    fn catch_up_stale(&mut self, path: &str, timeout: Duration) -> Result<CatchUpOutcome, StoreError> {
        let lock = self.lock_if_writable(timeout)?;
        // Under the lock there is no capture in progress.
        if !self.is_stale(path)? {
            return Ok(CatchUpOutcome::SyncedUnread);
        }
        drop(lock);
        if self.is_being_rewritten(path)? {
            self.rows().record_disturbance(path, now_millis())?;
            return Ok(CatchUpOutcome::Busy);
        }
        self.sync_log(path).map(CatchUpOutcome::SyncedByReading)
    }

    /// Derives the rows of one log from its text, unless another program is writing it. A file that is not a log has no rows.
    pub fn sync_log(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let Some(kind) = LogKind::from_path(path) else { return self.delete_rows(path) };
        if kind == LogKind::Team {
            return self.sync_team();
        }
        let mut work = SyncBatch::new(path, &self.layout);
        for attempt in 1..=ATTEMPTS {
            let Some(LogSnapshot { mut seen, bytes, snapshot, lock, is_complete }) = self.snapshot_log(path)? else {
                return Ok(work.report);
            };
            let is_last = attempt == ATTEMPTS;
            if !is_complete && !is_last {
                continue;
            }
            // Captures wait only for a reader that lost the race again and again.
            let _held = lock.filter(|_| is_last);
            let rows = Rows(&snapshot).by_path(path)?;
            seen.notes = Rows(&snapshot).notes_in(path)?;
            drop(snapshot);
            let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
            let is_done = self.apply_changes(&mut work, parsed, &rows, &seen)?;
            // A capture to a stale log leaves it stale, so read again.
            if is_done && (is_last || !self.is_stale(path)?) {
                return Ok(work.report);
            }
        }
        Err(StoreError::BeingRewritten(self.layout.store_path(path)))
    }

    /// Reads a log and its rows under the lock, so that they belong together: rows of later captures are not among them and cannot be
    /// mistaken for deleted entries. The slow part follows without the lock, because captures wait for it. Returns `None` while another
    /// program is writing the log.
    fn snapshot_log(&self, path: &str) -> Result<Option<LogSnapshot<'_>>, StoreError> {
        let file = self.layout.store_path(path);
        let lock = self.lock_if_writable(self.lock_timeout.duration())?;
        if self.is_being_rewritten(path)? {
            return Ok(None);
        }
        let known = self.rows().log_state(path)?.map(|known| known.stamp);
        let stamp = FileStamp::read(&file);
        let bytes = log_file::read(&file)?;
        let mark = self.rows().begin_reading(path)?;
        let snapshot = Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred)?;
        // A transaction takes its snapshot at the first read.
        snapshot.query_row("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT 1)", [], |_| Ok(()))?;
        let is_complete = FileStamp::read(&file) == stamp;
        Ok(Some(LogSnapshot {
            seen: ReadState { mark, state: known, stamp, notes: Vec::new() },
            bytes,
            snapshot,
            lock,
            is_complete,
        }))
    }

    fn delete_rows(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let rows = self.rows().by_path(path)?;
        let notes = self.rows().notes_in(path)?;
        let report = SyncReport { removed: rows.len(), ..SyncReport::default() };
        if !rows.is_empty() || !notes.is_empty() {
            self.with_transaction(|all| {
                all.replace_notes(path, &notes, &[])?;
                rows.iter().try_for_each(|row| all.delete(row.seq))?;
                rows.iter().try_for_each(|row| all.refresh_session(&row.memory.session_id))
            })?;
        }
        Ok(report)
    }

    fn lock_if_writable(&self, timeout: Duration) -> Result<Option<FileLock>, LockError> {
        let is_writable = self.access == StoreAccess::Full;
        is_writable.then(|| FileLock::acquire(&self.layout.store_lock(), timeout)).transpose()
    }

    /// Applies the differences between `rows` and the log as it was read. Returns `false` if another reading has begun since.
    fn apply_changes(
        &mut self,
        work: &mut SyncBatch,
        mut parsed: ParsedLog,
        rows: &[MemoryRow],
        seen: &ReadState,
    ) -> Result<bool, StoreError> {
        let path = &work.path.clone();
        work.claims = IdClaims::new(&self.layout);
        let found = std::mem::take(&mut parsed.notes);
        let changes = self.diff_rows(path, parsed, rows)?;
        let is_mine = |rows: Rows<'_>| {
            let known = rows.log_state(path)?;
            Ok::<_, rusqlite::Error>(known.is_some_and(|known| known.read_mark == seen.mark))
        };
        let mut is_current = true;
        for batch in changes.chunks(ROWS_AT_ONCE) {
            is_current = self.with_transaction(|rows| {
                if !is_mine(rows)? {
                    return Ok(false);
                }
                batch.iter().try_for_each(|change| work.apply(rows, change))?;
                Ok(true)
            })?;
            crash_point::crash_if_armed("sync.batch");
            if !is_current {
                break;
            }
        }
        crash_point::crash_if_armed("sync.rows");
        let touched = std::mem::take(&mut work.touched);
        self.with_transaction(|rows| {
            touched.iter().try_for_each(|session| rows.refresh_session(session))?;
            if !is_current || !is_mine(rows)? {
                return Ok(false);
            }
            rows.replace_notes(path, &seen.notes, &found)?;
            let known = rows.log_state(path)?.map(|known| known.stamp);
            match seen.stamp {
                // A capture in between has recorded its own stamp.
                Some(stamp) if known == seen.state.or(known) => rows.record_read(path, stamp)?,
                Some(_) => {}
                None => rows.delete_log_state(path)?,
            }
            Ok(true)
        })
    }

    /// Returns the differences between `rows` and the entries of their log.
    fn diff_rows<'r>(
        &self,
        path: &str,
        parsed: ParsedLog,
        rows: &'r [MemoryRow],
    ) -> Result<Vec<RowChange<'r>>, StoreError> {
        let mut missing: HashMap<MemoryId, &MemoryRow> = rows.iter().map(|row| (row.memory.id.clone(), row)).collect();
        let (mut changes, mut forgotten) = (Vec::new(), None);
        let mut is_forgotten = |memory: &Memory| {
            let forgotten = match &forgotten {
                Some(forgotten) => forgotten,
                None => forgotten.insert(ForgottenHashes::read(&self.layout)?),
            };
            Ok::<_, StoreError>(forgotten.contains_entry(path, memory))
        };
        for memory in parsed.entries.into_iter().map(|entry| entry.memory) {
            let own = missing.remove(&memory.id).or_else(|| missing.remove(&memory.id.for_copy(path)));
            match own {
                // Neither its claim nor its day changed, so its id stays.
                Some(row) if is_same(&row.memory, &Memory { id: row.memory.id.clone(), ..memory.clone() }) => {
                    if row.is_pending() {
                        changes.push(RowChange::MarkWritten(row));
                    }
                }
                None if is_forgotten(&memory)? => {}
                Some(_) | None => changes.push(RowChange::Upsert(Box::new(memory))),
            }
        }
        let is_there = |memory: &Memory| !missing.contains_key(&memory.id);
        let lost = self.rows().overwritten_rows(path, &self.layout.store_path(path), is_there)?;
        let lost: HashSet<i64> = lost.into_iter().map(|row| row.seq).collect();
        changes.extend(missing.values().filter(|row| !row.is_pending()).map(|row| match lost.contains(&row.seq) {
            true => RowChange::MarkOverwritten(row),
            false => RowChange::Remove(row),
        }));
        Ok(changes)
    }

    fn known_files(&self) -> rusqlite::Result<HashMap<String, FileStamp>> {
        let mut statement = self.db.prepare_cached("SELECT path, state, size FROM files")?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, FileStamp { state: row.get(1)?, size: row.get(2)? }));
        statement.query_map([], read)?.collect()
    }

    /// Returns when the logs were last synchronised with their rows, RFC 3339 in UTC.
    pub fn last_synced(&self) -> Result<Option<String>, StoreError> {
        Ok(self.rows().value("SELECT max(read_at) FROM files", [])?)
    }
}

/// A log and its rows at one moment.
struct LogSnapshot<'s> {
    seen: ReadState,
    bytes: Vec<u8>,
    snapshot: Transaction<'s>,
    lock: Option<FileLock>,
    /// Whether the log stayed unchanged while it was read.
    is_complete: bool,
}

/// The state that a reading started from.
struct ReadState {
    mark: String,
    /// The stamp that was recorded before.
    state: Option<FileStamp>,
    stamp: Option<FileStamp>,
    /// The notes of the log as rows.
    notes: Vec<StateNote>,
}

/// One change of the rows, which are as they were when their log was read.
enum RowChange<'r> {
    /// An entry is new or changed.
    Upsert(Box<Memory>),
    /// The entry of this row no longer waits.
    MarkWritten(&'r MemoryRow),
    /// The entry of this row was overwritten and waits to be appended again.
    MarkOverwritten(&'r MemoryRow),
    /// This row no longer has an entry.
    Remove(&'r MemoryRow),
}

/// Returns a row, unless a capture found meanwhile that its entry was overwritten, or has appended it again.
fn unchanged_row(rows: Rows<'_>, read: &MemoryRow) -> rusqlite::Result<Option<MemoryRow>> {
    Ok(rows.by_seq(read.seq)?.filter(|row| row.entry == read.entry))
}

/// The shared state while the changes of one log are applied.
struct SyncBatch {
    path: String,
    claims: IdClaims,
    report: SyncReport,
    /// The sessions whose rows must be derived again.
    touched: BTreeSet<String>,
}

impl SyncBatch {
    fn new(path: &str, layout: &Layout) -> Self {
        Self {
            path: path.to_owned(),
            claims: IdClaims::new(layout),
            report: SyncReport::default(),
            touched: BTreeSet::new(),
        }
    }

    fn apply(&mut self, rows: Rows<'_>, change: &RowChange<'_>) -> rusqlite::Result<()> {
        match change {
            RowChange::Upsert(memory) => self.upsert(rows, memory),
            RowChange::MarkWritten(row) => rows.set_entry_state(row.seq, &self.path, EntryState::Found),
            RowChange::MarkOverwritten(read) => match unchanged_row(rows, read)? {
                Some(row) => rows.set_entry_state(row.seq, &self.path, EntryState::Overwritten),
                None => Ok(()),
            },
            RowChange::Remove(read) => self.remove(rows, read),
        }
    }

    fn remove(&mut self, rows: Rows<'_>, read: &MemoryRow) -> rusqlite::Result<()> {
        // Another process may have found the entry in another file meanwhile.
        let Some(row) = unchanged_row(rows, read)?.filter(|row| row.path == self.path) else { return Ok(()) };
        rows.delete(row.seq)?;
        self.claims.release_id(rows, &row.memory.id)?;
        self.report.removed += 1;
        self.touched.insert(row.memory.session_id);
        Ok(())
    }

    /// Inserts or updates the row of an entry. Looks it up again within the transaction, because another process may have added it.
    fn upsert(&mut self, rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<()> {
        let AssignedId { id, row, removed } = self.claims.assign_id(rows, memory, &self.path)?;
        self.report.removed += removed.len();
        self.touched.extend(removed.into_iter().map(|row| row.memory.session_id));
        let memory = Memory { id, ..memory.clone() };
        match row {
            Some(row) if !is_same(&row.memory, &memory) => {
                rows.delete(row.seq)?;
                let seq = rows.insert(&memory, &self.path, EntryState::Found)?;
                rows.set_access_count(seq, row.access_count)?;
                self.report.changed += 1;
                self.touched.extend([row.memory.session_id, memory.session_id]);
                Ok(())
            }
            Some(row) if row.path == self.path && !row.is_pending() => Ok(()),
            Some(row) => rows.set_entry_state(row.seq, &self.path, EntryState::Found),
            None => {
                rows.insert(&memory, &self.path, EntryState::Found)?;
                self.report.added += 1;
                self.touched.insert(memory.session_id);
                Ok(())
            }
        }
    }
}

/// Whether two memories are the same, including the offset of their time, which decides the day.
fn is_same(a: &Memory, b: &Memory) -> bool {
    a == b && a.at.offset_seconds() == b.at.offset_seconds()
}

#[cfg(test)]
mod tests;
