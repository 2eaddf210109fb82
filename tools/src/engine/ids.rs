//! Finds memories and sessions by their ids, and by beginnings of ids.

use schema::model::memory::MemoryId;
use schema::store::{MemoryRow, Store};

use super::Engine;
use crate::error::ToolError;

/// The fewest characters of an id that stand for it. The brief shows as many.
pub(super) const SHORTEST: usize = 8;

impl Engine {
    /// Finds the memory by a prefix of its id.
    pub fn find_by_prefix(&mut self, beginning: &str) -> Result<MemoryRow, ToolError> {
        let id = MemoryId::parse(&self.resolve_id(beginning)?).ok_or_else(|| not_found(beginning))?;
        self.read_rows(|rows| rows.by_id(&id))?.ok_or_else(|| not_found(beginning))
    }

    /// A memory, without counting it as read.
    pub fn peek(&mut self, id: &str) -> Result<Option<MemoryRow>, ToolError> {
        let Some(id) = MemoryId::parse(id) else { return Ok(None) };
        self.read_rows(|rows| rows.by_id(&id))
    }

    /// The only id with this prefix. A prefix of no id is returned unchanged.
    pub fn resolve_id(&mut self, beginning: &str) -> Result<String, ToolError> {
        let beginning = beginning.trim();
        let ids = self.read_rows(|rows| {
            let ids = rows.ids_beginning_with(beginning)?;
            if ids.is_empty() { rows.ids_beginning_with(&comparable_id(beginning)) } else { Ok(ids) }
        })?;
        Ok(only_match(beginning, ids)?.unwrap_or_else(|| beginning.to_owned()))
    }

    /// The only session id with this prefix. A prefix of no session is returned unchanged.
    pub fn resolve_session_id(&mut self, beginning: &str) -> Result<String, ToolError> {
        let beginning = beginning.trim();
        let ids = self.read_rows(|rows| rows.sessions_beginning_with(beginning))?;
        Ok(only_match(beginning, ids)?.unwrap_or_else(|| beginning.to_owned()))
    }
}

pub(super) fn not_found(id: &str) -> ToolError {
    ToolError::NotFound(format!("there is no memory with the id {id:?}"))
}

/// The id that is given whole or by its beginning, if there is a memory with it.
pub(super) fn resolve_id(store: &Store, id: &str) -> Result<Option<MemoryId>, ToolError> {
    let rows = store.rows();
    let Some(parsed) = MemoryId::parse(id) else { return Ok(None) };
    let exact = rows.by_id(&parsed)?;
    if exact.is_some() || id.len() < MemoryId::SHORTEST_BEGINNING {
        return Ok(exact.map(|row| row.memory.id));
    }
    let id = &comparable_id(id);
    Ok(only_match(id, rows.ids_beginning_with(id)?)?.and_then(|only| MemoryId::parse(&only)))
}

/// An id as it is stored: hexadecimal digits are lower-case.
pub(super) fn comparable_id(id: &str) -> String {
    let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { id.to_ascii_lowercase() } else { id.to_owned() }
}

/// The only one of these ids, all with the same beginning, or the one that is the beginning itself.
pub(super) fn only_match(beginning: &str, ids: Vec<String>) -> Result<Option<String>, ToolError> {
    if let [first, second, ..] = &ids[..]
        && first != beginning
    {
        let text = format!("{beginning:?} matches {first} and {second}: give more characters of the id");
        return Err(ToolError::Invalid(text));
    }
    Ok(ids.into_iter().next())
}
