//! Brings the rows in step with a log, whoever changed it: capture that crashed half-way, a person, git, or a deletion.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use super::claims::{Claims, Settled};
use super::tails::CAPTURED_TO;
use super::{Access, Place, Row, Rows, Store, StoreError, sessions};
use crate::crash;
use crate::daily_log::{LogKind, Parsed, parse};
use crate::forgotten::Forgotten;
use crate::log_file;
use crate::memory::{Memory, MemoryId, content_hash};
use crate::moment::Moment;
use crate::stamp::{self, Stamp};

/// What bringing a log and its rows in step changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SyncReport {
    pub added: usize,
    pub changed: usize,
    pub removed: usize,
}

/// How often a file that keeps changing is read again.
const ATTEMPTS: usize = 5;

/// Rows changed in one transaction, so that none holds up a hook for long.
const BATCH: usize = 200;

impl Store {
    /// The logs that changed since their rows were derived, those that are gone included.
    pub fn changed_logs(&self) -> Result<Vec<String>, StoreError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(|source| self.io("list", self.layout.dir(), source))?;
        let logs = present.into_iter().filter(|path| LogKind::of(path).is_some());
        let mut changed = Vec::new();
        for path in stamp::changed(&self.layout, logs, self.known_files()?) {
            if !self.was_only_captured_to(&path, Stamp::of(&self.layout.file(&path)))? {
                changed.push(path);
            }
        }
        Ok(changed)
    }

    /// Whether a log changed since its rows were derived.
    pub fn is_stale(&self, path: &str) -> Result<bool, StoreError> {
        let sql = "SELECT mtime, size FROM files WHERE path = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(Stamp { state: row.get(0)?, size: row.get(1)? });
        let known = self.db.prepare_cached(sql)?.query_row([path], read).optional()?;
        let now = Stamp::of(&self.layout.file(path));
        Ok(LogKind::of(path).is_some() && known != now && !self.was_only_captured_to(path, now)?)
    }

    /// Whether every change of a log up to this stamp was an entry whose row was written with it.
    fn was_only_captured_to(&self, path: &str, now: Option<Stamp>) -> Result<bool, StoreError> {
        Ok(now.map(|now| self.tail(path, now)).transpose()?.flatten().is_some())
    }

    /// Forgets which logs are in step, so that all are read again.
    pub fn distrust_rows(&mut self) -> Result<(), StoreError> {
        self.transact(|rows| {
            // Rows of a log that is not there and of which nobody noted that it was are rows of nothing.
            let sql = "INSERT OR IGNORE INTO files SELECT DISTINCT path, '', -1, -1, '' FROM memories";
            rows.0.execute(sql, [])?;
            rows.0.execute("UPDATE files SET mtime = -1", [])?;
            rows.forget_tails()
        })
    }

    /// Derives the rows of one log from its text. A path that is no log is none of our business.
    pub fn sync_log(&mut self, path: &str) -> Result<SyncReport, StoreError> {
        let Some(kind) = LogKind::of(path) else { return Ok(SyncReport::default()) };
        let file = self.layout.file(path);
        for attempt in 1.. {
            let stamp = Stamp::of(&file);
            let bytes = log_file::read(&file)?;
            let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
            let lock = if self.access == Access::Full { Some(self.lock()?) } else { None };
            // Under the lock no capture runs: what the file holds now and which rows it has belong together. Rows that come
            // later are not in `rows` and so are never taken for deleted entries.
            if Stamp::of(&file) == stamp || attempt == ATTEMPTS {
                // As they are at this moment, read afterwards: whoever captures meanwhile does not wait for thousands of rows.
                let snapshot = Transaction::new_unchecked(&self.db, TransactionBehavior::Deferred)?;
                snapshot.query_row("SELECT count(*) FROM (SELECT 1 FROM memories LIMIT 1)", [], |_| Ok(()))?;
                drop(lock);
                let rows = Rows(&snapshot).by_path(path)?;
                drop(snapshot);
                let seen = stamp.map(|stamp| (stamp, content_hash(&String::from_utf8_lossy(&bytes))));
                return self.apply(path, parsed, rows, seen.as_ref());
            }
        }
        unreachable!("the last attempt returns")
    }

    fn apply(
        &mut self,
        path: &str,
        parsed: Parsed,
        rows: Vec<Row>,
        seen: Option<&(Stamp, String)>,
    ) -> Result<SyncReport, StoreError> {
        let mut existing: HashMap<MemoryId, Row> = rows.into_iter().map(|row| (row.memory.id.clone(), row)).collect();
        let (mut changes, mut forgotten) = (Vec::new(), None);
        for entry in parsed.entries {
            let place = Place { path: path.to_owned(), start_line: entry.start_line, end_line: entry.end_line };
            let memory = entry.memory;
            let own = existing.remove(&memory.id).or_else(|| existing.remove(&memory.id.of_copy(path)));
            match own {
                // Neither its claim nor its day changed, so whose the id is was settled before.
                Some(row) if is_same(&row.memory, &Memory { id: row.memory.id.clone(), ..memory.clone() }) => {
                    if row.place != place {
                        changes.push(Change::Move(row.seq, place));
                    }
                }
                Some(_) => changes.push(Change::Settle(memory, place)),
                None => {
                    let forgotten = match &forgotten {
                        Some(forgotten) => forgotten,
                        None => forgotten.insert(Forgotten::read(&self.layout)?),
                    };
                    if !forgotten.holds_entry(path, &memory) {
                        changes.push(Change::Settle(memory, place));
                    }
                }
            }
        }
        changes.extend(existing.into_values().map(|row| Change::Remove(row.seq)));
        let mut work = Work {
            path: path.to_owned(),
            claims: Claims::new(&self.layout),
            report: SyncReport::default(),
            touched: BTreeSet::new(),
        };
        for batch in changes.chunks(BATCH) {
            self.transact(|rows| batch.iter().try_for_each(|change| work.apply(rows, change)))?;
            crash::point("sync.batch");
        }
        crash::point("sync.rows");
        let Work { report, touched, .. } = work;
        self.transact(|rows| {
            touched.iter().try_for_each(|session| sessions::refresh(rows.0, session))?;
            match seen {
                Some((stamp, hash)) => save_stamp(rows, path, *stamp, hash),
                None => {
                    rows.forget_tail(path)?;
                    rows.0.execute("DELETE FROM files WHERE path = ?1", [path]).map(drop)
                }
            }
        })?;
        Ok(report)
    }

    /// The logs that were read, or only captured to, which have no stamp: so that one that is gone is missed.
    fn known_files(&self) -> rusqlite::Result<HashMap<String, Stamp>> {
        let sql = format!("SELECT path, -1, -1 FROM ({CAPTURED_TO}) UNION ALL SELECT path, mtime, size FROM files");
        let mut statement = self.db.prepare_cached(&sql)?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Stamp { state: row.get(1)?, size: row.get(2)? }));
        statement.query_map([], read)?.collect()
    }

    pub(super) fn io(&self, doing: &'static str, path: &Path, source: std::io::Error) -> StoreError {
        StoreError::Io { doing, path: path.to_owned(), source }
    }

    /// When the logs were last brought in step with their rows, RFC 3339 in UTC.
    pub fn last_synced(&self) -> Result<Option<String>, StoreError> {
        Ok(self.db.query_row("SELECT max(indexed_at) FROM files", [], |row| row.get(0)).optional()?.flatten())
    }
}

/// One change of the rows.
enum Change {
    /// An entry that is new here or not what it was.
    Settle(Memory, Place),
    Move(i64, Place),
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
    fn apply(&mut self, rows: Rows<'_>, change: &Change) -> rusqlite::Result<()> {
        match change {
            Change::Settle(memory, place) => self.settle(rows, memory, place)?,
            Change::Move(seq, place) => rows.move_to(*seq, place)?,
            Change::Remove(seq) => self.remove(rows, *seq)?,
        }
        Ok(())
    }

    fn remove(&mut self, rows: Rows<'_>, seq: i64) -> rusqlite::Result<()> {
        // Another process may have found its entry in another file meanwhile.
        let Some(row) = rows.by_seq(seq)?.filter(|row| row.place.path == self.path) else { return Ok(()) };
        rows.delete(seq)?;
        self.claims.release(rows, &row.memory.id)?;
        self.report.removed += 1;
        self.touched.insert(row.memory.session_id);
        Ok(())
    }

    /// Looks for the row once more, in the transaction: a capture may have added it since, or another process.
    fn settle(&mut self, rows: Rows<'_>, memory: &Memory, place: &Place) -> rusqlite::Result<()> {
        let Settled { id, row, removed } = self.claims.settle(rows, memory, place)?;
        self.report.removed += removed.len();
        self.touched.extend(removed.into_iter().map(|row| row.memory.session_id));
        let memory = Memory { id, ..memory.clone() };
        match row {
            Some(row) if !is_same(&row.memory, &memory) => self.replace(rows, &row, &memory, place),
            Some(row) => rows.move_to(row.seq, place),
            None => {
                rows.insert(&memory, place)?;
                self.report.added += 1;
                self.touched.insert(memory.session_id);
                Ok(())
            }
        }
    }

    fn replace(&mut self, rows: Rows<'_>, row: &Row, memory: &Memory, place: &Place) -> rusqlite::Result<()> {
        rows.delete(row.seq)?;
        let seq = rows.insert(memory, place)?;
        rows.set_access_count(seq, row.access_count)?;
        self.report.changed += 1;
        self.touched.extend([row.memory.session_id.clone(), memory.session_id.clone()]);
        Ok(())
    }
}

/// Two moments are equal at different offsets; here the offset counts, because it tells the day.
fn is_same(a: &Memory, b: &Memory) -> bool {
    a == b && a.at.offset_seconds() == b.at.offset_seconds()
}

fn save_stamp(rows: Rows<'_>, path: &str, stamp: Stamp, hash: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO files (path, hash, mtime, size, indexed_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![path, hash, stamp.state, stamp.size, Moment::now().utc()];
    rows.0.prepare_cached(sql)?.execute(values).map(drop)
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
