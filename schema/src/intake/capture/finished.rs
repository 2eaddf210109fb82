//! Finds the open tasks that a prompt or an answer clearly reports as done.

use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::prose::tasks::finished;
use crate::store::Rows;

/// How many of the newest tasks are compared.
const COMPARED: usize = 100;

/// Returns the open tasks that a memory reports as finished.
pub(super) fn finished_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Vec<MemoryId>> {
    if !matches!(memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse) {
        return Ok(Vec::new());
    }
    let open: Vec<Memory> = rows.open_tasks(&memory.at, COMPARED)?.into_iter().map(|row| row.memory).collect();
    let texts: Vec<&str> = open.iter().map(|task| task.content.as_str()).collect();
    Ok(finished(&memory.content, &texts).into_iter().map(|at| open[at].id.clone()).collect())
}
