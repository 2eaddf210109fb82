//! Parses a log: which lines are memories, and which are prose.
//!
//! Tolerant by design, because people edit these files and the Go version wrote them without comments. Nothing is an error: whatever is not
//! an entry is prose, and prose is indexed as well.

use std::collections::{HashMap, HashSet};

use chrono::{NaiveDate, NaiveTime};

use super::comment::{EntryFields, SessionMark};
use super::escape::unescape;
use super::team::TeamFile;
use super::{LogEntry, LogKind, ParsedLog};
use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::{StateNote, is_note};

/// Parses the text of a log.
pub fn parse(text: &str, kind: LogKind) -> ParsedLog {
    if kind == LogKind::Team {
        return ParsedLog { entries: TeamFile::parse(text).entries, ..ParsedLog::default() };
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = LogParser::new(kind);
    reader.parse_lines(&split_lines(text));
    reader.parsed
}

/// Whether appending `added` to `before` leaves the prose of a log as it was. Parses only what is added, and returns `false` if that is not
/// enough to decide.
pub fn is_without_new_prose(before: &str, added: &str, kind: LogKind) -> bool {
    if kind == LogKind::Team {
        return true;
    }
    let before = before.strip_prefix('\u{feff}').unwrap_or(before);
    let mut reader = LogParser::new(kind);
    // A heading ends whatever precedes it, so any line that looks like a heading is one.
    let heading = before.rfind("\n## ").map(|at| at + 1).or_else(|| before.starts_with("## ").then_some(0));
    if let Some(heading) = heading.and_then(|at| before[at..].lines().next()) {
        reader.parse_next(&[heading], 1);
        reader.parsed = ParsedLog::default();
    }
    // Lines that continue the entry before them count as prose here, which is the safe side.
    reader.parse_lines(&split_lines(added));
    before.ends_with('\n') && reader.parsed.prose.is_empty()
}

fn split_lines(text: &str) -> Vec<&str> {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect()
}

/// The part of a file that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogPart {
    /// No heading yet, or `## Log`: events in their order.
    Chronological,
    /// The heading of a type.
    Section(MemoryType),
    /// Any other heading.
    Foreign,
}

impl LogPart {
    /// Returns the part that a heading begins, or `None` for any other line.
    pub(super) fn from_heading(line: &str) -> Option<Self> {
        let heading = line.strip_prefix("## ")?;
        if heading.trim() == LOG {
            return Some(Self::Chronological);
        }
        Some(MemoryType::from_label(heading).map_or(Self::Foreign, Self::Section))
    }
}

/// The heading under which events continue.
pub(super) const LOG: &str = "Log";

struct LogParser {
    kind: LogKind,
    part: LogPart,
    mark: SessionMark,
    /// How often each derived id occurred so far, for the ordinal.
    seen: HashMap<MemoryId, u32>,
    ids: HashSet<MemoryId>,
    parsed: ParsedLog,
}

/// Whether a line begins like one of our entries, even if it is truncated.
/// The rest of an interrupted write is not part of the entry before it.
fn is_partial_entry_start(line: &str) -> bool {
    const OPENING: &[u8] = b"- [00:00:00] **";
    let fits = |(byte, expected): (&u8, &u8)| byte == expected || byte.is_ascii_digit() && expected.is_ascii_digit();
    line.len() >= 4 && line.as_bytes().iter().zip(OPENING).all(fits)
}

/// Whether a line is a conflict marker of git. Lines of our texts are indented and cannot look like one.
fn is_conflict_mark(line: &str) -> bool {
    line == "=======" || ["<<<<<<< ", "||||||| ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark))
}

/// The first line of an entry, without its bullet.
struct EntryStart<'t> {
    kind: MemoryType,
    text: &'t str,
    /// Set if the line has the form of an event. An id under a section makes it a conclusion all the same.
    event: Option<EventLine<'t>>,
}

/// `[HH:MM:SS] **Label**: text`, the beginning of an event.
pub(super) struct EventLine<'t> {
    kind: MemoryType,
    time: NaiveTime,
    text: &'t str,
}

impl<'t> EventLine<'t> {
    pub(super) fn parse(text: &'t str) -> Option<Self> {
        let (time, rest) = parse_clock(text)?;
        let (label, rest) = rest.strip_prefix("**")?.split_once("**:")?;
        Some(Self { kind: MemoryType::from_label(label)?, time, text: rest.strip_prefix(' ').unwrap_or(rest) })
    }
}

impl LogParser {
    fn new(kind: LogKind) -> Self {
        let part = LogPart::Chronological;
        let (seen, ids) = (HashMap::new(), HashSet::new());
        Self { kind, part, mark: SessionMark::default(), seen, ids, parsed: ParsedLog::default() }
    }

    fn parse_lines(&mut self, lines: &[&str]) {
        let mut at = 0;
        while at < lines.len() {
            at += self.parse_next(&lines[at..], at + 1);
        }
    }

    /// Parses what begins at the first of `lines`, which is line `number` of the file, and returns how many lines it has.
    fn parse_next(&mut self, lines: &[&str], number: usize) -> usize {
        let line = lines[0];
        if let Some(part) = LogPart::from_heading(line) {
            self.part = part;
            // In MEMORY.md people write under these headings themselves, so the heading is prose as well.
            if part == LogPart::Foreign || self.kind == LogKind::LongTerm {
                self.parsed.prose.push(number);
            }
            return 1;
        }
        if let Some(mark) = SessionMark::parse(line) {
            self.mark = mark;
            return 1;
        }
        if is_note(line) {
            self.parsed.notes.extend(StateNote::parse(line));
            return 1;
        }
        if let Some(opening) = self.entry_start(line) {
            let length = self.entry_length(lines);
            if self.add_entry(&opening, &lines[1..length], number) {
                return length;
            }
        }
        let title = matches!(self.kind, LogKind::Daily(day) if line.strip_prefix("# ") == Some(&day.to_string()));
        if !title && !line.trim().is_empty() {
            self.parsed.prose.push(number);
        }
        1
    }

    fn entry_start<'t>(&self, line: &'t str) -> Option<EntryStart<'t>> {
        let text = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?;
        let event = EventLine::parse(text).filter(|_| self.kind != LogKind::LongTerm);
        match (self.part, self.kind) {
            (LogPart::Section(kind), _) => Some(EntryStart { kind, text, event }),
            // In MEMORY.md an entry of ours may be under any heading, and its comment has its type.
            (_, LogKind::LongTerm | LogKind::Team) => Some(EntryStart { kind: MemoryType::Learning, text, event }),
            (_, LogKind::Daily(_)) => {
                event.map(|event| EntryStart { kind: event.kind, text: event.text, event: Some(event) })
            }
        }
    }

    /// Returns how many lines the entry at the first of `lines` has: indented lines, blank lines between them, and lines that follow
    /// directly, which Markdown counts as part of the item.
    fn entry_length(&self, lines: &[&str]) -> usize {
        let mut end = 1;
        let mut at = 1;
        while at < lines.len() {
            let line = lines[at];
            at += 1;
            if line.trim().is_empty() {
                continue;
            }
            let indented = line.starts_with("  ") || line.starts_with('\t');
            let adjacent = at == end + 1 && !self.starts_new_item(line);
            if !indented && !adjacent {
                break;
            }
            end = at;
        }
        end
    }

    /// Whether a line that is not indented begins something new.
    fn starts_new_item(&self, line: &str) -> bool {
        let bullet = line.starts_with("- ") || line.starts_with("* ");
        let begins_entry = match (self.part, self.kind) {
            (LogPart::Chronological | LogPart::Foreign, LogKind::Daily(_)) => {
                self.entry_start(line).is_some() || is_partial_entry_start(line)
            }
            _ => bullet,
        };
        let heading = line.trim_start_matches('#').starts_with(' ') && line.starts_with('#');
        begins_entry || heading || line.starts_with("<!-- ") || is_conflict_mark(line)
    }

    /// Adds the entry, or returns `false` if it is prose after all.
    fn add_entry(&mut self, opening: &EntryStart<'_>, more: &[&str], number: usize) -> bool {
        let mut lines = vec![opening.text];
        lines.extend(
            more.iter().map(|line| line.strip_prefix("  ").or_else(|| line.strip_prefix('\t')).unwrap_or(line)),
        );
        let mut fields = take_fields(&mut lines);
        let has_id = fields.as_ref().is_some_and(|fields| fields.id.is_some());
        if self.kind == LogKind::LongTerm && !has_id {
            return false;
        }
        // The length in bytes of the time and label of an event.
        let prefix_length = |event: &EventLine<'_>| opening.text.len() - event.text.len();
        let is_among_events = !matches!(self.part, LogPart::Section(_));
        let event = opening.event.as_ref().filter(|event| {
            self.kind != LogKind::LongTerm && (is_among_events || !has_id && lines[0].len() >= prefix_length(event))
        });
        if let Some(event) = event.filter(|_| !is_among_events) {
            lines[0] = &lines[0][prefix_length(event)..];
        }
        // Our own entries have a comment, or a session mark with an offset.
        if fields.is_none() && self.mark.offset.is_none() {
            fields = take_go_metadata(&mut lines);
        }
        let fields = fields.unwrap_or_default();
        let kind = fields.kind.unwrap_or(event.map_or(opening.kind, |event| event.kind));
        let mut done = false;
        if kind == MemoryType::Task
            && let Some((is_checked, text)) = parse_checkbox(lines[0])
        {
            done = is_checked;
            lines[0] = text;
        }
        let mut content = lines.join("\n");
        if content.trim().is_empty() {
            // Somebody emptied the entry. The rest is neither a memory nor prose.
            return true;
        }
        let day = match self.kind {
            LogKind::Daily(day) => Some(day),
            LogKind::LongTerm | LogKind::Team => None,
        };
        let at = fields.at(day).or_else(|| self.entry_moment(day, event.map(|event| event.time), &mut content));
        let session_id = match event {
            Some(_) => self.mark.session_id.clone(),
            None => fields.session.unwrap_or_default(),
        };
        let content = unescape(&content).into_owned();
        let at = at.unwrap_or_else(|| Moment::from_local_unknown(NaiveDate::default(), NaiveTime::MIN));
        let id = self.claim_id(fields.id, |ordinal| MemoryId::derive(&session_id, kind, &at, &content, ordinal));
        let attributes = MemoryAttributes { done, ..fields.attributes };
        let memory = Memory { id, session_id, kind, content, at, attributes };
        self.parsed.entries.push(LogEntry { memory, start_line: number, end_line: number + more.len() });
        true
    }

    /// Returns the time of an entry whose comment has none. The Go version may have put it before the text of a structural entry; it is
    /// removed from there.
    fn entry_moment(&self, day: Option<NaiveDate>, time: Option<NaiveTime>, content: &mut String) -> Option<Moment> {
        let day = day?;
        let time = time.unwrap_or_else(|| match parse_clock(content) {
            Some((time, rest)) => {
                *content = rest.to_owned();
                time
            }
            None => NaiveTime::MIN,
        });
        Moment::from_local(day, time, self.mark.offset)
    }

    /// Returns the id that the entry claims, unless an entry above has it; otherwise a derived id with the next ordinal.
    fn claim_id(&mut self, given: Option<MemoryId>, derive: impl Fn(u32) -> MemoryId) -> MemoryId {
        if let Some(id) = given
            && self.ids.insert(id.clone())
        {
            return id;
        }
        let ordinal = self.seen.entry(derive(0)).or_default();
        loop {
            let id = derive(*ordinal);
            *ordinal += 1;
            if self.ids.insert(id.clone()) {
                return id;
            }
        }
    }
}

/// Parses `[ ] ` or `[x] ` at the start of a task: whether it is done, and its text, which may be empty.
fn parse_checkbox(text: &str) -> Option<(bool, &str)> {
    let (mark, rest) = text.strip_prefix('[')?.split_once(']')?;
    let text = if rest.is_empty() { rest } else { rest.strip_prefix(' ')? };
    match mark {
        " " => Some((false, text)),
        "x" | "X" => Some((true, text)),
        _ => None,
    }
}

/// Removes the metadata from an entry of the Go version, which wrote it in parentheses: `text ({"context":"SPEC-001"})`.
fn take_go_metadata(lines: &mut [&str]) -> Option<EntryFields> {
    let last = lines.last_mut()?;
    let body = last.trim_end().strip_suffix(')')?;
    let (start, metadata) = body.rmatch_indices(" ({").find_map(|(start, opening)| {
        let json = &body[start + opening.len() - 1..];
        Some((start, serde_json::from_str(json).ok()?))
    })?;
    *last = &last[..start];
    Some(EntryFields::from_metadata(metadata))
}

/// Parses `[HH:MM:SS] ` at the start of a text, and returns the rest as well.
fn parse_clock(text: &str) -> Option<(NaiveTime, &str)> {
    let (time, rest) = text.strip_prefix('[')?.split_once("] ")?;
    Some((NaiveTime::parse_from_str(time, "%H:%M:%S").ok()?, rest))
}

/// Removes our comment from the last line that has one: from its end, or the whole line.
fn take_fields(lines: &mut Vec<&str>) -> Option<EntryFields> {
    for at in (0..lines.len()).rev() {
        let Some(body) = lines[at].trim_end().strip_suffix(" -->") else { continue };
        let Some(start) = body.rfind("<!-- {") else { continue };
        let Some(fields) = EntryFields::parse(&body[start + "<!-- ".len()..]) else { continue };
        let before = &body[..start];
        if before.is_empty() && at > 0 {
            lines.remove(at);
        } else {
            lines[at] = before.strip_suffix(' ').unwrap_or(before);
        }
        return Some(fields);
    }
    None
}

#[cfg(test)]
mod tests;
