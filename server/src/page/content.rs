//! The content of the page as plain values, from which its HTML and its JSON are made. Both clean all texts when they are written.

pub(super) mod briefs;
pub(super) mod health;
pub(super) mod history;
pub(super) mod memory;
pub(super) mod review;
pub(super) mod search;

use schema::model::memory::{MemoryId, MemoryType, content_hash};
use schema::model::moment::Moment;
use schema::store::MemoryRow;
use serde::Serialize;
use tools::error::ToolError;

/// Characters of a text in a list.
const EXCERPT: usize = 300;

/// A memory in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct MemoryItem {
    pub(in crate::page) id: String,
    /// `None` for a passage of Markdown.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(in crate::page) kind: Option<MemoryType>,
    /// Local date and time.
    pub(in crate::page) date: String,
    pub(in crate::page) path: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::page) session_id: String,
    /// The text, or the part of it around the match.
    pub(in crate::page) excerpt: String,
    /// From 0 to 1, of hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) confidence: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::page) flags: Vec<String>,
    /// What changed in its code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) code: Option<String>,
}

impl MemoryItem {
    pub(in crate::page) fn of_row(row: &MemoryRow) -> Self {
        let superseded = row.superseded_by.is_some().then_some("superseded");
        let pinned = row.memory.attributes.pinned.then_some("pinned");
        Self {
            id: row.memory.id.to_string(),
            kind: Some(row.memory.kind),
            date: minute(&row.memory.at),
            path: row.path.clone(),
            session_id: row.memory.session_id.clone(),
            excerpt: beginning(&row.memory.content),
            score: None,
            confidence: None,
            flags: superseded.into_iter().chain(pinned).map(str::to_owned).collect(),
            code: None,
        }
    }
}

/// The beginning of a text, with its lines.
fn beginning(text: &str) -> String {
    let end = text.char_indices().nth(EXCERPT).map_or(text.len(), |(at, _)| at);
    let mut beginning = text[..end].trim().to_owned();
    if end < text.len() {
        beginning.push('…');
    }
    beginning
}

/// A date and a time in minutes.
fn minute(at: &Moment) -> String {
    at.local_second().replace('T', " ")[..16].to_owned()
}

/// The type with this name. An empty name is no type.
pub(in crate::page) fn memory_type(name: &str) -> Result<Option<MemoryType>, ToolError> {
    let unknown = |_| ToolError::Invalid(format!("unknown type of memory {name:?}"));
    (!name.is_empty()).then(|| name.parse().map_err(unknown)).transpose()
}

/// Returns the digest of what a person decides by: the text of a memory, and what replaced it.
pub(in crate::page) fn digest_of(row: &MemoryRow) -> String {
    let successor = row.superseded_by.as_ref().map_or("", MemoryId::as_str);
    content_hash(&format!("{}\0{successor}", row.memory.content))
}
