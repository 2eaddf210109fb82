//! The state of each log: whether the rows match it, and our own last change.
//!
//! Capture records the stamp of a log in the transaction that inserts the row of the appended entry. Any other change of the file shows in
//! its stamp, and the log is read again.

use std::path::Path;

use rusqlite::{OptionalExtension as _, params};

use super::{MemoryRow, Rows, Store, StoreError};
use crate::files::file_stamp::FileStamp;
use crate::files::layout::Layout;
use crate::log::LogKind;
use crate::log::log_file::{self, FileState, LastChange, now_millis};
use crate::model::memory::Memory;
use crate::model::moment::Moment;

/// The state of a log whose rows match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncedLog {
    pub stamp: FileStamp,
    /// Changes whenever the log is read. While it is the same, the log only grew by memories at its end. Empty if this database never read
    /// the log.
    pub read_mark: String,
}

/// The row of a log in `files`; memory.sql describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogState {
    pub(crate) stamp: FileStamp,
    own_state: Option<i64>,
    pub(super) read_mark: String,
    pub(crate) disturbed_at: Option<i64>,
    saved_at: Option<i64>,
}

impl LogState {
    /// When another program last saved the log, as far as that shows, in milliseconds since 1970.
    pub(crate) fn saved_at(&self, file_state: &FileState) -> Option<i64> {
        if self.own_stamp(file_state.stamp).is_some() { self.saved_at } else { file_state.saved_at() }
    }

    /// Returns whose last change of a log was, according to `known` and the file's metadata.
    pub(crate) fn last_change(known: Option<&Self>, file_state: &FileState) -> LastChange {
        match known {
            Some(known) => known.own_stamp(file_state.stamp).map_or(LastChange::Unknown, LastChange::Ours),
            None if file_state.stamp.is_none() => LastChange::Unchanged,
            None => LastChange::Unknown,
        }
    }

    /// Returns the stamp of the log if the last change was ours.
    pub(crate) fn own_stamp(&self, now: Option<FileStamp>) -> Option<FileStamp> {
        now.filter(|now| self.own_state == Some(now.state) && self.stamp.size == now.size)
    }
}

impl Store {
    /// Returns the state of a log that matches its rows, or `None` for any other log or file.
    pub fn synced_log(&self, name: &str) -> Result<Option<SyncedLog>, StoreError> {
        let stamp = FileStamp::read(&self.layout.store_path(name)).filter(|_| LogKind::from_path(name).is_some());
        let known = self.rows().log_state(name)?;
        let is_in_sync = |known: &LogState| Some(known.stamp) == stamp;
        Ok(known.filter(is_in_sync).map(|LogState { stamp, read_mark, .. }| SyncedLog { stamp, read_mark }))
    }

    /// Whether a log changed since its rows were derived.
    pub fn is_stale(&self, name: &str) -> Result<bool, StoreError> {
        let known = self.rows().log_state(name)?.map(|known| known.stamp);
        Ok(LogKind::from_path(name).is_some() && known != FileStamp::read(&self.layout.store_path(name)))
    }

    /// Whether another program seems to be writing a log.
    pub(crate) fn is_being_rewritten(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.rows().is_being_rewritten(&self.layout, name)?)
    }

    /// Whether another program seems to be writing any of the changed logs.
    pub fn is_any_log_being_rewritten(&self) -> Result<bool, StoreError> {
        for name in self.changed_logs()? {
            if self.is_being_rewritten(&name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Replaces a log with what `edit` returns; see [`log_file::rewrite_with`]. The caller holds the store lock and synchronises the rows
    /// afterwards.
    pub fn rewrite_log(&self, name: &str, edit: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> Result<bool, StoreError> {
        let path = self.layout.store_path(name);
        // Entries that we remove ourselves must not count as overwritten.
        self.rows().clear_append_times(name)?;
        let last = LogState::last_change(self.rows().log_state(name)?.as_ref(), &FileState::read(&path));
        let is_changed = log_file::rewrite_with(&path, last, log_file::MAX_WAIT, edit)?;
        if is_changed {
            self.rows().record_rewrite(name, FileStamp::read(&path))?;
        }
        Ok(is_changed)
    }
}

/// The most milliseconds between the append of an entry and a save that overwrites it, because an editor had the file open.
const OVERWRITE_REACH: i64 = 10_000;

/// The age in milliseconds that a restored entry begins with. A save within two seconds had read the file before the restoration, so the
/// entry counts as overwritten again. A later save without it deletes it on purpose.
pub(crate) const RESTORED_AGE: i64 = OVERWRITE_REACH - 2_000;

/// The most milliseconds that the clock of the disk may be behind ours.
const CLOCK_SLACK: i64 = 1_000;

impl Rows<'_> {
    /// Returns the memories whose entries another program overwrote: the last ones that we appended, in the ten seconds before it saved, if
    /// they are missing in the file at `path`. Oldest first.
    pub(crate) fn overwritten_rows(
        &self,
        name: &str,
        path: &Path,
        is_there: impl Fn(&Memory) -> bool,
    ) -> rusqlite::Result<Vec<MemoryRow>> {
        let Some(saved_at) = FileState::read(path).saved_at() else { return Ok(Vec::new()) };
        let disturbed_at = self.log_state(name)?.and_then(|known| known.disturbed_at).unwrap_or(saved_at);
        let from = saved_at.min(disturbed_at) - OVERWRITE_REACH;
        let recent = self.written_since(name, from)?.into_iter();
        let mut lost: Vec<MemoryRow> = recent.take_while(|row| !is_there(&row.memory)).collect();
        // A save cannot overwrite an entry that is newer.
        lost.retain(|row| row.entry.written_at().is_some_and(|at| at <= saved_at + CLOCK_SLACK));
        lost.reverse();
        Ok(lost)
    }

    /// Whether another program seems to be writing a log.
    pub(super) fn is_being_rewritten(&self, layout: &Layout, name: &str) -> rusqlite::Result<bool> {
        let size = self.log_state(name)?.map(|known| known.stamp.size);
        Ok(FileState::read(&layout.store_path(name)).is_being_rewritten(size))
    }

    pub(crate) fn log_state(&self, name: &str) -> rusqlite::Result<Option<LogState>> {
        let sql = "SELECT state, size, own_state, reading, disturbed_at, saved_at FROM files WHERE path = ?1";
        let read = |row: &rusqlite::Row<'_>| {
            let stamp = FileStamp { state: row.get(0)?, size: row.get(1)? };
            let (own_state, read_mark) = (row.get(2)?, row.get(3)?);
            Ok(LogState { stamp, own_state, read_mark, disturbed_at: row.get(4)?, saved_at: row.get(5)? })
        };
        self.0.prepare_cached(sql)?.query_row([name], read).optional()
    }

    /// Records our change of a log and its stamp `after` that. `saved_at` is when another program last saved it. A log that did not match
    /// its rows before does not match them now.
    pub(crate) fn record_change(
        &self,
        name: &str,
        after: FileStamp,
        saved_at: Option<i64>,
        is_in_sync: bool,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO files (path, state, size, own_state, saved_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (path) DO UPDATE SET state = excluded.state, size = excluded.size, own_state = excluded.own_state,
                 saved_at = excluded.saved_at, disturbed_at = NULL";
        let state = if is_in_sync { after.state } else { FileStamp::unread(after.size).state };
        self.execute(sql, params![name, state, after.size, after.state, saved_at])
    }

    /// Forgets when entries of a log were appended, so that none of them is appended again when it is gone.
    fn clear_append_times(&self, name: &str) -> rusqlite::Result<()> {
        // Older entries count as deleted anyway.
        let from = now_millis() - 2 * OVERWRITE_REACH;
        let sql = "UPDATE memories SET written_at = NULL WHERE path = ?1 AND written_at >= ?2";
        self.execute(sql, params![name, from])
    }

    /// Records that we rewrote or deleted a log.
    pub(crate) fn record_rewrite(&self, name: &str, after: Option<FileStamp>) -> rusqlite::Result<()> {
        match after {
            Some(after) => self.record_change(name, after, None, false),
            None => self.delete_log_state(name),
        }
    }

    /// Records that another program is writing a log, and returns since when, in milliseconds since 1970.
    pub(crate) fn record_disturbance(&self, name: &str, now: i64) -> rusqlite::Result<i64> {
        let sql =
            "INSERT INTO files (path, state, size, disturbed_at) VALUES (?1, -1, 0, ?2) ON CONFLICT (path) DO UPDATE
             SET disturbed_at = min(ifnull(disturbed_at, ?2), ?2) RETURNING disturbed_at";
        self.0.prepare_cached(sql)?.query_one(params![name, now], |row| row.get(0))
    }

    /// Begins a reading of a log and returns its mark. An earlier reading that is still in progress starts again.
    pub(super) fn begin_reading(&self, name: &str) -> rusqlite::Result<String> {
        let sql = "INSERT INTO files (path, state, size, reading) VALUES (?1, -1, 0, lower(hex(randomblob(8))))
             ON CONFLICT (path) DO UPDATE SET reading = excluded.reading RETURNING reading";
        // `query_row` would end before the commit and hide its error.
        self.0.prepare_cached(sql)?.query_one([name], |row| row.get(0))
    }

    /// Records that the rows match a log as it was read.
    pub(super) fn record_read(&self, name: &str, stamp: FileStamp) -> rusqlite::Result<()> {
        let sql = "UPDATE files SET state = ?2, size = ?3, read_at = ?4, disturbed_at = NULL WHERE path = ?1";
        self.execute(sql, params![name, stamp.state, stamp.size, Moment::now().utc()])
    }

    /// Forgets the state of a log, so that it is read again if it exists.
    pub(crate) fn delete_log_state(&self, name: &str) -> rusqlite::Result<()> {
        self.execute("DELETE FROM files WHERE path = ?1", [name])
    }
}
