//! Adds the missing comments to entries of the Go version, which wrote none.

use std::collections::HashMap;

use super::comment::SessionMark;
use super::render::{has_windows_lines, render, with_line_endings};
use super::{LogKind, ParsedLog};
use crate::model::memory::Memory;

/// Returns the file with some entries replaced by whole memories. The entries are given by their index in `parsed`; next to each memory is
/// the last line that it replaces.
///
/// Adds session marks where the session changes. Every other line stays as it is, byte for byte, and keeps its session.
pub(crate) fn annotate_entries(
    file: &[u8],
    kind: LogKind,
    parsed: &ParsedLog,
    adopted: &HashMap<usize, (&Memory, usize)>,
) -> Vec<u8> {
    let starts: HashMap<usize, usize> =
        parsed.entries.iter().enumerate().map(|(index, entry)| (entry.start_line, index)).collect();
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let mut out = LineWriter { bytes: Vec::with_capacity(file.len()), has_windows_lines: has_windows_lines(file) };
    // The session mark in force at the next line: in the original file, and in the output.
    let (mut before, mut after) = (SessionMark::default(), SessionMark::default());
    let mut at = 0;
    while at < lines.len() {
        let Some(index) = starts.get(&(at + 1)) else {
            if let Some(mark) = std::str::from_utf8(lines[at]).ok().and_then(SessionMark::parse) {
                (before, after) = (mark.clone(), mark);
            }
            out.bytes.extend_from_slice(lines[at]);
            at += 1;
            continue;
        };
        let (memory, end) = match adopted.get(index) {
            Some((memory, end)) => (Some(*memory), *end),
            None => (None, parsed.entries[*index].end_line),
        };
        let end = end.min(lines.len());
        // A conclusion carries its own session and time, so any mark will do. An entry that stays needs its original mark.
        let mark = match memory {
            Some(memory) if memory.kind.is_event() => SessionMark::from_memory(memory),
            Some(_) => after.clone(),
            None => before.clone(),
        };
        if after != mark {
            out.write_mark(&mark);
            after = mark;
        }
        match memory {
            Some(memory) => out.write(render(memory, kind)),
            None => lines[at..end].iter().for_each(|line| out.bytes.extend_from_slice(line)),
        }
        at = end;
    }
    out.bytes
}

struct LineWriter {
    bytes: Vec<u8>,
    has_windows_lines: bool,
}

impl LineWriter {
    fn write_mark(&mut self, mark: &SessionMark) {
        let blank = self.bytes.is_empty() || self.bytes.ends_with(b"\n\n") || self.bytes.ends_with(b"\n\r\n");
        let gap = if blank { "" } else { "\n" };
        self.write(format!("{gap}{}\n", mark.to_comment()));
    }

    fn write(&mut self, text: String) {
        self.bytes.extend(with_line_endings(text, self.has_windows_lines));
    }
}
