//! Queries about past work: sessions, months, and the memories that are opened most.

use rusqlite::{OptionalExtension as _, Row as SqlRow, params};
use serde_json::{Map, Value};

use super::memory_row::{COLUMNS, MemoryRow, conversion_error, read_row};
use super::rows::Rows;
use crate::model::moment::Moment;

/// The row of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: String,
    pub started: Moment,
    pub ended: Moment,
    /// The first line of the first prompt that asks for something, or else of the first prompt.
    pub title: Option<String>,
    /// With those that only agreed, once the session has ended.
    pub prompts: u64,
    /// The files that the session changed, relative to the project, in the order of their first change.
    pub files: Vec<String>,
    /// Changes and commands.
    pub tool_count: u64,
    pub errors: u64,
    pub memories: u64,
    pub summary: Option<String>,
    /// The metadata of the summary: branch, commit, model and end reason, as far as they are known.
    pub details: Map<String, Value>,
}

impl SessionRow {
    /// Seconds from the first memory to the last.
    pub fn duration(&self) -> u64 {
        (self.ended.unix() - self.started.unix()).max(0).unsigned_abs()
    }
}

/// A memory and when it was last opened, in UTC. Its row counts how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallCount {
    pub row: MemoryRow,
    pub last: Option<String>,
}

/// The field of a summary's metadata for the number of prompts that only agreed and are no memories.
pub(crate) const ACKNOWLEDGEMENTS: &str = "acknowledgements";

/// Selects the row of a session, with the offset of its first memory for local times.
const SESSION: &str = "SELECT id, started_at, ended_at, title, prompts, files, tools, errors, summary,
     (SELECT count(*) FROM memories INDEXED BY memories_by_session WHERE session_id = sessions.id),
     (SELECT utc_offset FROM memories INDEXED BY memories_by_session WHERE session_id = sessions.id
      ORDER BY created_at LIMIT 1),
     (SELECT metadata FROM memories INDEXED BY memories_by_session WHERE session_id = sessions.id
      AND type = 'session_summary' ORDER BY created_at DESC, seq DESC LIMIT 1)
     FROM sessions";

impl Rows<'_> {
    /// Returns the sessions that overlap a period, RFC 3339 in UTC, the one that ended last first.
    pub fn sessions(&self, since: Option<&str>, until: Option<&str>) -> rusqlite::Result<Vec<SessionRow>> {
        let sql = format!(
            "{SESSION} WHERE (?1 IS NULL OR ended_at >= ?1) AND (?2 IS NULL OR started_at <= ?2)
             ORDER BY ended_at DESC, started_at DESC, id"
        );
        self.0.prepare_cached(&sql)?.query_map(params![since, until], read_session)?.collect()
    }

    /// Returns the ids of the sessions that ended last, except this one, the last first.
    pub fn last_sessions(&self, other_than: &str, limit: usize) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT id FROM sessions WHERE id <> ?1 ORDER BY ended_at DESC, started_at DESC LIMIT ?2";
        self.column(sql, params![other_than, limit as i64])
    }

    pub fn session(&self, id: &str) -> rusqlite::Result<Option<SessionRow>> {
        self.0.prepare_cached(&format!("{SESSION} WHERE id = ?1"))?.query_row([id], read_session).optional()
    }

    /// Returns at most two ids of sessions that begin like this, in order.
    pub fn sessions_beginning_with(&self, beginning: &str) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT id FROM sessions WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT 2";
        self.column(sql, [beginning])
    }

    /// Counts the memories of each month, in local time of each memory, oldest month first.
    pub fn count_by_month(&self) -> rusqlite::Result<Vec<(String, u64)>> {
        self.count_groups(
            "SELECT strftime('%Y-%m', created_at, utc_offset || ' seconds') AS month, count(*) FROM memories
             GROUP BY month HAVING month IS NOT NULL ORDER BY month",
        )
    }

    /// Counts the memories of each file. An index answers this without reading the rows.
    pub fn count_by_path(&self) -> rusqlite::Result<Vec<(String, u64)>> {
        self.count_groups("SELECT path, count(*) FROM memories GROUP BY path")
    }

    /// Counts the memories since a moment, RFC 3339 in UTC.
    pub fn count_since(&self, since: &str) -> rusqlite::Result<u64> {
        self.count("SELECT count(*) FROM memories WHERE created_at >= ?1", [since])
    }

    /// Returns the memories that were opened most, most often first.
    pub fn most_recalled(&self, limit: usize) -> rusqlite::Result<Vec<RecallCount>> {
        let sql = format!(
            "SELECT {COLUMNS}, accessed_at FROM memories WHERE access_count > 0
             ORDER BY access_count DESC, accessed_at DESC, seq DESC LIMIT ?1"
        );
        let read_recalls = |row: &SqlRow<'_>| Ok(RecallCount { row: read_row(row)?, last: row.get("accessed_at")? });
        self.0.prepare_cached(&sql)?.query_map([limit as i64], read_recalls)?.collect()
    }
}

fn read_session(row: &SqlRow<'_>) -> rusqlite::Result<SessionRow> {
    let offset: Option<i32> = row.get(10)?;
    let details: Option<String> = row.get(11)?;
    let at = |column: usize| -> rusqlite::Result<Moment> {
        let moment = Moment::parse_rfc3339(row.get_ref(column)?.as_str()?);
        moment.and_then(|at| Moment::from_unix(at.unix(), offset)).ok_or_else(|| conversion_error(column, "no time"))
    };
    let number = |column: usize| row.get::<_, i64>(column).map(|number| number.max(0).unsigned_abs());
    let details: Map<String, Value> = details.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    let acknowledgements = details.get(ACKNOWLEDGEMENTS).and_then(Value::as_u64).unwrap_or_default();
    Ok(SessionRow {
        id: row.get(0)?,
        started: at(1)?,
        ended: at(2)?,
        title: row.get(3)?,
        prompts: number(4)?.saturating_add(acknowledgements),
        files: serde_json::from_str(row.get_ref(5)?.as_str()?).unwrap_or_default(),
        tool_count: number(6)?,
        errors: number(7)?,
        memories: number(9)?,
        summary: row.get(8)?,
        details,
    })
}
