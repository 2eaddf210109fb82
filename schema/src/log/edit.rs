//! Finds, replaces and deletes entries of logs and of `MEMORY.md`, and inserts entries into `MEMORY.md`. Rows have no line numbers, so an
//! edit of a file does not make them outdated.
//!
//! Works on bytes: a file that was saved in another encoding must keep every byte that is not ours.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use memchr::{memchr_iter, memmem};

use super::parse::{EventLine, LOG, LogPart, parse};
use super::render::{has_windows_lines, render, render_event_style, render_first_line, with_line_endings};
use super::{LogEntry, LogKind, ParsedLog};
use crate::model::memory::{Memory, MemoryType};

/// Returns the entry of a memory in the file at `path`. The entry of a copy carries the id of its original.
pub fn find_entry(file: &[u8], memory: &Memory, path: &str, kind: LogKind) -> Option<LogEntry> {
    let parsed = parse(&String::from_utf8_lossy(file), kind);
    let is_it = |entry: &LogEntry| entry.memory.id == memory.id || entry.memory.id.for_copy(path) == memory.id;
    parsed.entries.into_iter().find(is_it)
}

/// Whether a file contains the id or the first line of a memory, as capture writes it. Cheaper than [`find_entry`].
pub fn may_contain(file: &[u8], memory: &Memory, kind: LogKind) -> bool {
    let mark = if kind.has_id(memory) { memory.id.to_string() } else { render_first_line(memory, kind) };
    memmem::find(file, mark.as_bytes()).is_some()
}

/// Returns the lines of a memory, from 1, in the file at `path`, or `None` if it is not there.
pub fn find_lines(file: &[u8], memory: &Memory, path: &str, kind: LogKind) -> Option<RangeInclusive<usize>> {
    let as_written = Memory { id: memory.id.original(), ..memory.clone() };
    let text = render(&as_written, kind);
    let mut found = memmem::find_iter(file, text.as_bytes());
    if let (Some(at), None) = (found.next(), found.next())
        && (at == 0 || file[at - 1] == b'\n')
    {
        let start = count_lines(&file[..at]) + 1;
        return Some(start..=start + text.matches('\n').count() - 1);
    }
    find_entry(file, memory, path, kind).map(|entry| entry.start_line..=entry.end_line)
}

/// Returns `MEMORY.md` with `memory` at the end of the section of its type.
pub fn insert_long_term(file: &[u8], memory: &Memory) -> Vec<u8> {
    let (at, preamble) = match file.is_empty() {
        true => (0, format!("# Memory\n\n## {}\n\n", memory.kind.label())),
        false => section_insertion_point(file, &section_headings(file), memory.kind),
    };
    let end = if at > 0 && !file[..at].ends_with(b"\n") { "\n" } else { "" };
    let gap = if file[at..].starts_with(b"#") { "\n" } else { "" };
    let text = [end, &preamble, &render(memory, LogKind::LongTerm), gap].concat();
    [&file[..at], &with_line_endings(text, has_windows_lines(file)), &file[at..]].concat()
}

/// Returns the byte range of `entry` in its file, and its replacement: the text and attributes of `memory` in the same form.
pub fn entry_replacement(file: &[u8], entry: &LogEntry, memory: &Memory, kind: LogKind) -> (Range<usize>, Vec<u8>) {
    let range = line_offset(file, entry.start_line)..line_offset(file, entry.end_line + 1);
    let sections = section_headings(file);
    let section = sections.iter().rev().find(|section| section.start < range.start);
    let is_event_line = || {
        let line = file[range.start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let is_among_events = section.is_none_or(|section| section.part == LogPart::Chronological);
        (memory.kind.is_event() || is_among_events) && line.get(2..).and_then(EventLine::parse).is_some()
    };
    let is_own_section = section.is_some_and(|section| section.part == LogPart::Section(memory.kind));
    let text = match kind {
        LogKind::Daily(_) if is_event_line() => render_event_style(memory),
        LogKind::Daily(_) if is_own_section && !memory.kind.is_event() => render(memory, kind),
        // Include the type, because the heading shows another one or none.
        _ => render(memory, LogKind::LongTerm),
    };
    (range, with_line_endings(text, has_windows_lines(file)))
}

/// The prefix of a section heading.
const HEADING: &[u8] = b"## ";

/// A `##` heading.
struct SectionHeading {
    start: usize,
    part: LogPart,
}

/// Returns the place of a structural entry and the text before it: the end of its section, or a new section in the order of the types.
fn section_insertion_point(file: &[u8], sections: &[SectionHeading], kind: MemoryType) -> (usize, String) {
    if let Some(at) = sections.iter().position(|section| section.part == LogPart::Section(kind)) {
        let end = sections.get(at + 1).map_or(file.len(), |next| next.start);
        let place = last_text_offset(file, end);
        let heading_only = count_lines(&file[sections[at].start..place]) <= 1;
        return (place, if heading_only { "\n".to_owned() } else { String::new() });
    }
    let next = sections.iter().find(|section| matches!(section.part, LogPart::Section(other) if other > kind));
    let place = last_text_offset(file, next.map_or(file.len(), |section| section.start));
    let gap = if place > 0 { "\n" } else { "" };
    (place, format!("{gap}## {}\n\n", kind.label()))
}

fn section_headings(file: &[u8]) -> Vec<SectionHeading> {
    let first = file.starts_with(HEADING).then_some(0);
    let starts = first.into_iter().chain(memmem::find_iter(file, b"\n## ").map(|newline| newline + 1));
    let section = |start| {
        let line = file[start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
        let part = std::str::from_utf8(line).ok().and_then(LogPart::from_heading);
        SectionHeading { start, part: part.unwrap_or(LogPart::Foreign) }
    };
    starts.map(section).collect()
}

/// Returns the offset behind the last line before `end` that is not blank.
fn last_text_offset(file: &[u8], end: usize) -> usize {
    let trimmed = file[..end].trim_ascii_end().len();
    match file[trimmed..end].iter().position(|byte| *byte == b'\n') {
        Some(newline) => trimmed + newline + 1,
        None => end,
    }
}

fn count_lines(bytes: &[u8]) -> usize {
    memchr_iter(b'\n', bytes).count()
}

fn line_offset(file: &[u8], number: usize) -> usize {
    if number <= 1 {
        return 0;
    }
    memchr_iter(b'\n', file).map(|newline| newline + 1).nth(number - 2).unwrap_or(file.len())
}

/// Returns the log `file` without the entries with these numbers in `parsed`. Also removes our headings and session marks that have nothing
/// below them then.
pub fn remove_entries(file: &[u8], parsed: &ParsedLog, gone: &HashSet<usize>) -> Vec<u8> {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let mut is_removed = vec![false; lines.len()];
    let mut has_event = vec![false; lines.len()];
    for (number, LogEntry { memory, start_line, end_line }) in parsed.entries.iter().enumerate() {
        let (start, end) = (start_line - 1, (*end_line).min(lines.len()));
        if gone.contains(&number) {
            is_removed[start.min(end)..end].fill(true);
        } else if memory.kind.is_event() {
            has_event[start] = true;
        }
    }
    let openers: Vec<(usize, LeadLine)> =
        lines.iter().enumerate().filter_map(|(at, line)| Some((at, LeadLine::parse(line)?))).collect();
    // Marks first: a heading may have nothing below it but a mark that is removed.
    for wanted in [LeadLine::Mark, LeadLine::Heading] {
        for (number, (start, _)) in openers.iter().enumerate().filter(|(_, (_, opener))| *opener == wanted) {
            let behind = &openers[number + 1..];
            let end_before = |is_end: fn(LeadLine) -> bool| {
                behind.iter().find(|(_, opener)| is_end(*opener)).map_or(lines.len(), |(at, _)| *at)
            };
            let end = match wanted {
                LeadLine::Mark => end_before(|_| true),
                LeadLine::Heading | LeadLine::Foreign => end_before(|opener| opener != LeadLine::Mark),
            };
            let is_of_others = wanted == LeadLine::Mark
                && has_event[*start..end_before(|opener| opener == LeadLine::Mark)].contains(&true);
            let mut below = start + 1..end;
            let is_empty = below.clone().all(|at| is_removed[at] || lines[at].trim_ascii().is_empty());
            if is_empty && !is_of_others && below.any(|at| is_removed[at]) {
                is_removed[*start..end].fill(true);
                // Also remove the blank line before it, unless that line separates what follows.
                if end == lines.len() && *start > 0 && lines[start - 1].trim_ascii().is_empty() {
                    is_removed[start - 1] = true;
                }
            }
        }
    }
    let rest = lines.iter().zip(is_removed).filter(|(_, is_removed)| !is_removed);
    rest.flat_map(|(line, _)| line.iter().copied()).collect()
}

/// A line that applies to the lines below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeadLine {
    /// A session mark.
    Mark,
    /// A heading as we write it.
    Heading,
    /// Any other heading.
    Foreign,
}

impl LeadLine {
    fn parse(line: &[u8]) -> Option<Self> {
        if let Some(label) = line.strip_prefix(HEADING) {
            let label = std::str::from_utf8(label).ok().map(str::trim_end).unwrap_or_default();
            let is_ours = label == LOG || MemoryType::from_label(label).is_some_and(|kind| label == kind.label());
            return Some(if is_ours { Self::Heading } else { Self::Foreign });
        }
        line.starts_with(b"<!-- session ").then_some(Self::Mark)
    }
}
