//! What a hook may tell the host: one JSON object of known fields, or nothing.

use serde_json::json;

/// UTF-16 units that the host takes of one answer; longer ones it puts into a file that nobody opens.
const LIMIT: usize = 9_500;

/// Text for the context of a session that begins.
pub fn session_context(text: &str) -> String {
    let mut left = LIMIT;
    let fits = |c: &char| {
        let cost = c.len_utf16();
        let fits = cost <= left;
        left = left.saturating_sub(cost);
        fits
    };
    let text: String = text.chars().take_while(fits).collect();
    json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": text } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_json_and_no_longer_than_the_host_takes() {
        let answer: serde_json::Value = serde_json::from_str(&session_context(&"가\u{1f600}".repeat(9_000))).unwrap();
        let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
        assert!(text.encode_utf16().count() <= LIMIT && text.starts_with("가"));
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "SessionStart");
    }
}
