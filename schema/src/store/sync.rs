//! Brings the rows in step with a log, whoever changed it: capture that crashed half-way, a person, git, or a deletion.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use super::id_claims::{IdClaims, SettledClaim};
use super::rows::EntryState;
use super::{MemoryRow, Rows, Store, StoreAccess, StoreError, sessions};
use crate::files::crash_point;
use crate::files::file_stamp::{self, FileStamp};
use crate::files::layout::Layout;
use crate::files::lock::FileLock;
use crate::log::log_file::{self, now_millis};
use crate::log::{LogKind, ParsedLog, parse};
use crate::model::memory::{Memory, MemoryId};
use crate::model::state_note::StateNote;
use crate::store::forgotten::ForgottenHashes;

/// What bringing a log and its rows in step changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// What [`Store::catch_up`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatchUpOutcome {
    /// Nothing: what was read of the rows before holds.
    AlreadyInSync,
    /// It waited until the row of an entry was there.
    SyncedUnread,
    SyncedByReading(SyncReport),
    /// Another program is writing the log; its rows stay as they are until it has finished.
    Busy,
}

/// How often a file that keeps changing is read again.
const ATTEMPTS: usize = 5;

/// Rows changed in one transaction, so that none holds up a hook for long.
const BATCH: usize = 200;

impl Store {
    /// The logs that changed since their rows were derived, those that are gone included.
    pub fn changed_logs(&self) -> Result<Vec<String>, StoreError> {
        Ok(file_stamp::changed_paths(&self.layout, self.existing_logs()?, self.known_files()?))
    }

    /// Every log that is there or has rows, whatever is known of it.
    pub fn all_logs(&self) -> Result<BTreeSet<String>, StoreError> {
        let known = self.known_files()?.into_keys().chain(self.rows().paths()?);
        Ok(self.existing_logs()?.into_iter().chain(known).collect())
    }

    fn existing_logs(&self) -> Result<Vec<String>, StoreError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(|source| self.io_error("list", self.layout.store_dir(), source))?;
        Ok(present.into_iter().filter(|path| LogKind::from_path(path).is_some()).collect())
    }

    /// Brings the rows of a log in step with it, if they are not.
    ///
    /// While an entry is captured its log is ahead of its rows for a moment. That is waited for, as it is far less than reading all of it,
    /// but not for longer than `patience`.
    pub fn catch_up(&mut self, path: &str, patience: Duration) -> Result<CatchUpOutcome, StoreError> {
        if !self.is_stale(path)? {
            return Ok(CatchUpOutcome::AlreadyInSync);
        }
        self.catch_up_stale(path, patience)
    }

    /// [`Store::catch_up`] with a log that was ahead of its rows a moment ago.
    fn catch_up_stale(&mut self, path: &str, patience: Duration) -> Result<CatchUpOutcome, StoreError> {
        let lock = match self.access {
            StoreAccess::Full => Some(FileLock::acquire(&self.layout.store_lock(), patience)?),
            StoreAccess::ReadOnly(_) => None,
        };
        // Under the lock nobody captures.
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

    /// Derives the rows of one log from its text, unless another program is writing it. In a file that is no log no memory stands.
    pub fn sync_log(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let Some(kind) = LogKind::from_path(path) else { return self.delete_rows(path) };
        let mut work = SyncBatch::new(path, &self.layout);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let Some(LogSnapshot { mut seen, bytes, snapshot, lock, is_complete: is_whole }) =
                self.snapshot_log(path)?
            else {
                return Ok(work.report);
            };
            let is_last = attempts >= ATTEMPTS;
            if !is_whole && !is_last {
                continue;
            }
            // Who captures waits only for what was overtaken again and again.
            let _held = lock.filter(|_| is_last);
            let rows = Rows(&snapshot).by_path(path)?;
            seen.notes = Rows(&snapshot).notes_in(path)?;
            drop(snapshot);
            let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
            let is_done = self.apply_changes(&mut work, parsed, &rows, &seen)?;
            // What is captured to a log that is not in step leaves it so.
            if is_done && (is_last || !self.is_stale(path)?) {
                return Ok(work.report);
            }
        }
    }

    /// Reads a log and its rows at a moment at which nobody captures, so that they belong together: rows that come later are not among
    /// these, and are never taken for deleted entries. The slow part comes later, because captures wait for the lock. `None` while
    /// another program is writing the log.
    fn snapshot_log(&self, path: &str) -> Result<Option<LogSnapshot<'_>>, StoreError> {
        let file = self.layout.store_path(path);
        let lock = self.lock_if_writable()?;
        if self.is_being_rewritten(path)? {
            return Ok(None);
        }
        let known = self.rows().log_state(path)?.map(|known| known.stamp);
        let stamp = FileStamp::read(&file);
        let bytes = log_file::read(&file)?;
        let mark = self.rows().begin_reading(path)?;
        let snapshot = Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred)?;
        // A transaction sees what is there when something is read first.
        snapshot.query_row("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT 1)", [], |_| Ok(()))?;
        let is_whole = FileStamp::read(&file) == stamp;
        Ok(Some(LogSnapshot {
            seen: ReadState { mark, state: known, stamp, notes: Vec::new() },
            bytes,
            snapshot,
            lock,
            is_complete: is_whole,
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
                rows.iter().try_for_each(|row| sessions::refresh_session(all.0, &row.memory.session_id))
            })?;
        }
        Ok(report)
    }

    fn lock_if_writable(&self) -> Result<Option<FileLock>, StoreError> {
        Ok(if self.access == StoreAccess::Full { Some(self.lock()?) } else { None })
    }

    /// Applies the differences between `rows` and the log as it was read. `false` if another reading has begun since.
    fn apply_changes(
        &mut self,
        work: &mut SyncBatch,
        mut parsed: ParsedLog,
        rows: &[MemoryRow],
        seen: &ReadState,
    ) -> Result<bool, StoreError> {
        let path = work.path.clone();
        let path = path.as_str();
        work.claims = IdClaims::new(&self.layout);
        let found = std::mem::take(&mut parsed.notes);
        let changes = self.diff_rows(path, parsed, rows)?;
        let is_mine = |rows: Rows<'_>| {
            let known = rows.log_state(path)?;
            Ok::<_, rusqlite::Error>(known.is_some_and(|known| known.read_mark == seen.mark))
        };
        let mut is_current = true;
        for batch in changes.chunks(BATCH) {
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
            touched.iter().try_for_each(|session| sessions::refresh_session(rows.0, session))?;
            if !is_current || !is_mine(rows)? {
                return Ok(false);
            }
            rows.replace_notes(path, &seen.notes, &found)?;
            let known = rows.log_state(path)?.map(|known| known.stamp);
            match seen.stamp {
                // A capture in between has noted its own stamp.
                Some(stamp) if known == seen.state.or(known) => rows.record_read(path, stamp)?,
                Some(_) => {}
                None => rows.delete_log_state(path)?,
            }
            Ok(true)
        })
    }

    /// The differences between `rows` and the entries of their log.
    fn diff_rows(&self, path: &str, parsed: ParsedLog, rows: &[MemoryRow]) -> Result<Vec<RowChange>, StoreError> {
        let mut existing: HashMap<MemoryId, &MemoryRow> = rows.iter().map(|row| (row.memory.id.clone(), row)).collect();
        let (mut changes, mut forgotten) = (Vec::new(), None);
        let mut is_forgotten = |memory: &Memory| {
            let forgotten = match &forgotten {
                Some(forgotten) => forgotten,
                None => forgotten.insert(ForgottenHashes::read(&self.layout)?),
            };
            Ok::<_, StoreError>(forgotten.contains_entry(path, memory))
        };
        for memory in parsed.entries.into_iter().map(|entry| entry.memory) {
            let own = existing.remove(&memory.id).or_else(|| existing.remove(&memory.id.for_copy(path)));
            match own {
                // Neither its claim nor its day changed, so whose the id is was settled before.
                Some(row) if is_same(&row.memory, &Memory { id: row.memory.id.clone(), ..memory.clone() }) => {
                    if row.is_pending() {
                        changes.push(RowChange::Insert(row.seq));
                    }
                }
                Some(_) => changes.push(RowChange::SetState(memory)),
                None if is_forgotten(&memory)? => {}
                None => changes.push(RowChange::SetState(memory)),
            }
        }
        let missing: HashMap<MemoryId, &MemoryRow> = existing;
        let is_there = |memory: &Memory| !missing.contains_key(&memory.id);
        let lost = self.rows().overwritten_rows(path, &self.layout.store_path(path), is_there)?;
        let lost: HashSet<i64> = lost.into_iter().map(|row| row.seq).collect();
        changes.extend(missing.values().filter(|row| !row.is_pending()).map(|row| match lost.contains(&row.seq) {
            true => RowChange::Respool(row.seq),
            false => RowChange::Remove(row.seq),
        }));
        Ok(changes)
    }

    fn known_files(&self) -> rusqlite::Result<HashMap<String, FileStamp>> {
        let mut statement = self.db.prepare_cached("SELECT path, state, size FROM files")?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, FileStamp { state: row.get(1)?, size: row.get(2)? }));
        statement.query_map([], read)?.collect()
    }

    pub(super) fn io_error(&self, doing: &'static str, path: &Path, source: std::io::Error) -> StoreError {
        StoreError::Io { doing, path: path.to_owned(), source }
    }

    /// When the logs were last brought in step with their rows, RFC 3339 in UTC.
    pub fn last_synced(&self) -> Result<Option<String>, StoreError> {
        Ok(self.db.query_row("SELECT max(read_at) FROM files", [], |row| row.get(0)).optional()?.flatten())
    }
}

/// A log and its rows as they were at one moment.
struct LogSnapshot<'s> {
    seen: ReadState,
    bytes: Vec<u8>,
    snapshot: Transaction<'s>,
    lock: Option<FileLock>,
    /// Whether nobody changed the log while it was read.
    is_complete: bool,
}

/// The facts about a reading.
struct ReadState {
    mark: String,
    /// The stamp noted before.
    state: Option<FileStamp>,
    stamp: Option<FileStamp>,
    /// The notes of the log as rows.
    notes: Vec<StateNote>,
}

/// One change of the rows.
enum RowChange {
    /// An entry that is new here or not what it was.
    SetState(Memory),
    /// The entry of the row with this number does not wait any more.
    Insert(i64),
    /// Its entry was written over, and waits to be appended again.
    Respool(i64),
    /// The row with this number is of no entry any more.
    Remove(i64),
}

/// What the changes of a log have in common.
struct SyncBatch {
    path: String,
    claims: IdClaims,
    report: SyncReport,
    /// The sessions whose rows are to be derived anew.
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

    fn apply(&mut self, rows: Rows<'_>, change: &RowChange) -> rusqlite::Result<()> {
        match change {
            RowChange::SetState(memory) => self.settle(rows, memory),
            RowChange::Insert(seq) => rows.set_entry_state(*seq, &self.path, EntryState::Found),
            RowChange::Respool(seq) => rows.set_entry_state(*seq, &self.path, EntryState::Overwritten),
            RowChange::Remove(seq) => self.remove(rows, *seq),
        }
    }

    fn remove(&mut self, rows: Rows<'_>, seq: i64) -> rusqlite::Result<()> {
        // Another process may have found its entry in another file meanwhile.
        let Some(row) = rows.by_seq(seq)?.filter(|row| row.path == self.path) else { return Ok(()) };
        rows.delete(seq)?;
        self.claims.release_id(rows, &row.memory.id)?;
        self.report.removed += 1;
        self.touched.insert(row.memory.session_id);
        Ok(())
    }

    /// Looks for the row once more, in the transaction: a capture may have added it since, or another process.
    fn settle(&mut self, rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<()> {
        let SettledClaim { id, row, removed } = self.claims.settle_id(rows, memory, &self.path)?;
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

/// Two moments are equal at different offsets; here the offset counts, because it tells the day.
fn is_same(a: &Memory, b: &Memory) -> bool {
    a == b && a.at.offset_seconds() == b.at.offset_seconds()
}

impl Rows<'_> {
    /// Brings the row of a session up to a memory that was just inserted.
    pub(crate) fn add_to_session(&self, memory: &Memory) -> rusqlite::Result<()> {
        sessions::add_memory(self.0, memory)
    }

    /// Derives the row of a session anew after its memories changed.
    pub fn refresh_session(&self, session_id: &str) -> rusqlite::Result<()> {
        sessions::refresh_session(self.0, session_id)
    }
}

#[cfg(test)]
mod tests;
