//! Redaction over what was remembered before: secrets that today's rules and patterns know are taken out of the Markdown.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::daily_log::{Entry, LogKind, parse, replacement};
use crate::log_file;
use crate::memory::{Attributes, Memory, MemoryId};
use crate::screen::Screen;
use crate::store::{Store, StoreError};

/// A secret that was found, never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the store.
    pub path: String,
    /// The line that it begins in, from 1.
    pub line: usize,
    /// What stands in its place.
    pub label: String,
    /// Whether its file may be changed: files that people write are changed when they say so.
    pub is_ours: bool,
}

/// Which files are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// None; it is only told what would be.
    Nothing,
    /// The daily logs.
    Logs,
    /// `MEMORY.md` and notes as well.
    Notes,
}

/// What was found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scrubbed {
    pub findings: Vec<Finding>,
    /// The files that were changed.
    pub changed: Vec<String>,
    /// Files that are not UTF-8, which only their owner can change.
    pub unreadable: Vec<String>,
}

/// Looks through every file of the store, and takes out what is found as far as `reach` says.
pub fn scrub(store: &mut Store, screen: &Screen, reach: Reach) -> Result<Scrubbed, StoreError> {
    if reach != Reach::Nothing {
        store.require_writable()?;
    }
    let layout = store.layout().clone();
    let files = layout.markdown_files();
    let files = files.map_err(|source| StoreError::Io { doing: "list", path: layout.dir().to_owned(), source })?;
    let mut scrubbed = Scrubbed::default();
    for path in files {
        let kind = LogKind::of(&path);
        let is_log = matches!(kind, Some(LogKind::Daily(_)));
        let may_change = reach == Reach::Notes || reach == Reach::Logs && is_log;
        let found = |edits: &[Edit]| {
            let findings = edits.iter().flat_map(|edit| &edit.found);
            let finding = |(line, label): &(usize, String)| Finding {
                path: path.clone(),
                line: *line,
                label: label.clone(),
                is_ours: is_log,
            };
            findings.map(finding).collect::<BTreeSet<Finding>>()
        };
        let file = layout.file(&path);
        let Ok(text) = String::from_utf8(log_file::read(&file)?) else {
            scrubbed.unreadable.push(path);
            continue;
        };
        let mut edits = edits(&text, kind, screen);
        if edits.is_empty() {
            continue;
        }
        if may_change {
            let lock = store.lock()?;
            let done = store.rewrite_log(&path, |bytes| {
                let now = std::str::from_utf8(bytes).ok()?;
                edits = self::edits(now, kind, screen);
                (!edits.is_empty()).then(|| applied(bytes, &edits))
            })?;
            drop(lock);
            if done {
                store.sync_log(&path)?;
                scrubbed.changed.push(path.clone());
            }
        }
        scrubbed.findings.extend(found(&edits));
    }
    let count = scrubbed.findings.iter().filter(|finding| scrubbed.changed.contains(&finding.path)).count();
    if count > 0 {
        store.transact(|rows| rows.count("redactions", count))?;
    }
    Ok(scrubbed)
}

/// A change of a file and what it takes out: lines and labels.
struct Edit {
    start: usize,
    end: usize,
    bytes: Vec<u8>,
    found: Vec<(usize, String)>,
}

/// The changes of a file, from its start to its end.
fn edits(text: &str, kind: Option<LogKind>, screen: &Screen) -> Vec<Edit> {
    let Some(kind) = kind else {
        let redacted = screen.redact(text);
        let found = placeholders(text, &redacted.text, 1);
        let whole = Edit { start: 0, end: text.len(), bytes: redacted.text.into_owned().into_bytes(), found };
        return if redacted.count > 0 { vec![whole] } else { Vec::new() };
    };
    let parsed = parse(text, kind);
    let mut edits: Vec<Edit> =
        parsed.entries.iter().filter_map(|entry| of_entry(text.as_bytes(), entry, kind, screen)).collect();
    for (first, last) in runs(&parsed.prose, text) {
        let (start, end) = (offset(text, first), offset(text, last + 1));
        let block = &text[start..end];
        let redacted = screen.redact(block);
        if redacted.count > 0 {
            let found = placeholders(block, &redacted.text, first);
            edits.push(Edit { start, end, bytes: redacted.text.into_owned().into_bytes(), found });
        }
    }
    edits.sort_by_key(|edit| edit.start);
    edits
}

fn of_entry(file: &[u8], entry: &Entry, kind: LogKind, screen: &Screen) -> Option<Edit> {
    let memory = &entry.memory;
    let cleaned = screen.clean(&memory.content);
    let (metadata, in_metadata) = screen.clean_fields(memory.attributes.metadata.clone());
    let is_private = memory.content.contains("<private") && cleaned.text != memory.content;
    if cleaned.count + in_metadata == 0 && !is_private {
        return None;
    }
    let mut found = placeholders(&memory.content, &cleaned.text, entry.start_line);
    if in_metadata > 0 {
        found.push((entry.end_line, "metadata".to_owned()));
    }
    if is_private && cleaned.count == 0 {
        found.push((entry.start_line, "private".to_owned()));
    }
    let content = match cleaned.text.trim() {
        "" => "[redacted: private]".to_owned(),
        text => text.to_owned(),
    };
    let attributes = Attributes { metadata, ..memory.attributes.clone() };
    let derived = |content: &str| MemoryId::derive(&memory.session_id, memory.kind, &memory.at, content, 0);
    // An id that was made of the text is made anew; one that its comment carries stays.
    let id = if memory.id == derived(&memory.content) { derived(&content) } else { memory.id.clone() };
    let clean = Memory { id, content, attributes, ..memory.clone() };
    let (range, bytes) = replacement(file, entry, &clean, kind);
    Some(Edit { start: range.start, end: range.end, bytes, found })
}

fn applied(file: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(file.len());
    let mut at = 0;
    for edit in edits {
        whole.extend_from_slice(&file[at..edit.start]);
        whole.extend_from_slice(&edit.bytes);
        at = edit.end;
    }
    whole.extend_from_slice(&file[at..]);
    whole
}

/// First and last line of each run of prose, which goes on behind blank lines: some keys have one in the middle.
fn runs(prose: &[usize], text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let are_blank = |between: std::ops::Range<usize>| {
        lines.get(between).is_some_and(|lines| lines.iter().all(|line| line.trim().is_empty()))
    };
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in prose {
        match runs.last_mut() {
            // Lines are counted from 1.
            Some((_, last)) if are_blank(*last..number - 1) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    runs
}

/// Where a line begins.
fn offset(text: &str, line: usize) -> usize {
    if line <= 1 { 0 } else { text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1) }
}

/// The lines of `old` in which something gave way to a placeholder in `new`, with what the placeholder says.
fn placeholders(old: &str, new: &str, first_line: usize) -> Vec<(usize, String)> {
    const START: &str = "[redacted: ";
    let (mut found, mut at, mut rest) = (Vec::new(), 0, new);
    let old: Cow<'_, str> = Cow::Borrowed(old);
    while let Some(start) = rest.find(START) {
        let (same, tail) = rest.split_at(start);
        let Some(end) = tail.find(']') else { break };
        let (placeholder, after) = tail.split_at(end + 1);
        at = old[at..].find(same).map_or(at, |found| at + found + same.len());
        if old[at..].starts_with(placeholder) {
            at += placeholder.len();
        } else {
            let line = first_line + old[..at].matches('\n').count();
            found.push((line, placeholder[START.len()..end].to_owned()));
        }
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::database::Patience;

    const LOG: &str = "# 2026-01-28\n\nmine: Falcon\n\n<!-- session a +09:00 -->\n- [10:00:00] **User Prompt**: why\n  does Falcon fail\n\
                       - [10:00:05] **Error**: nothing of it\n\n## Decision\n\n\
                       - Falcon it is [redacted: custom] <!-- {\"id\":\"x1\",\"at\":\"10:00:09\",\"metadata\":{\"of\":\"Falcon\"}} -->\n";

    #[test]
    fn what_is_found_is_taken_out_of_entries_and_prose_and_told_by_its_line() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), Patience::Server).unwrap();
        let path = store.layout().file("2026-01-28.md");
        fs::write(&path, LOG).unwrap();
        fs::write(store.layout().file("note.md"), "one\ntwo Falcon\n").unwrap();
        store.sync_log("2026-01-28.md").unwrap();
        let (screen, _) = Screen::new(&["Falcon".into()], &[]);
        let told = scrub(&mut store, &screen, Reach::Nothing).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), LOG);
        let done = scrub(&mut store, &screen, Reach::Logs).unwrap();
        assert_eq!(told.findings, done.findings);
        let lines: Vec<_> =
            done.findings.iter().map(|found| (found.path.as_str(), found.line, found.label.as_str())).collect();
        let expected = [
            ("2026-01-28.md", 3, "custom"),
            ("2026-01-28.md", 7, "custom"),
            ("2026-01-28.md", 12, "custom"),
            ("2026-01-28.md", 12, "metadata"),
            ("note.md", 2, "custom"),
        ];
        assert_eq!(lines, expected);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains("Falcon") && text.contains("does [redacted: custom] fail"), "{text}");
        assert!(fs::read_to_string(store.layout().file("note.md")).unwrap().contains("Falcon"));
        let row = store.rows().by_id(&MemoryId::parse("x1").unwrap()).unwrap().unwrap();
        assert_eq!(row.memory.content, "[redacted: custom] it is [redacted: custom]");
        assert_eq!(scrub(&mut store, &screen, Reach::Notes).unwrap().changed, ["note.md"]);
        assert_eq!(scrub(&mut store, &screen, Reach::Notes).unwrap(), Scrubbed::default());
    }

    #[test]
    fn a_key_with_a_blank_line_is_taken_out_of_prose_as_a_whole() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), Patience::Server).unwrap();
        let path = store.layout().file("MEMORY.md");
        let key =
            ["-----BEGIN PGP PRIVATE ", "KEY BLOCK-----\n\nqrdj3QObKTOq\n-----END PGP PRIVATE KEY BLOCK-----"].concat();
        fs::write(&path, format!("# Memory\n\nabove\n\n{key}\n\nbelow\n\n## Decision\n\n- it is\n")).unwrap();
        store.sync_log("MEMORY.md").unwrap();
        let (screen, _) = Screen::new(&[], &[]);
        assert_eq!(scrub(&mut store, &screen, Reach::Notes).unwrap().findings.len(), 1);
        let left = "# Memory\n\nabove\n\n[redacted: private key]\n\nbelow\n\n## Decision\n\n- it is\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
    }
}
