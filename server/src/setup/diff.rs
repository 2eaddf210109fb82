//! Changes as people read them before they agree.

use anstyle::{AnsiColor, Style};
use schema::redaction::redact;
use similar::{ChangeTag, TextDiff};

use super::change::Change;

const GONE: Style = AnsiColor::Red.on_default();
const NEW: Style = AnsiColor::Green.on_default();
const HEAD: Style = Style::new().bold();

/// Lines around a change.
const CONTEXT: usize = 3;

/// The changes of one file. Settings hold keys of other programs, which are not for the screen.
pub(crate) fn unified(change: &Change) -> String {
    let plain =
        |text: &Option<String>| redact(&text.clone().unwrap_or_default().replace("\r\n", "\n")).text.into_owned();
    let (before, after) = (plain(&change.before), plain(&change.after));
    let what = match change.kind() {
        "created" => " (new)",
        "deleted" => " (deleted)",
        _ => "",
    };
    let mut text = format!("{HEAD}{}{what}{HEAD:#}\n", change.shown);
    if change.after.is_none() {
        // There is nothing in it but what was put there by us.
        return text;
    }
    let diff = TextDiff::from_lines(&before, &after);
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for line in hunk.iter_changes() {
            let (sign, style) = match line.tag() {
                ChangeTag::Delete => ('-', GONE),
                ChangeTag::Insert => ('+', NEW),
                ChangeTag::Equal => (' ', Style::new()),
            };
            let shown: String = line.value().trim_end_matches('\n').chars().map(visible).collect();
            text.push_str(&format!("{style}{sign}{shown}{style:#}\n"));
        }
    }
    text
}

/// What would move the cursor is shown and not obeyed.
fn visible(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}
