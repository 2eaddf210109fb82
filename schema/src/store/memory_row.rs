//! A memory as a row of `memory.db`: its columns, and what the database knows about it.

use rusqlite::{Row as SqlRow, ToSql};

use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::sharing::{SharedState, team_author};
use crate::model::state_note::{MemoryState, Phase};

/// A memory with everything that the database has about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRow {
    /// Grows with every insertion and is never reused: the watermark of the index.
    pub seq: i64,
    pub memory: Memory,
    /// The file, relative to the store.
    pub path: String,
    /// The newest memory that replaces this one.
    pub superseded_by: Option<MemoryId>,
    pub access_count: i64,
    pub entry: EntryState,
    /// The state that follows from the notes about the memory.
    pub state: MemoryState,
}

impl MemoryRow {
    /// The order of capture: seconds since 1970, then the sequence number.
    pub fn order(&self) -> (i64, i64) {
        (self.memory.at.unix(), self.seq)
    }

    /// Whether the memory is a task that is still to do.
    pub fn is_open_task(&self) -> bool {
        self.memory.kind == MemoryType::Task
            && !self.memory.attributes.done
            && self.state.phase == Phase::Open
            && self.superseded_by.is_none()
    }

    /// Returns what the team thinks of the memory `now` if it is shared, also by its user.
    pub fn shared_state(&self, now: &Moment) -> Option<SharedState> {
        team_author(&self.path).map(|_| SharedState::read(&self.memory.attributes.metadata, now))
    }

    /// Whether the entry waits to be written.
    pub fn is_pending(&self) -> bool {
        self.entry.waiting() != 0
    }
}

/// Conditions that a memory is shared or not. `0` follows `/`.
pub(super) const AND_SHARED: &str = " AND path > 'team/' AND path < 'team0'";
pub(super) const AND_OWN: &str = " AND NOT (path > 'team/' AND path < 'team0')";

/// Restricts a list of memories. A field that is `None` allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFilter {
    pub kind: Option<MemoryType>,
    pub session_id: Option<String>,
    /// The first moment, RFC 3339 in UTC.
    pub since: Option<String>,
    /// The last moment, RFC 3339 in UTC.
    pub until: Option<String>,
    pub path: Option<String>,
    pub sharing: SharingFilter,
}

/// Restricts a list to the user's own memories, or to those that the team approved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SharingFilter {
    #[default]
    All,
    Own,
    Approved,
}

impl MemoryFilter {
    /// Returns the conditions after `WHERE 1`, and their values.
    pub(super) fn sql_conditions(&self) -> (String, Vec<Box<dyn ToSql>>) {
        let (mut sql, mut values) = (String::new(), Vec::<Box<dyn ToSql>>::new());
        let mut narrow = |condition: &str, value: Option<String>| {
            if let Some(value) = value {
                sql.push_str(condition);
                values.push(Box::new(value));
            }
        };
        narrow(" AND type = ?", self.kind.map(|kind| kind.as_str().to_owned()));
        narrow(" AND session_id = ?", self.session_id.clone());
        narrow(" AND created_at >= ?", self.since.clone());
        narrow(" AND created_at <= ?", self.until.clone());
        narrow(" AND path = ?", self.path.clone());
        match self.sharing {
            SharingFilter::All => {}
            SharingFilter::Own => sql.push_str(AND_OWN),
            SharingFilter::Approved => {
                sql.push_str(AND_SHARED);
                sql.push_str(" AND json_extract(metadata, '$.shared') = 'approved'");
                // Whatever the time zone, it is over.
                sql.push_str(" AND ifnull(json_extract(metadata, '$.expires'), '9999') >= date('now', '-1 day')");
            }
        }
        (sql, values)
    }
}

/// The columns of a row. The newest successor is only looked up if there is one, because SQLite creates a table for the sorting each time.
pub(super) const COLUMNS: &str = "seq, id, session_id, type, content, metadata, importance, pinned, origin, supersedes, path, \
     done, written_at, created_at, utc_offset, access_count, \
     CASE WHEN EXISTS (SELECT 1 FROM memories newer WHERE newer.supersedes = memories.id) THEN \
     (SELECT newer.id FROM memories newer WHERE newer.supersedes = memories.id ORDER BY newer.created_at DESC LIMIT 1) END, waiting, \
     phase, settled_by, settled_at, repeats, repeated_at, auto, source, also";

/// How an entry got into its file, or why it is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryState {
    /// Capture appended it at this time, in milliseconds since 1970.
    At(i64),
    /// It was read from the file.
    Found,
    /// Another program was writing the file. The memory waits in the spool.
    Waiting,
    /// Another program overwrote it. Only the row has it.
    Overwritten,
}

impl EntryState {
    pub(super) fn written_at(self) -> Option<i64> {
        if let Self::At(at) = self { Some(at) } else { None }
    }

    /// The value of the column `waiting`.
    pub(super) fn waiting(self) -> i64 {
        match self {
            Self::At(_) | Self::Found => 0,
            Self::Waiting => 1,
            Self::Overwritten => 2,
        }
    }
}

pub(super) fn read_row(row: &SqlRow<'_>) -> rusqlite::Result<MemoryRow> {
    let id = |column: usize| -> rusqlite::Result<Option<MemoryId>> {
        Ok(row.get::<_, Option<String>>(column)?.as_deref().and_then(MemoryId::parse))
    };
    let kind = row.get_ref(3)?.as_str()?.parse().map_err(|error| conversion_error(3, error))?;
    let created = row.get_ref(13)?.as_str()?;
    let at = Moment::parse_rfc3339(created).and_then(|at| Moment::from_unix(at.unix(), row.get(14).ok()));
    // Use the memory's own offset, which usually is the local one.
    let moment = |column: usize| -> rusqlite::Result<Option<Moment>> {
        let at = row.get_ref(column)?.as_str_or_null()?.and_then(Moment::parse_rfc3339);
        Ok(at.and_then(|at| Moment::from_unix(at.unix(), row.get(14).ok())))
    };
    let metadata = row.get::<_, Option<String>>(5)?.and_then(|text| serde_json::from_str(&text).ok());
    Ok(MemoryRow {
        seq: row.get(0)?,
        memory: Memory {
            id: id(1)?.ok_or_else(|| conversion_error(1, "no id"))?,
            session_id: row.get(2)?,
            kind,
            content: row.get(4)?,
            at: at.ok_or_else(|| conversion_error(13, "no time"))?,
            attributes: MemoryAttributes {
                importance: row.get(6)?,
                pinned: row.get(7)?,
                done: row.get(11)?,
                supersedes: id(9)?,
                origin: row.get(8)?,
                auto: row.get(23)?,
                source: id(24)?,
                also: row.get(25)?,
                metadata: metadata.unwrap_or_default(),
            },
        },
        path: row.get(10)?,
        superseded_by: id(16)?,
        access_count: row.get(15)?,
        entry: match (row.get(17)?, row.get::<_, Option<i64>>(12)?) {
            (1, _) => EntryState::Waiting,
            (2, _) => EntryState::Overwritten,
            (_, written_at) => written_at.map_or(EntryState::Found, EntryState::At),
        },
        state: MemoryState {
            phase: Phase::of_name(row.get_ref(18)?.as_str_or_null()?),
            settled_by: row.get(19)?,
            settled_at: moment(20)?,
            repeats: row.get(21)?,
            repeated_at: moment(22)?,
        },
    })
}

pub(super) fn conversion_error(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}
