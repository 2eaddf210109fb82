//! Which open tasks a prompt or an answer plainly says are done.

use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::prose::tasks::finished;
use crate::store::Rows;

/// How many tasks are compared, the newest ones.
const COMPARED: usize = 100;

/// The open tasks that a memory reports as finished. A task of the same moment is what it leaves open.
pub(super) fn finished_by(rows: Rows<'_>, memory: &Memory) -> rusqlite::Result<Vec<MemoryId>> {
    if !matches!(memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse) {
        return Ok(Vec::new());
    }
    let open: Vec<Memory> = rows.open_tasks(&memory.at, COMPARED)?.into_iter().map(|row| row.memory).collect();
    let texts: Vec<&str> = open.iter().map(|task| task.content.as_str()).collect();
    Ok(finished(&memory.content, &texts).into_iter().map(|at| open[at].id.clone()).collect())
}
