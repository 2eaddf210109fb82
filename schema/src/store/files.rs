//! The state of each log: whether the rows match it, and our own last change.
//!
//! Capture notes the stamp of a log in the transaction that inserts the row of what it appended. Any other change of the file shows by its
//! stamp, and the log is read again.

use std::path::Path;

use rusqlite::{OptionalExtension as _, params};

use super::{Row, Rows, Store, StoreError};
use crate::daily_log::LogKind;
use crate::log_file::{self, LastChange, Look, now};
use crate::memory::Memory;
use crate::moment::Moment;
use crate::stamp::Stamp;

/// A log whose rows match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InStep {
    pub stamp: Stamp,
    /// Another one whenever the log was read. Since then nothing but memories came to its end. It is empty if this database never read it.
    pub reading: String,
}

/// The row of a log in `files`; memory.sql describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownLog {
    pub(crate) stamp: Stamp,
    own_state: Option<i64>,
    pub(super) reading: String,
    pub(crate) disturbed_at: Option<i64>,
    saved_at: Option<i64>,
}

impl KnownLog {
    /// When another program saved the log last, as far as it shows, in milliseconds since 1970.
    pub(crate) fn saved_at(&self, look: &Look) -> Option<i64> {
        if self.own(look.stamp).is_some() { self.saved_at } else { look.saved_at() }
    }

    /// Who changed a log last, according to `known` and to its metadata.
    pub(crate) fn last_change(known: Option<&Self>, look: &Look) -> LastChange {
        match known {
            Some(known) => known.own(look.stamp).map_or(LastChange::Unknown, LastChange::Ours),
            None if look.stamp.is_none() => LastChange::None,
            None => LastChange::Unknown,
        }
    }

    /// The stamp of the log if nobody has changed it since we did.
    pub(crate) fn own(&self, now: Option<Stamp>) -> Option<Stamp> {
        now.filter(|now| self.own_state == Some(now.state) && self.stamp.size == now.size)
    }
}

impl Store {
    /// The state of a log that matches its rows; `None` for any other log, and for a file that is no log.
    pub fn in_step(&self, name: &str) -> Result<Option<InStep>, StoreError> {
        let stamp = Stamp::of(&self.layout.file(name)).filter(|_| LogKind::of(name).is_some());
        let known = self.rows().known_log(name)?;
        let is_in_step = |known: &KnownLog| Some(known.stamp) == stamp;
        Ok(known.filter(is_in_step).map(|KnownLog { stamp, reading, .. }| InStep { stamp, reading }))
    }

    /// Whether a log changed since its rows were derived.
    pub fn is_stale(&self, name: &str) -> Result<bool, StoreError> {
        let known = self.rows().known_log(name)?.map(|known| known.stamp);
        Ok(LogKind::of(name).is_some() && known != Stamp::of(&self.layout.file(name)))
    }

    /// Whether another program seems to be in the middle of writing a log.
    pub(crate) fn is_being_rewritten(&self, name: &str) -> Result<bool, StoreError> {
        let known = self.rows().known_log(name)?;
        Ok(Look::at(&self.layout.file(name)).is_being_rewritten(known.as_ref().map(|known| known.stamp.size)))
    }

    /// The same of any log that is to be read.
    pub fn is_any_log_being_rewritten(&self) -> Result<bool, StoreError> {
        for name in self.changed_logs()? {
            if self.is_being_rewritten(&name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces a log by what `edit` makes of it; see [`log_file::rewrite`]. Its rows are to be brought in step afterwards. The caller
    /// holds the store lock.
    pub(crate) fn rewrite_log(
        &self,
        name: &str,
        edit: impl FnMut(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<bool, StoreError> {
        let path = self.layout.file(name);
        // Entries that we remove ourselves are not overwritten ones.
        self.rows().forget_when_written(name)?;
        let last = KnownLog::last_change(self.rows().known_log(name)?.as_ref(), &Look::at(&path));
        let is_changed = log_file::rewrite(&path, last, log_file::PATIENCE, edit)?;
        if is_changed {
            self.rows().note_rewrite(name, Stamp::of(&path))?;
        }
        Ok(is_changed)
    }
}

/// How long before a file was saved an entry of ours may have been appended that the save does not have because an editor had the file
/// open, in milliseconds.
const OVERWRITTEN: i64 = 10_000;

/// How far the clock of the disk may be behind ours, in milliseconds.
const SLACK: i64 = 1_000;

impl Rows<'_> {
    /// The memories whose entries another program overwrote: the last ones that we appended, in the ten seconds before it saved, and that
    /// are missing in the file at `path`. Oldest first.
    pub(crate) fn overwritten(
        &self,
        name: &str,
        path: &Path,
        is_there: impl Fn(&Memory) -> bool,
    ) -> rusqlite::Result<Vec<Row>> {
        let Some(saved_at) = Look::at(path).saved_at() else { return Ok(Vec::new()) };
        let disturbed_at = self.known_log(name)?.and_then(|known| known.disturbed_at).unwrap_or(saved_at);
        let from = saved_at.min(disturbed_at) - OVERWRITTEN;
        let recent = self.written_since(name, from)?.into_iter();
        let mut lost: Vec<Row> = recent.take_while(|row| !is_there(&row.memory)).collect();
        // An entry that came after the save was not overwritten by it.
        lost.retain(|row| row.written_at.is_some_and(|at| at <= saved_at + SLACK));
        lost.reverse();
        Ok(lost)
    }

    pub(crate) fn known_log(&self, name: &str) -> rusqlite::Result<Option<KnownLog>> {
        let sql = "SELECT state, size, own_state, reading, disturbed_at, saved_at FROM files WHERE path = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let stamp = Stamp { state: row.get(0)?, size: row.get(1)? };
            let (disturbed_at, saved_at) = (row.get(4)?, row.get(5)?);
            Ok(KnownLog { stamp, own_state: row.get(2)?, reading: row.get(3)?, disturbed_at, saved_at })
        };
        self.0.prepare_cached(sql)?.query_row([name], read).optional()
    }

    /// Notes our change of a log and its stamp `after` that. `saved_at` is when another program saved it last. A log that did not match its
    /// rows before does not match them now.
    pub(crate) fn note_change(
        &self,
        name: &str,
        after: Stamp,
        saved_at: Option<i64>,
        is_in_step: bool,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO files (path, state, size, own_state, saved_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (path) DO UPDATE SET state = excluded.state, size = excluded.size, own_state = excluded.own_state,
                 saved_at = excluded.saved_at, disturbed_at = NULL";
        let state = if is_in_step { after.state } else { Stamp::to_be_read(after.size).state };
        self.0.prepare_cached(sql)?.execute(params![name, state, after.size, after.state, saved_at]).map(drop)
    }

    /// Forgets that entries of a log were appended lately, so that none of them comes again when it is gone.
    fn forget_when_written(&self, name: &str) -> rusqlite::Result<()> {
        // Earlier ones count as deleted anyway.
        let from = now() - 2 * OVERWRITTEN;
        let sql = "UPDATE memories SET written_at = NULL WHERE path = ?1 AND written_at >= ?2";
        self.0.prepare_cached(sql)?.execute(params![name, from]).map(drop)
    }

    /// Notes that we rewrote a log, or deleted it.
    pub(crate) fn note_rewrite(&self, name: &str, after: Option<Stamp>) -> rusqlite::Result<()> {
        match after {
            Some(after) => self.note_change(name, after, None, false),
            None => self.forget_log(name),
        }
    }

    /// Notes that another program is writing a log, and answers since when, in milliseconds since 1970.
    pub(crate) fn note_disturbed(&self, name: &str, now: i64) -> rusqlite::Result<i64> {
        let sql =
            "INSERT INTO files (path, state, size, disturbed_at) VALUES (?1, -1, 0, ?2) ON CONFLICT (path) DO UPDATE
             SET disturbed_at = min(ifnull(disturbed_at, ?2), ?2) RETURNING disturbed_at";
        self.0.prepare_cached(sql)?.query_row(params![name, now], |row| row.get(0))
    }

    /// Begins a reading of a log and returns its mark. An earlier reading that is not finished starts again.
    pub(super) fn begin_reading(&self, name: &str) -> rusqlite::Result<String> {
        let sql = "INSERT INTO files (path, state, size, reading) VALUES (?1, -1, 0, lower(hex(randomblob(8))))
             ON CONFLICT (path) DO UPDATE SET reading = excluded.reading RETURNING reading";
        self.0.prepare_cached(sql)?.query_row([name], |row| row.get(0))
    }

    /// Notes that the rows match a log as it was read.
    pub(super) fn note_read(&self, name: &str, stamp: Stamp) -> rusqlite::Result<()> {
        let sql = "UPDATE files SET state = ?2, size = ?3, read_at = ?4, disturbed_at = NULL WHERE path = ?1";
        self.0.prepare_cached(sql)?.execute(params![name, stamp.state, stamp.size, Moment::now().utc()]).map(drop)
    }

    /// Forgets what is known of a log, so that it is read again if it is there.
    pub(crate) fn forget_log(&self, name: &str) -> rusqlite::Result<()> {
        self.0.prepare_cached("DELETE FROM files WHERE path = ?1")?.execute([name]).map(drop)
    }
}
