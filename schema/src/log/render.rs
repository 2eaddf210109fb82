//! Renders a memory as the lines of a log.

use super::LogKind;
use super::comment::EntryFields;
use super::escape::escape;
use super::parse::EventLine;
use super::team::render_shared;
use crate::model::memory::{Memory, MemoryType};

/// Returns the first line of an entry.
pub(super) fn render_first_line(memory: &Memory, kind: LogKind) -> String {
    let mut lines = render(memory, kind);
    lines.truncate(lines.find('\n').unwrap_or(lines.len()));
    lines
}

/// Renders an entry, including its last newline.
pub(super) fn render(memory: &Memory, kind: LogKind) -> String {
    match kind {
        LogKind::Daily(_) if memory.kind.is_event() => render_event_style(memory),
        LogKind::Daily(_) => render_lines("- ", memory, &EntryFields::for_section(memory)),
        LogKind::Team => render_shared(memory),
        LogKind::LongTerm => render_lines("- ", memory, &EntryFields::for_long_term(memory)),
    }
}

/// Renders an entry of any type that is among the events of a day. Its place implies its session and day.
pub(super) fn render_event_style(memory: &Memory) -> String {
    let opening = format!("- [{}] **{}**: ", memory.at.time(), memory.kind.label());
    render_lines(&opening, memory, &EntryFields::for_event_style(memory))
}

/// Returns the checkbox of a task, or nothing for other types.
fn checkbox(memory: &Memory) -> &'static str {
    match (memory.kind, memory.attributes.done) {
        (MemoryType::Task, false) => "[ ] ",
        (MemoryType::Task, true) => "[x] ",
        _ => "",
    }
}

fn render_lines(opening: &str, memory: &Memory, fields: &EntryFields) -> String {
    let mut content = escape(&memory.content);
    if !memory.kind.is_event() && content.lines().next().and_then(EventLine::parse).is_some() {
        // Under any heading, a line that begins like an event is parsed as one.
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
    let comment = fields.to_comment();
    if !comment.is_empty() {
        // After several lines the comment gets a line of its own: the last line may close a code fence, which allows no other text.
        out.push_str(if several { "\n  " } else { " " });
        out.push_str(&comment);
    }
    out.push('\n');
    out
}

/// Whether the file has Windows line endings, judged by its first complete line.
pub(super) fn has_windows_lines(file: &[u8]) -> bool {
    file.split_inclusive(|byte| *byte == b'\n').next().is_some_and(|line| line.ends_with(b"\r\n"))
}

/// Returns a text with the line endings of its file. Our lines contain no other carriage returns, because those of a text are escaped.
pub(super) fn with_line_endings(text: String, is_windows: bool) -> Vec<u8> {
    if is_windows { text.replace('\n', "\r\n").into_bytes() } else { text.into_bytes() }
}
