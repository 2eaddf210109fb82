//! The payload of a hook as Claude Code sends it. Those of other hosts are turned into it. Unknown fields are ignored, so newer hosts are
//! understood.

use std::fmt;

use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

/// A payload. Any field may be missing or have another type: hosts of January 2026 send fewer fields, and later ones change them.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct HookPayload {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub session_id: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub hook_event_name: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub transcript_path: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub cwd: Option<String>,
    /// The author of a prompt (`user`, `sdk`, or one of the host's own sources), or the reason why a session starts.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub source: Option<String>,
    /// The reason why a session ends.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub reason: Option<String>,
    /// The model of a session that starts, if the host sends it.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub model: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub prompt: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub tool_name: Option<String>,
    #[serde(default)]
    pub tool_input: Value,
    #[serde(default)]
    pub tool_response: ToolResponse,
    /// The failure of a tool, as text.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub error: Option<String>,
    /// Whether the turn that ends was continued by a hook.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub stop_hook_active: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub is_interrupt: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub last_assistant_message: Option<String>,
    /// The type of the subagent that ended. It is empty for the one that writes summaries.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub agent_type: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub agent_transcript_path: Option<String>,
    /// The summary that a compaction made.
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub compact_summary: Option<String>,
    /// Whether the host does not say if the tool succeeded.
    #[serde(skip)]
    pub is_outcome_unknown: bool,
}

/// The payload is not a JSON object. Has only the place and kind of the error, because messages of `serde_json` quote values.
#[derive(Debug, thiserror::Error)]
#[error("invalid input of the hook: {what}, at line {line} column {column}")]
pub struct PayloadError {
    what: &'static str,
    line: usize,
    column: usize,
}

/// The part of a tool's response that is read: what a write changed in a file. The rest may be as large as the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResponse {
    /// The change of an existing file by a write, according to the host.
    pub(super) patch: Vec<PatchHunk>,
    /// The ends of what a command wrote to standard error and standard output.
    pub(crate) output: String,
}

/// How much of each output of a command is read, at its end, in bytes.
const READ_OUTPUT: usize = 16 * 1024;

/// A part of a patch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PatchHunk {
    /// Each begins with a space, `-` or `+`.
    pub(crate) lines: Vec<String>,
}

impl<'de> Deserialize<'de> for ToolResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ResponseVisitor)
    }
}

struct ResponseVisitor;

impl<'de> Visitor<'de> for ResponseVisitor {
    type Value = ToolResponse;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what a tool answered")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolResponse, A::Error> {
        let (mut patch, mut output) = (Vec::new(), String::new());
        while let Some(name) = map.next_key::<String>()? {
            if name == "structuredPatch" {
                patch = serde_json::from_value(map.next_value()?).unwrap_or_default();
            } else if matches!(name.as_str(), "stdout" | "stderr") {
                let value: Value = map.next_value()?;
                output.push_str(end_of_output(value.as_str().unwrap_or_default()));
                output.push('\n');
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(ToolResponse { patch, output })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ToolResponse, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ToolResponse::default())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_unit<E: Error>(self) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }
}

impl ToolResponse {
    pub(super) fn set_output(&mut self, text: &str) {
        end_of_output(text).clone_into(&mut self.output);
    }
}

fn end_of_output(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(READ_OUTPUT))..]
}

impl HookPayload {
    /// Parses a payload. A host may cut a text within a character, which is invalid JSON; the broken character becomes U+FFFD.
    pub fn parse(bytes: &[u8]) -> Result<Self, PayloadError> {
        parse_json(bytes)
    }
}

/// Parses the payload of any host.
pub(super) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PayloadError> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    // One kind of reader, because the program contains the code of each type once for each kind.
    serde_json::from_slice(bytes).or_else(|_| serde_json::from_slice(repair_text(bytes).as_bytes())).map_err(|error| {
        let what = match error.classify() {
            Category::Eof => "it ends too early",
            Category::Data => "it is not a JSON object",
            Category::Syntax | Category::Io => "it is not well-formed",
        };
        PayloadError { what, line: error.line(), column: error.column() }
    })
}

/// Completes JSON that ends within a text, so that it can be parsed.
pub(super) fn complete(bytes: &[u8]) -> Vec<u8> {
    let (mut ends, mut is_text, mut escape) = (Vec::new(), false, None);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escape == Some(at.wrapping_sub(1)) => {}
            b'\\' => escape = Some(at),
            b'"' => is_text = !is_text,
            b'{' if !is_text => ends.push(b'}'),
            b'[' if !is_text => ends.push(b']'),
            b'}' | b']' if !is_text => drop(ends.pop()),
            _ => {}
        }
    }
    // A part of an escape is dropped. A coded letter, such as \u00e9, has six bytes.
    let length = |at: usize| if bytes.get(at + 1) == Some(&b'u') { 6 } else { 2 };
    let end = escape.filter(|at| is_text && at + length(*at) > bytes.len()).unwrap_or(bytes.len());
    let mut whole = bytes[..end].to_vec();
    whole.extend(is_text.then_some(b'"'));
    whole.extend(ends.iter().rev());
    whole
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the text with U+FFFD for invalid UTF-8 and for escaped halves of surrogate pairs.
fn repair_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut repaired = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        repaired.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match (parse_surrogate(rest), parse_surrogate(rest.get(6..).unwrap_or_default())) {
            (Some(true), Some(false)) => 12,
            (Some(_), _) => {
                repaired.push('\u{fffd}');
                rest = &rest[6..];
                continue;
            }
            // Any other escape: the backslash and the next character.
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        repaired.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    repaired + rest
}

/// Returns whether a text begins with an escaped surrogate: the first half of a pair (`true`) or the second (`false`).
fn parse_surrogate(text: &str) -> Option<bool> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(true),
        0xdc00..=0xdfff => Some(false),
        _ => None,
    }
}

/// Deserializes a field that counts as missing if its value has an unexpected type.
pub fn deserialize_lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::first_half(br#"{"prompt": "cut \ud83d"}"#, "cut \u{fffd}")]
    #[case::second_half(br#"{"prompt": "\ude00 \\ud83d \\\ud83d end"}"#, "\u{fffd} \\ud83d \\\u{fffd} end")]
    #[case::a_whole_pair_beside_it(br#"{"prompt": "\ud83d\ude00\ud83d"}"#, "\u{1f600}\u{fffd}")]
    #[case::no_utf_8(b"{\"prompt\": \"cut \xed\x95\"}", "cut \u{fffd}")]
    #[case::byte_order_mark(b"\xef\xbb\xbf{\"prompt\": \"x\"}", "x")]
    fn text_cut_within_a_character_is_parsed(#[case] payload: &[u8], #[case] prompt: &str) {
        assert_eq!(HookPayload::parse(payload).unwrap().prompt.as_deref(), Some(prompt));
    }

    #[rstest]
    #[case::plain(r#"{"tool_input": {"a": ["]"]}, "prompt": "the begin"#, "the begin")]
    #[case::after_an_escape(r#"{"prompt": "a \" b \\"#, "a \" b \\")]
    #[case::within_an_escape(r#"{"prompt": "a \"#, "a ")]
    #[case::within_a_coded_letter(r#"{"prompt": "a \u00e"#, "a ")]
    fn beginning_of_a_payload_is_parsed(#[case] beginning: &str, #[case] prompt: &str) {
        let payload = HookPayload::parse(&complete(beginning.as_bytes())).unwrap();
        assert_eq!(payload.prompt.as_deref(), Some(prompt));
    }

    #[test]
    fn payload_error_does_not_quote_the_payload() {
        let error = HookPayload::parse(br#""my diary""#).unwrap_err();
        let expected = "invalid input of the hook: it is not a JSON object, at line 1 column 10";
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("diary"));
    }
}
