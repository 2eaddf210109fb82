//! The payload of a hook as the host sends it. Fields that we do not use are ignored, so that newer hosts are understood.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

/// One payload. Every field may be missing or of another type: hosts of January 2026 send fewer, and later ones change them.
#[derive(Debug, Clone, Deserialize)]
pub struct Payload {
    #[serde(default, deserialize_with = "lenient")]
    pub session_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub hook_event_name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub transcript_path: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub cwd: Option<String>,
    /// Who wrote a prompt (`user`, `sdk`, or one of the host's own sources), or why a session begins.
    #[serde(default, deserialize_with = "lenient")]
    pub source: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub prompt: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub tool_name: Option<String>,
    #[serde(default)]
    pub tool_input: Value,
    /// The failure of a tool, in words.
    #[serde(default, deserialize_with = "lenient")]
    pub error: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub is_interrupt: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    pub last_assistant_message: Option<String>,
    /// What kind of subagent ended; empty for the one that writes summaries.
    #[serde(default, deserialize_with = "lenient")]
    pub agent_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub agent_transcript_path: Option<String>,
    /// The summary that a compaction made.
    #[serde(default, deserialize_with = "lenient")]
    pub compact_summary: Option<String>,
}

/// A payload that is no JSON object. Where it is wrong and how, but nothing of it: the words of `serde_json` quote values.
#[derive(Debug, thiserror::Error)]
#[error("the hook's input is not the JSON of an event: {what}, at line {line} column {column}")]
pub struct WireError {
    what: &'static str,
    line: usize,
    column: usize,
}

impl Payload {
    /// Reads a payload.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        serde_json::from_slice(bytes).map_err(|error| {
            let what = match error.classify() {
                Category::Eof => "it ends too early",
                Category::Data => "it is no object",
                Category::Syntax | Category::Io => "it is not well-formed",
            };
            WireError { what, line: error.line(), column: error.column() }
        })
    }
}

/// A field that counts as missing when its value is of another type than the one we know.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_a_payload_is_told_without_its_words() {
        let error = Payload::parse(br#""my diary""#).unwrap_err();
        let expected = "the hook's input is not the JSON of an event: it is no object, at line 1 column 10";
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("diary"));
    }
}
