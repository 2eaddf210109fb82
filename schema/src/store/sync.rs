//! Brings the rows in step with a log, whoever changed it: capture that crashed half-way, a person, git, or a deletion.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use rusqlite::{OptionalExtension, params};

use super::{Access, Place, Row, Rows, Store, StoreError, sessions};
use crate::daily_log::{LogKind, Parsed, parse};
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
        Ok(stamp::changed(&self.layout, logs, self.known_files()?))
    }

    /// Whether a log changed since its rows were derived.
    pub fn is_stale(&self, path: &str) -> Result<bool, StoreError> {
        let sql = "SELECT mtime, size FROM files WHERE path = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(Stamp { mtime: row.get(0)?, size: row.get(1)? });
        let known = self.db.prepare_cached(sql)?.query_row([path], read).optional()?;
        Ok(LogKind::of(path).is_some() && known != Stamp::of(&self.layout.file(path)))
    }

    /// Forgets which logs are in step, so that all are read again.
    pub fn distrust_rows(&mut self) -> Result<(), StoreError> {
        self.transact(|rows| rows.0.execute("UPDATE files SET mtime = -1", []).map(drop))
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
                let rows = self.rows().by_path(path)?;
                drop(lock);
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
        let mut changes = Vec::new();
        for entry in parsed.entries {
            let place = Place { path: path.to_owned(), start_line: entry.start_line, end_line: entry.end_line };
            let (memory, row) = self.identify(entry.memory, path, &mut existing)?;
            match row {
                Some(row) if row.memory == memory && row.place == place => {}
                Some(row) if row.memory == memory => changes.push(Change::Move(row.seq, place)),
                Some(row) => changes.push(Change::Replace(Box::new(row), memory, place)),
                None => changes.push(Change::Add(memory, place)),
            }
        }
        changes.extend(existing.into_values().map(|row| Change::Remove(Box::new(row))));
        let mut report = SyncReport::default();
        let mut touched = BTreeSet::new();
        let project = self.project_name();
        for batch in changes.chunks(BATCH) {
            self.transact(|rows| {
                batch.iter().try_for_each(|change| change.apply(rows, &project, &mut report, &mut touched))
            })?;
        }
        self.transact(|rows| {
            touched.iter().try_for_each(|session| sessions::refresh(rows.0, session))?;
            match seen {
                Some((stamp, hash)) => save_stamp(rows, path, *stamp, hash),
                None => rows.0.execute("DELETE FROM files WHERE path = ?1", [path]).map(drop),
            }
        })?;
        Ok(report)
    }

    /// Finds the row of an entry of this file: its own, or that of another file from which the entry was moved here. A copy
    /// of an entry that still stands elsewhere is a memory of its own and gets an id of its own.
    fn identify(
        &self,
        memory: Memory,
        path: &str,
        existing: &mut HashMap<MemoryId, Row>,
    ) -> Result<(Memory, Option<Row>), StoreError> {
        if let Some(row) = existing.remove(&memory.id) {
            return Ok((memory, Some(row)));
        }
        let Some(row) = self.rows().by_id(&memory.id)? else { return Ok((memory, None)) };
        if row.place.path == path || !self.stands_in(&memory.id, &row.place.path)? {
            return Ok((memory, Some(row)));
        }
        for ordinal in 1.. {
            let id = MemoryId::derive(&memory.session_id, memory.kind, &memory.at, &memory.content, ordinal);
            let own = existing.remove(&id);
            if own.is_some() || self.rows().by_id(&id)?.is_none() {
                return Ok((Memory { id, ..memory }, own));
            }
        }
        unreachable!("some ordinal is free")
    }

    fn stands_in(&self, id: &MemoryId, path: &str) -> Result<bool, StoreError> {
        let Some(kind) = LogKind::of(path) else { return Ok(false) };
        let bytes = log_file::read(&self.layout.file(path))?;
        let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
        Ok(parsed.entries.iter().any(|entry| entry.memory.id == *id))
    }

    fn known_files(&self) -> rusqlite::Result<HashMap<String, Stamp>> {
        let mut statement = self.db.prepare_cached("SELECT path, mtime, size FROM files")?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Stamp { mtime: row.get(1)?, size: row.get(2)? }));
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
    Add(Memory, Place),
    Move(i64, Place),
    Replace(Box<Row>, Memory, Place),
    Remove(Box<Row>),
}

impl Change {
    fn apply(
        &self,
        rows: Rows<'_>,
        project: &str,
        report: &mut SyncReport,
        touched: &mut BTreeSet<String>,
    ) -> rusqlite::Result<()> {
        match self {
            Self::Add(memory, place) => {
                // A capture may have added the row of this very entry since we looked.
                if rows.by_id(&memory.id)?.is_none() {
                    rows.insert(memory, place, project)?;
                    report.added += 1;
                }
                touched.insert(memory.session_id.clone());
            }
            Self::Move(seq, place) => rows.move_to(*seq, place)?,
            Self::Replace(row, memory, place) => {
                rows.delete(row.seq)?;
                let seq = rows.insert(memory, place, project)?;
                rows.set_access_count(seq, row.access_count)?;
                report.changed += 1;
                touched.extend([row.memory.session_id.clone(), memory.session_id.clone()]);
            }
            Self::Remove(row) => {
                rows.delete(row.seq)?;
                report.removed += 1;
                touched.insert(row.memory.session_id.clone());
            }
        }
        Ok(())
    }
}

fn save_stamp(rows: Rows<'_>, path: &str, stamp: Stamp, hash: &str) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO files (path, hash, mtime, size, indexed_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let values = params![path, hash, stamp.mtime, stamp.size, Moment::now().utc()];
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
