//! Finds the lines of a message that are pasted output and not its author's words.

use crate::model::word_list::WordList;

/// Returns for each line whether it is pasted from a log, a stack trace or a terminal.
///
/// If most lines of a block look like output, so are the others between them.
pub(super) fn pasted_lines(text: &str) -> Vec<bool> {
    let lines: Vec<&str> = text.split_inclusive('\n').map(str::trim).collect();
    let mut pasted = Vec::with_capacity(lines.len());
    for block in lines.chunk_by(|a, b| a.is_empty() == b.is_empty()) {
        let alike: Vec<usize> = (0..block.len()).filter(|at| resembles_output(block[*at])).collect();
        let log = match alike[..] {
            [first, .., last] if alike.len() * 2 >= last + 1 - first => first..last + 1,
            _ => 0..0,
        };
        pasted.extend((0..block.len()).map(|at| log.contains(&at) || is_output(block[at])));
    }
    pasted
}

/// Whether a line looks like output, although a sentence may begin the same way: a commit, a record, a message of a tool.
fn resembles_output(line: &str) -> bool {
    static STARTS: WordList = WordList::phrases(
        "commit |Author: |Date: |diff --git|npm |error|warning: |test |Compiling |FAIL|PASS|✓|✗|{\"|++|--",
    );
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = line.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let is_commit = (7..=40).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_hexdigit())
        && first.bytes().any(|byte| byte.is_ascii_digit());
    let is_syslog = MONTHS.contains(&first) && second.bytes().all(|byte| byte.is_ascii_digit()) && !second.is_empty();
    let has_level = line.split_whitespace().take(4).any(is_level);
    let fields = line.split_whitespace().filter(|word| word.contains('=') && !word.starts_with('=')).count();
    is_output(line) || is_commit || is_syslog || has_level || fields >= 2 || STARTS.begins(line)
}

fn is_level(word: &str) -> bool {
    let level = word.trim_matches(['[', ']', ':', '|']);
    ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL"].contains(&level)
}

/// Whether a line is surely pasted from a log, a stack trace or a terminal.
fn is_output(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let is_time =
        first.len() >= 8 && first.bytes().filter(u8::is_ascii_digit).count() >= 6 && first.contains([':', '-']);
    let is_frame = line.starts_with("at ") && line.ends_with(')') || line.starts_with("File \"");
    is_level(first)
        || is_time
        || is_frame
        || line.starts_with("Traceback ")
        || line.starts_with("$ ")
        || line.starts_with("= note: ")
        || line.contains("Exception: ")
}
