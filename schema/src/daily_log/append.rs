//! Renders entries for the end of a log. Capture writes a log in no other way.
//!
//! Only the end of the file is read. A heading or session mark that is not in sight there is written again.

use chrono::NaiveDate;
use memchr::memrchr;

use super::LogKind;
use super::comment::SessionMark;
use super::edit::insertion;
use super::parse::{LOG, Part};
use super::render::render;
use crate::memory::Memory;

/// Bytes at the end of a log that are read for an append.
pub const TAIL: u64 = 16 * 1024;

/// The same where the last line has no end, which may be that of a long entry.
pub const LONG_TAIL: u64 = 256 * 1024;

/// More bytes than are ever put before an entry: a title, a heading and a session mark.
const LONGEST_PREAMBLE: usize = 512;

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The part of the log at its end, if its heading was read.
    part: Option<Part>,
    /// The session mark in force there, if it was read.
    mark: Option<SessionMark>,
    last_line: LastLine,
    has_windows_lines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLine {
    /// The log is empty.
    None,
    /// It has no end.
    Half,
    Text,
    Blank,
}

/// The last bytes of a log, or all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail<'b> {
    Whole(&'b [u8]),
    Part(&'b [u8]),
}

impl<'b> Tail<'b> {
    fn bytes(self) -> &'b [u8] {
        match self {
            Self::Whole(bytes) | Self::Part(bytes) => bytes,
        }
    }

    /// Whether the last line has no end.
    pub fn is_half(self) -> bool {
        !self.bytes().is_empty() && !self.bytes().ends_with(b"\n")
    }

    /// The end of the log once `more` is behind this.
    pub fn followed_by(self, more: &[u8]) -> Ending {
        let both = [self.bytes(), more].concat();
        match self {
            Self::Whole(_) => Ending::of(Tail::Whole(&both)),
            Self::Part(_) => Ending::of(Tail::Part(&both)),
        }
    }

    fn before(self, at: usize) -> Self {
        match self {
            Self::Whole(bytes) => Self::Whole(&bytes[..at]),
            Self::Part(bytes) => Self::Part(&bytes[..at]),
        }
    }
}

impl Ending {
    pub fn of(tail: Tail<'_>) -> Self {
        let text = String::from_utf8_lossy(tail.bytes());
        let (mut part, text) = match tail {
            Tail::Whole(_) => (Some(Part::Chronological), text.strip_prefix('\u{feff}').unwrap_or(&text)),
            // Its first line may have begun further back.
            Tail::Part(_) => (None, text.split_once('\n').map_or("", |(_, whole_lines)| whole_lines)),
        };
        let mut mark = None;
        for line in text.lines() {
            part = Part::below(line).or(part);
            mark = SessionMark::parse(line).or(mark);
        }
        let bytes = tail.bytes();
        let last_line = match () {
            () if bytes.is_empty() => LastLine::None,
            () if !bytes.ends_with(b"\n") => LastLine::Half,
            () if bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n") => LastLine::Blank,
            () => LastLine::Text,
        };
        Self { part, mark, last_line, has_windows_lines: has_windows_lines(bytes) }
    }

    /// Renders `memory` for the end of the log of `day`, and moves this end behind it.
    pub fn add(&mut self, memory: &Memory, day: NaiveDate) -> Vec<u8> {
        let mut text = String::new();
        match self.last_line {
            LastLine::None => {
                text = format!("# {day}\n\n");
                self.last_line = LastLine::Blank;
            }
            LastLine::Half => text.push('\n'),
            LastLine::Text | LastLine::Blank => {}
        }
        let is_event = memory.kind.is_session_data();
        let part = if is_event { Part::Chronological } else { Part::Section(memory.kind) };
        if self.part != Some(part) {
            self.set_off(&mut text);
            text.push_str(&format!("## {}\n\n", if is_event { LOG } else { memory.kind.label() }));
            self.last_line = LastLine::Blank;
            self.part = Some(part);
            // Readers who start at the heading need the session.
            self.mark = self.mark.take().filter(|_| !is_event);
        }
        let mark = SessionMark::of(memory);
        if is_event && self.mark.as_ref() != Some(&mark) {
            self.set_off(&mut text);
            text.push_str(&format!("{}\n", mark.to_comment()));
            self.mark = Some(mark);
        }
        text.push_str(&render(memory, LogKind::Daily(day)));
        self.last_line = LastLine::Text;
        if self.has_windows_lines { with_windows_lines(text.as_bytes()) } else { text.into_bytes() }
    }

    /// Adds an empty line unless the log ends in one.
    fn set_off(&self, text: &mut String) {
        if self.last_line != LastLine::Blank {
            text.push('\n');
        }
    }
}

/// The rest of the entry of `memory`, if a process that was killed left the beginning of it at the end of the log.
pub fn rest_of_interrupted(tail: Tail<'_>, memory: &Memory, day: NaiveDate) -> Option<Vec<u8>> {
    if !tail.is_half() {
        return None;
    }
    let bytes = tail.bytes();
    let longest = render(memory, LogKind::Daily(day)).len() + LONGEST_PREAMBLE;
    let mut start = bytes.len();
    while start > 0 && bytes.len() - start < longest {
        start = memrchr(b'\n', &bytes[..start - 1]).map_or(0, |newline| newline + 1);
        let whole = Ending::of(tail.before(start)).add(memory, day);
        if let Some(rest) = whole.strip_prefix(&bytes[start..]) {
            return Some(rest.to_vec());
        }
    }
    None
}

/// A file of this kind with these memories, each under the heading of its type: for people to read, and to hand on.
pub fn grouped(memories: &[&Memory], kind: LogKind) -> Vec<u8> {
    let LogKind::Daily(day) = kind else {
        return memories.iter().fold(Vec::new(), |file, memory| insertion(&file, memory));
    };
    let mut sorted = memories.to_vec();
    sorted.sort_by_key(|memory| (!memory.kind.is_session_data()).then_some(memory.kind));
    let mut ending = Ending::of(Tail::Whole(b""));
    sorted.iter().flat_map(|memory| ending.add(memory, day)).collect()
}

/// Whether the file's lines end as on Windows, by its first line that ends.
pub(super) fn has_windows_lines(file: &[u8]) -> bool {
    file.split_inclusive(|byte| *byte == b'\n').next().is_some_and(|line| line.ends_with(b"\r\n"))
}

/// Our lines hold no carriage return of their own, since a text's is written as a reference.
pub(super) fn with_windows_lines(bytes: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    parts.join(&b"\r\n"[..])
}
