//! Shows changes to people before they confirm.

use anstyle::{AnsiColor, Style};
use schema::privacy::redaction::redact;

use super::change::FileChange;
use crate::diff::{ChangedLines, differences};

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();
const HEAD: Style = Style::new().bold();

/// Lines around a change.
const CONTEXT: usize = 3;

/// The diff of one file. Keys of other programs are redacted.
pub(crate) fn unified_diff(change: &FileChange) -> String {
    let plain =
        |text: &Option<String>| redact(&text.clone().unwrap_or_default().replace("\r\n", "\n")).text.into_owned();
    let (before, after) = (plain(&change.before), plain(&change.after));
    let what = match change.kind() {
        "created" => " (new)",
        "deleted" => " (deleted)",
        _ => "",
    };
    let mut text = format!("{HEAD}{}{what}{HEAD:#}\n", change.display_path);
    if change.after.is_none() {
        // The file has only our own text.
        return text;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    for hunk in differences(&old, &new).chunk_by(|a, b| b.before.start - a.before.end <= 2 * CONTEXT) {
        push_hunk(&mut text, hunk, &old, &new);
    }
    text
}

/// Adds differences that are near each other, with the lines around them.
fn push_hunk(text: &mut String, hunk: &[ChangedLines], old: &[&str], new: &[&str]) {
    let ([first, ..], Some(last)) = (hunk, hunk.last()) else { return };
    let ahead = first.before.start.min(CONTEXT);
    let behind = (old.len() - last.before.end).min(CONTEXT);
    let range = |start: usize, end: usize| match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    };
    let of_old = range(first.before.start - ahead, last.before.end + behind);
    let of_new = range(first.after.start - ahead, last.after.end + behind);
    text.push_str(&format!("@@ -{of_old} +{of_new} @@\n"));
    let mut push = |sign: char, style: Style, lines: &[&str]| {
        for line in lines {
            // Control characters could move the cursor.
            let shown = line.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}");
            text.push_str(&format!("{style}{sign}{shown}{style:#}\n"));
        }
    };
    let mut at = first.before.start - ahead;
    for ChangedLines { before, after } in hunk {
        push(' ', Style::new(), &old[at..before.start]);
        push('-', REMOVED, &old[before.clone()]);
        push('+', ADDED, &new[after.clone()]);
        at = before.end;
    }
    push(' ', Style::new(), &old[at..at + behind]);
}
