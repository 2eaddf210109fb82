//! Makes a text fit to be stored: private parts and secrets are removed, and it is shortened.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::log::LogKind;
use crate::model::code_anchor::CodeContext;
use crate::model::failure::Success;
use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::privacy::private_tags::strip_private;
use crate::privacy::sanitizer::Sanitizer;

/// The longest text that is stored of one event, in bytes. A longer one keeps its start and its end.
pub const TEXT_LIMIT: usize = 64 * 1024;

/// The longest text that is searched for secrets as a whole, in bytes. A hook has one second.
const REDACTION_WINDOW: usize = 16 * TEXT_LIMIT;

/// The longest metadata of one memory, in bytes of JSON.
pub const METADATA_LIMIT: usize = 16 * 1024;

/// The longest `also` text, the words by which a memory will be asked for, in characters.
pub const ALSO_LIMIT: usize = 200;

/// The deepest nesting of metadata, counting the metadata itself.
pub const METADATA_DEPTH: usize = 16;

/// A text before any processing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The host's session, or empty.
    pub session_id: String,
    pub kind: MemoryType,
    pub content: String,
    pub at: Moment,
    pub attributes: MemoryAttributes,
    pub destination: Destination,
}

impl Draft {
    /// Returns a draft for the daily log, without attributes.
    pub fn new(session_id: impl Into<String>, kind: MemoryType, content: impl Into<String>, at: Moment) -> Self {
        Self {
            session_id: session_id.into(),
            kind,
            content: content.into(),
            at,
            attributes: MemoryAttributes::default(),
            destination: Destination::DailyLog,
        }
    }
}

/// The file that a memory is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The log of its day.
    DailyLog,
    /// `MEMORY.md`.
    LongTerm,
}

/// A text that may be stored: without private parts and secrets, in NFC, and not too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedMemory {
    pub(super) draft: Draft,
    pub(super) redactions: usize,
    pub(super) delivery: Delivery,
    /// The attempts of this memory's turn that succeeded after they had failed.
    pub(super) succeeded: Vec<Success>,
}

/// How a text reaches `commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is new, so a forgotten text may be saved again.
    Live,
    /// It waited or is imported, so a forgotten text stays forgotten.
    Replay,
}

/// Removes private parts, secrets and excess length from all texts of a draft. Returns `None` if nothing is left.
pub fn prepare(draft: Draft, sanitizer: &Sanitizer) -> Option<PreparedMemory> {
    let open = redaction_window(&draft.content);
    let first = sanitizer.clean(&open);
    let trimmed = first.text.trim();
    // A secret at the very end may be recognisable only without the space behind it.
    let second = (trimmed.len() < first.text.len()).then(|| sanitizer.clean(trimmed));
    let (content, more) = second.as_ref().map_or((trimmed, 0), |second| (second.text.trim(), second.count));
    if content.is_empty() {
        return None;
    }
    let content = truncate_middle(content, TEXT_LIMIT);
    let session_id = sanitizer.clean(&draft.session_id).text.into_owned();
    let origin = draft.attributes.origin.map(|origin| sanitizer.clean(&origin).text.into_owned());
    let metadata = match metadata_error(&draft.attributes.metadata) {
        Some(reason) => Map::from_iter([("metadata_left_out".to_owned(), reason.into())]),
        None => draft.attributes.metadata,
    };
    let (metadata, in_metadata) = sanitizer.clean_fields(metadata);
    let also = draft.attributes.also.as_deref().map(|also| sanitizer.clean(also));
    let in_also = also.as_ref().map_or(0, |also| also.count);
    let also = also.map(|also| one_line(&also.text, ALSO_LIMIT)).filter(|also| !also.is_empty());
    let attributes = MemoryAttributes { origin, also, metadata, ..draft.attributes };
    let redactions = first.count + more + in_metadata + in_also;
    Some(PreparedMemory {
        draft: Draft { session_id, content, attributes, ..draft },
        redactions,
        delivery: Delivery::Live,
        succeeded: Vec::new(),
    })
}

/// Returns the first characters of a text on one line.
fn one_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(limit).collect();
    line.trim_end().to_owned()
}

/// Returns why metadata is not stored, or `None` if it is.
pub fn metadata_error(metadata: &Map<String, Value>) -> Option<String> {
    if 1 + metadata.values().map(json_depth).max().unwrap_or_default() > METADATA_DEPTH {
        return Some(format!("nested deeper than {METADATA_DEPTH} levels"));
    }
    let bytes = serde_json::to_string(metadata).map_or(usize::MAX, |json| json.len());
    (bytes > METADATA_LIMIT).then(|| format!("{bytes} bytes, at most {METADATA_LIMIT} are kept"))
}

/// Returns the depth of objects and arrays. Parsed JSON is at most 128 deep, which recursion can handle.
fn json_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(json_depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(json_depth).max().unwrap_or_default(),
        _ => 0,
    }
}

impl PreparedMemory {
    /// Returns the same memory with attempts whose failures it settles.
    pub fn with_succeeded(self, succeeded: Vec<Success>) -> Self {
        Self { succeeded, ..self }
    }

    /// Returns the same memory with the code that it is about, unless its metadata would become too long.
    pub fn with_code(mut self, code: &CodeContext) -> Self {
        let mut metadata = self.draft.attributes.metadata.clone();
        code.add_to(&mut metadata);
        if metadata_error(&metadata).is_none() {
            self.draft.attributes.metadata = metadata;
        }
        self
    }

    pub fn succeeded(&self) -> &[Success] {
        &self.succeeded
    }

    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    pub fn redactions(&self) -> usize {
        self.redactions
    }

    /// The id that the memory gets, unless its session has the same text of its type in the same second already.
    pub fn id(&self) -> MemoryId {
        let Draft { session_id, kind, content, at, .. } = &self.draft;
        MemoryId::derive(session_id, *kind, at, content, 0)
    }

    pub fn to_memory(&self) -> Memory {
        let Draft { session_id, kind, content, at, attributes, .. } = self.draft.clone();
        Memory { id: self.id(), session_id, kind, content, at, attributes }
    }

    /// The log that the memory goes to.
    pub(super) fn log_kind(&self) -> LogKind {
        match self.draft.destination {
            Destination::DailyLog => LogKind::Daily(self.draft.at.date()),
            Destination::LongTerm => LogKind::LongTerm,
        }
    }
}

/// Returns the part of a text that is searched for secrets. It is far more than is stored, so that cutting cannot hide a secret.
fn redaction_window(text: &str) -> Cow<'_, str> {
    if text.len() <= REDACTION_WINDOW {
        return Cow::Borrowed(text);
    }
    Cow::Owned(truncate_middle(&strip_private(text), REDACTION_WINDOW))
}

/// Shortens a text over `limit` bytes to its start and end, and inserts how many characters are gone.
fn truncate_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - (limit / 4 - 64));
    let gone = text[head..tail].chars().count();
    format!("{}\n[… {gone} characters left out …]\n{}", &text[..head], &text[tail..])
}
