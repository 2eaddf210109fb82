//! Runs suites that are modules of the end-to-end tests, one result row each.

use std::process::{Command, Stdio};

use harness::environment;
use harness::proof::ProofResult;

pub(super) const NAMES: [&str; 13] = [
    "disk",
    "full_disk",
    "file_systems",
    "damage",
    "trust",
    "links",
    "strangers",
    "canary",
    "canary_elsewhere",
    "http",
    "upgrades",
    "supply",
    "stories",
];

/// Selects the long form of tests.
const LONG: &str = "JIKIME_LONG_TESTS";

/// The maximum length of a reported error, in characters.
const SHORTENED: usize = 1_000;

pub(super) fn run_suite(name: &'static str) -> ProofResult {
    let mut tally = ProofResult::new(name, "tests");
    let cargo = environment::variable("CARGO").unwrap_or_else(|| "cargo".into());
    let mut test = Command::new(cargo);
    test.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_TERM_COLOR", "never").env(LONG, "1");
    let module = format!("{name}::");
    test.args(["test", "--locked", "-p", "jikime-memory-tests", "--test", "e2e", "--", "--show-output", &module]);
    let output = match test.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            tally.findings.push(format!("cannot start cargo: {error}"));
            return tally;
        }
    };
    let (text, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = SuiteOutput::read(&text, &complaint);
    tally.rounds = said.passed + said.failed;
    tally.measured = said.summary();
    tally.findings = said.findings;
    // On other systems a suite may be empty, because some test features of Linux or Unix only.
    let is_missing = tally.rounds == 0 && cfg!(target_os = "linux");
    if tally.findings.is_empty() && (is_missing || !output.status.success()) {
        let last: String = complaint.chars().skip(complaint.chars().count().saturating_sub(SHORTENED)).collect();
        tally.findings.push(format!("{} tests, and cargo ended with {}: {last}", tally.rounds, output.status));
    }
    tally
}

/// Results of a suite.
#[derive(Debug, PartialEq, Eq)]
struct SuiteOutput {
    passed: usize,
    failed: usize,
    /// Tests that passed because they cannot run on this system.
    skipped: usize,
    /// The duration in seconds as printed, without building.
    time: String,
    findings: Vec<String>,
}

impl SuiteOutput {
    fn read(text: &str, complaint: &str) -> Self {
        let result = text.lines().rev().find_map(|line| line.strip_prefix("test result: ")).unwrap_or_default();
        let count = |word: &str| -> usize {
            let number = result.split_once(word).and_then(|(before, _)| before.rsplit(' ').next());
            number.and_then(|number| number.parse().ok()).unwrap_or_default()
        };
        let failures = text.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        Self {
            passed: count(" passed;"),
            failed: count(" failed;"),
            skipped: complaint.lines().filter(|line| line.starts_with("skipped")).count(),
            time: result.rsplit(' ').next().unwrap_or_default().trim_end_matches('s').to_owned(),
            findings: failures.map(|name| format!("{name}: {}", failure_cause(text, name))).collect(),
        }
    }

    fn summary(&self) -> String {
        let tests = self.passed + self.failed;
        let time = if self.time.is_empty() { String::new() } else { format!(", in {} s", self.time) };
        let skipped = if self.skipped == 0 { String::new() } else { format!("; {} skipped", self.skipped) };
        format!("{tests} tests, in their long form{time}{skipped}")
    }
}

/// Returns the panic of a failed test, or all of its output.
fn failure_cause(text: &str, name: &str) -> String {
    let written = text.split_once(&format!("---- {name} stdout ----\n")).map_or("", |(_, written)| written);
    let end = ["\n---- ", "\n\nfailures:"].into_iter().filter_map(|mark| written.find(mark)).min();
    let written = &written[..end.unwrap_or(written.len())];
    let from = written.find("panicked at").unwrap_or_default();
    written[from..].trim().chars().take(SHORTENED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suite_report_lists_failed_and_skipped() {
        let text = "\nrunning 4 tests\ntest a ... FAILED\ntest b::case_1 ... FAILED\ntest c ... ok\ntest d ... ok\n\n\
                    successes:\n\nsuccesses:\n    c\n    d\n\n\
                    failures:\n\n---- a stdout ----\nbefore\n\nthread 'a' (7) panicked at tests/x.rs:1:2:\none\ntwo\n\n\
                    ---- b::case_1 stdout ----\nError: \"three\"\n\n\nfailures:\n    a\n    b::case_1\n\n\
                    test result: FAILED. 2 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 34.05s\n\n";
        let said = SuiteOutput::read(text, "   Compiling x\nskipped: no C compiler\n");
        let findings = vec!["a: panicked at tests/x.rs:1:2:\none\ntwo".into(), "b::case_1: Error: \"three\"".into()];
        assert_eq!(said, SuiteOutput { passed: 2, failed: 2, skipped: 1, time: "34.05".into(), findings });
        assert_eq!(said.summary(), "4 tests, in their long form, in 34.05 s; 1 skipped");
    }

    #[test]
    fn empty_suite_output_counts_no_tests() {
        assert_eq!(SuiteOutput::read("", "").summary(), "0 tests, in their long form");
    }
}
