//! The suites that are ordinary tests: each is run by cargo, which builds it and the programs it tests, and told as one row.

use std::process::{Command, Stdio};

use harness::proof::Tally;

use crate::Form;

pub(super) const NAMES: [&str; 12] = [
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
];

/// Asks the tests that grow with a number for the large one.
const LONG: &str = "JIKIME_LONG_TESTS";

/// Characters of what a test or cargo complained of.
const SHORTENED: usize = 1_000;

/// Runs all tests of one suite.
pub(super) fn run(name: &'static str, form: Form) -> Tally {
    let mut tally = Tally::new(name, "tests");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut test = Command::new(cargo);
    test.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_TERM_COLOR", "never").env_remove(LONG);
    if form == Form::Long {
        test.env(LONG, "1");
    }
    test.args(["test", "--locked", "-p", "jikime-memory-tests", "--test", name, "--", "--show-output"]);
    let output = match test.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            tally.findings.push(format!("cannot start cargo: {error}"));
            return tally;
        }
    };
    let (text, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = Said::read(&text, &complaint);
    tally.rounds = said.passed + said.failed;
    tally.measured = said.measured(form);
    tally.findings = said.findings;
    // Elsewhere a suite may be empty: some test what only Linux or Unix has.
    let is_missing = tally.rounds == 0 && cfg!(target_os = "linux");
    if tally.findings.is_empty() && (is_missing || !output.status.success()) {
        let last: String = complaint.chars().skip(complaint.chars().count().saturating_sub(SHORTENED)).collect();
        tally.findings.push(format!("{} tests, and cargo ended with {}: {last}", tally.rounds, output.status));
    }
    tally
}

/// What a suite said of its tests.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    passed: usize,
    failed: usize,
    /// Those that passed because they could not be done here.
    skipped: usize,
    /// Seconds, as they are written there; building is not in them.
    time: String,
    findings: Vec<String>,
}

impl Said {
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
            findings: failures.map(|name| format!("{name}: {}", cause(text, name))).collect(),
        }
    }

    fn measured(&self, form: Form) -> String {
        let tests = self.passed + self.failed;
        let form = if form == Form::Long { ", in their long form" } else { "" };
        let time = if self.time.is_empty() { String::new() } else { format!(", in {} s", self.time) };
        let skipped = if self.skipped == 0 { String::new() } else { format!("; {} skipped", self.skipped) };
        format!("{tests} tests{form}{time}{skipped}")
    }
}

/// What a test that failed panicked with, or else all that it wrote.
fn cause(text: &str, name: &str) -> String {
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
    fn a_suite_is_told_with_what_failed_and_what_was_skipped() {
        let text = "\nrunning 4 tests\ntest a ... FAILED\ntest b::case_1 ... FAILED\ntest c ... ok\ntest d ... ok\n\n\
                    successes:\n\nsuccesses:\n    c\n    d\n\n\
                    failures:\n\n---- a stdout ----\nbefore\n\nthread 'a' (7) panicked at tests/x.rs:1:2:\none\ntwo\n\n\
                    ---- b::case_1 stdout ----\nError: \"three\"\n\n\nfailures:\n    a\n    b::case_1\n\n\
                    test result: FAILED. 2 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 34.05s\n\n";
        let said = Said::read(text, "   Compiling x\nskipped: there is no C compiler here\n");
        let findings = vec!["a: panicked at tests/x.rs:1:2:\none\ntwo".into(), "b::case_1: Error: \"three\"".into()];
        assert_eq!(said, Said { passed: 2, failed: 2, skipped: 1, time: "34.05".into(), findings });
        assert_eq!(said.measured(Form::Long), "4 tests, in their long form, in 34.05 s; 1 skipped");
    }

    #[test]
    fn a_suite_that_says_nothing_has_no_tests() {
        assert_eq!(Said::read("", "").measured(Form::Short), "0 tests");
    }
}
