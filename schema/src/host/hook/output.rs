//! The output of a hook: one JSON object of known fields, or nothing.

use serde_json::{Value, json};

use super::HookHost;

/// The longest output in UTF-16 units, somewhat below the limit of Claude Code, which puts longer output into a file that nobody opens.
const LONGEST_OUTPUT: usize = 9_500;

/// The longest text for Codex in bytes, somewhat below its limit: it cuts the middle out of a text of more than 10,000 bytes.
const LONGEST_CODEX_TEXT: usize = 9_500;

/// Events whose hooks may add to the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
}

impl ContextEvent {
    /// Returns the host's name of the event, or `None` if its hooks cannot add to the context.
    pub fn name_in(self, host: HookHost) -> Option<&'static str> {
        match (host, self) {
            (HookHost::ClaudeCode | HookHost::Codex | HookHost::Gemini | HookHost::Vscode, Self::SessionStart) => {
                Some("SessionStart")
            }
            (HookHost::Cursor, Self::SessionStart) => Some("sessionStart"),
            (HookHost::ClaudeCode | HookHost::Codex, Self::UserPromptSubmit) => Some("UserPromptSubmit"),
            (HookHost::Gemini, Self::UserPromptSubmit) => Some("BeforeAgent"),
            (HookHost::ClaudeCode, Self::PreToolUse) => Some("PreToolUse"),
            _ => None,
        }
    }
}

/// Returns the output that adds a text to the context, or `None` if the host has none for this event. A text that is too long keeps its
/// beginning.
pub fn add_context(host: HookHost, event: ContextEvent, text: &str) -> Option<String> {
    let event = event.name_in(host)?;
    let mut text = match host {
        HookHost::Codex => &text[..text.floor_char_boundary(LONGEST_CODEX_TEXT)],
        _ => text,
    };
    loop {
        let answer = context_output(host, event, text).to_string();
        let excess = answer.encode_utf16().count().saturating_sub(LONGEST_OUTPUT);
        if excess == 0 {
            return Some(answer);
        }
        // In JSON a character takes one to six units, so this never removes too much.
        let kept = text.chars().count().saturating_sub(excess.div_ceil(6));
        text = text.char_indices().nth(kept).map_or(text, |(at, _)| &text[..at]);
    }
}

fn context_output(host: HookHost, event: &str, text: &str) -> Value {
    match host {
        HookHost::Cursor => json!({ "additional_context": text }),
        _ => json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }),
    }
}

/// Returns the output that keeps the model from stopping, and tells it why. Only Claude Code's transcripts say when that is useful.
pub fn continue_turn(reason: &str) -> String {
    json!({ "decision": "block", "reason": reason }).to_string()
}

/// Returns the output that shows a line at the start of a session, to its user and to its model, as far as the host can.
pub fn warn_at_start(host: HookHost, text: &str) -> Option<String> {
    let event = ContextEvent::SessionStart.name_in(host)?;
    let mut output = context_output(host, event, text);
    if host != HookHost::Cursor {
        output["systemMessage"] = text.into();
    }
    Some(output.to_string())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::pairs("가\u{1f600}")]
    #[case::escaped("\u{1}\"\n")]
    #[case::plain("x")]
    fn output_is_valid_json_within_the_limit(#[case] piece: &str) {
        let answer = add_context(HookHost::ClaudeCode, ContextEvent::SessionStart, &piece.repeat(9_500)).unwrap();
        assert!((LONGEST_OUTPUT - 20..=LONGEST_OUTPUT).contains(&answer.encode_utf16().count()));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
        assert!(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().starts_with(piece));
    }

    #[test]
    fn codex_gets_no_text_that_it_would_cut() {
        let answer = add_context(HookHost::Codex, ContextEvent::SessionStart, &"가".repeat(5_000)).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!((LONGEST_CODEX_TEXT - 3..=LONGEST_CODEX_TEXT).contains(&text.len()), "{}", text.len());
    }

    #[rstest]
    #[case::codex(HookHost::Codex, ContextEvent::SessionStart, Some(json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "b"}})))]
    #[case::gemini(HookHost::Gemini, ContextEvent::UserPromptSubmit, Some(json!({"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "b"}})))]
    #[case::cursor(HookHost::Cursor, ContextEvent::SessionStart, Some(json!({"additional_context": "b"})))]
    #[case::prompt_in_cursor(HookHost::Cursor, ContextEvent::UserPromptSubmit, None)]
    #[case::prompt_in_vscode(HookHost::Vscode, ContextEvent::UserPromptSubmit, None)]
    #[case::windsurf(HookHost::Windsurf, ContextEvent::SessionStart, None)]
    fn context_has_the_form_of_the_host(
        #[case] host: HookHost,
        #[case] event: ContextEvent,
        #[case] expected: Option<Value>,
    ) {
        let found = add_context(host, event, "b").map(|output| serde_json::from_str::<Value>(&output).unwrap());
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case::codex(HookHost::Codex, &["hookSpecificOutput", "systemMessage"])]
    #[case::cursor(HookHost::Cursor, &["additional_context"])]
    fn warning_has_known_fields_only(#[case] host: HookHost, #[case] fields: &[&str]) {
        let warning: Value = serde_json::from_str(&warn_at_start(host, "w").unwrap()).unwrap();
        let mut found: Vec<&String> = warning.as_object().unwrap().keys().collect();
        found.sort();
        assert_eq!(found, fields);
    }
}
