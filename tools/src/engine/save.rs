//! `memory_save`: stores one fact for later sessions.

use schema::host::code::anchored::CodePlace;
use schema::host::code::changes::current_code;
use schema::host::track_buffer::files_of_turn;
use schema::intake::capture::{CaptureOutcome, commit};
use schema::intake::prepare::{ALSO_LIMIT, Destination, Draft, PreparedMemory, TEXT_LIMIT, metadata_error, prepare};
use schema::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::prose::tasks;
use schema::settings;
use schema::store::Store;
use schema::tool::{SaveInput, SaveOutput};
use serde_json::{Map, Value};

use super::Engine;
use super::file_access::{LineCounter, display_path};
use super::ids::resolve_id;
use crate::error::ToolError;
use crate::index::{TAGS, metadata_tags};

impl Engine {
    /// `memory_save`.
    pub fn save(&mut self, input: &SaveInput) -> Result<SaveOutput, ToolError> {
        let prepared = self.prepare(input)?;
        self.with_repair(|engine| {
            let saved = commit(&mut engine.store, &prepared)?;
            engine.save_output(saved)
        })
    }

    /// Validates and cleans a memory for [`Engine::commit`].
    pub fn prepare(&mut self, input: &SaveInput) -> Result<PreparedMemory, ToolError> {
        let now = Moment::now();
        self.with_repair(|engine| engine.prepare_save(input, now))
    }

    /// Builds the result of `memory_save`.
    pub fn save_output(&mut self, saved: CaptureOutcome) -> Result<SaveOutput, ToolError> {
        save_output(&self.store, &mut self.line_counter, saved)
    }

    fn prepare_save(&self, input: &SaveInput, at: Moment) -> Result<PreparedMemory, ToolError> {
        let store = &self.store;
        if input.content.trim().is_empty() {
            return Err(ToolError::Invalid("content is empty: give the text to remember".to_owned()));
        }
        if input.content.len() > TEXT_LIMIT {
            return Err(ToolError::Invalid(format!(
                "content is {} bytes, over the limit of {TEXT_LIMIT}: save a summary and leave the rest in a file",
                input.content.len()
            )));
        }
        let length = input.also.as_deref().map_or(0, |also| also.chars().count());
        if length > ALSO_LIMIT {
            return Err(ToolError::Invalid(format!(
                "also has {length} characters, over the limit of {ALSO_LIMIT}: leave some out"
            )));
        }
        if input.long_term && input.kind.is_event() {
            return Err(ToolError::Invalid(format!(
                "type {} is session data and belongs in the daily log: omit longTerm, or choose decision, \
                 learning, error_fix, session_summary, preference, convention, architecture, pattern or task",
                input.kind
            )));
        }
        let mut metadata = parse_metadata(input.metadata.as_ref())?;
        add_tags(&mut metadata, &input.tags);
        if let Some(reason) = metadata_error(&metadata) {
            return Err(ToolError::Invalid(format!(
                "metadata is {reason}: use a few short fields and leave the rest in a file"
            )));
        }
        let supersedes = input.supersedes.as_deref().map(|id| find_superseded(store, id.trim())).transpose()?;
        let (content, done) = match input.kind {
            MemoryType::Task => state_of_saved(store, &input.content, supersedes.as_ref())?,
            _ => (input.content.as_str(), false),
        };
        let also = input.also.clone();
        let draft = Draft {
            attributes: MemoryAttributes { done, supersedes, also, metadata, ..MemoryAttributes::default() },
            destination: if input.long_term { Destination::LongTerm } else { Destination::DailyLog },
            ..Draft::new(self.session_id.clone(), input.kind, content, at)
        };
        let sanitizer = settings::load(store.layout()).sanitizer;
        let nothing_left = || ToolError::Invalid("content is empty without its <private> parts".to_owned());
        let prepared = prepare(draft, &sanitizer).ok_or_else(nothing_left)?;
        self.add_code(&sanitizer, prepared)
    }

    /// Adds the code that a memory is about. If the same text is saved again, this is the same code.
    fn add_code(&self, sanitizer: &Sanitizer, prepared: PreparedMemory) -> Result<PreparedMemory, ToolError> {
        let store = &self.store;
        let memory = prepared.to_memory();
        if !memory.kind.is_about_code() {
            return Ok(prepared);
        }
        let is_long_term = prepared.draft().destination == Destination::LongTerm;
        let mut files: Vec<String> = match store.rows().find_same_conclusion(&memory, is_long_term)? {
            Some(same) => current_code(store.rows(), &same)?.0.anchors.into_iter().map(|anchor| anchor.path).collect(),
            None => Vec::new(),
        };
        if files.is_empty() && !memory.session_id.is_empty() {
            files = files_of_turn(store.layout(), &memory.session_id);
        }
        let place = CodePlace { project: store.layout().project(), directory: &self.checkout, sanitizer };
        Ok(place.anchored(prepared, &files))
    }
}

/// Returns the text of a saved task without its checkbox, and whether it is done.
fn state_of_saved<'t>(
    store: &Store,
    content: &'t str,
    supersedes: Option<&MemoryId>,
) -> Result<(&'t str, bool), ToolError> {
    let (text, is_ticked) = tasks::without_checkbox(content);
    if is_ticked || tasks::ends_with_done(text) {
        return Ok((text, true));
    }
    let replaced = supersedes.map(|id| store.rows().by_id(id)).transpose()?.flatten();
    let task = replaced.filter(|row| row.memory.kind == MemoryType::Task);
    let reports_it = task.is_some_and(|row| !tasks::finished(text, &[&row.memory.content]).is_empty());
    Ok((text, reports_it))
}

pub(super) fn save_output(
    store: &Store,
    line_counter: &mut LineCounter,
    outcome: CaptureOutcome,
) -> Result<SaveOutput, ToolError> {
    let (id, path, message, is_new) = match outcome {
        CaptureOutcome::Saved { id, path } => (id, path, "saved to", true),
        CaptureOutcome::Waiting { id, path } => {
            (id, path, "saved; another program is writing the file, so it is added later to", true)
        }
        CaptureOutcome::Duplicate(row) => (row.memory.id, row.path, "already saved in", false),
        CaptureOutcome::Forgotten => {
            return Err(ToolError::Internal("only imports check forgotten memories".to_owned()));
        }
    };
    let row = store.rows().by_id(&id)?;
    let lines =
        row.map(|row| line_counter.lines_of_last(store, &row).unwrap_or_else(|| store.locator().find_lines(&row)));
    let (start_line, end_line) = lines.unwrap_or((0, 0));
    let path = display_path(&path);
    let message = format!("{message} {path}");
    let duplicate_of = (!is_new).then(|| id.to_string());
    Ok(SaveOutput { id: id.to_string(), path, start_line, end_line, saved: is_new, duplicate_of, message })
}

fn find_superseded(store: &Store, id: &str) -> Result<MemoryId, ToolError> {
    let missing =
        || ToolError::NotFound(format!("supersedes is {id:?}: there is no memory with this id; search for it first"));
    resolve_id(store, id)?.ok_or_else(missing)
}

/// Adds tags to those of the metadata.
fn add_tags(metadata: &mut Map<String, Value>, tags: &[String]) {
    let tags = tags.iter().map(|tag| tag.trim().trim_start_matches('#')).filter(|tag| !tag.is_empty());
    let mut all: Vec<String> = metadata.get(TAGS).into_iter().flat_map(metadata_tags).map(str::to_owned).collect();
    for tag in tags {
        if !all.iter().any(|known| known == tag) {
            all.push(tag.to_owned());
        }
    }
    if !all.is_empty() {
        metadata.insert(TAGS.to_owned(), all.into());
    }
}

/// Accepts an object or its text, because some models can only send text.
fn parse_metadata(given: Option<&Value>) -> Result<Map<String, Value>, ToolError> {
    let refused = |what: &str| {
        ToolError::Invalid(format!("metadata is {what}: give a JSON object such as {{\"context\": \"SPEC-001\"}}"))
    };
    match given {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(fields)) => Ok(fields.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err(refused("JSON but not an object")),
            Err(error) => Err(refused(&format!("not JSON ({error})"))),
        },
        Some(_) => Err(refused("not an object")),
    }
}
