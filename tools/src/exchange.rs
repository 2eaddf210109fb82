//! Exports memories and reads exports: JSON lines, one JSON document, or Markdown. An import recreates the same store.

mod document;

pub use document::{MarkdownLogs, from_json};

use std::collections::{BTreeMap, HashMap};

use schema::intake::prepare::{Destination, Draft, prepare};
use schema::log::{LONG_TERM_FILE, LogKind, render_grouped};
use schema::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::state_note::{Settlement, StateChange, StateNote};
use schema::privacy::anonymiser::Anonymiser;
use schema::privacy::sanitizer::Sanitizer;
use schema::store::MemoryRow;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::bulk_import::{IncomingMemory, OriginalEntry};

/// A memory as a JSON line. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExportedMemory {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// RFC 3339 with the offset of the place of capture.
    pub at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<u8>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Changes of its state, such as the closing of a task, as objects with `at` and `closed`, `resolved`, `repeated` or `confirmed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Map<String, Value>>,
    pub path: String,
    /// Fields with unusable values, which are ignored; a time out of range is clamped.
    #[serde(skip)]
    pub odd: Vec<&'static str>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportLineError {
    #[error("not the JSON of a memory: {0}")]
    Json(String),
    #[error("{0:?} is not an id")]
    Id(String),
    #[error("{0:?} is not a time such as 2026-01-28T10:30:15+09:00")]
    Time(String),
}

/// Unparsed fields of a line.
type JsonFields<'j> = HashMap<String, &'j RawValue>;

fn required_field<T: DeserializeOwned>(fields: &JsonFields<'_>, name: &str) -> Result<T, ExportLineError> {
    let value = fields.get(name).ok_or_else(|| ExportLineError::Json(format!("missing field `{name}`")))?;
    serde_json::from_str(value.get()).map_err(|error| ExportLineError::Json(format!("{name}: {error}")))
}

fn optional_field<T: DeserializeOwned + Default>(
    fields: &JsonFields<'_>,
    name: &'static str,
    odd: &mut Vec<&'static str>,
) -> T {
    let Some(value) = fields.get(name) else { return T::default() };
    serde_json::from_str(value.get()).unwrap_or_else(|_| {
        odd.push(name);
        T::default()
    })
}

/// Replaces what identifies people and machines in memories and in the notes about them.
pub fn anonymise(anonymiser: Anonymiser, rows: &mut [MemoryRow], notes: &mut [Vec<StateNote>]) {
    let mut sanitizer = Sanitizer::default();
    sanitizer.anonymise(anonymiser);
    let clean = |text: &mut String| *text = sanitizer.clean(text).text.into_owned();
    let clean_fields = |fields: &mut Map<String, Value>| *fields = sanitizer.clean_fields(std::mem::take(fields)).0;
    for Memory { content, attributes, .. } in rows.iter_mut().map(|row| &mut row.memory) {
        clean(content);
        attributes.also.as_mut().map(clean);
        clean_fields(&mut attributes.metadata);
    }
    for note in notes.iter_mut().flatten() {
        match &mut note.change {
            StateChange::Resolved(Settlement::DoneBy(by)) | StateChange::Closed(Settlement::DoneBy(by)) => clean(by),
            StateChange::Confirmed(fields) | StateChange::Reviewed(fields) => clean_fields(fields),
            StateChange::Repeated(_) | StateChange::Resolved(_) | StateChange::Closed(_) => {}
        }
    }
}

impl ExportedMemory {
    pub fn from_row(row: &MemoryRow, notes: &[StateNote]) -> Self {
        let notes = notes.iter().map(without_id).collect();
        Self { notes, ..Self::from_memory(row.memory.clone(), row.path.clone()) }
    }

    fn from_memory(memory: Memory, path: String) -> Self {
        let Memory { id, session_id, kind, content, at, attributes } = memory;
        Self {
            id: id.to_string(),
            kind,
            at: at.rfc3339(),
            session: session_id,
            content,
            importance: attributes.importance,
            pinned: attributes.pinned,
            done: attributes.done,
            supersedes: attributes.supersedes.map(|id| id.to_string()),
            origin: attributes.origin,
            auto: attributes.auto,
            source: attributes.source.map(|id| id.to_string()),
            also: attributes.also,
            metadata: attributes.metadata,
            notes: Vec::new(),
            path,
            odd: Vec::new(),
        }
    }

    /// Whether another memory with the same id must be imported first.
    pub fn is_copy(&self) -> bool {
        MemoryId::parse(&self.id).is_some_and(|id| id.is_copy())
    }

    /// Parses a line. Only the identifying fields must be valid.
    pub fn parse(line: &[u8]) -> Result<Self, ExportLineError> {
        let fields: JsonFields<'_> =
            serde_json::from_slice(line).map_err(|error| ExportLineError::Json(error.to_string()))?;
        let at: String = required_field(&fields, "at")?;
        let mut odd: Vec<_> = Moment::is_out_of_range(&at).then_some("at").into_iter().collect();
        Ok(Self {
            id: required_field(&fields, "id")?,
            kind: required_field(&fields, "type")?,
            at,
            session: optional_field(&fields, "session", &mut odd),
            content: required_field(&fields, "content")?,
            importance: optional_field(&fields, "importance", &mut odd),
            pinned: optional_field(&fields, "pinned", &mut odd),
            done: optional_field(&fields, "done", &mut odd),
            supersedes: optional_field(&fields, "supersedes", &mut odd),
            origin: optional_field(&fields, "origin", &mut odd),
            auto: optional_field(&fields, "auto", &mut odd),
            source: optional_field(&fields, "source", &mut odd),
            also: optional_field(&fields, "also", &mut odd),
            metadata: optional_field(&fields, "metadata", &mut odd),
            notes: optional_field(&fields, "notes", &mut odd),
            path: optional_field(&fields, "path", &mut odd),
            odd,
        })
    }

    /// Converts it for import, redacted; `None` if nothing is left.
    pub fn into_incoming(self, sanitizer: &Sanitizer) -> Result<Option<IncomingMemory>, ExportLineError> {
        let id = MemoryId::parse(&self.id).ok_or(ExportLineError::Id(self.id))?;
        let at = Moment::parse_rfc3339(&self.at).ok_or(ExportLineError::Time(self.at))?;
        let log = log_of(&self.path, self.kind, &at);
        let destination = if log == LogKind::LongTerm { Destination::LongTerm } else { Destination::DailyLog };
        let attributes = MemoryAttributes {
            importance: self.importance.map(|importance| importance.min(3)),
            pinned: self.pinned,
            done: self.done,
            supersedes: self.supersedes.as_deref().and_then(MemoryId::parse),
            origin: self.origin,
            auto: self.auto,
            source: self.source.as_deref().and_then(MemoryId::parse),
            also: self.also,
            metadata: self.metadata,
        };
        let notes = self.notes.into_iter().flat_map(|mut fields| {
            fields.insert("about".to_owned(), id.as_str().into());
            StateNote::from_fields(&fields)
        });
        let notes = notes.map(|note| clean_note(note, sanitizer)).collect();
        let draft =
            Draft { session_id: self.session, kind: self.kind, content: self.content, at, attributes, destination };
        Ok(prepare(draft, sanitizer)
            .map(|prepared| IncomingMemory { prepared, exact: Some(OriginalEntry { id, log, notes }) }))
    }
}

/// The log of an exported memory. A shared memory becomes one of the user.
fn log_of(path: &str, kind: MemoryType, at: &Moment) -> LogKind {
    match LogKind::from_path(path) {
        // An event has only a time, so it belongs to its own day.
        Some(LogKind::Daily(_)) if kind.is_event() => LogKind::Daily(at.date()),
        Some(LogKind::Team) | None => LogKind::Daily(at.date()),
        Some(log) => log,
    }
}

fn without_id(note: &StateNote) -> Map<String, Value> {
    let mut fields = note.fields();
    fields.remove("about");
    fields
}

/// Removes secrets. A confirmation with one loses all that it says about the code.
fn clean_note(note: StateNote, sanitizer: &Sanitizer) -> StateNote {
    let cleaned = |by| match by {
        Settlement::DoneBy(text) => Settlement::by(&sanitizer.clean(&text).text),
        by => by,
    };
    let change = match note.change {
        StateChange::Closed(by) => StateChange::Closed(cleaned(by)),
        StateChange::Resolved(by) => StateChange::Resolved(cleaned(by)),
        StateChange::Confirmed(fields) => {
            let json = Value::Object(fields.clone()).to_string();
            StateChange::Confirmed(if sanitizer.clean(&json).text == json { fields } else { Map::new() })
        }
        StateChange::Reviewed(fields) => StateChange::Reviewed(sanitizer.clean_fields(fields).0),
        StateChange::Repeated(number) => StateChange::Repeated(number),
    };
    StateNote { change, ..note }
}

/// Writes memories as Markdown logs: long-term memory first, then day by day, each with the changes of states on that day.
pub fn render_markdown(rows: &[MemoryRow], notes: &[StateNote]) -> String {
    let mut logs: BTreeMap<(bool, String), (Vec<_>, Vec<_>)> = BTreeMap::new();
    for note in notes {
        logs.entry((true, LogKind::Daily(note.at.date()).file_name())).or_default().1.push(note);
    }
    for row in rows {
        let name = log_of(&row.path, row.memory.kind, &row.memory.at).file_name();
        logs.entry((name != LONG_TERM_FILE, name)).or_default().0.push(&row.memory);
    }
    let texts = logs.iter().map(|((_, name), (memories, notes))| {
        let kind = LogKind::from_path(name).unwrap_or(LogKind::LongTerm);
        String::from_utf8_lossy(&render_grouped(memories, notes, kind)).into_owned()
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
