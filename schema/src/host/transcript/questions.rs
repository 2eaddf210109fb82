//! Reads the questions that the host asked a person with options, and what the person answered.

use std::collections::HashMap;

use memchr::memmem;
use serde::Deserialize;

use crate::host::choice::picked_option;

/// The longest line that is read, in bytes. Questions are short.
const LONGEST_LINE: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnsweredLine {
    #[serde(default)]
    is_sidechain: bool,
    tool_use_result: Answered,
}

#[derive(Deserialize)]
struct Answered {
    questions: Vec<Question>,
    /// The answers by their questions. Several options are joined with commas.
    answers: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    #[serde(default)]
    options: Vec<QuestionOption>,
}

#[derive(Deserialize)]
struct QuestionOption {
    label: String,
    #[serde(default)]
    description: String,
}

/// Returns the decisions in a line with answered questions, in order. Any other line has none.
pub fn picked_options(line: &[u8]) -> Vec<String> {
    if line.len() > LONGEST_LINE || memmem::find(line, b"\"answers\"").is_none() {
        return Vec::new();
    }
    let Ok(AnsweredLine { is_sidechain: false, tool_use_result }) = serde_json::from_slice(line) else {
        return Vec::new();
    };
    let Answered { questions, answers } = tool_use_result;
    let picked = |asked: Question| {
        let answer = answers.get(&asked.question)?;
        let option = asked.options.iter().find(|option| option.label == *answer);
        picked_option(&asked.question, answer, option.map_or("", |option| &option.description))
    };
    questions.into_iter().filter_map(picked).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::option("Redis", &["Chosen: Redis, faster (asked: Which store?)"])]
    #[case::own_words("SQLite, as in the other service", &["Chosen: SQLite, as in the other service (asked: Which store?)"])]
    #[case::recommended("PostgreSQL (Recommended)", &["Chosen: PostgreSQL, one service less (asked: Which store?)"])]
    #[case::agreement("Yes, please", &[])]
    fn answered_question_is_a_decision(#[case] answer: &str, #[case] expected: &[&str]) {
        let options = json!([{"label": "PostgreSQL (Recommended)", "description": "One service less."},
            {"label": "Redis", "description": "Faster"}]);
        let questions = json!([{"question": "Which store?", "header": "Store", "options": options}]);
        let line = json!({"type": "user", "message": {"content": [{"type": "tool_result"}]},
            "toolUseResult": {"questions": questions, "answers": {"Which store?": answer}}});
        assert_eq!(picked_options(line.to_string().as_bytes()), expected);
    }

    #[test]
    fn other_lines_have_no_answered_questions() {
        for line in [&b"{\"answers\": 1}"[..], b"{\"toolUseResult\": {\"answers\": {}}}", b"{\"answers\"", b""] {
            assert_eq!(picked_options(line), Vec::<String>::new());
        }
    }
}
