//! Changes the text of a memory for a person.

use schema::intake::prepare::{Draft, TEXT_LIMIT, prepare};
use schema::settings;
use schema::store::MemoryRow;

use super::Engine;
use crate::curation::revise;
use crate::error::ToolError;

/// A memory after its text was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedMemory {
    pub row: MemoryRow,
    /// Number of secrets that were removed from the new text.
    pub redactions: usize,
    /// Whether the text is different from before.
    pub is_changed: bool,
}

impl Engine {
    /// Finds the memory to edit by a prefix of its id.
    pub fn find_to_edit(&mut self, beginning: &str) -> Result<MemoryRow, ToolError> {
        Ok(self.find_by_prefix(beginning)?.1)
    }

    /// Replaces the text of a memory, which must still have the text of `before`. Its id, type, time and tags stay.
    pub fn edit_text(&mut self, before: &MemoryRow, text: &str) -> Result<EditedMemory, ToolError> {
        let id = &before.memory.id;
        Self::require_own(before)?;
        if text.trim().is_empty() {
            return Err(ToolError::Invalid(format!("the new text is empty; `forget {id}` deletes the memory")));
        }
        if text.len() > TEXT_LIMIT {
            let text = format!("the new text is {} bytes, over the limit of {TEXT_LIMIT}; shorten it", text.len());
            return Err(ToolError::Invalid(text));
        }
        let draft = Draft::new("", before.memory.kind, text, before.memory.at);
        let sanitizer = settings::load(self.store.layout()).sanitizer;
        let prepared = prepare(draft, &sanitizer);
        let private = || ToolError::Invalid("the new text is empty without its <private> parts".to_owned());
        let prepared = prepared.ok_or_else(private)?;
        let (content, redactions) = (&prepared.draft().content, prepared.redactions());
        let is_changed = *content != before.memory.content;
        if !is_changed {
            return Ok(EditedMemory { row: before.clone(), redactions, is_changed });
        }
        self.forget_day_summaries(std::slice::from_ref(before))?;
        let row = self.with_repair(|engine| Ok(revise::edit_content(&mut engine.store, before, content)?))?;
        let changed = || {
            let text = format!("another program changed or deleted {id} in {} meanwhile; run this again", before.path);
            ToolError::Unavailable(text)
        };
        let row = row.ok_or_else(changed)?;
        if redactions > 0 {
            self.store.with_transaction(|rows| rows.add_redactions(redactions))?;
        }
        Ok(EditedMemory { row, redactions, is_changed })
    }
}
