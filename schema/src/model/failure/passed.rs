//! Reads in the output of a test run whether all tests passed.

use crate::model::word_list::WordList;

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
