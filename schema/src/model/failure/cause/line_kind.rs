//! The roles of lines in a report of a failure.

use super::frame::{frame, is_own, is_python_frame, location};
use crate::model::word_list::WordList;

/// The role of a line in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Says nothing: a header, a rule, progress.
    Noise,
    /// A stack frame in a library or a runtime.
    Foreign,
    /// A stack frame in the project.
    Own,
    /// Any other line.
    Plain,
    /// Contains a word that is typical of failures.
    Hint,
    /// Counts failures, or names the failed test.
    Summary,
    /// Says what went wrong, in the format of a known tool.
    Cause,
}

/// Returns the role of a line, and the number of lines after it that are noise.
pub(super) fn line_kind(line: &str, following: &[&str], project: &str) -> (LineKind, usize) {
    let bare = line.trim();
    if is_noise(bare) {
        return (LineKind::Noise, 0);
    }
    if let Some(place) = frame(line, following) {
        let kind = if is_own(place, project) { LineKind::Own } else { LineKind::Foreign };
        // Python quotes the line of code below its frame, with markers under it.
        let quoted = if is_python_frame(bare) {
            following.iter().take_while(|next| next.starts_with("    ")).count()
        } else {
            0
        };
        return (kind, quoted);
    }
    if is_cause(line, bare) {
        return (LineKind::Cause, 0);
    }
    if is_summary(bare) {
        return (LineKind::Summary, 0);
    }
    (if is_hint(bare) { LineKind::Hint } else { LineKind::Plain }, 0)
}

fn is_noise(bare: &str) -> bool {
    static STARTS: WordList = WordList::phrases(
        "Traceback (most recent call last)|Stack trace:|Stack dump:|stack backtrace:|goroutine |note: run with|note: Some details|\
         exit status|Compiling |Finished |Downloaded |Downloading |Running |Checking |Blocking waiting|\
         For more information about this error|npm ERR! A complete log|npm error A complete log|npm ERR! code|\
         npm error code|> Task :|BUILD FAILED|FAILURE: |Execution failed for task|* What went wrong|\
         error: could not compile|error: aborting due to|* Try:|* Get more help|\
         During handling of the above exception|The above exception was the direct cause|Process finished|\
         make: Leaving|make: Entering|warning:|Run with --|at java.base/|--- Done|Test Suites:|Snapshots:|\
         Ran all test suites",
    );
    const RULES: [char; 6] = ['=', '_', '─', '━', '*', '~'];
    // Gradle may give the reason on the same line: "Execution failed for task ':app:check'. It requires …".
    let has_reason = || bare.starts_with("Execution failed for task") && bare.contains("'. ");
    // "8 passed (12s)"
    let is_count = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    let counts_passed =
        || bare.split_once(' ').is_some_and(|(number, rest)| is_count(number) && rest.starts_with("passed"));
    // "=== FAILURES ==="
    let is_ruled =
        || bare.starts_with(RULES) && bare.ends_with(RULES) && !bare.contains(" failed") && !bare.contains("error");
    !bare.chars().any(char::is_alphanumeric)
        || STARTS.begins(bare) && !has_reason()
        || counts_passed()
        // Other exit codes can be informative: command not found, killed, out of memory.
        || bare == "Exit code 1"
        || is_ruled() && titled_test(bare).is_none()
        || bare.starts_with("... ") && bare.ends_with(" more")
}

/// Whether a line says what went wrong, in the format of a known tool.
fn is_cause(line: &str, bare: &str) -> bool {
    static STARTS: WordList = WordList::phrases(
        "error:|error[|Error:|ERROR:|ERROR |error TS|fatal:|fatal error:|FATAL:|panic:|Caused by:|Caused by |\
         npm ERR! missing|npm error missing|Uncaught |Unhandled |unhandled |PHP Fatal|PHP Parse|Fatal error:|\
         Segmentation fault|Bus error|Aborted|Killed|E  |AssertionError|assert |assertion failed|assertion `|Assertion failed|\
         Assertion `|Program received signal|Program terminated with signal|==ERROR|SUMMARY: |Expected:|Received:|\
         expected:|actual:|left:|right:|ninja: error|CMake Error|Exception in thread|--->|e: |[ERROR]|Message:|\
         SyntaxError",
    );
    static PARTS: WordList = WordList::phrases(
        "undefined reference to|ld returned|: command not found|No such file or directory|Permission denied|oom-kill|\
         Out of memory",
    );
    let inner = bare.trim_start_matches(|c: char| c.is_whitespace() || ">│|×✗✘✖●".contains(c));
    line.starts_with("E ") && line.len() > 2
        || STARTS.begins(inner)
        || inner.starts_with("thread '") && inner.contains("panicked at")
        || is_exception(inner)
        || is_diagnostic(inner)
        || PARTS.occurs_in(bare)
}

/// Whether a line reports an exception, such as `TypeError: …`, `django.db.utils.IntegrityError: …`, `java.lang.IllegalStateException: …`
/// or `a.rb:12:in 'f': … (NoMethodError)`.
pub(super) fn is_exception(bare: &str) -> bool {
    let name = bare.split([':', ' ']).next().unwrap_or_default();
    let last = name.rsplit(['.', '\\', ':']).next().unwrap_or_default();
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '\\' | ':' | '$'));
    let ends = ["Error", "Exception", "Exit", "Interrupt", "Warning", "Failure", "Fault"]
        .iter()
        .any(|end| last.ends_with(end) && last.len() > end.len());
    is_name && ends && (bare.len() == name.len() || bare[name.len()..].starts_with(':'))
        || bare.contains(".rb:") && bare.ends_with("Error)")
}

/// Whether a line is a compiler's diagnostic, such as `src/a.c:12:3: error: …`, `a.go:12:3: undefined: x`, `src/a.ts(12,3): error TS…` or
/// `src/a.ts:1:2 - error …`.
pub(super) fn is_diagnostic(bare: &str) -> bool {
    let place = bare.split_whitespace().next().unwrap_or_default().trim_end_matches(':');
    let rest = bare.split_once(' ').map_or("", |(_, rest)| rest.trim_start_matches("- "));
    let is_number = |n: &str| !n.is_empty() && n.trim_end_matches(')').bytes().all(|b| b.is_ascii_digit() || b == b',');
    let is_numbered = place.contains('.') && place.rsplit_once([':', '(']).is_some_and(|(_, number)| is_number(number));
    let says = ["error", "Error", "fatal"].iter().any(|word| rest.starts_with(word)) || place.contains(".go:");
    is_numbered && says && !rest.is_empty()
}

/// Whether a line counts failures or names the failed test.
fn is_summary(bare: &str) -> bool {
    static MARKS: WordList =
        WordList::phrases("make: ***|gmake: ***|make[|collect2: error|ninja: build stopped|FAILED|FAIL:|✗|✘|✖");
    let lower = bare.to_ascii_lowercase();
    let is_counted = |word: &&str| {
        lower.split_once(*word).is_some_and(|(before, _)| before.trim_end().ends_with(|c: char| c.is_ascii_digit()))
    };
    bare == "FAIL"
        || bare.starts_with("FAIL\t")
        || names_test(bare)
        || MARKS.begins(bare)
        || ["failed", "failing", "failures", "errors"].iter().any(is_counted)
}

/// Returns the test in pytest's title of a failure: `____ test_x ____`.
pub(super) fn titled_test(bare: &str) -> Option<&str> {
    let inner = bare.strip_prefix("__")?.strip_suffix("__")?.trim_matches(['_', ' ']);
    (bare.contains(' ') && !inner.is_empty()).then_some(inner)
}

/// Whether a line names the failed test.
pub(super) fn names_test(line: &str) -> bool {
    static STARTS: WordList =
        WordList::phrases("FAILED |--- FAIL|FAIL |FAIL: |✗ |✘ |× |● |✕ |not ok |[  FAILED  ] |---- |Failed ");
    let bare = line.trim().trim_start_matches("- ");
    let has_number = bare.split_once(") ").is_some_and(|(number, _)| number.parse::<u16>().is_ok());
    let first = bare.split([' ', '[']).next().unwrap_or_default().trim_end_matches(':');
    let is_method = first.split_once('#').is_some_and(|(class, method)| is_identifier(class) && is_identifier(method));
    let is_function = bare == first && first.starts_with("test_") && is_identifier(first);
    // Playwright: "a.spec.ts:58:3 › pays with a saved card".
    let is_located = bare.split_once(" › ").is_some_and(|(place, _)| location(place).is_some());
    has_number
        || is_located
        || is_method
        || is_function
        || bare.ends_with(" FAILED")
        || titled_test(bare).is_some()
        || STARTS.begins(bare)
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '$' | '?' | '!'))
}

/// Whether a line contains a word that is typical of failures.
fn is_hint(bare: &str) -> bool {
    static WORDS: WordList = WordList::phrases(
        "error|fail|exception|fatal|panic|cannot|can't|could not|couldn't|unable|undefined|not found|no such|denied|\
         refused|timed out|timeout|expected|unexpected|invalid|missing|mismatch|conflict|assert|abort|unknown|\
         unsupported|not supported|not allowed|forbidden|unauthorized|overflow|violat|crash|not defined|\
         does not exist|already exists|rejected|unreachable|오류|실패|에러|없습니다|예외|エラー|失败",
    );
    let lower = bare.to_lowercase();
    // "0 errors" is not a failure.
    WORDS.occurs_in(&lower) && !lower.contains("0 error") && !lower.contains("0 fail") && !lower.contains("no errors")
}
