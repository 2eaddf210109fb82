//! The results of the tools. They are compact, because some hosts show only this to a model.

use serde::{Deserialize, Serialize};

use super::input::SearchSource;
use crate::model::memory::MemoryType;

/// Result of `memory_search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SearchOutput {
    /// Hits, best first. Empty if nothing is relevant.
    pub results: Vec<Hit>,
    pub count: usize,
    pub mode: SearchMode,
    /// Embedding provider, or `none`.
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A note about this result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// How a search was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// By vectors and words.
    Hybrid,
    /// By words only.
    Text,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct Hit {
    /// Opens with `memory_get`.
    pub id: String,
    pub source: SearchSource,
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
    /// Not shown to models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(skip))]
    pub session_id: Option<String>,
    /// At most 400 characters around the match.
    pub snippet: String,
    /// Relevance from 0 to 1.
    pub score: f64,
    /// `suggested` may be off topic.
    pub confidence: Confidence,
    /// `superseded`, `long_term`, `pinned`, `done` (a task), `personal`, `shared`, `proposed`, `retired` (team).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The id of what replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Its code changed since, or its branch was never merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How the score was computed, if `explain` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
}

/// How likely a hit answers the query. `High`: the first hit, from score 0.6 on and clearly ahead of the next one. All other hits are
/// `Suggested`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    High,
    Suggested,
}

impl Confidence {
    /// From this score on, nine of ten first hits answer the question in the project's own evaluation set. docs/dev/retrieval.md has the
    /// curve.
    const HIGH: f64 = 0.6;

    pub fn from_score(score: f64) -> Self {
        if score >= Self::HIGH { Self::High } else { Self::Suggested }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Suggested => "suggested",
        }
    }
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
    /// Set if the request has an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryDetails>,
    /// Says if text was cut or is missing, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// Everything about a memory except its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct MemoryDetails {
    #[serde(rename = "type")]
    pub kind: MemoryType,
    /// Local date and time.
    pub date: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub session_id: String,
    /// Extra words by which it is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub also: Option<String>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Whether it was extracted from a prompt or an answer, not saved on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub auto: bool,
    /// The id of the prompt or answer that it was extracted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// An excerpt of that memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The code that it is about, and whether that changed since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
    /// `confirmed`, or `core` if it is pinned or was confirmed in three sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<String>,
    /// When somebody last said that it still holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<String>,
    /// `resolved` or `closed` if the failure is over or the task done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The id of the memory that resolved or closed it, or a few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<String>,
    /// How often it happened again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated_at: Option<String>,
}

/// The memory that a conclusion was extracted from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct Evidence {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: MemoryType,
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    /// The part that the conclusion was extracted from, and what is around it.
    pub text: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Result of `memory_load`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LoadOutput {
    /// Parts are separated by `---`.
    pub content: String,
    /// Paths of the loaded files.
    pub files: Vec<String>,
    pub truncated: bool,
    /// Says if text was cut or is missing, and how to get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// Result of `memory_save`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SaveOutput {
    pub id: String,
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    /// False if the memory existed already.
    pub saved: bool,
    /// Id of an existing memory with the same text.
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
    /// Passages of notes in the index.
    pub chunks: u64,
    pub files: u64,
    /// Bytes of the store on disk.
    pub bytes: u64,
    pub embedding: EmbeddingStats,
    /// Rows that are not indexed yet.
    pub pending: u64,
    /// When the index last changed, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_indexed: Option<String>,
    /// Secrets removed before storing.
    pub redactions: u64,
    /// Events queued on disk.
    pub queue: u64,
    /// Server that receives events from hooks. If there is no server, hooks write directly.
    pub queue_answered_by: QueueOwner,
    /// Errors and repairs, newest first.
    pub problems: Vec<String>,
}

/// The server that receives events from hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum QueueOwner {
    ThisServer,
    AnotherServer,
    Nobody,
}

impl QueueOwner {
    pub fn describe(self) -> &'static str {
        match self {
            Self::ThisServer => "this server",
            Self::AnotherServer => "another server",
            Self::Nobody => "no server",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct TypeCount {
    #[serde(rename = "type")]
    pub kind: MemoryType,
    pub count: u64,
}

/// Progress of embedding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct EmbeddingStats {
    /// `none` if search uses words only.
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Share of passages that have a vector, from 0 to 1.
    pub coverage: f64,
    /// Passages without a vector yet.
    pub pending: u64,
    /// Passages that the provider cannot embed. Search finds them by words.
    pub without: u64,
}

/// Result of `memory_reindex`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ReindexOutput {
    /// Files read.
    pub files: usize,
    /// Passages of notes created.
    pub chunks: usize,
    /// Memories indexed.
    pub memories: usize,
    /// Passages embedded.
    pub embedded: usize,
    /// Memories and chunks removed.
    pub removed: usize,
    pub milliseconds: u64,
}
