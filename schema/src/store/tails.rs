//! The ends of logs whose every entry has its row, so that the next entry is put there without reading the log.
//!
//! An end is noted in the transaction that inserts the row of the last entry, or brings all rows in step, with the stamp of the file. Any
//! other change of the file, also an entry whose row was never written, shows by these, and the log is read again.

use super::{Rows, Store, StoreError};
use crate::daily_log::{LogKind, Tail};
use crate::stamp::Stamp;

/// What the keys of ends in `meta` begin with.
const KEY: &str = "tail:";
/// And those of editions, which stay when a log goes.
const EDITION: &str = "edition:";

/// The logs that have an end.
pub(super) const CAPTURED_TO: &str = "SELECT substr(key, 6) AS path FROM meta WHERE key >= 'tail:' AND key < 'tail;'";

/// A log whose every entry has its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InStep {
    pub stamp: Stamp,
    /// Another one whenever it was read because something else became of it than that memories were put into it. Of a log that was never
    /// read by this database it is empty.
    pub edition: String,
}

impl Store {
    /// What is known of a log in step with its rows; `None` of any other, and of a file that is no log.
    pub fn in_step(&self, name: &str) -> Result<Option<InStep>, StoreError> {
        let Some(stamp) = Stamp::of(&self.layout.file(name)).filter(|_| LogKind::of(name).is_some()) else {
            return Ok(None);
        };
        // The edition afterwards: that of a later state does no harm, as nobody knows what that holds.
        match self.is_in_step(name, Some(stamp))? {
            true => Ok(Some(InStep { stamp, edition: self.rows().edition(name)? })),
            false => Ok(None),
        }
    }

    /// The end of a log, if its file is as it was when that was noted.
    pub(crate) fn tail(&self, name: &str, now: Stamp) -> Result<Option<Tail>, StoreError> {
        Ok(self.rows().tail(name, now)?)
    }
}

impl Rows<'_> {
    /// The same, for instance inside a transaction.
    pub(crate) fn tail(&self, name: &str, now: Stamp) -> rusqlite::Result<Option<Tail>> {
        let noted = self.meta(&format!("{KEY}{name}"))?;
        let noted = noted.as_deref().and_then(|text| text.split_once(' '));
        let is_current = |state: &str| state.parse() == Ok(now.state);
        let tail = noted.filter(|(state, _)| is_current(state)).and_then(|(_, tail)| Tail::parse(tail));
        Ok(tail.filter(|tail| i64::try_from(tail.length()) == Ok(now.size)))
    }

    /// Notes the end of a log, every entry of which has its row once the transaction is done.
    pub(crate) fn note_tail(&self, name: &str, stamp: Stamp, tail: &Tail) -> rusqlite::Result<()> {
        self.set_meta(&format!("{KEY}{name}"), &format!("{} {}", stamp.state, tail.to_text()))
    }

    fn edition(&self, name: &str) -> rusqlite::Result<String> {
        Ok(self.meta(&format!("{EDITION}{name}"))?.unwrap_or_default())
    }

    /// Begins another edition of a log, which may hold any text. It is no count, because who remembers it may remember that of a database
    /// that is gone, or of a later state of one that was put back.
    pub(super) fn begin_edition(&self, name: &str) -> rusqlite::Result<()> {
        let edition: String = self.0.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))?;
        self.set_meta(&format!("{EDITION}{name}"), &edition)
    }

    /// Forgets the end of a log that is gone.
    pub(super) fn forget_tail(&self, name: &str) -> rusqlite::Result<()> {
        self.0.prepare_cached("DELETE FROM meta WHERE key = ?1")?.execute([format!("{KEY}{name}")]).map(drop)
    }

    /// Forgets where the log ends in which the memory with this number stands, though not that there was an end.
    pub(super) fn forget_tail_of(&self, seq: i64) -> rusqlite::Result<()> {
        self.0
            .prepare_cached("UPDATE meta SET value = '' WHERE key = (SELECT ?2 || path FROM memories WHERE seq = ?1)")?
            .execute((seq, KEY))
            .map(drop)
    }

    /// Whether the log ever had an end.
    pub(super) fn had_tail(&self, name: &str) -> rusqlite::Result<bool> {
        Ok(self.meta(&format!("{KEY}{name}"))?.is_some())
    }
}
