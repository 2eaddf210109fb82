//! Shows changes to people before they confirm.

use anstyle::{AnsiColor, Style};
use schema::privacy::redaction::redact;
use similar::{ChangeTag, TextDiff};

use super::change::FileChange;

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
    let diff = TextDiff::from_lines(&before, &after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for line in hunk.iter_changes() {
            let (sign, style) = match line.tag() {
                ChangeTag::Delete => ('-', REMOVED),
                ChangeTag::Insert => ('+', ADDED),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let shown: String = line.value().trim_end_matches('\n').chars().map(visible_char).collect();
            text.push_str(&format!("{style}{sign}{shown}{style:#}\n"));
        }
    }
    text
}

/// Replaces control characters, which could move the cursor.
fn visible_char(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}
