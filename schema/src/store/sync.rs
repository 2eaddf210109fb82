//! Brings the rows in step with a log, whoever changed it: capture that crashed half-way, a person, git, or a deletion.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior};

use super::claims::{Claims, Settled};
use super::rows::Written;
use super::{Access, Row, Rows, Store, StoreError, sessions};
use crate::capture::{Delivery, Destination, Draft, Prepared};
use crate::crash;
use crate::daily_log::{LONG_TERM_FILE, LogKind, Parsed, parse};
use crate::forgotten::Forgotten;
use crate::layout::Layout;
use crate::lock::FileLock;
use crate::log_file::{self, now};
use crate::memory::{Memory, MemoryId};
use crate::spool;
use crate::stamp::{self, Stamp};

/// What bringing a log and its rows in step changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// What [`Store::catch_up`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaughtUp {
    /// Nothing: what was read of the rows before holds.
    WasInStep,
    /// It waited until the row of an entry was there.
    WithoutReading,
    ByReading(SyncReport),
    /// Another program is writing the log; its rows stay as they are until it has finished.
    NotYet,
}

/// How often a file that keeps changing is read again.
const ATTEMPTS: usize = 5;

/// Rows changed in one transaction, so that none holds up a hook for long.
const BATCH: usize = 200;

impl Store {
    /// The logs that changed since their rows were derived, those that are gone included.
    pub fn changed_logs(&self) -> Result<Vec<String>, StoreError> {
        Ok(stamp::changed(&self.layout, self.logs()?, self.known_files()?))
    }

    /// Every log that is there or has rows, whatever is known of it.
    pub fn all_logs(&self) -> Result<BTreeSet<String>, StoreError> {
        let known = self.known_files()?.into_keys().chain(self.rows().paths()?);
        Ok(self.logs()?.into_iter().chain(known).collect())
    }

    fn logs(&self) -> Result<Vec<String>, StoreError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(|source| self.io("list", self.layout.dir(), source))?;
        Ok(present.into_iter().filter(|path| LogKind::of(path).is_some()).collect())
    }

    /// Brings the rows of a log in step with it, if they are not.
    ///
    /// While an entry is captured its log is ahead of its rows for a moment. That is waited for, as it is far less than reading all of it,
    /// but not for longer than `patience`.
    pub fn catch_up(&mut self, path: &str, patience: Duration) -> Result<CaughtUp, StoreError> {
        if !self.is_stale(path)? {
            return Ok(CaughtUp::WasInStep);
        }
        let lock = match self.access {
            Access::Full => Some(FileLock::acquire(&self.layout.store_lock(), patience)?),
            Access::ReadOnly(_) => None,
        };
        // Under the lock nobody captures.
        if !self.is_stale(path)? {
            return Ok(CaughtUp::WithoutReading);
        }
        drop(lock);
        if self.is_being_rewritten(path)? {
            self.rows().note_disturbed(path, now())?;
            return Ok(CaughtUp::NotYet);
        }
        self.sync_log(path).map(CaughtUp::ByReading)
    }

    /// Derives the rows of one log from its text, unless another program is writing it. In a file that is no log no memory stands.
    pub fn sync_log(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let Some(kind) = LogKind::of(path) else { return self.drop_rows(path) };
        let mut work = Work::new(path, &self.layout);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let Some(Reading { seen, bytes, snapshot, lock, is_whole }) = self.reading(path)? else {
                return Ok(work.report);
            };
            let is_last = attempts >= ATTEMPTS;
            if !is_whole && !is_last {
                continue;
            }
            // Who captures waits only for what was overtaken again and again.
            let _held = lock.filter(|_| is_last);
            let rows = Rows(&snapshot).by_path(path)?;
            drop(snapshot);
            let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
            let is_done = self.apply(&mut work, parsed, &rows, &seen)?;
            // What is captured to a log that is not in step leaves it so.
            if is_done && (is_last || !self.is_stale(path)?) {
                return Ok(work.report);
            }
        }
    }

    /// Reads a log and its rows at a moment at which nobody captures, so that they belong together: rows that come later are not among
    /// these, and are never taken for deleted entries. The slow part comes later, because captures wait for the lock. `None` while
    /// another program is writing the log.
    fn reading(&self, path: &str) -> Result<Option<Reading<'_>>, StoreError> {
        let file = self.layout.file(path);
        let lock = self.lock_if_writable()?;
        if self.is_being_rewritten(path)? {
            return Ok(None);
        }
        let known = self.rows().known_log(path)?.map(|known| known.stamp);
        let stamp = Stamp::of(&file);
        let bytes = log_file::read(&file)?;
        let mark = self.rows().begin_reading(path)?;
        let snapshot = Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred)?;
        // A transaction sees what is there when something is read first.
        snapshot.query_row("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT 1)", [], |_| Ok(()))?;
        let is_whole = Stamp::of(&file) == stamp;
        Ok(Some(Reading { seen: Seen { mark, known, stamp }, bytes, snapshot, lock, is_whole }))
    }

    fn drop_rows(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let rows = self.rows().by_path(path)?;
        let report = SyncReport { removed: rows.len(), ..SyncReport::default() };
        if !rows.is_empty() {
            self.transact(|all| {
                rows.iter().try_for_each(|row| all.delete(row.seq))?;
                rows.iter().try_for_each(|row| sessions::refresh(all.0, &row.memory.session_id))
            })?;
        }
        Ok(report)
    }

    fn lock_if_writable(&self) -> Result<Option<FileLock>, StoreError> {
        Ok(if self.access == Access::Full { Some(self.lock()?) } else { None })
    }

    /// Applies the differences between `rows` and the log as it was read. `false` if another reading has begun since.
    fn apply(&mut self, work: &mut Work, parsed: Parsed, rows: &[Row], seen: &Seen) -> Result<bool, StoreError> {
        let path = work.path.clone();
        let path = path.as_str();
        work.claims = Claims::new(&self.layout);
        let changes = self.changes(path, parsed, rows)?;
        let is_mine = |rows: Rows<'_>| {
            let known = rows.known_log(path)?;
            Ok::<_, rusqlite::Error>(known.is_some_and(|known| known.reading == seen.mark))
        };
        let mut is_current = true;
        for batch in changes.chunks(BATCH) {
            is_current = self.transact(|rows| {
                if !is_mine(rows)? {
                    return Ok(false);
                }
                batch.iter().try_for_each(|change| work.apply(rows, change))?;
                Ok(true)
            })?;
            crash::point("sync.batch");
            if !is_current {
                break;
            }
        }
        crash::point("sync.rows");
        let touched = std::mem::take(&mut work.touched);
        self.transact(|rows| {
            touched.iter().try_for_each(|session| sessions::refresh(rows.0, session))?;
            if !is_current || !is_mine(rows)? {
                return Ok(false);
            }
            let known = rows.known_log(path)?.map(|known| known.stamp);
            match seen.stamp {
                // A capture in between has noted its own stamp.
                Some(stamp) if known == seen.known.or(known) => rows.note_read(path, stamp)?,
                Some(_) => {}
                None => rows.forget_log(path)?,
            }
            Ok(true)
        })
    }

    /// The differences between `rows` and the entries of their log. Puts overwritten entries into the spool.
    fn changes(&self, path: &str, parsed: Parsed, rows: &[Row]) -> Result<Vec<Change>, StoreError> {
        let mut existing: HashMap<MemoryId, &Row> = rows.iter().map(|row| (row.memory.id.clone(), row)).collect();
        let (mut changes, mut forgotten) = (Vec::new(), None);
        let mut is_forgotten = |memory: &Memory| {
            let forgotten = match &forgotten {
                Some(forgotten) => forgotten,
                None => forgotten.insert(Forgotten::read(&self.layout)?),
            };
            Ok::<_, StoreError>(forgotten.holds_entry(path, memory))
        };
        for memory in parsed.entries.into_iter().map(|entry| entry.memory) {
            let own = existing.remove(&memory.id).or_else(|| existing.remove(&memory.id.of_copy(path)));
            match own {
                // Neither its claim nor its day changed, so whose the id is was settled before.
                Some(row) if is_same(&row.memory, &Memory { id: row.memory.id.clone(), ..memory.clone() }) => {
                    if row.is_waiting() {
                        changes.push(Change::Arrive(row.seq));
                    }
                }
                Some(_) => changes.push(Change::Settle(memory)),
                None if is_forgotten(&memory)? => {}
                None => changes.push(Change::Settle(memory)),
            }
        }
        let missing: HashMap<MemoryId, &Row> = existing;
        let lost = match self.access {
            Access::Full => {
                let is_there = |memory: &Memory| !missing.contains_key(&memory.id);
                self.rows().overwritten(path, &self.layout.file(path), is_there)?
            }
            Access::ReadOnly(_) => Vec::new(),
        };
        let lost: HashSet<i64> = lost.into_iter().map(|row| row.seq).collect();
        for row in missing.into_values() {
            if row.is_waiting() {
                if !spool::holds(&self.layout, &row.memory) {
                    changes.push(Change::Remove(row.seq));
                }
            } else if lost.contains(&row.seq) && !is_forgotten(&row.memory)? {
                spool::put(&self.layout, &waiting_again(row))?;
                changes.push(Change::WaitAgain(row.seq));
            } else {
                changes.push(Change::Remove(row.seq));
            }
        }
        Ok(changes)
    }

    fn known_files(&self) -> rusqlite::Result<HashMap<String, Stamp>> {
        let mut statement = self.db.prepare_cached("SELECT path, state, size FROM files")?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Stamp { state: row.get(1)?, size: row.get(2)? }));
        statement.query_map([], read)?.collect()
    }

    pub(super) fn io(&self, doing: &'static str, path: &Path, source: std::io::Error) -> StoreError {
        StoreError::Io { doing, path: path.to_owned(), source }
    }

    /// When the logs were last brought in step with their rows, RFC 3339 in UTC.
    pub fn last_synced(&self) -> Result<Option<String>, StoreError> {
        Ok(self.db.query_row("SELECT max(read_at) FROM files", [], |row| row.get(0)).optional()?.flatten())
    }
}

/// A log and its rows as they were at one moment.
struct Reading<'s> {
    seen: Seen,
    bytes: Vec<u8>,
    snapshot: Transaction<'s>,
    lock: Option<FileLock>,
    /// Whether nobody changed the log while it was read.
    is_whole: bool,
}

/// The facts about a reading.
struct Seen {
    mark: String,
    /// The stamp noted before.
    known: Option<Stamp>,
    stamp: Option<Stamp>,
}

/// A memory whose entry is to be appended once more.
fn waiting_again(Row { memory, path, .. }: &Row) -> Prepared {
    let Memory { session_id, kind, content, at, attributes, .. } = memory.clone();
    let destination = if path == LONG_TERM_FILE { Destination::LongTerm } else { Destination::DailyLog };
    Prepared::delivered(Draft { session_id, kind, content, at, attributes, destination }, 0, Delivery::Replay)
}

/// One change of the rows.
enum Change {
    /// An entry that is new here or not what it was.
    Settle(Memory),
    /// The entry of the row with this number does not wait any more.
    Arrive(i64),
    /// Its entry was written over, and waits to be appended again.
    WaitAgain(i64),
    /// The row with this number is of no entry any more.
    Remove(i64),
}

/// What the changes of a log have in common.
struct Work {
    path: String,
    claims: Claims,
    report: SyncReport,
    /// The sessions whose rows are to be derived anew.
    touched: BTreeSet<String>,
}

impl Work {
    fn new(path: &str, layout: &Layout) -> Self {
        Self {
            path: path.to_owned(),
            claims: Claims::new(layout),
            report: SyncReport::default(),
            touched: BTreeSet::new(),
        }
    }

    fn apply(&mut self, rows: Rows<'_>, change: &Change) -> rusqlite::Result<()> {
        match change {
            Change::Settle(memory) => self.settle(rows, memory),
            Change::Arrive(seq) => rows.settle(*seq, &self.path, Written::Found),
            Change::WaitAgain(seq) => rows.settle(*seq, &self.path, Written::WaitingAgain),
            Change::Remove(seq) => self.remove(rows, *seq),
        }
    }

    fn remove(&mut self, rows: Rows<'_>, seq: i64) -> rusqlite::Result<()> {
        // Another process may have found its entry in another file meanwhile.
        let Some(row) = rows.by_seq(seq)?.filter(|row| row.path == self.path) else { return Ok(()) };
        rows.delete(seq)?;
        self.claims.release(rows, &row.memory.id)?;
        self.report.removed += 1;
        self.touched.insert(row.memory.session_id);
        Ok(())
    }

    /// Looks for the row once more, in the transaction: a capture may have added it since, or another process.
    fn settle(&mut self, rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<()> {
        let Settled { id, row, removed } = self.claims.settle(rows, memory, &self.path)?;
        self.report.removed += removed.len();
        self.touched.extend(removed.into_iter().map(|row| row.memory.session_id));
        let memory = Memory { id, ..memory.clone() };
        match row {
            Some(row) if !is_same(&row.memory, &memory) => {
                rows.delete(row.seq)?;
                let seq = rows.insert(&memory, &self.path, Written::Found)?;
                rows.set_access_count(seq, row.access_count)?;
                self.report.changed += 1;
                self.touched.extend([row.memory.session_id, memory.session_id]);
                Ok(())
            }
            Some(row) if row.path == self.path && !row.is_waiting() => Ok(()),
            Some(row) => rows.settle(row.seq, &self.path, Written::Found),
            None => {
                rows.insert(&memory, &self.path, Written::Found)?;
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
        sessions::add(self.0, memory)
    }

    /// Derives the row of a session anew after its memories changed.
    pub(crate) fn refresh_session(&self, session_id: &str) -> rusqlite::Result<()> {
        sessions::refresh(self.0, session_id)
    }
}

#[cfg(test)]
mod tests;
