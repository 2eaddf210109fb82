//! Finds the lines of one memory in the bytes of its file. Rows have no line numbers, so an edit of a file does not make them outdated.

use std::ops::RangeInclusive;

use memchr::{memchr_iter, memmem};

use super::render::{render, render_first_line};
use super::{LogEntry, LogKind, parse};
use crate::model::memory::Memory;

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
        let start = memchr_iter(b'\n', &file[..at]).count() + 1;
        return Some(start..=start + text.matches('\n').count() - 1);
    }
    find_entry(file, memory, path, kind).map(|entry| entry.start_line..=entry.end_line)
}
