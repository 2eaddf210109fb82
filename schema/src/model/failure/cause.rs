//! Reduces the output of a failed command to its cause and the place in the project's code, without the stack trace.
//!
//! Recognizes reports of Python, JavaScript, Rust, Go, Java and Kotlin, Ruby, C and C++ with gdb, C# and PHP, and of their test runners. In
//! any other report it looks for words that are typical of failures.

/// The maximum number of lines for the cause.
const CAUSES: usize = 3;

/// The maximum length of a line, in bytes.
const LINE: usize = 200;

/// The maximum number of lines, noise and frames excluded, in a short report. In a short report the fields below a single cause belong to
/// it, up to `DETAILS` lines.
const SHORT_REPORT: usize = 12;
const DETAILS: usize = 4;

/// A line with fewer characters may be the title of the line below it.
const TITLE: usize = 40;

/// The maximum number of lines that are read: half from the beginning of a report, and half from its end.
const READ: usize = 2_000;

/// A report with at most this many lines, noise excluded, is returned as it is if it has no frames.
const SHORT_LINES: usize = 3;

/// The role of a line in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
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

/// Returns the cause and the place of a failure. `project` is the root directory of the project.
pub(crate) fn cause_of(report: &str, project: &str) -> String {
    let report = without_escapes(report);
    let lines: Vec<&str> = report.lines().map(str::trim_end).collect();
    let lines = match lines.len() > READ {
        true => [&lines[..READ / 2], &lines[lines.len() - READ / 2..]].concat(),
        false => lines,
    };
    let kinds = kinds(&lines, project);
    let is_traced = kinds.iter().any(|kind| matches!(kind, Kind::Own | Kind::Foreign));
    let telling: Vec<usize> =
        (0..lines.len()).filter(|at| !matches!(kinds[*at], Kind::Noise | Kind::Own | Kind::Foreign)).collect();
    if telling.is_empty() {
        return shown(lines.iter().copied().find(|line| !line.trim().is_empty()).into_iter(), project);
    }
    if !is_traced && telling.len() <= SHORT_LINES {
        return shown(telling.iter().map(|at| lines[*at]), project);
    }
    let causes = causes(&lines, &kinds, &telling);
    let place = place(&lines, &kinds, &causes);
    let causes = causes.iter().map(|at| lines[*at].to_owned());
    shown(causes.chain(place).collect::<Vec<_>>().iter().map(String::as_str), project)
}

/// Returns the lines that describe the cause, in order.
fn causes(lines: &[&str], kinds: &[Kind], telling: &[usize]) -> Vec<usize> {
    for kind in [Kind::Cause, Kind::Summary, Kind::Hint] {
        let found: Vec<usize> = telling.iter().copied().filter(|at| kinds[*at] == kind).collect();
        let mut found = without_repeats(found, lines);
        if found.is_empty() {
            continue;
        }
        if kind == Kind::Cause && found.len() > CAUSES {
            // The first errors of a compiler usually cause the others. In a chain of exceptions, the last one was raised.
            let is_chain = is_exception(lines[found[found.len() - 1]].trim());
            found = if is_chain { vec![found[0], found[found.len() - 1]] } else { found[..CAUSES].to_vec() };
        }
        found.truncate(CAUSES);
        if let [only] = found[..] {
            found.extend(details(lines, kinds, telling, only));
        }
        // The name of the failed test belongs to the cause.
        if kind == Kind::Cause {
            let mut named = telling.iter().copied().filter(|at| kinds[*at] == Kind::Summary && names_test(lines[*at]));
            let (first, cause) = (named.clone().next(), found[0]);
            let named = named.rfind(|at| *at < cause).or(first);
            found.extend(named.filter(|at| !found.contains(at)).into_iter().collect::<Vec<_>>());
            found.sort_unstable();
        }
        return found;
    }
    // Without a known format, the last lines most likely say what went wrong.
    let first = telling.first().copied();
    let last = telling.iter().rev().take(2).rev().copied();
    let mut found: Vec<usize> = first.into_iter().chain(last).collect();
    found.dedup();
    found
}

/// Returns the lines that belong to a single cause: the text below a title, and the fields of a short report.
fn details(lines: &[&str], kinds: &[Kind], telling: &[usize], cause: usize) -> Vec<usize> {
    let bare = lines[cause].trim();
    if is_exception(bare) || is_diagnostic(bare) {
        return Vec::new();
    }
    let is_title = bare.chars().count() < TITLE;
    let is_short = telling.len() <= SHORT_REPORT;
    let below = (cause + 1..lines.len()).filter(|at| kinds[*at] != Kind::Noise);
    let below = below.take_while(|at| matches!(kinds[*at], Kind::Plain | Kind::Hint)).enumerate();
    let is_field = |line: &str| line.starts_with([' ', '\t', '│']) || line.contains(": ");
    let below = below.take_while(|(n, at)| *n == 0 && is_title || is_short && is_field(lines[*at]));
    below.map(|(_, at)| at).take(DETAILS).collect()
}

fn without_repeats(found: Vec<usize>, lines: &[&str]) -> Vec<usize> {
    let mut seen: Vec<&str> = Vec::new();
    found
        .into_iter()
        .filter(|at| {
            let line = lines[*at].trim();
            let is_new = !seen.contains(&line);
            seen.push(line);
            is_new
        })
        .collect()
}

/// Returns the stack frame in the project's code that is nearest to the cause.
fn place(lines: &[&str], kinds: &[Kind], causes: &[usize]) -> Option<String> {
    let own: Vec<usize> = (0..lines.len()).filter(|at| kinds[*at] == Kind::Own).take(READ).collect();
    let cause = causes.last().copied().unwrap_or_default();
    // Python prints frames before the cause, the nearest one last. Others print them after the cause, the nearest one first.
    let is_python = own.iter().any(|at| is_python_frame(lines[*at].trim_start()));
    let at = if is_python {
        own.iter().rev().find(|at| **at < cause).or(own.last())
    } else {
        own.iter().find(|at| **at > cause).or(own.first())
    }?;
    let line = lines[*at].trim();
    let told = causes.iter().any(|cause| location(line).is_some_and(|place| lines[*cause].contains(place)));
    (!told).then(|| line.to_owned())
}

fn shown<'l>(lines: impl Iterator<Item = &'l str>, project: &str) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim().trim_start_matches(['│', '╷', '╵']).trim();
        let line = titled_test(line).unwrap_or(line);
        let line = if project.is_empty() {
            line.to_owned()
        } else {
            line.replace(&format!("file://{project}/"), "").replace(&format!("{project}/"), "")
        };
        let line = cut(&line);
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

fn cut(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    format!("{}…", &line[..line.floor_char_boundary(LINE)])
}

fn kinds(lines: &[&str], project: &str) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let (kind, more) = kind(line, &lines[at + 1..], project);
        kinds.push(kind);
        kinds.extend(std::iter::repeat_n(Kind::Noise, more.min(lines.len() - at - 1)));
        at += 1 + more;
    }
    kinds
}

/// Returns the role of a line, and the number of lines after it that are noise.
fn kind(line: &str, following: &[&str], project: &str) -> (Kind, usize) {
    let bare = line.trim();
    if is_noise(bare) {
        return (Kind::Noise, 0);
    }
    if let Some(place) = frame(line, following) {
        let kind = if is_own(place, project) { Kind::Own } else { Kind::Foreign };
        // Python quotes the line of code below its frame, with markers under it.
        let quoted = if is_python_frame(bare) {
            following.iter().take_while(|next| next.starts_with("    ")).count()
        } else {
            0
        };
        return (kind, quoted);
    }
    if is_cause(line, bare) {
        return (Kind::Cause, 0);
    }
    if is_summary(bare) {
        return (Kind::Summary, 0);
    }
    (if is_hint(bare) { Kind::Hint } else { Kind::Plain }, 0)
}

/// Returns the place that a stack frame names, or `None` if the line is not a frame.
fn frame<'l>(line: &'l str, following: &[&'l str]) -> Option<&'l str> {
    let bare = line.trim_start();
    let is_indented = bare.len() < line.len();
    if is_python_frame(bare) {
        return bare.split('"').nth(1);
    }
    if let Some(rest) = bare.strip_prefix("at ").filter(|_| is_indented) {
        // JavaScript, Java, C#, and the places in a Rust backtrace.
        let place = rest.rsplit_once('(').map(|(_, place)| place.trim_end_matches(')'));
        let place = rest.rsplit_once(" in ").map(|(_, place)| place).or(place).unwrap_or(rest);
        let name = rest.split_once('(').map_or(rest, |(name, _)| name);
        // Java prints the file without its directory, but the package shows whose code it is.
        return Some(if place.contains('/') || place.contains('\\') || place.starts_with("node:") {
            place
        } else {
            name
        });
    }
    if let Some(rest) = bare.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        // gdb, sanitizers and PHP.
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let place = rest.rsplit_once(" at ").or_else(|| rest.rsplit_once(" from ")).map(|(_, place)| place);
        return Some(place.or_else(|| rest.split_whitespace().last()).unwrap_or(rest));
    }
    if let Some(rest) = bare.strip_prefix("from ").filter(|rest| is_indented && rest.contains(".rb:")) {
        return Some(rest);
    }
    if let Some(place) = bare.strip_prefix("--> ") {
        return Some(place);
    }
    // Go prints the function, and its place on the next line.
    if line.starts_with('\t')
        && bare.split(" +0x").next().is_some_and(|place| place.contains(".go:") && !place.contains(' '))
    {
        return Some(bare);
    }
    if bare.ends_with(')') && following.first().is_some_and(|next| next.starts_with('\t') && next.contains(".go:")) {
        return following.first().map(|_| "<function>");
    }
    // Rust backtraces number their functions and print the place on the next line.
    let number = bare
        .split_once(": ")
        .filter(|(number, _)| is_indented && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()));
    number.map(|_| "<function>")
}

fn is_python_frame(bare: &str) -> bool {
    bare.starts_with("File \"") && bare.contains("\", line ")
}

/// Whether a place is in the project's code, not in a library or a runtime.
fn is_own(place: &str, project: &str) -> bool {
    const FOREIGN: [&str; 30] = [
        "node_modules",
        "site-packages",
        "dist-packages",
        "node:",
        "internal/",
        "<frozen",
        "<string>",
        "<anonymous>",
        "<function>",
        "/rustc/",
        ".cargo/",
        "/usr/",
        "/lib/",
        "/lib64/",
        "/opt/",
        "vendor/",
        "/gems/",
        "/go/src/",
        "/go/pkg/",
        "libc.",
        "???",
        "sysdeps",
        "webpack:",
        "native",
        "[internal",
        "<internal",
        "Native Method",
        "/nix/store",
        "/opt/homebrew",
        "Unknown Source",
    ];
    const FOREIGN_NAMES: [&str; 22] = [
        "java.",
        "javax.",
        "jdk.",
        "sun.",
        "kotlin.",
        "kotlinx.",
        "scala.",
        "org.junit",
        "junit.",
        "org.springframework",
        "org.gradle",
        "org.apache",
        "org.hibernate",
        "com.sun.",
        "io.netty",
        "reactor.",
        "android.",
        "androidx.",
        "com.android.",
        "System.",
        "Microsoft.",
        "groovy.",
    ];
    if !project.is_empty() && place.contains(project) {
        let inner = place.rsplit(project).next().unwrap_or(place);
        return !["node_modules", "site-packages", "/vendor/", "/.venv/", "/target/"]
            .iter()
            .any(|folder| inner.contains(folder));
    }
    if FOREIGN.iter().any(|mark| place.contains(mark)) {
        return false;
    }
    !FOREIGN_NAMES.iter().any(|name| place.starts_with(name))
}

/// Returns the `file:line` in a text.
fn location(text: &str) -> Option<&str> {
    text.split([' ', '(', ')', '"', ',']).find(|word| {
        word.rsplit_once(':')
            .is_some_and(|(file, line)| file.contains('.') && line.bytes().next().is_some_and(|b| b.is_ascii_digit()))
    })
}

fn is_noise(bare: &str) -> bool {
    const STARTS: &[&str] = &[
        "Traceback (most recent call last)",
        "Stack trace:",
        "stack backtrace:",
        "goroutine ",
        "note: run with",
        "note: Some details",
        "exit status",
        "Compiling ",
        "Finished ",
        "Downloaded ",
        "Downloading ",
        "Running ",
        "Checking ",
        "Blocking waiting",
        "For more information about this error",
        "npm ERR! A complete log",
        "npm error A complete log",
        "npm ERR! code",
        "npm error code",
        "> Task :",
        "BUILD FAILED",
        "FAILURE: ",
        "Execution failed for task",
        "* What went wrong",
        "error: could not compile",
        "error: aborting due to",
        "* Try:",
        "* Get more help",
        "During handling of the above exception",
        "The above exception was the direct cause",
        "Process finished",
        "make: Leaving",
        "make: Entering",
        "warning:",
        "Run with --",
        "at java.base/",
        "--- Done",
        "Test Suites:",
        "Snapshots:",
        "Ran all test suites",
    ];
    if bare.is_empty() || !bare.chars().any(char::is_alphanumeric) {
        return true;
    }
    if STARTS.iter().any(|start| bare.starts_with(start)) {
        return true;
    }
    // "8 passed (12s)"
    let is_count = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    if bare.split_once(' ').is_some_and(|(number, rest)| is_count(number) && rest.starts_with("passed")) {
        return true;
    }
    // Other exit codes can be informative: command not found, killed, out of memory.
    if bare == "Exit code 1" {
        return true;
    }
    // Matches "=== FAILURES ===" and "... 12 more".
    let ruled = bare.starts_with(['=', '_', '─', '━', '*', '~'])
        && bare.ends_with(['=', '_', '─', '━', '*', '~'])
        && !bare.contains(" failed")
        && !bare.contains("error");
    ruled && titled_test(bare).is_none() || bare.starts_with("... ") && bare.ends_with(" more")
}

/// Whether a line says what went wrong, in the format of a known tool.
fn is_cause(line: &str, bare: &str) -> bool {
    const STARTS: [&str; 50] = [
        "error:",
        "error[",
        "Error:",
        "ERROR:",
        "ERROR ",
        "error TS",
        "fatal:",
        "fatal error:",
        "FATAL:",
        "panic:",
        "Caused by:",
        "Caused by ",
        "npm ERR! missing",
        "npm error missing",
        "Uncaught ",
        "Unhandled ",
        "unhandled ",
        "PHP Fatal",
        "PHP Parse",
        "Fatal error:",
        "Segmentation fault",
        "Bus error",
        "Aborted",
        "Killed",
        "E   ",
        "E  ",
        "AssertionError",
        "assertion failed",
        "assertion `",
        "Assertion failed",
        "Assertion `",
        "Program received signal",
        "Program terminated with signal",
        "==ERROR",
        "SUMMARY: ",
        "Expected:",
        "Received:",
        "expected:",
        "actual:",
        "left:",
        "right:",
        "ninja: error",
        "CMake Error",
        "Exception in thread",
        "--->",
        "e: ",
        "[ERROR]",
        "Message:",
        "SyntaxError",
        "thread '",
    ];
    let inner = bare.trim_start_matches(|c: char| {
        c == '>'
            || c == '│'
            || c == '|'
            || c == '×'
            || c == '✗'
            || c == '✘'
            || c == '✖'
            || c == '●'
            || c.is_whitespace()
    });
    if line.starts_with("E ") && line.len() > 2 {
        return true;
    }
    if STARTS.iter().any(|start| inner.starts_with(start)) && !inner.starts_with("thread '") {
        return true;
    }
    if inner.starts_with("thread '") && inner.contains("panicked at") {
        return true;
    }
    is_exception(inner)
        || is_diagnostic(inner)
        || bare.contains("undefined reference to")
        || bare.contains("ld returned")
        || bare.contains(": command not found")
        || bare.contains("No such file or directory")
        || bare.contains("Permission denied")
        || bare.contains("oom-kill")
        || bare.contains("Out of memory")
}

/// Whether a line reports an exception, such as `TypeError: …`, `django.db.utils.IntegrityError: …`, `java.lang.IllegalStateException: …`
/// or `a.rb:12:in 'f': … (NoMethodError)`.
fn is_exception(bare: &str) -> bool {
    let name = bare.split([':', ' ']).next().unwrap_or_default();
    let last = name.rsplit(['.', '\\', ':']).next().unwrap_or_default();
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '\\' | ':' | '$'));
    let ends = ["Error", "Exception", "Exit", "Interrupt", "Warning", "Failure", "Fault"]
        .iter()
        .any(|end| last.ends_with(end) && last.len() > end.len());
    if is_name && ends && (bare.len() == name.len() || bare[name.len()..].starts_with(':')) {
        return true;
    }
    bare.contains(".rb:") && bare.ends_with("Error)")
}

/// Whether a line is a compiler's diagnostic, such as `src/a.c:12:3: error: …`, `a.go:12:3: undefined: x`, `src/a.ts(12,3): error TS…` or
/// `src/a.ts:1:2 - error …`.
fn is_diagnostic(bare: &str) -> bool {
    let (Some(place), rest) = (bare.split_whitespace().next(), bare.split_once(' ').map_or("", |(_, rest)| rest))
    else {
        return false;
    };
    let place = place.trim_end_matches(':');
    let is_numbered = place.contains('.')
        && place
            .rsplit([':', '('])
            .next()
            .is_some_and(|n| n.trim_end_matches(')').bytes().all(|b| b.is_ascii_digit() || b == b',') && !n.is_empty())
        && place.contains([':', '(']);
    let rest = rest.trim_start_matches("- ");
    let says = ["error", "Error", "fatal"].iter().any(|word| rest.starts_with(word)) || place.contains(".go:");
    is_numbered && says && !rest.is_empty()
}

/// Whether a line counts failures or names the failed test.
fn is_summary(bare: &str) -> bool {
    if bare == "FAIL" || bare.starts_with("FAIL\t") || names_test(bare) {
        return true;
    }
    let marks = [
        "make: ***",
        "gmake: ***",
        "make[",
        "collect2: error",
        "ninja: build stopped",
        "FAILED",
        "--- FAIL",
        "FAIL ",
        "FAIL:",
        "✗",
        "✘",
        "✖",
        "× ",
        "● ",
        "not ok ",
    ];
    if marks.iter().any(|mark| bare.starts_with(mark)) {
        return true;
    }
    let lower = bare.to_ascii_lowercase();
    ["failed", "failing", "failures", "errors"].iter().any(|word| {
        let before = lower.split(word).next().unwrap_or_default().trim_end();
        lower.contains(word) && before.ends_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns the test in pytest's title of a failure: `____ test_x ____`.
fn titled_test(bare: &str) -> Option<&str> {
    let inner = bare.strip_prefix("__")?.strip_suffix("__")?.trim_matches(['_', ' ']);
    (bare.starts_with("__") && bare.contains(' ') && !inner.is_empty()).then_some(inner)
}

/// Whether a line names the failed test.
fn names_test(line: &str) -> bool {
    const STARTS: [&str; 13] = [
        "FAILED ",
        "--- FAIL",
        "FAIL ",
        "FAIL: ",
        "✗ ",
        "✘ ",
        "× ",
        "● ",
        "✕ ",
        "not ok ",
        "[  FAILED  ] ",
        "---- ",
        "Failed ",
    ];
    let bare = line.trim();
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
        || STARTS.iter().any(|start| bare.starts_with(start))
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '$' | '?' | '!'))
}

/// Whether a line contains a word that is typical of failures.
fn is_hint(bare: &str) -> bool {
    #[rustfmt::skip]
    const WORDS: [&str; 46] = [
        "error", "fail", "exception", "fatal", "panic", "cannot", "can't", "could not", "couldn't", "unable", "undefined", "not found", "no such", "denied", "refused",
        "timed out", "timeout", "expected", "unexpected", "invalid", "missing", "mismatch", "conflict", "assert", "abort", "unknown", "unsupported", "not supported",
        "not allowed", "forbidden", "unauthorized", "overflow", "violat", "crash", "not defined", "does not exist", "already exists", "rejected", "unreachable",
        "오류", "실패", "에러", "없습니다", "예외", "エラー", "失败",
    ];
    let lower = bare.to_lowercase();
    // "0 errors" is not a failure.
    WORDS.iter().any(|word| lower.contains(word))
        && !lower.contains("0 error")
        && !lower.contains("0 fail")
        && !lower.contains("no errors")
}

/// Removes terminal escape sequences from a text.
fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(|c: char| c.is_ascii_alphabetic()).map_or(inner.len(), |at| at + 1);
            rest = &inner[end..];
        }
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests;
