//! Reduces the output of a failed command to its cause and the place in the project's code, without the stack trace.
//!
//! Recognizes reports of Python, JavaScript, Rust, Go, Java and Kotlin, Ruby, C and C++ with gdb, C# and PHP, and of their test runners. In
//! any other report it looks for words that are typical of failures.

mod frame;
mod line_kind;

use std::collections::HashSet;

use crate::model::word_list::WordList;
use frame::{is_python_frame, location, without_address};
use line_kind::{LineKind, is_diagnostic, is_exception, line_kind, names_test, titled_test};

/// The maximum number of lines for the cause.
const MOST_LINES: usize = 3;

/// The maximum length of a line, in bytes.
const LONGEST_LINE: usize = 200;

/// The maximum number of lines, noise and frames excluded, in a short report. In a short report the fields below a single cause belong to
/// it, up to `MOST_DETAILS` lines.
const SHORT_REPORT: usize = 12;
const MOST_DETAILS: usize = 4;

/// A line with fewer characters may be the title of the line below it.
const LONGEST_TITLE: usize = 40;

/// The maximum number of lines that are read: half from the beginning of a report, and half from its end.
const READ_LINES: usize = 2_000;

/// A report with at most this many lines, noise excluded, is returned as it is if it has no frames.
const SHORT_LINES: usize = 3;

/// Returns the cause and the place of a failure. `project` is the root directory of the project.
pub(crate) fn cause_of(report: &str, project: &str) -> String {
    let report = without_escapes(report);
    let lines: Vec<&str> = report.lines().map(str::trim_end).collect();
    let lines = match lines.len() > READ_LINES {
        true => [&lines[..READ_LINES / 2], &lines[lines.len() - READ_LINES / 2..]].concat(),
        false => lines,
    };
    let kinds = kinds(&lines, project);
    let is_traced = kinds.iter().any(|kind| matches!(kind, LineKind::Own | LineKind::Foreign));
    let telling: Vec<usize> = (0..lines.len())
        .filter(|at| !matches!(kinds[*at], LineKind::Noise | LineKind::Own | LineKind::Foreign))
        .collect();
    if telling.is_empty() {
        return shown(lines.iter().copied().find(|line| !line.trim().is_empty()).into_iter(), project);
    }
    if !is_traced && telling.len() <= SHORT_LINES {
        return shown(telling.iter().map(|at| lines[*at]), project);
    }
    let causes = causes(&lines, &kinds, &telling);
    let place = place(&lines, &kinds, &causes);
    shown(causes.iter().map(|at| lines[*at]).chain(place), project)
}

/// Returns the lines that describe the cause, in order.
fn causes(lines: &[&str], kinds: &[LineKind], telling: &[usize]) -> Vec<usize> {
    for kind in [LineKind::Cause, LineKind::Summary, LineKind::Hint] {
        let mut seen = HashSet::new();
        let is_new = |at: &usize| kinds[*at] == kind && seen.insert(lines[*at].trim());
        let mut found: Vec<usize> = telling.iter().copied().filter(is_new).collect();
        if found.is_empty() {
            continue;
        }
        // The first errors of a compiler usually cause the others. In a chain of exceptions, the last one was raised.
        if let [first, .., last] = found[..]
            && kind == LineKind::Cause
            && found.len() > MOST_LINES
            && is_exception(lines[last].trim())
        {
            found = vec![first, last];
        }
        let is_half = found.get(MOST_LINES - 1..=MOST_LINES).is_some_and(|two| is_pair(lines[two[0]], lines[two[1]]));
        found.truncate(MOST_LINES + usize::from(is_half));
        let names_failed = |at: &usize| kinds[*at] == LineKind::Summary && names_test(lines[*at]);
        // Without a cause, the lines below the name of the failed test say why.
        let described = if let [only] = found[..] { Some(only) } else { found.iter().copied().rfind(names_failed) };
        if let Some(described) = described {
            found.extend(details(lines, kinds, telling, described));
        }
        // The name of the failed test belongs to the cause.
        if kind == LineKind::Cause {
            let mut named = telling.iter().copied().filter(names_failed);
            let (first, cause) = (named.clone().next(), found[0]);
            found.extend(named.rfind(|at| *at < cause).or(first));
        }
        found.sort_unstable();
        return found;
    }
    // Without a known format, the last lines most likely say what went wrong.
    let first = telling.first().copied();
    let last = telling.iter().rev().take(2).rev().copied();
    let mut found: Vec<usize> = first.into_iter().chain(last).collect();
    found.dedup();
    found
}

/// Whether two lines are the compared values of one assertion. One alone says little.
fn is_pair(first: &str, second: &str) -> bool {
    const PAIRS: [(&str, &str); 3] = [("left:", "right:"), ("Expected:", "Received:"), ("expected:", "actual:")];
    PAIRS.iter().any(|(one, other)| first.trim_start().starts_with(one) && second.trim_start().starts_with(other))
}

/// Returns the lines below a single cause or below the name of a failed test: the text below a title, and the fields of a short report.
fn details(lines: &[&str], kinds: &[LineKind], telling: &[usize], cause: usize) -> Vec<usize> {
    static PASSED: WordList = WordList::phrases("ok |PASS|--- PASS|✓ |✔ |√ ");
    let bare = lines[cause].trim();
    if is_exception(bare) || is_diagnostic(bare) {
        return Vec::new();
    }
    let is_title = bare.chars().count() < LONGEST_TITLE;
    let is_short = telling.len() <= SHORT_REPORT;
    let below = (cause + 1..lines.len()).filter(|at| kinds[*at] != LineKind::Noise);
    let below = below.take_while(|at| matches!(kinds[*at], LineKind::Plain | LineKind::Hint));
    // The result of the next test ends them.
    let is_result = |line: &str| PASSED.begins(line.trim_start()) || line.ends_with(" ok") || line.ends_with(" PASSED");
    let below = below.take_while(|at| !is_result(lines[*at])).enumerate();
    let is_field = |line: &str| line.starts_with([' ', '\t', '│']) || line.contains(": ");
    let below = below.take_while(|(n, at)| *n == 0 && is_title || is_short && is_field(lines[*at]));
    below.map(|(_, at)| at).take(MOST_DETAILS).collect()
}

/// Returns the stack frame in the project's code that is nearest to the cause.
fn place<'l>(lines: &[&'l str], kinds: &[LineKind], causes: &[usize]) -> Option<&'l str> {
    let mut own: Vec<usize> = (0..lines.len()).filter(|at| kinds[*at] == LineKind::Own).collect();
    // .NET names the files of some libraries, too, but without a folder.
    if own.iter().any(|at| lines[*at].contains(['/', '\\'])) {
        own.retain(|at| lines[*at].contains(['/', '\\']));
    }
    // The frames above a signal are those of its handler.
    let is_signal = |line: &str| line.contains("__restore_rt") || line.contains("<signal handler called>");
    let signal = lines.iter().rposition(|line| is_signal(line)).unwrap_or_default();
    own.retain(|at| *at >= signal);
    let cause = causes.last().copied().unwrap_or_default();
    // Python prints frames before the cause, the nearest one last. Others print them after the cause, the nearest one first.
    let is_python = own.iter().any(|at| is_python_frame(lines[*at].trim_start()));
    let at = if is_python {
        own.iter().rev().find(|at| **at < cause).or(own.last())
    } else {
        own.iter().find(|at| **at > cause).or(own.first())
    }?;
    let line = without_address(lines[*at].trim());
    let is_known = causes.iter().any(|cause| location(line).is_some_and(|place| lines[*cause].contains(place)));
    (!is_known).then_some(line)
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
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&truncated(&line, LONGEST_LINE));
    }
    text
}

/// Returns a text that loses its end if it has more than `limit` bytes.
pub(crate) fn truncated(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

fn kinds(lines: &[&str], project: &str) -> Vec<LineKind> {
    let mut kinds: Vec<LineKind> = Vec::with_capacity(lines.len());
    while let [line, following @ ..] = &lines[kinds.len()..] {
        let (kind, more) = line_kind(line, following, project);
        kinds.push(kind);
        kinds.extend(std::iter::repeat_n(LineKind::Noise, more));
    }
    kinds
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
