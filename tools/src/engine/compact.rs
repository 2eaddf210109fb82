//! Makes results short for a model: ids by their unique beginnings, times to the minute, scores with two digits.

use schema::intake::capture::CaptureOutcome;
use schema::model::memory::MemoryId;
use schema::tool::{GetOutput, SaveOutput, SearchOutput};

use super::Engine;
use super::ids::SHORTEST;
use super::save::save_output;
use crate::error::ToolError;

/// Characters of a local time without its seconds.
const MINUTE: usize = "2026-01-28 10:30".len();

impl Engine {
    /// Cuts an id to its shortest beginning that no other id has, of at least 8 characters.
    fn shorten_id(&self, id: &mut String) -> Result<(), ToolError> {
        // The id of a copy begins with the id of the original.
        let is_copy = MemoryId::parse(id).is_none_or(|id| id.is_copy());
        for length in (SHORTEST..id.len()).step_by(4) {
            let Some(beginning) = id.get(..length).filter(|_| !is_copy) else { break };
            let memories = self.store.rows().ids_beginning_with(beginning)?.len();
            if memories + self.index.chunk_uids_beginning_with(beginning)?.len() == 1 {
                id.truncate(length);
                break;
            }
        }
        Ok(())
    }

    pub(super) fn make_compact(&self, output: &mut SearchOutput) -> Result<(), ToolError> {
        for hit in &mut output.results {
            self.shorten_id(&mut hit.id)?;
            hit.superseded_by.iter_mut().try_for_each(|id| self.shorten_id(id))?;
            hit.date.iter_mut().for_each(|date| date.truncate(MINUTE));
            hit.score = (hit.score * 100.0).round() / 100.0;
            hit.session_id = None;
        }
        Ok(())
    }

    /// The result of `memory_get` with short ids.
    pub fn compact_details(&self, mut output: GetOutput) -> Result<GetOutput, ToolError> {
        if let Some(memory) = &mut output.memory {
            let ids = [&mut memory.supersedes, &mut memory.superseded_by, &mut memory.source];
            ids.into_iter().flatten().try_for_each(|id| self.shorten_id(id))?;
            memory.evidence.iter_mut().try_for_each(|evidence| self.shorten_id(&mut evidence.id))?;
        }
        Ok(output)
    }

    /// The result of `memory_save` with short ids.
    pub fn compact_save_output(&mut self, saved: CaptureOutcome) -> Result<SaveOutput, ToolError> {
        // One snapshot is one lock for all reads.
        let _snapshot = self.store.snapshot()?;
        let mut output = save_output(&self.store, &mut self.line_counter, saved)?;
        self.shorten_id(&mut output.id)?;
        output.duplicate_of.iter_mut().try_for_each(|id| self.shorten_id(id))?;
        Ok(output)
    }
}
