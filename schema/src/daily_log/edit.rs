//! Where an entry goes into a log, and what is cut to take one out.
//!
//! Works on bytes, because a log that somebody saved in another encoding must keep every byte that is not ours.

use std::io::{self, Read};
use std::ops::RangeInclusive;

use memchr::{memchr, memchr_iter, memmem, memrchr, memrchr_iter};

use super::comment::SessionMark;
use super::render::{first_line, render, render_among_events};
use super::tail::LastSection;
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

/// How far an insertion moves what stands behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shift {
    /// The first line that moves, by its number before.
    pub(crate) from: usize,
    pub(crate) by: usize,
}

impl Shift {
    /// `None` when the entries behind the insertion might be other ones than before: what has no time of its own has that of the clock
    /// that a session before it named.
    pub(crate) fn of(splice: &Splice, file: &[u8]) -> Option<Self> {
        let (before, behind) = file.split_at(splice.start);
        let is_insertion = splice.start == splice.end && (before.is_empty() || before.ends_with(b"\n"));
        let clock = |text| last_mark(text).map(|mark| mark.offset);
        let is_same_clock = clock(&splice.bytes).is_none_or(|new| clock(before) == Some(new));
        (is_insertion && (behind.is_empty() || is_same_clock))
            .then(|| Self { from: lines_in(before) + 1, by: lines_in(&splice.bytes) })
    }
}

/// The change that puts `memory` into the log `file`: session data before the first section, the rest under its own.
pub fn insertion(file: &[u8], memory: &Memory, kind: LogKind) -> Splice {
    completion(file, memory, kind).unwrap_or_else(|| insertion_of_all(file, memory, kind))
}

/// The change that completes an entry of which a process that was killed left only the beginning. Nothing else is at the end of a log
/// that begins like the entry and has no end of its line.
fn completion(file: &[u8], memory: &Memory, kind: LogKind) -> Option<Splice> {
    if file.is_empty() || file.ends_with(b"\n") || has_windows_lines(file) {
        return None;
    }
    let longest = render(memory, kind).len() + LONGEST_PREAMBLE;
    let mut start = file.len();
    while start > 0 && file.len() - start < longest {
        start = memrchr(b'\n', &file[..start - 1]).map_or(0, |newline| newline + 1);
        let (before, beginning) = file.split_at(start);
        let whole = insertion_of_all(before, memory, kind);
        if let (true, Some(rest)) = (whole.is_append(start), whole.bytes.strip_prefix(beginning)) {
            return Some(Splice { start: file.len(), end: file.len(), bytes: rest.to_vec(), lines: whole.lines });
        }
    }
    None
}

/// More than is ever put before an entry: a title or a heading, and a comment that says whose it is.
const LONGEST_PREAMBLE: usize = 512;

fn insertion_of_all(file: &[u8], memory: &Memory, kind: LogKind) -> Splice {
    let sections = sections(file);
    let chronological = kind != LogKind::LongTerm && memory.kind.is_session_data();
    let (at, mut preamble) = if file.is_empty() {
        let title = match kind {
            LogKind::Daily(day) => format!("# {day}\n\n"),
            LogKind::LongTerm => "# Memory\n\n".to_owned(),
        };
        (0, if chronological { title } else { format!("{title}## {}\n\n", memory.kind.label()) })
    } else if chronological {
        let end = sections.first().map_or(file.len(), |section| section.start);
        (if end == file.len() { end } else { text_end(file, end) }, String::new())
    } else {
        structural_place(file, &sections, memory.kind)
    };
    let before = Before::of(&file[..at]);
    if chronological {
        preamble.push_str(&before.mark_for(memory));
    }
    let (mut bytes, lines) = before.followed_by(&preamble, memory, kind);
    if file[at..].starts_with(b"#") {
        bytes.push(b'\n');
    }
    if has_windows_lines(file) {
        bytes = with_windows_lines(&bytes);
    }
    Splice { start: at, end: at, bytes, lines }
}

/// The change that appends an event to a log which is read in pieces, since that of a busy day has megabytes and every event is
/// put into it. `None` when it takes more than an append, or when a line of the log begins as the event does.
pub fn extension(log: &mut impl Read, event: &Memory, kind: LogKind) -> io::Result<Option<Splice>> {
    let beginning = first_line(event, kind);
    let mut before = Before::default();
    let mut buffer = vec![0; PIECE];
    let mut held = 0;
    loop {
        if held == buffer.len() {
            buffer.resize(held * 2, 0);
        }
        let more = log.read(&mut buffer[held..])?;
        let filled = held + more;
        let last_newline = memrchr(b'\n', &buffer[..filled]).map_or(0, |newline| newline + 1);
        let lines = &buffer[..if more == 0 { filled } else { last_newline }];
        let is_first = before.length == 0;
        let takes_more = lines.starts_with(HEADING)
            || memmem::find(lines, b"\n## ").is_some()
            || memmem::find(lines, beginning.as_bytes()).is_some()
            || is_first && has_windows_lines(lines);
        if takes_more {
            return Ok(None);
        }
        before.add(lines);
        if more == 0 {
            break;
        }
        held = filled - last_newline;
        buffer.copy_within(last_newline..filled, 0);
    }
    if before.length == 0 || before.is_unterminated {
        return Ok(None);
    }
    let (bytes, lines) = before.followed_by(&before.mark_for(event), event, kind);
    Ok(Some(Splice { start: before.length, end: before.length, bytes, lines }))
}

/// Bytes that are read of a log at a time.
const PIECE: usize = 32 * 1024;

/// What has to be known of the text before an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) length: usize,
    pub(super) lines: usize,
    pub(super) mark: Option<SessionMark>,
    is_unterminated: bool,
    ends_in_blank: bool,
}

impl Before {
    /// Of a text that ends in a whole line with something on it.
    pub(super) fn ending_in_text(length: usize, lines: usize, mark: Option<SessionMark>) -> Self {
        Self { length, lines, mark, is_unterminated: false, ends_in_blank: false }
    }

    pub(super) fn of(text: &[u8]) -> Self {
        let mut before = Self::default();
        before.add(text);
        before
    }

    /// Goes on with whole lines; only the last one may have no end.
    pub(super) fn add(&mut self, text: &[u8]) {
        let Some(last) = text.last() else { return };
        self.is_unterminated = *last != b'\n';
        let is_blank = matches!(text, b"\n" | b"\r\n");
        self.ends_in_blank = is_blank && self.length > 0 || text.ends_with(b"\n\n") || text.ends_with(b"\n\r\n");
        self.length += text.len();
        self.lines += lines_in(text);
        self.mark = last_mark(text).or(self.mark.take());
    }

    /// The comment that says whose an event is, where the event before it is of another session.
    pub(super) fn mark_for(&self, event: &Memory) -> String {
        let mark = SessionMark::of(event);
        if self.mark.as_ref() == Some(&mark) {
            return String::new();
        }
        let gap = if self.length > 0 && !self.ends_in_blank { "\n" } else { "" };
        format!("{gap}{}\n", mark.to_comment())
    }

    /// What is put behind it, and the lines that the entry takes then.
    pub(super) fn followed_by(
        &self,
        preamble: &str,
        memory: &Memory,
        kind: LogKind,
    ) -> (Vec<u8>, RangeInclusive<usize>) {
        let end = if self.is_unterminated { "\n" } else { "" };
        let entry = render(memory, kind);
        let line = self.lines + lines_in(end.as_bytes()) + lines_in(preamble.as_bytes()) + 1;
        let lines = line..=line + lines_in(entry.as_bytes()) - 1;
        ([end, preamble, &entry].concat().into_bytes(), lines)
    }
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

/// The change that writes `entry` anew, with the text and attributes of `memory`, where and in the form in which it stands.
pub fn replacement(file: &[u8], entry: &Entry, memory: &Memory, kind: LogKind) -> Splice {
    let start = line_start(file, entry.start_line);
    let end = line_start(file, entry.end_line + 1);
    let sections = sections(file);
    let section = sections.iter().rev().find(|section| section.start < start);
    let text = match (kind, section) {
        (LogKind::Daily(_), None) => render_among_events(memory),
        (LogKind::Daily(_), Some(section)) if section.kind == Some(memory.kind) && !memory.kind.is_session_data() => {
            render(memory, kind)
        }
        // Its type rides along, because the heading says another or none.
        _ => render(memory, LogKind::LongTerm),
    };
    let count = lines_in(text.as_bytes());
    let bytes = if has_windows_lines(file) { with_windows_lines(text.as_bytes()) } else { text.into_bytes() };
    Splice { start, end, bytes, lines: entry.start_line..=entry.start_line + count - 1 }
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

/// How a section begins.
const HEADING: &[u8] = b"## ";

/// A `##` heading.
pub(super) struct Section {
    pub(super) start: usize,
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

pub(super) fn sections(file: &[u8]) -> Vec<Section> {
    let first = file.starts_with(HEADING).then_some(0);
    let starts = first.into_iter().chain(memmem::find_iter(file, b"\n## ").map(|newline| newline + 1));
    let section = |start| {
        let label = &file[start + HEADING.len()..];
        let label = &label[..memchr(b'\n', label).map_or(label.len(), |newline| newline + 1)];
        Section { start, kind: std::str::from_utf8(label).ok().and_then(MemoryType::from_label) }
    };
    starts.map(section).collect()
}

/// Under what the last line of a log stands.
pub(super) fn last_section(file: &[u8]) -> LastSection {
    let sections = sections(file);
    let Some((last, earlier)) = sections.split_last() else { return LastSection::None };
    let is_only = earlier.iter().all(|section| section.kind != last.kind);
    let has_entries = lines_in(&file[last.start..]) > 1;
    last.kind.filter(|_| is_only && has_entries).map_or(LastSection::Other, LastSection::Of)
}

/// The offset behind the last line before `end` that is not blank.
pub(super) fn text_end(file: &[u8], end: usize) -> usize {
    let trimmed = file[..end].trim_ascii_end().len();
    match file[trimmed..end].iter().position(|byte| *byte == b'\n') {
        Some(newline) => trimmed + newline + 1,
        None => end,
    }
}

fn last_mark(file: &[u8]) -> Option<SessionMark> {
    let starts = memrchr_iter(b'\n', file).map(|newline| newline + 1).chain([0]);
    let marks = starts.map(|start| &file[start..]).filter(|rest| rest.starts_with(b"<!-- session "));
    let lines = marks.map(|rest| &rest[..memchr(b'\n', rest).unwrap_or(rest.len())]);
    lines.filter_map(|line| std::str::from_utf8(line).ok()).find_map(SessionMark::parse)
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

pub(super) fn lines_in(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count()
}

fn line_start(file: &[u8], number: usize) -> usize {
    if number <= 1 {
        return 0;
    }
    memchr_iter(b'\n', file).map(|newline| newline + 1).nth(number - 2).unwrap_or(file.len())
}
