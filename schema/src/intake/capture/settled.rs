//! Finds earlier memories that an event settles: the failure that it repeats, the failures that a success ends, the tasks that a text
//! reports as done.

use crate::model::failure::{Success, is_settled_by, signature};
use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::Phase;
use crate::prose::tasks::{declined, done_as_ordered, dropped, finished};
use crate::store::{MemoryFilter, MemoryRow, Rows};

/// How many of the newest failures and open tasks are compared.
const FAILURES: usize = 200;
const TASKS: usize = 100;

/// The most seconds between the copies of one event in several transcripts of a host, and between the clocks of a hook and a transcript.
pub const COPY: i64 = 2;

/// Returns the failure that a memory repeats, in any session.
pub fn repeated_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Option<MemoryRow>> {
    if memory.kind != MemoryType::Error {
        return Ok(None);
    }
    let wanted = signature(&memory.content);
    let known = rows.failures(&Moment::latest(), FAILURES)?;
    Ok(known.into_iter().find(|row| !row.is_pending() && signature(&row.memory.content) == wanted))
}

/// Returns the open failures that a successful attempt settles, with the time of the success.
pub fn settled_by(rows: Rows<'_>, success: &Success) -> rusqlite::Result<Vec<(MemoryId, Moment)>> {
    let Some(at) = Moment::parse_rfc3339(&success.at) else { return Ok(Vec::new()) };
    let known = rows.failures(&at, FAILURES)?;
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

/// Returns the open tasks that a memory reports as finished, or that a prompt takes back.
pub(super) fn finished_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Vec<MemoryId>> {
    if !matches!(memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse) {
        return Ok(Vec::new());
    }
    let open: Vec<Memory> = rows.open_tasks(&memory.at, TASKS)?.into_iter().map(|row| row.memory).collect();
    let texts: Vec<&str> = open.iter().map(|task| task.content.as_str()).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let mut settled = finished(&memory.content, &texts);
    let last_of = |kind: MemoryType| -> rusqlite::Result<Option<MemoryRow>> {
        let of_session = MemoryFilter {
            kind: Some(kind),
            session_id: Some(memory.session_id.clone()),
            until: Some(memory.at.utc()),
            ..MemoryFilter::default()
        };
        Ok(rows.list(&of_session, 1)?.pop())
    };
    if memory.kind == MemoryType::UserPrompt {
        settled.extend(declined(&memory.content, &texts));
        let answer = last_of(MemoryType::AssistantResponse)?.map(|row| row.memory.id);
        // The open tasks are sorted, the newest first.
        let listed: Vec<usize> =
            (0..open.len()).rev().filter(|at| answer.is_some() && open[*at].attributes.source == answer).collect();
        let listed_texts: Vec<&str> = listed.iter().map(|at| texts[*at]).collect();
        settled.extend(dropped(&memory.content, &listed_texts).map(|at| listed[at]));
    } else if let Some(prompt) = last_of(MemoryType::UserPrompt)? {
        let is_of_turn = |row: &MemoryRow| row.order() > prompt.order();
        let has_changed = last_of(MemoryType::ToolUsage)?.is_some_and(|row| is_of_turn(&row));
        let has_failed =
            last_of(MemoryType::Error)?.is_some_and(|row| is_of_turn(&row) && row.state.phase == Phase::Open);
        if has_changed && !has_failed {
            settled.extend(done_as_ordered(&prompt.memory.content, &memory.content, &texts));
        }
    }
    settled.sort_unstable();
    settled.dedup();
    Ok(settled.into_iter().map(|at| open[at].id.clone()).collect())
}
