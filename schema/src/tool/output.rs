//! The results of the tools. Compact, because some hosts show a model this and nothing else.

use serde::{Deserialize, Serialize};

use crate::memory::MemoryType;

/// Result of `memory_search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SearchOutput {
    /// The hits, best first; empty when nothing is relevant.
    pub results: Vec<Hit>,
    pub count: usize,
    pub mode: Mode,
    /// Who makes the embeddings, `none` when nobody does.
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the reader should know about this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// How a search was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By meaning and by words.
    Hybrid,
    /// By words alone.
    Text,
}

/// One hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct Hit {
    /// Opens with `memory_get`.
    pub id: String,
    pub source: HitSource,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryType>,
    /// Relative to the project.
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Local date and time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// At most 200 characters around the match.
    pub snippet: String,
    /// Relevance from 0 to 1.
    pub score: f64,
    /// `suggested` may be beside the point.
    pub confidence: Confidence,
    /// `superseded`, `long_term`, `pinned`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// How the score came about, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// How sure it is that a hit answers what was asked. When nothing is even suggested, there are no hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    High,
    Suggested,
}

impl Confidence {
    /// From here on nine of ten first hits answer what the project's own evaluation set asks; docs/retrieval.md has the curve.
    const HIGH: f64 = 0.6;

    /// The confidence that a score stands for.
    pub fn of(score: f64) -> Self {
        if score >= Self::HIGH { Self::High } else { Self::Suggested }
    }

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Suggested => "suggested",
        }
    }
}

/// Which of the two sources a hit is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum HitSource {
    Chunks,
    Memory,
}

/// Result of `memory_get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct GetOutput {
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    pub total_lines: usize,
    pub content: String,
    /// When a memory was asked for by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<AboutMemory>,
    /// What was cut or missing, and how to get the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What is known of a memory beside its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct AboutMemory {
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// Local date and time.
    pub date: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session_id: String,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// Result of `memory_load`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LoadOutput {
    pub content: String,
    pub files: Vec<LoadedFile>,
    pub truncated: bool,
    /// What was cut or missing, and how to get the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// A file that was loaded, and which of its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct LoadedFile {
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    pub total_lines: usize,
}

/// Result of `memory_save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SaveOutput {
    pub id: String,
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    /// Whether it is new.
    pub saved: bool,
    /// The memory that says the same already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    pub message: String,
}

/// Result of `memory_stats`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct StatsOutput {
    pub project: String,
    pub memories: u64,
    pub types: Vec<TypeCount>,
    pub sessions: u64,
    pub chunks: u64,
    pub files: u64,
    /// Bytes of the store on disk.
    pub bytes: u64,
    pub embedding: EmbeddingStats,
    /// Rows that the index has still to take in.
    pub pending: u64,
    /// When the index last changed, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_indexed: Option<String>,
    /// Secrets taken out before anything was stored.
    pub redactions: u64,
    /// Captured events that wait in the spool.
    pub queue: u64,
    /// Who takes events of hooks over the socket. With nobody there hooks write by themselves.
    pub queue_answered_by: QueueServer,
    /// What is wrong or was mended, newest first.
    pub problems: Vec<String>,
}

/// Which server answers the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum QueueServer {
    ThisServer,
    AnotherServer,
    Nobody,
}

impl QueueServer {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThisServer => "this server",
            Self::AnotherServer => "another server",
            Self::Nobody => "nobody",
        }
    }
}

/// How many memories there are of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct TypeCount {
    #[serde(rename = "type")]
    pub kind: MemoryType,
    pub count: u64,
}

/// How far embedding has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct EmbeddingStats {
    /// `none` when search goes by words alone.
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The share of passages that have a vector, from 0 to 1.
    pub coverage: f64,
    /// Passages that wait for one.
    pub pending: u64,
    /// Passages of which the model makes none, or which a service refuses; they are found by their words.
    pub without: u64,
}

/// Result of `memory_reindex`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ReindexOutput {
    /// Files that were read.
    pub files: usize,
    /// Chunks made of them.
    pub chunks: usize,
    /// Memories taken in.
    pub memories: usize,
    /// Passages that got a vector.
    pub embedded: usize,
    /// Memories and chunks that are gone.
    pub removed: usize,
    pub milliseconds: u64,
}
