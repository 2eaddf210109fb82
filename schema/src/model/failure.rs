//! Failures of tools: what is remembered of one, whether two are the same, and what settles one.
//!
//! The first line of a memory says what was tried, `Bash failed: make`; the lines behind it are its cause and place.

mod cause;

pub(crate) use cause::cause_of;

use serde::{Deserialize, Serialize};

use crate::model::command_line::{Task, tasks};
use crate::model::memory::content_hash;

/// What stands between the tool and what it was given.
const FAILED: &str = " failed";

/// Something that was tried: a tool, and what it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub tool: String,
    /// The command line, file or address, if the tool was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

impl Attempt {
    /// What a memory of a failure says was tried.
    fn of(content: &str) -> Option<Self> {
        let line = content.lines().next()?;
        let (tool, rest) = line.split_once(FAILED)?;
        let input = rest.strip_prefix(": ").map(str::to_owned);
        let is_named = tool.starts_with(|c: char| c.is_ascii_uppercase()) || tool.starts_with("mcp__");
        let is_tool = is_named && !tool.contains(char::is_whitespace) && (input.is_some() || rest.is_empty());
        is_tool.then(|| Self { tool: tool.to_owned(), input })
    }

    fn is_command(&self) -> bool {
        matches!(self.tool.as_str(), "Bash" | "PowerShell")
    }

    fn tasks(&self) -> Vec<Task> {
        self.input.as_deref().filter(|_| self.is_command()).map(tasks).unwrap_or_default()
    }

    /// Short names of what this attempt is about. An attempt can only settle a failure with which it has one in common.
    pub fn topics(&self) -> Vec<String> {
        let tasks = self.tasks();
        let names = match (tasks.is_empty(), &self.input) {
            (false, _) => tasks.iter().map(Task::topic).collect(),
            (true, input) => vec![format!("{} {}", self.tool, input.as_deref().unwrap_or_default())],
        };
        // Of a secret in one nothing is to be read.
        names.into_iter().map(|name| content_hash(&name)[..TOPIC].to_owned()).collect()
    }

    /// The text of a memory that this attempt failed.
    pub(crate) fn failed(&self, cause: &str) -> String {
        let mut text = format!("{}{FAILED}", self.tool);
        if let Some(input) = &self.input {
            text.push_str(": ");
            text.push_str(input);
        }
        if !cause.is_empty() {
            text.push('\n');
            text.push_str(cause);
        }
        text
    }
}

/// An attempt that succeeded after one of its topic had failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Success {
    pub attempt: Attempt,
    /// RFC 3339.
    pub at: String,
}

/// Digits of a topic.
const TOPIC: usize = 16;

/// What a memory of a failure is about; see [`Attempt::topics`].
pub fn topics_of(content: &str) -> Vec<String> {
    Attempt::of(content).map(|attempt| attempt.topics()).unwrap_or_default()
}

/// The same for every repeat of a failure: numbers, addresses and the like in its cause do not count.
pub fn signature(content: &str) -> String {
    let (first, cause) = content.split_once('\n').unwrap_or((content, ""));
    // What no tool reported is only repeated by the same words.
    let Some(attempt) = Attempt::of(content) else { return content.to_owned() };
    let tasks = attempt.tasks();
    let mut text = match tasks.is_empty() {
        true => first.to_owned(),
        false => tasks.iter().map(Task::line).collect::<Vec<_>>().join(" && "),
    };
    for line in cause.lines() {
        text.push('\n');
        text.push_str(&without_numbers(line));
    }
    text
}

/// A line in which every number is the same one.
fn without_numbers(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    for word in line.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        let is_hash = name.len() >= 6 && name.bytes().all(|b| b.is_ascii_hexdigit()) || name.starts_with("0x");
        match name.find(|c: char| c.is_ascii_digit()) {
            Some(_) if is_hash => kept.push('#'),
            Some(at) if name[at..].bytes().all(|b| b.is_ascii_digit()) => {
                kept.push_str(&name[..at]);
                kept.push('#');
            }
            // A duration: `1.9s`, `12ms`.
            Some(0) => kept.push('#'),
            _ => kept.push_str(name),
        }
        kept.push_str(&word[name.len()..]);
    }
    // `1.9s` and `12s` are both a time.
    kept.replace("#.#", "#")
}

/// Whether a failure is over once this attempt succeeded.
///
/// The same attempt settles it. So does a wider run of the same checks, `cargo test` for `cargo test parser`, and a narrower one of what
/// the report of the failure names.
pub(crate) fn is_settled_by(content: &str, success: &Attempt) -> bool {
    let Some(failed) = Attempt::of(content).filter(|failed| failed.tool == success.tool) else { return false };
    if !failed.is_command() {
        return failed.input == success.input;
    }
    let (failed, succeeded) = (failed.tasks(), success.tasks());
    // Of several commands the last one most likely was the one that failed, as the others only prepare it.
    let Some(task) = failed.last() else { return false };
    succeeded.iter().any(|done| {
        if done.name != task.name {
            return false;
        }
        let has = |operands: &[String], word: &String| operands.contains(word);
        let is_same =
            done.operands.len() == task.operands.len() && done.operands.iter().all(|word| has(&task.operands, word));
        let is_wider = done.is_check() && done.operands.iter().all(|word| has(&task.operands, word));
        let is_named =
            |word: &String| content.contains(word.trim_start_matches("./").split("::").last().unwrap_or(word));
        let is_narrower = done.is_check()
            && task.operands.iter().all(|word| has(&done.operands, word))
            && done.operands.iter().all(|word| has(&task.operands, word) || is_named(word));
        is_same || is_wider || is_narrower
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::same("Bash failed: cargo test parser\nx", "cargo test parser 2>&1 | tail -5", true)]
    #[case::elsewhere("Bash failed: cd app && cargo test parser\nx", "cargo test parser", true)]
    #[case::with_other_options("Bash failed: pytest -q tests\nx", "pytest -x tests", true)]
    #[case::through_a_runner("Bash failed: uv run pytest tests\nx", "python -m pytest tests", true)]
    #[case::wider("Bash failed: cargo test parser\nx", "cargo test", true)]
    #[case::narrower_and_named(
        "Bash failed: pytest\nFAILED tests/test_a.py::test_x - KeyError",
        "pytest tests/test_a.py",
        true
    )]
    #[case::narrower_and_not_named(
        "Bash failed: pytest\nFAILED tests/test_b.py::test_x - KeyError",
        "pytest tests/test_a.py",
        false
    )]
    #[case::other_subcommand("Bash failed: cargo test\nx", "cargo build", false)]
    #[case::other_operand("Bash failed: git push origin main\nx", "git push origin dev", false)]
    #[case::no_check("Bash failed: git push origin main\nx", "git push", false)]
    #[case::preparation("Bash failed: npm ci && npm test\nx", "npm ci", false)]
    #[case::what_was_prepared("Bash failed: npm ci && npm test\nx", "npm test", true)]
    #[case::other_tool("Edit failed: a.rs\nx", "a.rs", false)]
    fn a_failure_is_over_when_the_same_succeeds(#[case] failure: &str, #[case] success: &str, #[case] expected: bool) {
        let success = Attempt { tool: "Bash".into(), input: Some(success.into()) };
        assert_eq!(is_settled_by(failure, &success), expected);
        let has_topic = success.topics().iter().any(|topic| topics_of(failure).contains(topic));
        assert!(has_topic || !expected, "what settles a failure shares a topic with it");
    }

    #[test]
    fn an_edit_that_failed_is_over_when_one_of_its_file_succeeds() {
        let edit = |file: &str| Attempt { tool: "Edit".into(), input: Some(file.into()) };
        let failure = edit("src/a.rs").failed("String to replace not found in file.");
        assert!(is_settled_by(&failure, &edit("src/a.rs")));
        assert!(!is_settled_by(&failure, &edit("src/b.rs")));
    }

    #[rstest]
    #[case::again("Bash failed: make\nmain.c:12: error: x", "Bash failed: make\nmain.c:14: error: x", true)]
    #[case::with_less_output("Bash failed: make\nx", "Bash failed: make 2>&1 | tail -3\nx", true)]
    #[case::address("Bash failed: ./a\nat 0x7ffd12", "Bash failed: ./a\nat 0x7ffe99", true)]
    #[case::time("Bash failed: pytest\n1 failed in 1.9s", "Bash failed: pytest\n1 failed in 12s", true)]
    #[case::other_cause("Bash failed: make\nno rule", "Bash failed: make\nno file", false)]
    #[case::other_command("Bash failed: make a\nx", "Bash failed: make b\nx", false)]
    fn repeats_have_one_signature(#[case] one: &str, #[case] other: &str, #[case] same: bool) {
        assert_eq!(signature(one) == signature(other), same, "{} / {}", signature(one), signature(other));
    }

    #[test]
    fn what_is_no_failure_of_a_tool_settles_nothing() {
        for text in ["", "something failed: x", "the test failed", "Bash was slow"] {
            assert_eq!((topics_of(text), Attempt::of(text)), (vec![], None), "{text}");
        }
    }
}
