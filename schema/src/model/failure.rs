//! Failures of tools: the text of their memories, whether two are the same, and which success settles one.
//!
//! The first line of such a memory names the attempt, as in `Bash failed: make`. The lines after it are its cause and the place in the
//! code.

mod cause;

pub(crate) use cause::{cause_of, truncated};

use serde::{Deserialize, Serialize};

use crate::model::command_line::{MainCommand, main_commands, succeeded};
use crate::model::memory::content_hash;
use crate::model::word_list::WordList;

/// The importance of the failures in a session, which deserve a second look.
pub const FAILURE_IMPORTANCE: u8 = 3;

/// Separates the tool from its input in the first line of a failure.
const FAILED: &str = " failed";

/// An attempt to use a tool with some input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub tool: String,
    /// The command line, file or URL, if the tool was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether the output says that all tests passed. It counts if a pipe hides the exit code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed: bool,
}

impl Attempt {
    /// Parses the first line of a failure's memory. Returns `None` for any other text.
    fn of(content: &str) -> Option<Self> {
        let line = content.lines().next()?;
        let (tool, rest) = line.split_once(FAILED)?;
        let input = rest.strip_prefix(": ").map(str::to_owned);
        let is_named = tool.starts_with(|c: char| c.is_ascii_uppercase()) || tool.starts_with("mcp__");
        let is_tool = is_named && !tool.contains(char::is_whitespace) && (input.is_some() || rest.is_empty());
        is_tool.then(|| Self { tool: tool.to_owned(), input, passed: false })
    }

    fn is_command(&self) -> bool {
        matches!(self.tool.as_str(), "Bash" | "PowerShell")
    }

    fn main_commands(&self) -> Vec<MainCommand> {
        self.line().map(|line| main_commands(&line)).unwrap_or_default()
    }

    /// Returns the commands that succeeded if this attempt did.
    fn succeeded(&self) -> Vec<MainCommand> {
        self.line().map(|line| succeeded(&line, self.passed)).unwrap_or_default()
    }

    /// Returns the command line, with a word for each secret that was removed: `KEY=[redacted: api key] make`.
    fn line(&self) -> Option<String> {
        let line = self.input.as_deref().filter(|_| self.is_command())?;
        let mut parts = line.split("[redacted: ");
        let first = parts.next().unwrap_or_default().to_owned();
        Some(parts.fold(first, |line, rest| line + "redacted" + rest.split_once(']').map_or(rest, |(_, rest)| rest)))
    }

    /// Returns short keys of what this attempt is about. An attempt can settle a failure only if both share a key.
    pub fn topics(&self) -> Vec<String> {
        let commands = self.main_commands();
        let names = match commands.is_empty() {
            true => vec![format!("{} {}", self.tool, self.input.as_deref().unwrap_or_default())],
            false => commands.iter().flat_map(MainCommand::topics).collect(),
        };
        // Hashed, because a command line can contain a secret.
        names.into_iter().map(|name| content_hash(&name)[..TOPIC_DIGITS].to_owned()).collect()
    }

    /// Returns the text of the memory that this attempt failed.
    pub(crate) fn failed(&self, cause: &str) -> String {
        let input = self.input.as_ref().map(|input| format!(": {input}")).unwrap_or_default();
        let end = if cause.is_empty() { "" } else { "\n" };
        format!("{}{FAILED}{input}{end}{cause}", self.tool)
    }
}

/// A success after a failure with the same topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Success {
    pub attempt: Attempt,
    /// The time in RFC 3339.
    pub at: String,
}

/// The length of a topic, in hexadecimal digits.
const TOPIC_DIGITS: usize = 16;

/// Returns the topics of a failure's memory; see [`Attempt::topics`].
pub fn topics_of(content: &str) -> Vec<String> {
    Attempt::of(content).map(|attempt| attempt.topics()).unwrap_or_default()
}

/// Returns a text that is the same for every repeat of a failure, without the numbers, hashes and durations in its cause.
pub fn signature(content: &str) -> String {
    let (first, cause) = content.split_once('\n').unwrap_or((content, ""));
    // A text that does not come from a tool has to repeat word for word.
    let Some(attempt) = Attempt::of(content) else { return content.to_owned() };
    let commands = attempt.main_commands();
    let mut text = match commands.is_empty() {
        true => first.to_owned(),
        false => commands.iter().map(MainCommand::line).collect::<Vec<_>>().join(" && "),
    };
    for line in cause.lines() {
        text.push('\n');
        text.push_str(&without_numbers(line));
    }
    text
}

/// Replaces all numbers, hashes and durations in a line by `#`.
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
            // A duration such as `1.9s` or `12ms`.
            Some(0) => kept.push('#'),
            _ => kept.push_str(name),
        }
        kept.push_str(&word[name.len()..]);
    }
    // `1.9s` and `12s` both become `#`.
    kept.replace("#.#", "#")
}

/// Whether `success` settles the failure in `content`.
///
/// A success of the same command settles it. So does a wider run of the same checks, such as `cargo test` after `cargo test parser`, a
/// run of the same files and more, a narrower run of the tests that the failure's report names, and the same program with the same files and more arguments.
pub(crate) fn is_settled_by(content: &str, success: &Attempt) -> bool {
    let Some(failed) = Attempt::of(content).filter(|failed| failed.tool == success.tool) else { return false };
    if !failed.is_command() {
        return failed.input == success.input;
    }
    // Also if it only tries, as with `--dry-run`. A pipe may hide how it ended.
    if failed.input == success.input && failed.input.as_ref().is_some_and(|line| !line.contains('|')) {
        return true;
    }
    let (failed, succeeded) = (failed.main_commands(), success.succeeded());
    // Among several commands the last one most likely failed; the others usually prepare it.
    let Some(task) = failed.last() else { return false };
    succeeded.iter().filter(|done| done.includes(task)).any(|done| {
        let is_check = done.is_check();
        let names_files = task.files().next().is_some();
        let is_in_task = |word: &String| task.operands.contains(word);
        let is_named =
            |word: &String| content.contains(word.trim_start_matches("./").split("::").last().unwrap_or(word));
        let is_file = |word: &String| !word.contains("::") && done.files().any(|file| file == word);
        let is_added = |word: &String| is_named(word) || names_files && is_file(word);
        let is_same_or_wider =
            (is_check || done.operands.len() == task.operands.len()) && done.operands.iter().all(is_in_task);
        let has_all_operands = task.operands.iter().all(|word| done.operands.contains(word));
        let adds_only_such = || done.operands.iter().all(|word| is_in_task(word) || is_added(word));
        let is_narrower = has_all_operands && if is_check { adds_only_such() } else { names_files };
        is_same_or_wider || is_narrower
    })
}

/// Whether the last commands of two failures are the same program with the same first argument, and it reported the same cause.
pub(crate) fn have_same_cause(a: &str, b: &str) -> bool {
    let parts = |text: &str| -> Option<(String, Option<String>, String)> {
        let MainCommand { name, operands, .. } = Attempt::of(text)?.main_commands().pop()?;
        Some((name, operands.into_iter().next(), text.lines().nth(1)?.to_owned()))
    };
    parts(a).is_some_and(|one| parts(b) == Some(one))
}

/// Words that name a failure, unless their number is 0.
static FAILURES: WordList = WordList::words("abort aborted error errors fail failed failing failure failures panicked");

/// Whether an output has the summary of a test runner and names no failure. It is `false` if in doubt.
pub(crate) fn all_passed(output: &str) -> bool {
    output.lines().any(is_summary) && !output.split(['\n', ',', ';']).any(names_failure)
}

/// Whether a line is a summary of at least one test that passed, or says that nothing failed.
fn is_summary(line: &str) -> bool {
    let line = line.trim();
    let is_count = |word: &str| word.parse::<u32>().is_ok_and(|count| count > 0);
    let words = words(line);
    let has_count = words.windows(2).any(|pair| is_count(pair[0]) && matches!(pair[1], "passed" | "passing"));
    // cargo, unittest, go, rspec and JUnit.
    has_count
        || line.starts_with("test result: ok.")
        || line == "OK"
        || line.starts_with("OK (")
        || line.starts_with("ok  \t")
        || line.contains("examples, 0 failures")
        || line.contains("Tests run:") && line.contains("Failures: 0")
}

/// Whether a part of a line, such as `1 failed` or `Errors: 1`, names a failure.
fn names_failure(part: &str) -> bool {
    let words = words(part);
    words.iter().enumerate().any(|(at, word)| {
        let is_zero = |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|word| *word == "0");
        FAILURES.contains(&word.to_lowercase()) && !is_zero(at.checked_sub(1)) && !is_zero(Some(at + 1))
    })
}

/// Splits a line into words. A path such as `net::error` or `parse_error` is one word.
fn words(line: &str) -> Vec<&str> {
    let words = line.split(|next: char| !next.is_alphanumeric() && !matches!(next, ':' | '_' | '-'));
    words.map(|word| word.trim_matches([':', '_', '-'])).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::other_options("Bash failed: train.py base.yaml --lr 1\nloss is nan at step 7\ntrain.py:3", true)]
    #[case::other_cause("Bash failed: train.py base.yaml --lr 1\nout of memory", false)]
    #[case::other_program("Bash failed: evaluate.py\nloss is nan at step 7", false)]
    #[case::other_argument("Bash failed: train.py large.yaml\nloss is nan at step 7", false)]
    fn failures_of_one_program_may_have_one_cause(#[case] other: &str, #[case] expected: bool) {
        assert_eq!(have_same_cause("Bash failed: train.py base.yaml\nloss is nan at step 7", other), expected);
    }

    #[rstest]
    #[case::same("Bash failed: cargo test parser\nx", "cargo test parser 2>&1", true)]
    #[case::dry_run("Bash failed: spark-submit a.py --dry-run\nx", "spark-submit a.py --dry-run", true)]
    #[case::only_tried("Bash failed: spark-submit a.py\nx", "spark-submit a.py --dry-run", false)]
    #[case::gradle_project("Bash failed: ./gradlew :engine:test --tests '*Dst*'\nx", "./gradlew :engine:test", true)]
    #[case::other_project("Bash failed: ./gradlew :engine:test --tests '*Dst*'\nx", "./gradlew :web:test", false)]
    #[case::on_another_machine(
        "Bash failed: ssh attic 'restic restore latest --target /tmp/r'\nx",
        "ssh attic 'restic restore latest --target /tmp/r && cd /tmp/r && sha256sum -c SUMS'",
        true
    )]
    #[case::piped("Bash failed: cargo test parser\nx", "cargo test parser 2>&1 | tail -5", false)]
    #[case::same_file("Bash failed: psql -f db/1.sql\nx", "psql -c 'set a = 1' -f db/1.sql", true)]
    #[case::other_file("Bash failed: psql -f db/1.sql\nx", "psql -c 'set a = 1' -f db/2.sql", false)]
    #[case::same_script("Bash failed: python deploy.py\nx", "python deploy.py staging", false)]
    #[case::with_more_files("Bash failed: pytest tests/test_a.py\nx", "pytest tests/test_a.py tests/test_b.py", true)]
    #[case::subtest("Bash failed: go test ./store\nx", "go test ./store -run TestOpen/empty", false)]
    #[case::one_of_its_tests("Bash failed: pytest tests/test_a.py\nx", "pytest tests/test_a.py -k retry", false)]
    #[case::elsewhere("Bash failed: cd app && cargo test parser\nx", "cargo test parser", true)]
    #[case::with_other_options("Bash failed: pytest -q tests\nx", "pytest -x tests", true)]
    #[case::with_an_amount(
        "Bash failed: python -m jobs.daily --date 2026-11-12 --threads 4\nx",
        "python -m jobs.daily --date 2026-11-12",
        true
    )]
    #[case::with_another_date(
        "Bash failed: python -m jobs.daily --date 2026-11-12\nx",
        "python -m jobs.daily --date 2026-11-13",
        false
    )]
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
    #[case::compiled_for_tests("Bash failed: dotnet build\nx", "dotnet test", true)]
    #[case::not_compiled_for_tests("Bash failed: dotnet build\nx", "dotnet test --no-build", false)]
    #[case::another_build("Bash failed: cargo build --release\nx", "cargo test", false)]
    #[case::only_a_part_of_vet("Bash failed: go vet ./...\nx", "go test ./...", false)]
    #[case::other_subcommand("Bash failed: cargo test\nx", "cargo build", false)]
    #[case::removed_secret("Bash failed: KEY=[redacted: api key] make all\nx", "make all", true)]
    #[case::other_operand("Bash failed: git push origin main\nx", "git push origin dev", false)]
    #[case::no_check("Bash failed: git push origin main\nx", "git push", false)]
    #[case::preparation("Bash failed: npm ci && npm test\nx", "npm ci", false)]
    #[case::what_was_prepared("Bash failed: npm ci && npm test\nx", "npm test", true)]
    #[case::other_tool("Edit failed: a.rs\nx", "a.rs", false)]
    fn success_of_the_same_command_settles_a_failure(
        #[case] failure: &str,
        #[case] success: &str,
        #[case] expected: bool,
    ) {
        let success = Attempt { tool: "Bash".into(), input: Some(success.into()), passed: false };
        assert_eq!(is_settled_by(failure, &success), expected);
        let has_topic = success.topics().iter().any(|topic| topics_of(failure).contains(topic));
        assert!(has_topic || !expected, "what settles a failure shares a topic with it");
    }

    #[test]
    fn piped_tests_whose_output_says_so_settle_a_failure() {
        let tests = |passed| Attempt { tool: "Bash".into(), input: Some("cargo test 2>&1 | tail -5".into()), passed };
        let failure = "Bash failed: cargo test parser\nx";
        assert!(is_settled_by(failure, &tests(true)));
        assert!(!is_settled_by(failure, &tests(false)));
    }

    #[test]
    fn later_edit_of_the_same_file_settles_a_failed_edit() {
        let edit = |file: &str| Attempt { tool: "Edit".into(), input: Some(file.into()), passed: false };
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
    fn text_without_a_failed_tool_settles_nothing() {
        for text in ["", "something failed: x", "the test failed", "Bash was slow"] {
            assert_eq!((topics_of(text), Attempt::of(text)), (vec![], None), "{text}");
        }
    }

    #[rstest]
    #[case::cargo("test net::error ... ok\n\ntest result: ok. 3 passed; 0 failed; 0 ignored", true)]
    #[case::cargo_without_tests("test result: ok. 0 passed; 0 failed; 0 ignored", true)]
    #[case::cargo_failed("test result: FAILED. 2 passed; 1 failed", false)]
    #[case::one_of_two("test result: ok. 3 passed; 0 failed\ntest result: FAILED. 2 passed; 1 failed", false)]
    #[case::cargo_not_built("error[E0432]: unresolved import\nerror: could not compile `a`", false)]
    #[case::cargo_later_error("test result: ok. 3 passed; 0 failed\nerror: 1 target failed:", false)]
    #[case::nextest("Summary [ 0.2s] 1 test run: 1 passed, 4 skipped", true)]
    #[case::pytest("=== 12 passed, 1 warning in 0.31s ===", true)]
    #[case::pytest_failed("=== 1 failed, 11 passed in 0.31s ===", false)]
    #[case::jest("Tests:       12 passed, 12 total", true)]
    #[case::mocha("  12 passing (8ms)\n  1 failing", false)]
    #[case::go("ok  \texample.com/a\t0.01s", true)]
    #[case::go_failed("ok  \texample.com/a\t0.01s\nFAIL\texample.com/b\t0.02s", false)]
    #[case::unittest("Ran 3 tests in 0.1s\n\nOK", true)]
    #[case::unittest_failed("FAILED (failures=1)", false)]
    #[case::rspec("3 examples, 0 failures", true)]
    #[case::maven("Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", true)]
    #[case::maven_error("Tests run: 3, Failures: 0, Errors: 1, Skipped: 0", false)]
    #[case::nothing_passed("0 passed", false)]
    #[case::no_summary("Compiling a v0.1.0\nFinished", false)]
    #[case::empty("", false)]
    fn summary_says_whether_all_tests_passed(#[case] output: &str, #[case] expected: bool) {
        assert_eq!(all_passed(output), expected);
    }
}
