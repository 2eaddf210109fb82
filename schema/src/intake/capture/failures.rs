//! Finds the failure that a memory repeats, and the failures that a success settles.

use crate::model::failure::{Success, is_settled_by, signature};
use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::Phase;
use crate::store::{MemoryRow, Rows};

/// How many of the newest failures are compared.
const COMPARED: usize = 200;

/// The most seconds between the copies of one event in several transcripts of a host, and between the clocks of a hook and a transcript.
pub const COPY: i64 = 2;

/// Returns the failure that a memory repeats, in any session.
pub fn repeated_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Option<MemoryRow>> {
    if memory.kind != MemoryType::Error {
        return Ok(None);
    }
    let wanted = signature(&memory.content);
    let known = rows.failures(&Moment::latest(), COMPARED)?;
    Ok(known.into_iter().find(|row| !row.is_pending() && signature(&row.memory.content) == wanted))
}

/// Returns the open failures that a successful attempt settles, with the time of the success.
pub fn settled_by(rows: Rows<'_>, success: &Success) -> rusqlite::Result<Vec<(MemoryId, Moment)>> {
    let Some(at) = Moment::parse_rfc3339(&success.at) else { return Ok(Vec::new()) };
    let known = rows.failures(&at, COMPARED)?;
    let mut settled = Vec::new();
    for row in known.into_iter().filter(|row| !row.is_pending()) {
        if !is_settled_by(&row.memory.content, &success.attempt) {
            continue;
        }
        let until = Moment::from_unix(at.unix() + COPY, Some(0)).unwrap_or(at);
        if rows.state_at(&row.memory.id, &until)?.phase == Phase::Open {
            settled.push((row.memory.id, at));
        }
    }
    Ok(settled)
}
