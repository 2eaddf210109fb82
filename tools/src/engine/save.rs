//! `memory_save`: one fact, kept for later sessions.

use schema::capture::{Captured, Destination, Draft, LIMIT, Prepared, prepare, refusal};
use schema::memory::{Attributes, MemoryId};
use schema::moment::Moment;
use schema::settings;
use schema::store::Store;
use schema::tool::{SaveInput, SaveOutput};
use serde_json::{Map, Value};

use super::file_access::shown;
use crate::error::ToolError;

/// Makes what is to be saved fit to be kept.
pub(super) fn prepared(store: &Store, input: &SaveInput, session_id: &str, at: Moment) -> Result<Prepared, ToolError> {
    if input.content.trim().is_empty() {
        return Err(ToolError::Invalid("content is empty: say what is to be remembered".to_owned()));
    }
    if input.content.len() > LIMIT {
        return Err(ToolError::Invalid(format!(
            "content is {} bytes, at most {LIMIT} are kept: save the point of it, and leave the rest in a file",
            input.content.len()
        )));
    }
    if input.long_term && input.kind.is_session_data() {
        return Err(ToolError::Invalid(format!(
            "type {} is the course of a session and belongs into the daily log: leave out longTerm, or choose decision, \
             learning, error_fix, session_summary, preference or convention",
            input.kind
        )));
    }
    let metadata = metadata(input.metadata.as_ref())?;
    if let Some(reason) = refusal(&metadata) {
        return Err(ToolError::Invalid(format!(
            "metadata is {reason}: keep it to a few short fields, and leave the rest in a file"
        )));
    }
    let supersedes = input.supersedes.as_deref().map(|id| superseded(store, id.trim())).transpose()?;
    let draft = Draft {
        session_id: session_id.to_owned(),
        kind: input.kind,
        content: input.content.clone(),
        at,
        attributes: Attributes { supersedes, metadata, ..Attributes::default() },
        destination: if input.long_term { Destination::LongTerm } else { Destination::DailyLog },
    };
    let screen = settings::load(store.layout()).screen;
    let nothing_left = || ToolError::Invalid("nothing is left of content without its <private> parts".to_owned());
    prepare(draft, &screen).ok_or_else(nothing_left)
}

/// The result of `memory_save`.
pub(super) fn output(saved: Captured) -> Result<SaveOutput, ToolError> {
    let (id, place, was_known) = match saved {
        Captured::Saved { id, place } => (id, place, false),
        Captured::Duplicate(row) => (row.memory.id, row.place, true),
        Captured::Forgotten => return Err(ToolError::Internal("only replays ask what was forgotten".to_owned())),
    };
    let path = shown(&place.path);
    let message = if was_known { format!("already remembered in {path}") } else { format!("saved to {path}") };
    let (start_line, end_line) = (place.start_line, place.end_line);
    let duplicate_of = was_known.then(|| id.to_string());
    Ok(SaveOutput { id: id.to_string(), path, start_line, end_line, saved: !was_known, duplicate_of, message })
}

fn superseded(store: &Store, id: &str) -> Result<MemoryId, ToolError> {
    let missing =
        || ToolError::NotFound(format!("supersedes is {id:?}: there is no memory with this id; search for it first"));
    let parsed = MemoryId::parse(id).ok_or_else(missing)?;
    store.rows().by_id(&parsed)?.map(|_| parsed).ok_or_else(missing)
}

/// An object, or the text of one: some models can only send text.
fn metadata(given: Option<&Value>) -> Result<Map<String, Value>, ToolError> {
    let refused = |what: &str| {
        ToolError::Invalid(format!("metadata is {what}: give a JSON object such as {{\"context\": \"SPEC-001\"}}"))
    };
    match given {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(fields)) => Ok(fields.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err(refused("JSON but no object")),
            Err(error) => Err(refused(&format!("not JSON ({error})"))),
        },
        Some(_) => Err(refused("no object")),
    }
}
