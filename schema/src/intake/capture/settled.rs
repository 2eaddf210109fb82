//! Finds earlier memories that an event settles: the failure that it repeats, the failures that a success ends, the tasks that a text
//! reports as done.

use crate::model::failure::{Success, is_settled_by, signature};
use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::Phase;
use crate::model::tool_usage::files;
use crate::prose::tasks::{declined, done_as_ordered, dropped, finished};
use crate::store::{MemoryFilter, MemoryRow, Rows};

/// How many of the newest failures and open tasks are compared.
const FAILURES: usize = 200;
const TASKS: usize = 100;

/// How many of the newest failures may be of the turn that ends.
const TURN_FAILURES: usize = 20;

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
    let newest = |kind: MemoryType, limit: usize| {
        let of_session = MemoryFilter {
            kind: Some(kind),
            session_id: Some(memory.session_id.clone()),
            until: Some(memory.at.utc()),
            ..MemoryFilter::default()
        };
        rows.list(&of_session, limit)
    };
    if memory.kind == MemoryType::UserPrompt {
        settled.extend(declined(&memory.content, &texts));
        if let Some(answer) = newest(MemoryType::AssistantResponse, 1)?.pop().map(|row| row.memory) {
            let is_listed = |at: &usize| open[*at].attributes.source.as_ref() == Some(&answer.id);
            let listed: Vec<usize> = (0..open.len()).filter(is_listed).collect();
            let listed_texts: Vec<&str> = listed.iter().map(|at| texts[*at]).collect();
            settled.extend(dropped(&memory.content, &answer.content, &listed_texts).map(|at| listed[at]));
        }
    } else if let Some(prompt) = newest(MemoryType::UserPrompt, 1)?.pop() {
        let is_of_turn = |row: &MemoryRow| row.order() > prompt.order();
        let changes = newest(MemoryType::ToolUsage, 1)?.into_iter().filter(is_of_turn);
        let has_changed = changes.into_iter().any(|row| files(&row.memory.content).next().is_some());
        let is_open_failure = |row: &MemoryRow| {
            let is_repeated = row.state.repeated_at.is_some_and(|at| at.unix() >= prompt.memory.at.unix());
            row.state.phase == Phase::Open && (is_of_turn(row) || is_repeated)
        };
        let has_failed = newest(MemoryType::Error, TURN_FAILURES)?.iter().any(is_open_failure);
        if has_changed && !has_failed {
            settled.extend(done_as_ordered(&prompt.memory.content, &memory.content, &texts));
        }
    }
    settled.sort_unstable();
    settled.dedup();
    Ok(settled.into_iter().map(|at| open[at].id.clone()).collect())
}
