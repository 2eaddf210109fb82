//! The output of a hook: one JSON object of known fields, or nothing.

use serde_json::json;

/// The longest output in UTF-16 units, somewhat below the host's limit. The host puts longer output into a file that nobody opens.
const LIMIT: usize = 9_500;

/// Events whose hooks may add to the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
}

/// Returns the output that adds a text to the context. A text that is too long keeps its beginning.
pub fn add_context(event: ContextEvent, text: &str) -> String {
    let event = match event {
        ContextEvent::SessionStart => "SessionStart",
        ContextEvent::UserPromptSubmit => "UserPromptSubmit",
        ContextEvent::PreToolUse => "PreToolUse",
    };
    let mut text = text;
    loop {
        let answer = json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }).to_string();
        let excess = answer.encode_utf16().count().saturating_sub(LIMIT);
        if excess == 0 {
            return answer;
        }
        // In JSON a character takes one to six units, so this never removes too much.
        let kept = text.chars().count().saturating_sub(excess.div_ceil(6));
        text = text.char_indices().nth(kept).map_or(text, |(at, _)| &text[..at]);
    }
}

/// Returns the output that keeps the model from stopping, and tells it why.
pub fn continue_turn(reason: &str) -> String {
    json!({ "decision": "block", "reason": reason }).to_string()
}

/// Returns the output that shows a line at the start of a session, to its user (`systemMessage`) and to its model.
pub fn warn_at_start(text: &str) -> String {
    let context = json!({ "hookEventName": "SessionStart", "additionalContext": text });
    json!({ "systemMessage": text, "hookSpecificOutput": context }).to_string()
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
        let answer = add_context(ContextEvent::SessionStart, &piece.repeat(9_500));
        assert!((LIMIT - 20..=LIMIT).contains(&answer.encode_utf16().count()));
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
        assert!(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().starts_with(piece));
    }
}
