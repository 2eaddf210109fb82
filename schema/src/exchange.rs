//! Memories in files for others, from which the same store is made again: lines of JSON, one document of it, or Markdown.

mod document;

pub use document::{Logs, from_json};

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::bulk::{Arrival, Exact};
use crate::capture::{Destination, Draft, prepare};
use crate::daily_log::{LONG_TERM_FILE, LogKind, grouped};
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::screen::Screen;
use crate::store::Row;

/// A memory as a line of JSON has it. Fields of a later version are ignored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Exported {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// RFC 3339 at the offset of the place where it was noted.
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
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// The file of the store that holds it.
    pub path: String,
    /// Fields whose values cannot be used as they are: they are ignored, and a time out of range is clamped.
    #[serde(skip)]
    pub odd: Vec<&'static str>,
}

/// A line that is no memory.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("it is not the JSON of a memory: {0}")]
    Json(String),
    #[error("{0:?} is no id")]
    Id(String),
    #[error("{0:?} is no time such as 2026-01-28T10:30:15+09:00")]
    Time(String),
}

/// The fields of a line, not read yet.
type Fields<'j> = HashMap<String, &'j RawValue>;

fn required<T: DeserializeOwned>(fields: &Fields<'_>, name: &str) -> Result<T, Unreadable> {
    let value = fields.get(name).ok_or_else(|| Unreadable::Json(format!("missing field `{name}`")))?;
    serde_json::from_str(value.get()).map_err(|error| Unreadable::Json(format!("{name}: {error}")))
}

fn optional<T: DeserializeOwned + Default>(fields: &Fields<'_>, name: &'static str, odd: &mut Vec<&'static str>) -> T {
    let Some(value) = fields.get(name) else { return T::default() };
    serde_json::from_str(value.get()).unwrap_or_else(|_| {
        odd.push(name);
        T::default()
    })
}

impl Exported {
    pub fn of(row: &Row) -> Self {
        Self::of_memory(row.memory.clone(), row.path.clone())
    }

    fn of_memory(memory: Memory, path: String) -> Self {
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
            metadata: attributes.metadata,
            path,
            odd: Vec::new(),
        }
    }

    /// Whether it stands beside another one that carries the same id, which is to come in first then.
    pub fn is_copy(&self) -> bool {
        MemoryId::parse(&self.id).is_some_and(|id| id.claim() != id)
    }

    /// Reads a line. Only what tells which memory it is must be right.
    pub fn parse(line: &[u8]) -> Result<Self, Unreadable> {
        let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| Unreadable::Json(error.to_string()))?;
        let at: String = required(&fields, "at")?;
        let mut odd: Vec<_> = Moment::is_out_of_range(&at).then_some("at").into_iter().collect();
        Ok(Self {
            id: required(&fields, "id")?,
            kind: required(&fields, "type")?,
            at,
            session: optional(&fields, "session", &mut odd),
            content: required(&fields, "content")?,
            importance: optional(&fields, "importance", &mut odd),
            pinned: optional(&fields, "pinned", &mut odd),
            done: optional(&fields, "done", &mut odd),
            supersedes: optional(&fields, "supersedes", &mut odd),
            origin: optional(&fields, "origin", &mut odd),
            metadata: optional(&fields, "metadata", &mut odd),
            path: optional(&fields, "path", &mut odd),
            odd,
        })
    }

    /// The memory on its way in: cleaned like all that comes in, and `None` when nothing is left of it.
    pub fn arrival(self, screen: &Screen) -> Result<Option<Arrival>, Unreadable> {
        let id = MemoryId::parse(&self.id).ok_or(Unreadable::Id(self.id))?;
        let at = Moment::parse_rfc3339(&self.at).ok_or(Unreadable::Time(self.at))?;
        let day = LogKind::Daily(at.date());
        let log = match LogKind::of(&self.path) {
            // An event says its time only: it belongs to its own day.
            Some(LogKind::Daily(_)) if self.kind.is_session_data() => day,
            Some(log) => log,
            None => day,
        };
        let destination = if log == LogKind::LongTerm { Destination::LongTerm } else { Destination::DailyLog };
        let attributes = Attributes {
            importance: self.importance.map(|importance| importance.min(3)),
            pinned: self.pinned,
            done: self.done,
            supersedes: self.supersedes.as_deref().and_then(MemoryId::parse),
            origin: self.origin,
            metadata: self.metadata,
        };
        let draft =
            Draft { session_id: self.session, kind: self.kind, content: self.content, at, attributes, destination };
        Ok(prepare(draft, screen).map(|prepared| Arrival { prepared, exact: Some(Exact { id, log }) }))
    }
}

/// Memories as Markdown, written like the logs that hold them: long-term memory first, then day by day.
pub fn markdown(rows: &[Row]) -> String {
    let mut logs: BTreeMap<(bool, String), Vec<&Memory>> = BTreeMap::new();
    for row in rows {
        let day = LogKind::Daily(row.memory.at.date());
        let log = match LogKind::of(&row.path) {
            // An event says its time only: it belongs to its own day.
            Some(LogKind::Daily(_)) | None if row.memory.kind.is_session_data() => day,
            Some(log) => log,
            None => day,
        };
        let name = log.file_name();
        logs.entry((name != LONG_TERM_FILE, name)).or_default().push(&row.memory);
    }
    let text = |((_, name), memories): (&(bool, String), &Vec<&Memory>)| {
        let kind = LogKind::of(name).unwrap_or(LogKind::LongTerm);
        String::from_utf8_lossy(&grouped(memories, kind)).into_owned()
    };
    logs.iter().map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
