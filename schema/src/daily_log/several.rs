//! Changes of a log by many entries at once, which one after the other would read all of it each time.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::edit::{Before, has_windows_lines, insertion, sections, text_end, with_windows_lines};
use super::{LogKind, Parsed};
use crate::memory::{Memory, MemoryType};

/// The log `file` with all of `memories`, and the lines that each takes: events in the order given, before the first section,
/// the rest under their own. Lines of what stands after a later insertion are brought in step by the next reading.
pub fn insert_all(file: &[u8], memories: &[&Memory], kind: LogKind) -> (Vec<u8>, Vec<RangeInclusive<usize>>) {
    let is_event = |memory: &Memory| kind != LogKind::LongTerm && memory.kind.is_session_data();
    let mut lines = vec![1..=1; memories.len()];
    let mut whole = file.to_vec();
    let events = memories.iter().enumerate().filter(|(_, memory)| is_event(memory));
    if let Some(added) = events_added(file, events, kind, &mut lines) {
        whole = added;
    }
    for (index, memory) in memories.iter().enumerate().filter(|(_, memory)| !is_event(memory)) {
        let splice = insertion(&whole, memory, kind);
        whole = splice.apply(&whole);
        lines[index] = splice.lines;
    }
    (whole, lines)
}

fn events_added<'m>(
    file: &[u8],
    events: impl Iterator<Item = (usize, &'m &'m Memory)>,
    kind: LogKind,
    lines: &mut [RangeInclusive<usize>],
) -> Option<Vec<u8>> {
    let mut events = events.peekable();
    events.peek()?;
    let end = sections(file).first().map_or(file.len(), |section| section.start);
    let at = if end == file.len() { end } else { text_end(file, end) };
    let mut before = Before::of(&file[..at]);
    let mut added = Vec::new();
    if let (true, LogKind::Daily(day)) = (file.is_empty(), kind) {
        added.extend_from_slice(format!("# {day}\n\n").as_bytes());
        before.add(&added);
    }
    for (index, event) in events {
        let (bytes, taken) = before.followed_by(&before.mark_for(event), event, kind);
        before.add(&bytes);
        added.extend_from_slice(&bytes);
        lines[index] = taken;
    }
    if file[at..].starts_with(b"#") {
        added.push(b'\n');
    }
    if has_windows_lines(file) {
        added = with_windows_lines(&added);
    }
    Some([&file[..at], &added, &file[at..]].concat())
}

/// The log `file` without the entries with these numbers in `parsed`, and without the headings and session marks of ours that
/// stand over nothing then.
pub fn without(file: &[u8], parsed: &Parsed, gone: &HashSet<usize>) -> Vec<u8> {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let mut fates = vec![Fate::Stays; lines.len()];
    for entry in gone.iter().filter_map(|index| parsed.entries.get(*index)) {
        let end = entry.end_line.min(lines.len());
        fates[entry.start_line.min(end + 1) - 1..end].fill(Fate::Goes);
    }
    let mut start = 0;
    let mut is_chronological = true;
    while start < lines.len() {
        let over = Over::of(lines[start], is_chronological);
        let next = (start + 1..lines.len()).find(|at| Over::of(lines[*at], is_chronological).is_some());
        let end = next.unwrap_or(lines.len());
        if let Some(over) = over {
            is_chronological &= over == Over::Session;
            let below = start + 1..end;
            let is_empty = below.clone().all(|at| fates[at] == Fate::Goes || lines[at].trim_ascii().is_empty());
            if is_empty && below.clone().any(|at| fates[at] == Fate::Goes) && over != Over::Foreign {
                fates[start..end].fill(Fate::Goes);
                // The blank line that set it off goes with it, unless it sets off what follows.
                if end == lines.len() && start > 0 && lines[start - 1].trim_ascii().is_empty() {
                    fates[start - 1] = Fate::Goes;
                }
            }
        }
        start = end;
    }
    let kept = lines.iter().zip(&fates).filter(|(_, fate)| **fate == Fate::Stays);
    kept.flat_map(|(line, _)| line.iter().copied()).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
}

/// What a line stands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// The events of a session.
    Session,
    /// Memories of one type.
    Section,
    /// What somebody wrote under a heading of his own.
    Foreign,
}

impl Over {
    fn of(line: &[u8], is_chronological: bool) -> Option<Self> {
        if let Some(label) = line.strip_prefix(b"## ") {
            let label = std::str::from_utf8(label).ok().map(str::trim_end);
            let is_ours = label.and_then(MemoryType::from_label).is_some_and(|kind| label == Some(kind.label()));
            return Some(if is_ours { Self::Section } else { Self::Foreign });
        }
        (is_chronological && line.starts_with(b"<!-- session ")).then_some(Self::Session)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::memory::{Attributes, MemoryId};
    use crate::moment::Moment;

    const KIND: LogKind = LogKind::LongTerm;

    fn day() -> LogKind {
        LogKind::of("2026-01-28.md").unwrap()
    }

    fn memory(session: &str, kind: MemoryType, second: i64) -> Memory {
        let at = Moment::from_unix(1_769_563_800 + second, Some(9 * 3600)).unwrap();
        let content = format!("text {second}\n\nof {session}");
        let id = MemoryId::derive(session, kind, &at, &content, 0);
        Memory { id, session_id: session.into(), kind, content, at, attributes: Attributes::default() }
    }

    fn some() -> Vec<Memory> {
        use MemoryType::{Decision, Error, Learning, UserPrompt};
        let kinds = [UserPrompt, Decision, Error, Learning, UserPrompt, Decision, Error];
        let sessions = ["a", "a", "b", "b", "b", "", "a"];
        kinds.iter().zip(sessions).enumerate().map(|(n, (kind, session))| memory(session, *kind, n as i64)).collect()
    }

    #[test]
    fn many_at_once_are_what_one_after_the_other_would_be() {
        let memories = some();
        for start in ["", "# 2026-01-28\n\nprose\n", "# 2026-01-28\r\n\r\n## Learning\r\n\r\n- old\r\n"] {
            let references: Vec<&Memory> = memories.iter().collect();
            let (all, lines) = insert_all(start.as_bytes(), &references, day());
            let one_by_one = memories
                .iter()
                .fold(start.as_bytes().to_vec(), |file, memory| insertion(&file, memory, day()).apply(&file));
            let read = |file: &[u8]| parse(std::str::from_utf8(file).unwrap(), day());
            let mut found: Vec<_> = read(&all).entries.into_iter().map(|entry| entry.memory).collect();
            let mut expected: Vec<_> = read(&one_by_one).entries.into_iter().map(|entry| entry.memory).collect();
            found.sort_by(|a, b| a.id.cmp(&b.id));
            expected.sort_by(|a, b| a.id.cmp(&b.id));
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(&all));
            let first = lines[0].clone();
            let entry = &read(&all).entries[0];
            assert_eq!((entry.start_line, entry.end_line), first.into_inner());
        }
    }

    #[test]
    fn what_was_put_in_is_taken_out_without_a_trace() {
        let memories = some();
        let references: Vec<&Memory> = memories.iter().collect();
        for start in
            ["# 2026-01-28\n\nprose\n", "# 2026-01-28\n\n<!-- session z +09:00 -->\n- [09:00:00] **Error**: kept\n"]
        {
            let (file, _) = insert_all(start.as_bytes(), &references, day());
            let parsed = parse(std::str::from_utf8(&file).unwrap(), day());
            let gone = |entry: &&super::super::Entry| entry.memory.content.starts_with("text");
            let numbers: HashSet<usize> =
                parsed.entries.iter().enumerate().filter(|(_, entry)| gone(entry)).map(|(n, _)| n).collect();
            assert_eq!(numbers.len(), memories.len());
            let left = without(&file, &parsed, &numbers);
            assert_eq!(String::from_utf8(left).unwrap().trim_end(), start.trim_end());
        }
    }

    #[test]
    fn headings_and_prose_of_people_stay_and_so_do_the_other_entries() {
        let memories = some();
        let references: Vec<&Memory> = memories.iter().collect();
        let (file, _) = insert_all(b"# Mine\n\n## Decision\n\nwhy we decide\n\n## My own\n", &references[1..2], KIND);
        let parsed = parse(std::str::from_utf8(&file).unwrap(), KIND);
        let left = without(&file, &parsed, &HashSet::from([0]));
        let left = String::from_utf8(left).unwrap();
        assert!(left.contains("## Decision\n\nwhy we decide") && left.contains("## My own"), "{left}");
        let (file, _) = insert_all(b"", &references, day());
        let parsed = parse(std::str::from_utf8(&file).unwrap(), day());
        for gone in 0..parsed.entries.len() {
            let left = without(&file, &parsed, &HashSet::from([gone]));
            let found = parse(std::str::from_utf8(&left).unwrap(), day()).entries;
            let mut expected = parsed.entries.clone();
            expected.remove(gone);
            let of = |entries: Vec<super::super::Entry>| entries.into_iter().map(|e| e.memory).collect::<Vec<_>>();
            assert_eq!(of(found), of(expected), "{}", String::from_utf8_lossy(&left));
        }
    }
}
