//! Finds what an id names: a memory or a passage, also of the personal memory.

use schema::tool::{GetInput, GetOutput};

use super::Engine;
use super::get::{comparable_id, get, get_by_id, only_match};
use super::personal::holds_everywhere;
use crate::error::ToolError;

impl Engine {
    /// `memory_get`, also for the ids of personal hits.
    pub fn get(&mut self, input: &GetInput) -> Result<GetOutput, ToolError> {
        let found = self.get_of_project(input);
        if let Err(ToolError::NotFound(_)) = found
            && let Ok(Some(personal)) = self.personal()
            && let Some(id) = &input.id
            && let Ok((_, row)) = personal.find_by_prefix(id)
            && holds_everywhere(&row)
        {
            let root = personal.store.layout().project().to_owned();
            return personal
                .get_of_project(input)
                .map(|output| GetOutput { path: root.join(&output.path).to_string_lossy().into_owned(), ..output });
        }
        found
    }

    fn get_of_project(&mut self, input: &GetInput) -> Result<GetOutput, ToolError> {
        self.with_repair(|engine| get(&mut engine.store, &engine.index, &mut engine.change_detector, input))
    }

    /// A memory or a passage with its whole text, without counting it as opened.
    pub fn peek_details(&mut self, id: &str) -> Result<GetOutput, ToolError> {
        let id = id.trim();
        let peeked = self.with_repair(|engine| {
            get_by_id(&mut engine.store, &engine.index, &mut engine.change_detector, id, usize::MAX)
        });
        peeked.map(|(_, output)| output)
    }

    /// The only id with this prefix. A prefix of no id is returned unchanged.
    pub fn resolve_id(&mut self, beginning: &str) -> Result<String, ToolError> {
        let beginning = beginning.trim();
        let ids = self.with_repair(|engine| {
            let ids = engine.store.rows().ids_beginning_with(beginning)?;
            let comparable = comparable_id(beginning);
            Ok(if ids.is_empty() { engine.store.rows().ids_beginning_with(&comparable)? } else { ids })
        })?;
        Ok(only_match(beginning, ids)?.unwrap_or_else(|| beginning.to_owned()))
    }
}
