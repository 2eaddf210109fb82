//! A memory with its type, id and attributes.
//!
//! Uses no files or databases: `log` writes memories as Markdown, and `store` keeps their rows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::model::moment::Moment;

/// A stored entry, as it is in a daily log and in a row of `memories`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Derived from session, type, local second and content; see [`MemoryId::derive`].
    pub id: MemoryId,
    /// The session id of the host, or empty outside of a session.
    pub session_id: String,
    pub kind: MemoryType,
    /// The text, redacted and in NFC.
    pub content: String,
    /// The time of capture.
    pub at: Moment,
    pub attributes: MemoryAttributes,
}

/// The metadata field of a summary of a day.
pub const DAY: &str = "day";

/// The metadata field of the last text of a turn that had no end.
pub const UNFINISHED: &str = "unfinished";

impl Memory {
    /// Whether this is the last text of a turn that had no end.
    pub fn is_unfinished(&self) -> bool {
        self.attributes.metadata.contains_key(UNFINISHED)
    }

    /// Whether this is a summary that was composed of the memories of a day.
    pub fn is_day_summary(&self) -> bool {
        self.is_composed_summary() && self.attributes.metadata.contains_key(DAY)
    }

    /// Whether it is a summary that was composed from other memories.
    pub fn is_composed_summary(&self) -> bool {
        self.kind == MemoryType::SessionSummary && self.attributes.auto
    }

    /// Whether the id follows from the other fields, so that nobody edited the text since it was captured.
    pub fn has_derived_id(&self) -> bool {
        (0..ORDINALS)
            .any(|ordinal| MemoryId::derive(&self.session_id, self.kind, &self.at, &self.content, ordinal) == self.id)
    }
}

/// The most memories with the same text in one second that [`Memory::has_derived_id`] recognises.
const ORDINALS: u32 = 8;

/// Optional fields of a memory. Only values other than the default are written to Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryAttributes {
    /// From 0 (passing) to 3 (keep in view). `None` is the default of the type.
    pub importance: Option<u8>,
    /// Whether clean-up never removes it.
    pub pinned: bool,
    /// Whether a task is done. False for all other types.
    pub done: bool,
    /// The memory that this one replaces.
    pub supersedes: Option<MemoryId>,
    /// The source of a memory that was not captured, for example `import`.
    pub origin: Option<String>,
    /// Whether it was extracted from a conversation automatically, and not saved on purpose.
    pub auto: bool,
    /// The memory of the event that it was extracted from.
    pub source: Option<MemoryId>,
    /// Words by which it will be asked for, also in another language. Searches weigh them less than the text.
    pub also: Option<String>,
    /// Free-form fields of the caller.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// The types of memories.
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
    /// All types: events first, then knowledge.
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

    /// The types of statements about how things are. A newer one may replace an older one.
    pub const STATEMENTS: [Self; 5] =
        [Self::Decision, Self::Convention, Self::Architecture, Self::Pattern, Self::Preference];

    /// The types that say what holds for a project. Their order is that in which they are shown for a file.
    pub const PROJECT_KNOWLEDGE: [Self; 6] =
        [Self::Convention, Self::Decision, Self::Architecture, Self::Pattern, Self::ErrorFix, Self::Learning];

    /// Returns the name that is used in tool arguments, on the command line and in the database.
    pub fn as_str(self) -> &'static str {
        self.name_and_label().0
    }

    /// Returns the name in daily logs: the bold label of a line, or the heading of a section.
    pub fn label(self) -> &'static str {
        self.name_and_label().1
    }

    fn name_and_label(self) -> (&'static str, &'static str) {
        match self {
            Self::UserPrompt => ("user_prompt", "User Prompt"),
            Self::AssistantResponse => ("assistant_response", "Assistant Response"),
            Self::ToolUsage => ("tool_usage", "Tool Usage"),
            Self::Error => ("error", "Error"),
            Self::SubagentResult => ("subagent_result", "Subagent Result"),
            Self::Decision => ("decision", "Decision"),
            Self::Learning => ("learning", "Learning"),
            Self::ErrorFix => ("error_fix", "Error Fix"),
            Self::SessionSummary => ("session_summary", "Session Summary"),
            Self::Preference => ("preference", "Preference"),
            Self::Convention => ("convention", "Convention"),
            Self::Architecture => ("architecture", "Architecture"),
            Self::Pattern => ("pattern", "Pattern"),
            Self::Task => ("task", "Task"),
        }
    }

    /// Returns the type with this label, ignoring case.
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim();
        Self::ALL.into_iter().find(|kind| kind.label().eq_ignore_ascii_case(label))
    }

    /// Whether this type records what happened in a session, not knowledge that was drawn from it.
    pub fn is_event(self) -> bool {
        matches!(
            self,
            Self::UserPrompt | Self::AssistantResponse | Self::ToolUsage | Self::Error | Self::SubagentResult
        )
    }

    /// Whether memories of this type hold until someone says otherwise, so that clean-up does not remove old ones.
    pub fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::Decision | Self::Preference | Self::Convention | Self::Architecture | Self::Pattern | Self::Task
        )
    }

    /// Whether memories of this type state how things are.
    pub fn is_statement(self) -> bool {
        Self::STATEMENTS.contains(&self)
    }

    /// Whether memories of this type say something about code, which may change.
    pub fn is_about_code(self) -> bool {
        Self::PROJECT_KNOWLEDGE.contains(&self)
    }

    /// Whether memories of this type hold until something changes. Events happened, and a task has states of its own.
    pub fn may_be_confirmed(self) -> bool {
        !self.is_event() && !matches!(self, Self::Task | Self::SessionSummary)
    }

    /// Whether a memory of this type can be shared with a team: what holds for everybody, and not what happened or what somebody prefers.
    pub fn is_shareable(self) -> bool {
        self.is_about_code()
    }

    /// Returns the importance, from 0 to 3, of a memory of this type that does not set its own.
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

/// The error for an unknown type name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown type {0:?}: known types are {known}", known = MemoryType::ALL.map(MemoryType::as_str).join(", "))]
pub struct UnknownType(String);

impl FromStr for MemoryType {
    type Err = UnknownType;

    fn from_str(name: &str) -> Result<Self, UnknownType> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(|| UnknownType(name.to_owned()))
    }
}

/// The id of a memory: 32 hexadecimal digits (128 bits) if derived, or any short word that a log contains.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(String);

/// The maximum length of an id, in bytes.
const MAX_ID_LENGTH: usize = 64;

/// How many characters of an id people see.
const SHOWN_LENGTH: usize = 8;

/// The number of digits that identify the file of a copy.
const COPY_DIGITS: usize = 8;

impl MemoryId {
    /// The fewest characters at the beginning of an id that stand for it.
    pub const SHORTEST_BEGINNING: usize = 4;

    /// Derives the id of a memory. The same event always gets the same id.
    ///
    /// `ordinal` is 0, or counts up when the same text of the same type occurs again in the same session and local second.
    pub fn derive(session_id: &str, kind: MemoryType, at: &Moment, content: &str, ordinal: u32) -> Self {
        let mut hash = Sha256::new();
        for part in [session_id, kind.as_str(), &at.local_second(), content] {
            // Hash the length first, so that different tuples never produce the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        if ordinal > 0 {
            hash.update(ordinal.to_le_bytes());
        }
        Self(to_hex(&hash.finalize()[..16]))
    }

    /// Parses an id: a word of at most 64 characters without blanks or markup.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=MAX_ID_LENGTH).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'));
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the id for an entry in the log `path` when an entry in another file already has this id: this id, a dot, and eight digits
    /// that are derived from the path. It depends on no other copy, so the order of reading does not matter.
    pub fn for_copy(&self, path: &str) -> Self {
        Self(format!("{}.{}", self.copy_stem(), &content_hash(path)[..COPY_DIGITS]))
    }

    /// Returns the id without the suffix of a copy, as it is written in the log.
    pub fn original(&self) -> Self {
        Self(original_of_copy(&self.0).unwrap_or(&self.0).to_owned())
    }

    pub fn is_copy(&self) -> bool {
        original_of_copy(&self.0).is_some()
    }

    /// Returns the prefix of the ids of copies, short enough that these ids are valid too.
    pub(crate) fn copy_stem(&self) -> String {
        if self.0.len() + 1 + COPY_DIGITS <= MAX_ID_LENGTH {
            self.0.clone()
        } else {
            content_hash(&self.0)[..32].to_owned()
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Returns the beginning of an id that people see and commands accept. The id of a copy is not cut, because it begins with the id of the
/// original.
pub fn short_id(id: &str) -> &str {
    id.get(..SHOWN_LENGTH).filter(|_| original_of_copy(id).is_none()).unwrap_or(id)
}

/// Returns the part of a copy's id that is the id of the original.
fn original_of_copy(id: &str) -> Option<&str> {
    let is_mark =
        |mark: &str| mark.len() == COPY_DIGITS && mark.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    id.rsplit_once('.').filter(|(stem, mark)| is_mark(mark) && !stem.is_empty()).map(|(stem, _)| stem)
}

/// Returns the SHA-256 of a text as 64 hexadecimal digits.
pub fn content_hash(content: &str) -> String {
    to_hex(&Sha256::digest(content.as_bytes()))
}

/// Returns bytes as lower-case hexadecimal digits.
pub fn to_hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_depends_on_every_part_of_an_event() {
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
    fn names_and_labels_parse_back_to_their_type() {
        for kind in MemoryType::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(MemoryType::from_label(kind.label()), Some(kind));
        }
    }

    #[test]
    fn unknown_type_error_lists_the_known_types() {
        let message = "idea".parse::<MemoryType>().unwrap_err().to_string();
        assert!(message.starts_with("unknown type \"idea\": known types are user_prompt, "), "{message}");
    }

    #[test]
    fn copy_id_is_valid_and_leads_back_to_the_original() {
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
    fn only_the_id_of_a_copy_is_shown_in_full() {
        let id = MemoryId::parse("0af312aa90bb").unwrap();
        let copy = id.for_copy("MEMORY.md");
        assert_eq!(
            [short_id(id.as_str()), short_id(copy.as_str()), short_id("0af3")],
            ["0af312aa", copy.as_str(), "0af3"]
        );
        assert_eq!([&id, &copy].map(MemoryId::is_copy), [false, true]);
    }

    #[test]
    fn ids_contain_no_markup() {
        assert!(MemoryId::parse("0af3").is_some());
        for bad in ["", "a b", "-->", "a\n", &"x".repeat(65)] {
            assert_eq!(MemoryId::parse(bad), None, "{bad:?}");
        }
    }
}
