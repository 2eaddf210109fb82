//! Where an entry goes into a log, and what is cut to take one out.
//!
//! Works on bytes, because a log that somebody saved in another encoding must keep every byte that is not ours.

use std::ops::RangeInclusive;

use super::comment::SessionMark;
use super::render::render;
use super::{Entry, LogKind};
use crate::memory::{Memory, MemoryType};

/// A change of a file: the bytes from `start` to `end` give way to `bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Offset of the first byte that goes.
    pub start: usize,
    /// Offset behind the last byte that goes.
    pub end: usize,
    /// What comes in their place.
    pub bytes: Vec<u8>,
    /// The lines, from 1, that the inserted entry takes afterwards; for a removal the line where it was.
    pub lines: RangeInclusive<usize>,
}

impl Splice {
    /// Whether the change only adds to the end of a file of `length` bytes.
    pub fn is_append(&self, length: usize) -> bool {
        self.start == length && self.end == length
    }

    /// The file after the change.
    pub fn apply(&self, file: &[u8]) -> Vec<u8> {
        [&file[..self.start], &self.bytes, &file[self.end..]].concat()
    }
}

/// The change that puts `memory` into the log `file`: session data before the first section, the rest under its own.
pub fn insertion(file: &[u8], memory: &Memory, kind: LogKind) -> Splice {
    let sections = sections(file);
    let chronological = kind != LogKind::LongTerm && memory.kind.is_session_data();
    let (at, mut preamble) = if file.is_empty() {
        let title = match kind {
            LogKind::Daily(day) => format!("# {day}\n"),
            LogKind::LongTerm => "# Memory\n".to_owned(),
        };
        (0, if chronological { title } else { format!("{title}\n## {}\n\n", memory.kind.label()) })
    } else if chronological {
        let end = sections.first().map_or(file.len(), |section| section.start);
        (if end == file.len() { end } else { text_end(file, end) }, String::new())
    } else {
        structural_place(file, &sections, memory.kind)
    };
    if chronological && last_mark(&file[..at]) != Some(SessionMark::of(memory)) {
        preamble.push_str(if at > 0 && !blank_before(file, at) || file.is_empty() { "\n" } else { "" });
        preamble.push_str(&SessionMark::of(memory).to_comment());
        preamble.push('\n');
    }
    let unterminated = at > 0 && file[at - 1] != b'\n';
    let preamble = if unterminated { format!("\n{preamble}") } else { preamble };
    let line = lines_in(&file[..at]) + lines_in(preamble.as_bytes()) + 1;
    let entry = render(memory, kind);
    let lines = line..=line + lines_in(entry.as_bytes()) - 1;
    let mut bytes = preamble.into_bytes();
    bytes.extend_from_slice(entry.as_bytes());
    if file[at..].starts_with(b"#") {
        bytes.push(b'\n');
    }
    if has_windows_lines(file) {
        bytes = with_windows_lines(&bytes);
    }
    Splice { start: at, end: at, bytes, lines }
}

/// The change that takes the lines of `entry` out, and the heading that nothing stands under any more.
pub fn removal(file: &[u8], entry: &Entry) -> Splice {
    let start = line_start(file, entry.start_line);
    let end = line_start(file, entry.end_line + 1);
    let heading = heading_of_nothing_else(file, start, end, entry.memory.kind);
    // At the top of a file the blank line that sets the heading off comes after it.
    let gap = if heading == Some(0) { blank_at(file, end) } else { 0 };
    let (start, end) = (heading.unwrap_or(start), end + gap);
    let line = lines_in(&file[..start]) + 1;
    Splice { start, end, bytes: Vec::new(), lines: line..=line }
}

/// Where the heading begins under which nothing but the bytes from `start` to `end` stands, with the blank line that we put
/// before it. Only a heading as we write it, and for entries of its own type: any other is a person's.
fn heading_of_nothing_else(file: &[u8], start: usize, end: usize, kind: MemoryType) -> Option<usize> {
    let sections = sections(file);
    let at = sections.iter().rposition(|section| section.start < start)?;
    let heading = sections[at].start;
    let below = sections.get(at + 1).map_or(file.len(), |next| next.start);
    let lines = &file[heading..start];
    let ours = lines.trim_ascii_end() == format!("## {}", kind.label()).as_bytes();
    if !ours || !file.get(end..below)?.trim_ascii().is_empty() {
        return None;
    }
    let before = &file[..heading];
    let blank = if before.ends_with(b"\n\r\n") { 2 } else { usize::from(before.ends_with(b"\n\n")) };
    Some(heading - blank)
}

/// The length of the empty line at an offset, if there is one.
fn blank_at(file: &[u8], at: usize) -> usize {
    if file[at..].starts_with(b"\r\n") { 2 } else { usize::from(file[at..].starts_with(b"\n")) }
}

/// A `##` heading.
struct Section {
    start: usize,
    kind: Option<MemoryType>,
}

/// The place of a structural entry: the end of its section, or a new section in the order of the types.
fn structural_place(file: &[u8], sections: &[Section], kind: MemoryType) -> (usize, String) {
    if let Some(at) = sections.iter().position(|section| section.kind == Some(kind)) {
        let end = sections.get(at + 1).map_or(file.len(), |next| next.start);
        let place = text_end(file, end);
        let heading_only = lines_in(&file[sections[at].start..place]) <= 1;
        return (place, if heading_only { "\n".to_owned() } else { String::new() });
    }
    let next = sections.iter().find(|section| section.kind.is_some_and(|other| other > kind));
    let place = text_end(file, next.map_or(file.len(), |section| section.start));
    let gap = if place > 0 { "\n" } else { "" };
    (place, format!("{gap}## {}\n\n", kind.label()))
}

fn sections(file: &[u8]) -> Vec<Section> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        if let Some(label) = line.strip_prefix(b"## ") {
            let kind = std::str::from_utf8(label).ok().and_then(MemoryType::from_label);
            found.push(Section { start: at, kind });
        }
        at += line.len();
    }
    found
}

/// The offset behind the last line before `end` that is not blank.
fn text_end(file: &[u8], end: usize) -> usize {
    let trimmed = file[..end].trim_ascii_end().len();
    match file[trimmed..end].iter().position(|byte| *byte == b'\n') {
        Some(newline) => trimmed + newline + 1,
        None => end,
    }
}

fn blank_before(file: &[u8], at: usize) -> bool {
    let before = &file[..at];
    before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n")
}

fn last_mark(file: &[u8]) -> Option<SessionMark> {
    let marks = file.rsplit(|byte| *byte == b'\n').filter(|line| line.starts_with(b"<!-- session "));
    marks.filter_map(|line| std::str::from_utf8(line).ok()).find_map(SessionMark::parse)
}

/// Whether the file's lines end as on Windows, by its first.
pub(super) fn has_windows_lines(file: &[u8]) -> bool {
    file.split_inclusive(|byte| *byte == b'\n').next().is_some_and(|line| line.ends_with(b"\r\n"))
}

/// Our lines hold no carriage return of their own, since a text's is written as a reference.
pub(super) fn with_windows_lines(bytes: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    parts.join(&b"\r\n"[..])
}

fn lines_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn line_start(file: &[u8], number: usize) -> usize {
    if number <= 1 {
        return 0;
    }
    let newlines = file.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    newlines.map(|(at, _)| at + 1).nth(number - 2).unwrap_or(file.len())
}
