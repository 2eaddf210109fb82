//! Writes one memory as the lines of a log.

use super::LogKind;
use super::comment::Fields;
use super::escape::escape;
use crate::memory::Memory;

/// The line that an entry begins with.
pub(crate) fn first_line(memory: &Memory, kind: LogKind) -> String {
    let mut lines = render(memory, kind);
    lines.truncate(lines.find('\n').unwrap_or(lines.len()));
    lines
}

/// The lines of an entry, newline included.
pub(super) fn render(memory: &Memory, kind: LogKind) -> String {
    let (opening, fields) = match kind {
        LogKind::Daily(_) if memory.kind.is_session_data() => {
            let opening = format!("- [{}] **{}**: ", memory.at.time(), memory.kind.label());
            (opening, Fields::of_session_data(memory))
        }
        LogKind::Daily(_) => ("- ".to_owned(), Some(Fields::of_structural(memory))),
        LogKind::LongTerm => ("- ".to_owned(), Some(Fields::of_long_term(memory))),
    };
    let content = escape(&memory.content);
    let mut lines = content.split('\n');
    let mut out = opening + lines.next().unwrap_or_default();
    let mut several = false;
    for line in lines {
        several = true;
        out.push('\n');
        if !line.is_empty() {
            out.push_str("  ");
            out.push_str(line);
        }
    }
    if let Some(fields) = fields {
        // On a line of its own after several lines: the last of them may close a code fence, which takes no company.
        out.push_str(if several { "\n  " } else { " " });
        out.push_str(&fields.render());
    }
    out.push('\n');
    out
}
