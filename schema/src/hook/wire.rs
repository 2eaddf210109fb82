//! The payload of a hook as the host sends it. Fields that we do not use are ignored, so that newer hosts are understood.

use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;

/// One payload. Every field but the first two may be missing: hosts of January 2026 send fewer.
#[derive(Debug, Clone, Deserialize)]
pub struct Payload {
    #[serde(default)]
    pub session_id: String,
    #[serde(default)]
    pub hook_event_name: String,
    #[serde(default)]
    pub transcript_path: Option<String>,
    #[serde(default)]
    pub cwd: Option<String>,
    /// Who wrote a prompt (`user`, `sdk`, or one of the host's own sources), or why a session begins.
    #[serde(default)]
    pub source: Option<String>,
    #[serde(default)]
    pub prompt: Option<String>,
    #[serde(default)]
    pub tool_name: Option<String>,
    #[serde(default)]
    pub tool_input: Value,
    /// The failure of a tool, in words.
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub is_interrupt: Option<bool>,
    #[serde(default)]
    pub last_assistant_message: Option<String>,
    /// What kind of subagent ended; empty for the one that writes summaries.
    #[serde(default)]
    pub agent_type: Option<String>,
    #[serde(default)]
    pub agent_transcript_path: Option<String>,
    /// The summary that a compaction made.
    #[serde(default)]
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
                Category::Data => "a field is of another type",
                Category::Syntax | Category::Io => "it is not well-formed",
            };
            WireError { what, line: error.line(), column: error.column() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_in_a_payload_is_told_without_its_words() {
        let error = Payload::parse(br#"{"is_interrupt": "my diary"}"#).unwrap_err();
        let expected = "the hook's input is not the JSON of an event: a field is of another type, at line 1 column 27";
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("diary"));
    }
}
