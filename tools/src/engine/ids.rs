//! Finds ids by their beginnings.

use schema::model::memory::MemoryId;
use schema::store::Store;

use crate::error::ToolError;

/// The fewest characters of an id that stand for it. The brief shows as many.
pub(super) const SHORTEST: usize = 8;

/// The id that is given whole or by its beginning, if there is a memory with it.
pub(super) fn resolve_id(store: &Store, id: &str) -> Result<Option<MemoryId>, ToolError> {
    let rows = store.rows();
    let Some(parsed) = MemoryId::parse(id) else { return Ok(None) };
    if id.len() < MemoryId::SHORTEST_BEGINNING || rows.by_id(&parsed)?.is_some() {
        return Ok(rows.by_id(&parsed)?.map(|_| parsed));
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
