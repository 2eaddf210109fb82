//! A memory: one remembered entry, its type and its id.
//!
//! Knows nothing of files or databases: `log` writes memories as Markdown, `store` keeps their rows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::model::moment::Moment;

/// One remembered entry, as the daily log and a row in `memories` both hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Derived from session, type, local second and content; see [`MemoryId::derive`].
    pub id: MemoryId,
    /// The host's session, empty when there was none.
    pub session_id: String,
    /// What kind of entry this is.
    pub kind: MemoryType,
    /// The text, redacted and in NFC.
    pub content: String,
    /// When it was captured.
    pub at: Moment,
    /// What else travels with it.
    pub attributes: MemoryAttributes,
}

/// What a memory carries beside its text. Only values other than the default are written to Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryAttributes {
    /// From 0 (passing) to 3 (keep in view); `None` is the default of the type.
    pub importance: Option<u8>,
    /// Never removed by clean-up.
    pub pinned: bool,
    /// Whether a task is done. Of any other type it is false.
    pub done: bool,
    /// The memory that this one replaces.
    pub supersedes: Option<MemoryId>,
    /// Where it came from when not from capture, for example `import`.
    pub origin: Option<String>,
    /// Whether it was concluded from what was said, and saved by nobody on purpose.
    pub auto: bool,
    /// The memory of the event in which that was said.
    pub source: Option<MemoryId>,
    /// Words by which it will be asked for, also in another language. Searches weigh them less than the text.
    pub also: Option<String>,
    /// Free-form fields of the caller.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// The types of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum MemoryType {
    UserPrompt,
    AssistantResponse,
    ToolUsage,
    Error,
    SubagentResult,
    Decision,
    Learning,
    ErrorFix,
    SessionSummary,
    Preference,
    Convention,
    Architecture,
    Pattern,
    Task,
}

impl MemoryType {
    /// Every type: events first, then knowledge.
    pub const ALL: [Self; 14] = [
        Self::UserPrompt,
        Self::AssistantResponse,
        Self::ToolUsage,
        Self::Error,
        Self::SubagentResult,
        Self::Decision,
        Self::Learning,
        Self::ErrorFix,
        Self::SessionSummary,
        Self::Preference,
        Self::Convention,
        Self::Architecture,
        Self::Pattern,
        Self::Task,
    ];

    /// The name in tool arguments, on the command line and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserPrompt => "user_prompt",
            Self::AssistantResponse => "assistant_response",
            Self::ToolUsage => "tool_usage",
            Self::Error => "error",
            Self::SubagentResult => "subagent_result",
            Self::Decision => "decision",
            Self::Learning => "learning",
            Self::ErrorFix => "error_fix",
            Self::SessionSummary => "session_summary",
            Self::Preference => "preference",
            Self::Convention => "convention",
            Self::Architecture => "architecture",
            Self::Pattern => "pattern",
            Self::Task => "task",
        }
    }

    /// The name that people read in a daily log: the bold label of a line, or the heading of a section.
    pub fn label(self) -> &'static str {
        match self {
            Self::UserPrompt => "User Prompt",
            Self::AssistantResponse => "Assistant Response",
            Self::ToolUsage => "Tool Usage",
            Self::Error => "Error",
            Self::SubagentResult => "Subagent Result",
            Self::Decision => "Decision",
            Self::Learning => "Learning",
            Self::ErrorFix => "Error Fix",
            Self::SessionSummary => "Session Summary",
            Self::Preference => "Preference",
            Self::Convention => "Convention",
            Self::Architecture => "Architecture",
            Self::Pattern => "Pattern",
            Self::Task => "Task",
        }
    }

    /// The type whose label this is, whatever its case.
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim();
        Self::ALL.into_iter().find(|kind| kind.label().eq_ignore_ascii_case(label))
    }

    /// Whether this is the raw course of a session rather than something concluded from it.
    pub fn is_event(self) -> bool {
        matches!(
            self,
            Self::UserPrompt | Self::AssistantResponse | Self::ToolUsage | Self::Error | Self::SubagentResult
        )
    }

    /// Whether it holds until somebody says otherwise, and is not cleared up when it is old.
    pub fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::Decision | Self::Preference | Self::Convention | Self::Architecture | Self::Pattern | Self::Task
        )
    }

    /// From 0 to 3: how much a memory of this type weighs when nothing else is said.
    pub fn default_importance(self) -> u8 {
        match self {
            Self::ToolUsage => 0,
            Self::UserPrompt | Self::AssistantResponse | Self::SubagentResult => 1,
            Self::Error | Self::Learning | Self::ErrorFix | Self::SessionSummary | Self::Pattern | Self::Task => 2,
            Self::Decision | Self::Preference | Self::Convention | Self::Architecture => 3,
        }
    }
}

impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown type {0:?}: known types are {known}", known = type_names())]
pub struct UnknownType(pub String);

fn type_names() -> String {
    MemoryType::ALL.map(MemoryType::as_str).join(", ")
}

impl FromStr for MemoryType {
    type Err = UnknownType;

    fn from_str(name: &str) -> Result<Self, UnknownType> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| UnknownType(name.to_owned()))
    }
}

/// The id of a memory: 128 bits as 32 hexadecimal digits when derived, any short word when it came from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(String);

/// Characters of an id.
const MAX_ID_LENGTH: usize = 64;

/// Digits that tell which file a copy stands in.
const COPY_DIGITS: usize = 8;

impl MemoryId {
    /// Derives the id of a memory, so that the same event always gets the same one.
    ///
    /// `ordinal` is 0, or counts up when one local second of a session holds the same text of the same type again.
    pub fn derive(session_id: &str, kind: MemoryType, at: &Moment, content: &str, ordinal: u32) -> Self {
        let mut hash = Sha256::new();
        for part in [session_id, kind.as_str(), &at.local_second(), content] {
            // The length first: no two different tuples may run together into the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        if ordinal > 0 {
            hash.update(ordinal.to_le_bytes());
        }
        Self(hex(&hash.finalize()[..16]))
    }

    /// Takes an id as it was given. Ids are words of at most 64 characters without space or markup.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_ID_LENGTH).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'));
        fits.then(|| Self(text.to_owned()))
    }

    /// The id of an entry in the log `path` that carries this id, when another file has the better claim to it: this one, a
    /// dot, and eight digits for the file. It needs to know no other copy, and so is the same whatever was read first.
    pub fn for_copy(&self, path: &str) -> Self {
        Self(format!("{}.{}", self.copy_stem(), &content_hash(path)[..COPY_DIGITS]))
    }

    /// The id without what tells a copy: what an entry that carries it lays claim to.
    pub fn original(&self) -> Self {
        let is_mark =
            |mark: &str| mark.len() == COPY_DIGITS && mark.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match self.0.rsplit_once('.') {
            Some((stem, mark)) if is_mark(mark) && !stem.is_empty() => Self(stem.to_owned()),
            _ => self.clone(),
        }
    }

    /// What the ids of copies begin with, short enough that they are ids as well.
    pub(crate) fn copy_stem(&self) -> String {
        if self.0.len() + 1 + COPY_DIGITS <= MAX_ID_LENGTH {
            self.0.clone()
        } else {
            content_hash(&self.0)[..32].to_owned()
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// SHA-256 of a text, as 64 hexadecimal digits.
pub fn content_hash(content: &str) -> String {
    hex(&Sha256::digest(content.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_event_derives_the_same_id_and_any_difference_another() {
        let at = Moment::parse_rfc3339("2026-01-28T10:30:15+09:00").unwrap();
        let later = Moment::parse_rfc3339("2026-01-28T10:30:16+09:00").unwrap();
        let id = MemoryId::derive("s", MemoryType::Decision, &at, "text", 0);
        assert_eq!(id, MemoryId::derive("s", MemoryType::Decision, &at, "text", 0));
        assert_eq!(id.as_str().len(), 32);
        for other in [
            MemoryId::derive("t", MemoryType::Decision, &at, "text", 0),
            MemoryId::derive("s", MemoryType::Learning, &at, "text", 0),
            MemoryId::derive("s", MemoryType::Decision, &later, "text", 0),
            MemoryId::derive("s", MemoryType::Decision, &at, "texts", 0),
            MemoryId::derive("s", MemoryType::Decision, &at, "text", 1),
        ] {
            assert_ne!(id, other);
        }
    }

    #[test]
    fn names_and_labels_lead_back_to_their_type() {
        for kind in MemoryType::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(MemoryType::from_label(kind.label()), Some(kind));
        }
    }

    #[test]
    fn an_unknown_type_is_answered_with_the_known_ones() {
        let message = "idea".parse::<MemoryType>().unwrap_err().to_string();
        assert!(message.starts_with("unknown type \"idea\": known types are user_prompt, "), "{message}");
    }

    #[test]
    fn the_id_of_a_copy_is_an_id_that_leads_back_to_the_first() {
        let id = MemoryId::parse("0af3").unwrap();
        let copy = id.for_copy("MEMORY.md");
        assert_ne!(copy, id.for_copy("2026-01-28.md"));
        assert_eq!((copy.original(), id.original(), copy.as_str().len()), (id.clone(), id, 13));
        let long = MemoryId::parse(&"x".repeat(64)).unwrap();
        assert!(MemoryId::parse(long.for_copy("MEMORY.md").as_str()).is_some());
        for other in ["v1.2", "a.0000000g", ".0000000a", "a.0000000A"] {
            assert_eq!(MemoryId::parse(other).unwrap().original().as_str(), other);
        }
    }

    #[test]
    fn an_id_is_a_word_that_markup_cannot_hide_in() {
        assert!(MemoryId::parse("0af3").is_some());
        for bad in ["", "a b", "-->", "a\n", &"x".repeat(65)] {
            assert_eq!(MemoryId::parse(bad), None, "{bad:?}");
        }
    }
}
