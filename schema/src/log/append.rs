//! Renders entries for the end of a log. Capture writes to logs in no other way.
//!
//! Reads only the end of the file. A heading or session mark that is further up is written again.

use chrono::NaiveDate;
use memchr::memrchr;

use super::LogKind;
use super::comment::SessionMark;
use super::edit::insert_long_term;
use super::parse::{LOG, LogPart};
use super::render::{has_windows_lines, render, with_line_endings};
use crate::model::memory::Memory;
use crate::model::state_note::StateNote;

/// The most bytes that ever precede an entry: a title, a heading and a session mark.
const MAX_PREAMBLE: usize = 512;

/// The state at the end of a log. It decides what must precede the next entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// The part that the log ends in, if its heading was read.
    part: Option<LogPart>,
    /// The session mark in force there, if it was read.
    mark: Option<SessionMark>,
    last_line: LastLine,
    has_windows_lines: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastLine {
    /// The log is empty.
    None,
    /// The last line has no newline.
    Unterminated,
    Text,
    Blank,
}

/// The last bytes of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogTail<'b> {
    pub bytes: &'b [u8],
    /// Whether these are all bytes of the log.
    pub is_whole: bool,
}

impl<'b> LogTail<'b> {
    pub fn whole(bytes: &'b [u8]) -> Self {
        Self { bytes, is_whole: true }
    }

    /// Whether the last line is unterminated.
    pub fn ends_mid_line(self) -> bool {
        !self.bytes.is_empty() && !self.bytes.ends_with(b"\n")
    }

    /// Returns the end of the log after `more` is appended.
    pub fn end_after(self, more: &[u8]) -> LogEnd {
        LogEnd::from_tail(LogTail { bytes: &[self.bytes, more].concat(), ..self })
    }
}

impl LogEnd {
    pub fn from_tail(tail: LogTail<'_>) -> Self {
        let LogTail { bytes, is_whole } = tail;
        let text = String::from_utf8_lossy(bytes);
        let (mut part, text) = match is_whole {
            true => (Some(LogPart::Chronological), text.strip_prefix('\u{feff}').unwrap_or(&text)),
            // The first line may have begun before these bytes.
            false => (None, text.split_once('\n').map_or("", |(_, whole_lines)| whole_lines)),
        };
        let mut mark = None;
        for line in text.lines() {
            part = LogPart::from_heading(line).or(part);
            mark = SessionMark::parse(line).or(mark);
        }
        let last_line = match () {
            () if bytes.is_empty() => LastLine::None,
            () if tail.ends_mid_line() => LastLine::Unterminated,
            () if bytes.ends_with(b"\n\n") || bytes.ends_with(b"\n\r\n") => LastLine::Blank,
            () => LastLine::Text,
        };
        Self { part, mark, last_line, has_windows_lines: has_windows_lines(bytes) }
    }

    /// Renders `memory` for the end of the log of `day`, and updates this state.
    pub fn append_entry(&mut self, memory: &Memory, day: NaiveDate) -> Vec<u8> {
        let mut text = self.begin(day);
        let is_event = memory.kind.is_event();
        let part = if is_event { LogPart::Chronological } else { LogPart::Section(memory.kind) };
        if self.part != Some(part) {
            self.add_blank_line(&mut text);
            text.push_str(&format!("## {}\n\n", if is_event { LOG } else { memory.kind.label() }));
            self.last_line = LastLine::Blank;
            self.part = Some(part);
            // Repeat the session under a heading of events for readers that start there.
            self.mark = self.mark.take().filter(|_| !is_event);
        }
        let mark = SessionMark::from_memory(memory);
        if is_event && self.mark.as_ref() != Some(&mark) {
            self.add_blank_line(&mut text);
            text.push_str(&format!("{}\n", mark.to_comment()));
            self.mark = Some(mark);
        }
        text.push_str(&render(memory, LogKind::Daily(day)));
        self.end(text)
    }

    /// Renders a note for the end of the log of `day`, and updates this state.
    pub fn append_note(&mut self, note: &StateNote, day: NaiveDate) -> Vec<u8> {
        let text = self.begin(day) + &note.to_comment() + "\n";
        self.end(text)
    }

    /// Returns what must precede appended text: the title of an empty log, or the newline of an unterminated line.
    fn begin(&mut self, day: NaiveDate) -> String {
        match self.last_line {
            LastLine::None => {
                self.last_line = LastLine::Blank;
                format!("# {day}\n\n")
            }
            LastLine::Unterminated => "\n".to_owned(),
            LastLine::Text | LastLine::Blank => String::new(),
        }
    }

    fn end(&mut self, text: String) -> Vec<u8> {
        self.last_line = LastLine::Text;
        with_line_endings(text, self.has_windows_lines)
    }

    /// Adds an empty line unless the log ends with one.
    fn add_blank_line(&self, text: &mut String) {
        if self.last_line != LastLine::Blank {
            text.push('\n');
        }
    }
}

/// Returns the rest of the entry of `memory` if a killed process left its beginning at the end of the log.
pub fn complete_interrupted(tail: LogTail<'_>, memory: &Memory, day: NaiveDate) -> Option<Vec<u8>> {
    if !tail.ends_mid_line() {
        return None;
    }
    let bytes = tail.bytes;
    let longest = render(memory, LogKind::Daily(day)).len() + MAX_PREAMBLE;
    let mut start = bytes.len();
    while start > 0 && bytes.len() - start < longest {
        start = memrchr(b'\n', &bytes[..start - 1]).map_or(0, |newline| newline + 1);
        let whole = LogEnd::from_tail(LogTail { bytes: &bytes[..start], ..tail }).append_entry(memory, day);
        if let Some(rest) = whole.strip_prefix(&bytes[start..]) {
            return Some(rest.to_vec());
        }
    }
    None
}

/// Renders a file of this kind with these memories, grouped under the headings of their types, and with these notes at the end of a day.
pub fn render_grouped(memories: &[&Memory], notes: &[&StateNote], kind: LogKind) -> Vec<u8> {
    let LogKind::Daily(day) = kind else {
        return memories.iter().fold(Vec::new(), |file, memory| insert_long_term(&file, memory));
    };
    let mut sorted = memories.to_vec();
    sorted.sort_by_key(|memory| (!memory.kind.is_event()).then_some(memory.kind));
    let mut ending = LogEnd::from_tail(LogTail::whole(b""));
    let mut file: Vec<u8> = sorted.iter().flat_map(|memory| ending.append_entry(memory, day)).collect();
    file.extend(notes.iter().flat_map(|note| ending.append_note(note, day)));
    file
}
