//! `memory_save`: one fact, kept for later sessions.

use std::io::{Read as _, Seek as _, SeekFrom};

use schema::capture::{Captured, Destination, Draft, LIMIT, Prepared, prepare, refusal};
use schema::daily_log::{LogKind, lines};
use schema::memory::{Attributes, MemoryId};
use schema::moment::Moment;
use schema::own_file;
use schema::settings;
use schema::store::{InStep, Row, Store};
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
             learning, error_fix, session_summary, preference, convention, architecture, pattern or task",
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

/// The lines of the log that was saved to last, so that they are not all counted again for the next save. They hold for as long as the log is
/// only appended to.
#[derive(Debug, Default)]
pub(super) struct Counted {
    path: String,
    reading: String,
    bytes: u64,
    lines: usize,
}

impl Counted {
    /// The lines of a memory, if it stands behind what was counted.
    fn lines_at_the_end(&mut self, store: &Store, row: &Row) -> Option<(usize, usize)> {
        let kind = LogKind::of(&row.path)?;
        let InStep { reading, .. } = store.in_step(&row.path).ok()??;
        if (&self.path, &self.reading) != (&row.path, &reading) {
            *self = Self { path: row.path.clone(), reading, bytes: 0, lines: 0 };
        }
        let mut file = own_file::open(&store.layout().file(&row.path)).ok()?;
        file.seek(SeekFrom::Start(self.bytes)).ok()?;
        let mut more = Vec::new();
        file.read_to_end(&mut more).ok()?;
        let found = lines(&more, &row.memory, &row.path, kind);
        let found = found.map(|found| (self.lines + found.start(), self.lines + found.end()));
        self.bytes += more.len() as u64;
        self.lines += more.iter().filter(|byte| **byte == b'\n').count();
        found
    }
}

/// The result of `memory_save`.
pub(super) fn output(store: &Store, counted: &mut Counted, saved: Captured) -> Result<SaveOutput, ToolError> {
    let (id, path, message, is_new) = match saved {
        Captured::Saved { id, path } => (id, path, "saved to", true),
        Captured::Waiting { id, path } => {
            (id, path, "saved; another program is writing the file, so it comes later to", true)
        }
        Captured::Duplicate(row) => (row.memory.id, row.path, "already remembered in", false),
        Captured::Forgotten => return Err(ToolError::Internal("only replays ask what was forgotten".to_owned())),
    };
    let row = store.rows().by_id(&id)?;
    let lines = row.map(|row| counted.lines_at_the_end(store, &row).unwrap_or_else(|| store.locator().lines(&row)));
    let (start_line, end_line) = lines.unwrap_or((0, 0));
    let path = shown(&path);
    let message = format!("{message} {path}");
    let duplicate_of = (!is_new).then(|| id.to_string());
    Ok(SaveOutput { id: id.to_string(), path, start_line, end_line, saved: is_new, duplicate_of, message })
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
