//! Redacts stored memories with today's rules: secrets are removed from the Markdown.

use std::collections::BTreeSet;
use std::ops::Range;

use schema::log::LONG_TERM_FILE;
use schema::log::log_file;
use schema::log::{LogEntry, LogKind, entry_replacement, parse};
use schema::model::memory::{Memory, MemoryAttributes, MemoryId};
use schema::model::state_note::is_note;
use schema::privacy::sanitizer::Sanitizer;
use schema::store::{Store, StoreError};

/// The place of a secret, never its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    pub path: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Kind of secret, as the placeholder names it.
    pub label: String,
    /// Whether we may change the file without being asked. Notes belong to people.
    pub is_in_log: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrubScope {
    /// Dry run.
    ReportOnly,
    /// Daily logs only.
    Logs,
    /// Also `MEMORY.md` and notes.
    Notes,
}

impl ScrubScope {
    /// Returns the smallest scope that includes the file at `path`, relative to the store.
    pub fn for_path(path: &str) -> Self {
        if path == LONG_TERM_FILE { Self::Notes } else { Self::Logs }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubOutcome {
    pub findings: Vec<SecretFinding>,
    pub changed: Vec<String>,
    /// Files that are not UTF-8; only their owner can change them.
    pub unreadable: Vec<String>,
}

/// Scans every file of the store and redacts findings in the files that `scope` allows.
pub fn scrub(store: &mut Store, sanitizer: &Sanitizer, scope: ScrubScope) -> Result<ScrubOutcome, StoreError> {
    if scope != ScrubScope::ReportOnly {
        store.require_writable()?;
    }
    let layout = store.layout().clone();
    let files = layout.markdown_files();
    let files =
        files.map_err(|source| StoreError::Io { doing: "list", path: layout.store_dir().to_owned(), source })?;
    let mut scrubbed = ScrubOutcome::default();
    for path in files {
        let kind = LogKind::from_path(&path);
        let is_log = matches!(kind, Some(LogKind::Daily(_)));
        // A line of the team with another text would be another memory; `forget` removes it for all.
        let is_own = kind != Some(LogKind::Team);
        let may_change = is_own && (scope == ScrubScope::Notes || scope == ScrubScope::Logs && is_log);
        let file = layout.store_path(&path);
        let Ok(text) = String::from_utf8(log_file::read(&file)?) else {
            scrubbed.unreadable.push(path);
            continue;
        };
        let mut edits = plan_edits(&text, kind, sanitizer);
        if edits.is_empty() {
            continue;
        }
        if may_change {
            let lock = store.lock()?;
            let done = store.rewrite_log(&path, |bytes| {
                let now = std::str::from_utf8(bytes).ok()?;
                edits = plan_edits(now, kind, sanitizer);
                (!edits.is_empty()).then(|| apply_edits(bytes, &edits))
            })?;
            drop(lock);
            if done {
                store.sync_log(&path)?;
                scrubbed.changed.push(path.clone());
            }
        }
        let found: BTreeSet<(usize, String)> = edits.into_iter().flat_map(|edit| edit.found).collect();
        let finding = |(line, label)| SecretFinding { path: path.clone(), line, label, is_in_log: is_log };
        scrubbed.findings.extend(found.into_iter().map(finding));
    }
    let count = scrubbed.findings.iter().filter(|finding| scrubbed.changed.contains(&finding.path)).count();
    if count > 0 {
        store.with_transaction(|rows| rows.add_redactions(count))?;
    }
    Ok(scrubbed)
}

/// A change of a file with the lines and labels that it redacts.
struct RedactedSpan {
    range: Range<usize>,
    bytes: Vec<u8>,
    found: Vec<(usize, String)>,
}

impl RedactedSpan {
    /// Redacts a part of a file that begins with a line; `None` without a secret.
    fn of_text(text: &str, range: Range<usize>, first_line: usize, sanitizer: &Sanitizer) -> Option<Self> {
        let block = &text[range.clone()];
        let redacted = sanitizer.redact(block);
        (redacted.count > 0).then(|| Self {
            range,
            found: find_placeholders(block, &redacted.text, first_line),
            bytes: redacted.text.into_owned().into_bytes(),
        })
    }
}

/// All changes of a file, in order.
fn plan_edits(text: &str, kind: Option<LogKind>, sanitizer: &Sanitizer) -> Vec<RedactedSpan> {
    let Some(kind) = kind else {
        return RedactedSpan::of_text(text, 0..text.len(), 1, sanitizer).into_iter().collect();
    };
    let parsed = parse(text, kind);
    let mut edits: Vec<RedactedSpan> =
        parsed.entries.iter().filter_map(|entry| edit_of_entry(text.as_bytes(), entry, kind, sanitizer)).collect();
    for (first, last) in prose_runs(&parsed.prose, text) {
        let range = line_offset(text, first)..line_offset(text, last + 1);
        edits.extend(RedactedSpan::of_text(text, range, first, sanitizer));
    }
    // The reasons of notes about changed states may hold a secret.
    let mut end = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let range = end..end + line.len();
        end = range.end;
        if is_note(line) {
            edits.extend(RedactedSpan::of_text(text, range, number, sanitizer));
        }
    }
    edits.sort_by_key(|edit| edit.range.start);
    edits
}

fn edit_of_entry(file: &[u8], entry: &LogEntry, kind: LogKind, sanitizer: &Sanitizer) -> Option<RedactedSpan> {
    let memory = &entry.memory;
    let cleaned = sanitizer.clean(&memory.content);
    let (metadata, in_metadata) = sanitizer.clean_fields(memory.attributes.metadata.clone());
    let hides_private = |text: &str, cleaned: &str| text.contains("<private") && cleaned != text;
    let also = memory.attributes.also.as_deref().map(|also| (also, sanitizer.clean(also)));
    let is_in_also =
        also.as_ref().is_some_and(|(also, cleaned)| cleaned.count > 0 || hides_private(also, &cleaned.text));
    let also = also.map(|(_, cleaned)| cleaned.text.into_owned());
    let is_private = hides_private(&memory.content, &cleaned.text);
    if cleaned.count + in_metadata == 0 && !is_in_also && !is_private {
        return None;
    }
    let mut found = find_placeholders(&memory.content, &cleaned.text, entry.start_line);
    if in_metadata > 0 {
        found.push((entry.end_line, "metadata".to_owned()));
    }
    if is_in_also {
        found.push((entry.end_line, "also".to_owned()));
    }
    if is_private && cleaned.count == 0 {
        found.push((entry.start_line, "private".to_owned()));
    }
    let content = match cleaned.text.trim() {
        "" => "[redacted: private]".to_owned(),
        text => text.to_owned(),
    };
    let attributes = MemoryAttributes { metadata, also, ..memory.attributes.clone() };
    let derived = |content: &str| MemoryId::derive(&memory.session_id, memory.kind, &memory.at, content, 0);
    // An id derived from the text is derived again. An id in the comment stays.
    let id = if memory.id == derived(&memory.content) { derived(&content) } else { memory.id.clone() };
    let clean = Memory { id, content, attributes, ..memory.clone() };
    let (range, bytes) = entry_replacement(file, entry, &clean, kind);
    Some(RedactedSpan { range, bytes, found })
}

fn apply_edits(file: &[u8], edits: &[RedactedSpan]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(file.len());
    let mut at = 0;
    for edit in edits {
        whole.extend_from_slice(&file[at..edit.range.start]);
        whole.extend_from_slice(&edit.bytes);
        at = edit.range.end;
    }
    whole.extend_from_slice(&file[at..]);
    whole
}

/// First and last line of each run of prose. A run includes blank lines, because some keys have one in the middle.
fn prose_runs(prose: &[usize], text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let are_blank =
        |between: Range<usize>| lines.get(between).is_some_and(|lines| lines.iter().all(|line| line.trim().is_empty()));
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in prose {
        match runs.last_mut() {
            // Lines count from 1.
            Some((_, last)) if are_blank(*last..number - 1) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    runs
}

fn line_offset(text: &str, line: usize) -> usize {
    if line <= 1 { 0 } else { text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1) }
}

/// Lines of `old` that became a placeholder in `new`, with its label.
fn find_placeholders(old: &str, new: &str, first_line: usize) -> Vec<(usize, String)> {
    const START: &str = "[redacted: ";
    let (mut found, mut at, mut rest) = (Vec::new(), 0, new);
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
    use schema::files::database::LockTimeout;

    const LOG: &str = "# 2026-01-28\n\nmine: Falcon\n\n<!-- session a +09:00 -->\n- [10:00:00] **User Prompt**: why\n  does Falcon fail\n\
                       - [10:00:05] **Error**: nothing of it\n\n## Decision\n\n\
                       - Falcon it is [redacted: custom] <!-- {\"id\":\"x1\",\"at\":\"10:00:09\",\"metadata\":{\"of\":\"Falcon\"}} -->\n";

    #[test]
    fn scrub_redacts_entries_and_prose_and_reports_lines() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let path = store.layout().store_path("2026-01-28.md");
        fs::write(&path, LOG).unwrap();
        fs::write(store.layout().store_path("note.md"), "one\ntwo Falcon\n").unwrap();
        store.sync_log("2026-01-28.md").unwrap();
        let (sanitizer, _) = Sanitizer::new(&["Falcon".into()], &[]);
        let report = scrub(&mut store, &sanitizer, ScrubScope::ReportOnly).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), LOG);
        let done = scrub(&mut store, &sanitizer, ScrubScope::Logs).unwrap();
        assert_eq!(report.findings, done.findings);
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
        assert!(fs::read_to_string(store.layout().store_path("note.md")).unwrap().contains("Falcon"));
        let row = store.rows().by_id(&MemoryId::parse("x1").unwrap()).unwrap().unwrap();
        assert_eq!(row.memory.content, "[redacted: custom] it is [redacted: custom]");
        assert_eq!(scrub(&mut store, &sanitizer, ScrubScope::Notes).unwrap().changed, ["note.md"]);
        assert_eq!(scrub(&mut store, &sanitizer, ScrubScope::Notes).unwrap(), ScrubOutcome::default());
    }

    #[test]
    fn reasons_in_notes_are_redacted() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let path = store.layout().store_path("2026-01-28.md");
        let note = |reason: &str| {
            format!("<!-- note {{\"about\":\"x1\",\"at\":\"2026-01-28T10:00:00+09:00\",\"closed\":\"{reason}\"}} -->\n")
        };
        let log = "# 2026-01-28\n\n## Task\n\n- [ ] push the tag <!-- {\"id\":\"x1\"} -->\n";
        fs::write(&path, [log, &note("Falcon pushed it")].concat()).unwrap();
        store.sync_log("2026-01-28.md").unwrap();
        let (sanitizer, _) = Sanitizer::new(&["Falcon".into()], &[]);
        let done = scrub(&mut store, &sanitizer, ScrubScope::Logs).unwrap();
        assert_eq!(done.findings.iter().map(|found| found.line).collect::<Vec<_>>(), [6]);
        assert_eq!(fs::read_to_string(&path).unwrap(), [log, &note("[redacted: custom] pushed it")].concat());
        let row = store.rows().by_id(&MemoryId::parse("x1").unwrap()).unwrap().unwrap();
        assert_eq!(row.state.settled_by.as_deref(), Some("[redacted: custom] pushed it"));
    }

    #[test]
    fn key_with_a_blank_line_is_redacted_whole() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let path = store.layout().store_path("MEMORY.md");
        let key =
            ["-----BEGIN PGP PRIVATE ", "KEY BLOCK-----\n\nqrdj3QObKTOq\n-----END PGP PRIVATE KEY BLOCK-----"].concat();
        fs::write(&path, format!("# Memory\n\nabove\n\n{key}\n\nbelow\n\n## Decision\n\n- it is\n")).unwrap();
        store.sync_log("MEMORY.md").unwrap();
        let (sanitizer, _) = Sanitizer::new(&[], &[]);
        assert_eq!(scrub(&mut store, &sanitizer, ScrubScope::Notes).unwrap().findings.len(), 1);
        let left = "# Memory\n\nabove\n\n[redacted: private key]\n\nbelow\n\n## Decision\n\n- it is\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), left);
    }
}
