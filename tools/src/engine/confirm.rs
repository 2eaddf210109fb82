//! Records that a memory still holds, with its code as it is now.

use schema::host::code::anchored::CodePlace;
use schema::host::code::changes::CodeChange;
use schema::intake::capture::confirmation;
use schema::model::moment::Moment;
use schema::model::state_note::{StateChange, StateNote};
use schema::settings;
use schema::store::MemoryRow;

use super::Engine;
use crate::error::ToolError;

/// A memory that still holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfirmedMemory {
    pub row: MemoryRow,
    /// The files that it is about.
    pub files: Vec<String>,
}

impl Engine {
    /// Notes that a memory, given by a prefix of its id, still holds.
    pub fn confirm(&mut self, beginning: &str) -> Result<ConfirmedMemory, ToolError> {
        let (id, row) = self.find_by_prefix(beginning)?;
        if !row.memory.kind.may_be_confirmed() {
            let text = format!("{id} is a {}; only conclusions such as decisions can be confirmed", row.memory.kind);
            return Err(ToolError::Invalid(text));
        }
        if let Some(newer) = &row.superseded_by {
            return Err(ToolError::Invalid(format!("{id} was replaced by {newer}; confirm that one")));
        }
        let sanitizer = settings::load(self.store.layout()).sanitizer;
        let place =
            CodePlace { project: self.store.layout().project(), directory: &self.checkout, sanitizer: &sanitizer };
        let code = match row.memory.kind.is_about_code() {
            true => {
                let changes = self.change_detector.file_changes(self.store.rows(), &row)?;
                let path_now = |change: CodeChange| change.renamed_to.unwrap_or(change.anchor.path);
                let paths: Vec<String> = changes.anchors.into_iter().map(path_now).collect();
                place.code_of(&row.memory.content, &paths)
            }
            false => schema::model::code_anchor::CodeContext::default(),
        };
        let change = StateChange::Confirmed(confirmation(&self.session_id, &code));
        self.append_notes(&[StateNote { about: id, at: Moment::now(), change }])?;
        Ok(ConfirmedMemory { row, files: code.anchors.into_iter().map(|anchor| anchor.path).collect() })
    }
}
