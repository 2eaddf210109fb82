//! Writes one memory as the lines of a log.

use super::LogKind;
use super::comment::Fields;
use super::escape::escape;
use super::parse::EventLine;
use crate::memory::{Memory, MemoryType};

/// The line that an entry begins with.
pub(crate) fn first_line(memory: &Memory, kind: LogKind) -> String {
    let mut lines = render(memory, kind);
    lines.truncate(lines.find('\n').unwrap_or(lines.len()));
    lines
}

/// The lines of an entry, newline included.
pub(super) fn render(memory: &Memory, kind: LogKind) -> String {
    match kind {
        LogKind::Daily(_) if memory.kind.is_session_data() => event(memory, Fields::of_session_data(memory)),
        LogKind::Daily(_) => lines("- ", memory, Some(Fields::of_structural(memory))),
        LogKind::LongTerm => lines("- ", memory, Some(Fields::of_long_term(memory))),
    }
}

/// The lines of an entry that stands among the events of a day, of whatever type: its place says its session and day.
pub(super) fn render_among_events(memory: &Memory) -> String {
    event(memory, if memory.kind.is_session_data() { Fields::of_session_data(memory) } else { Fields::of_id(memory) })
}

/// The checkbox of a task.
fn checkbox(memory: &Memory) -> &'static str {
    match (memory.kind, memory.attributes.done) {
        (MemoryType::Task, false) => "[ ] ",
        (MemoryType::Task, true) => "[x] ",
        _ => "",
    }
}

fn event(memory: &Memory, fields: Option<Fields>) -> String {
    lines(&format!("- [{}] **{}**: ", memory.at.time(), memory.kind.label()), memory, fields)
}

fn lines(opening: &str, memory: &Memory, fields: Option<Fields>) -> String {
    let mut content = escape(&memory.content);
    if !memory.kind.is_session_data() && content.lines().next().and_then(EventLine::parse).is_some() {
        // Under any heading, a line that begins like an event is one.
        content.replace_range(..1, "&#91;");
    }
    let mut lines = content.split('\n');
    let mut out = [opening, checkbox(memory), lines.next().unwrap_or_default()].concat();
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
