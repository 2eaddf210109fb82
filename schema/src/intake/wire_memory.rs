//! The form in which a prepared memory waits in the spool and travels over the queue.

use serde::{Deserialize, Serialize};

use crate::intake::prepare::{Delivery, Destination, Draft, PreparedMemory};
use crate::model::failure::Success;
use crate::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;

/// The serialised form. Fields of later versions are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WireMemory {
    session: String,
    #[serde(rename = "type")]
    kind: MemoryType,
    at: String,
    content: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    long_term: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    importance: Option<u8>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    done: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supersedes: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    auto: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    also: Option<String>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    metadata: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    redactions: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    succeeded: Vec<Success>,
}

impl WireMemory {
    pub(crate) fn from_prepared(prepared: &PreparedMemory) -> Self {
        let Draft { session_id, kind, content, at, attributes, destination } = prepared.draft().clone();
        Self {
            session: session_id,
            kind,
            at: at.rfc3339(),
            content,
            long_term: destination == Destination::LongTerm,
            importance: attributes.importance,
            pinned: attributes.pinned,
            done: attributes.done,
            supersedes: attributes.supersedes.map(|id| id.to_string()),
            origin: attributes.origin,
            auto: attributes.auto,
            source: attributes.source.map(|id| id.to_string()),
            also: attributes.also,
            metadata: attributes.metadata,
            redactions: prepared.redactions(),
            succeeded: prepared.succeeded().to_vec(),
        }
    }

    /// Returns the memory, or `None` if its time is invalid.
    pub(crate) fn into_prepared(self, delivery: Delivery) -> Option<PreparedMemory> {
        let draft = Draft {
            session_id: self.session,
            kind: self.kind,
            content: self.content,
            at: Moment::parse_rfc3339(&self.at)?,
            attributes: MemoryAttributes {
                importance: self.importance,
                pinned: self.pinned,
                done: self.done,
                supersedes: self.supersedes.as_deref().and_then(MemoryId::parse),
                origin: self.origin,
                auto: self.auto,
                source: self.source.as_deref().and_then(MemoryId::parse),
                also: self.also,
                metadata: self.metadata,
            },
            destination: if self.long_term { Destination::LongTerm } else { Destination::DailyLog },
        };
        Some(PreparedMemory { draft, redactions: self.redactions, delivery, succeeded: self.succeeded })
    }
}
