//! `memory_get`: a full hit, also of the personal memory, or lines of a memory file.

use schema::host::code::changes::{CodeChange, CodeChanges};
use schema::log::{LogKind, find_entry};
use schema::model::code_anchor::ANCHORS;
use schema::model::memory::{Memory, MemoryId};
use schema::model::moment::Moment;
use schema::model::state_note::Standing;
use schema::store::{CatchUpOutcome, Locator, MemoryRow, Rows, Store};
use schema::tool::{Evidence, GetInput, GetOutput, MemoryDetails};

use super::Engine;
use super::file_access::{FileText, confine_path, display_path, max_bytes, read_file};
use super::ids::{comparable_id, resolve_id};
use super::personal::holds_everywhere;
use crate::error::ToolError;
use crate::index::{ChunkRow, Index, IndexLockWait};

/// Bytes of the evidence before and after the conclusion.
const AROUND: usize = 160;

/// Characters of a conclusion that find it in its evidence. The rest may be joined from several sentences.
const BEGINNING: usize = 24;

impl Engine {
    /// `memory_get`, also for the ids of personal hits.
    pub fn get(&mut self, input: &GetInput) -> Result<GetOutput, ToolError> {
        let found = self.get_of_project(input);
        if let Err(ToolError::NotFound(_)) = found
            && let Ok(Some(personal)) = self.personal()
            && let Some(id) = &input.id
            && let Ok(row) = personal.find_by_prefix(id)
            && holds_everywhere(&row)
        {
            let root = personal.store.layout().project().to_owned();
            let output = personal.get_of_project(input)?;
            return Ok(GetOutput { path: root.join(&output.path).to_string_lossy().into_owned(), ..output });
        }
        found
    }

    /// A memory or a passage with its whole text, without counting it as opened.
    pub fn peek_details(&mut self, id: &str) -> Result<GetOutput, ToolError> {
        self.with_repair(|engine| Ok(engine.get_by_id(id.trim(), usize::MAX)?.1))
    }

    fn get_of_project(&mut self, input: &GetInput) -> Result<GetOutput, ToolError> {
        self.with_repair(|engine| {
            let limit = max_bytes(input.max_tokens)?;
            match (&input.id, &input.path) {
                (Some(id), None) => {
                    let (row_id, output) = engine.get_by_id(id.trim(), limit)?;
                    if let Some(id) = row_id.filter(|_| engine.is_writable()) {
                        // The read counter is optional, so a lock held by another process is no reason to fail.
                        let _ = engine.store.rows().record_access(&id, &Moment::now());
                    }
                    Ok(output)
                }
                (None, Some(path)) => get_by_path(&engine.store, path, input, limit),
                (Some(_), Some(_)) => Err(ToolError::Invalid("give either id or path, not both".to_owned())),
                (None, None) => Err(ToolError::Invalid("give the id of a search hit or the path of a file".to_owned())),
            }
        })
    }

    /// Returns a chunk, or a memory with its id.
    fn get_by_id(&mut self, id: &str, limit: usize) -> Result<(Option<MemoryId>, GetOutput), ToolError> {
        let Self { store, index, change_detector: detector, .. } = self;
        if let Some(chunk) = find_chunk(store, index, &comparable_id(id))? {
            let FileText { text, notice } = read_file(store.layout(), &chunk.path)?;
            let total_lines = text.lines().count();
            let (content, rest) = truncate(chunk.text, "the rest is in the file; open it by path", limit);
            let notice = join_notices([notice, rest]);
            let (start_line, end_line) = (chunk.start_line, chunk.end_line);
            let path = display_path(&chunk.path);
            return Ok((None, GetOutput { path, start_line, end_line, total_lines, content, memory: None, notice }));
        }
        let missing = || {
            ToolError::NotFound(format!(
                "there is no memory with the id {id:?}; it may have been edited or deleted, so search again"
            ))
        };
        let parsed = resolve_id(store, id)?.ok_or_else(missing)?;
        let row = refreshed_row(store, &parsed)?.ok_or_else(missing)?;
        let (start_line, end_line) = store.locator().find_lines(&row);
        let (total_lines, notice) = match read_file(store.layout(), &row.path) {
            Ok(FileText { text, notice }) => (text.lines().count(), notice),
            Err(_) => (end_line, None),
        };
        let waits = row
            .is_pending()
            .then(|| "another program is writing the file; the memory is added when it has finished".to_owned());
        detector.begin();
        let changes = detector.changes(store.rows(), &row)?;
        let memory = Some(memory_details(store, &changes, &row)?);
        let changed = changes.summary().map(|text| format!("{text}; {CONFIRM}"));
        let (content, rest) = truncate(row.memory.content, "the rest is in the file; open it by path", limit);
        let notice = join_notices([notice, waits, rest, changed]);
        let path = display_path(&row.path);
        Ok((Some(parsed), GetOutput { path, start_line, end_line, total_lines, content, memory, notice }))
    }
}

/// The next step if code changed.
const CONFIRM: &str = "save the same text again if it still holds, or save a new one with supersedes";

/// The passage whose id is given whole or by its beginning.
fn find_chunk(store: &Store, index: &Index, id: &str) -> Result<Option<ChunkRow>, ToolError> {
    let exact = index.chunk_by_uid(id)?;
    if exact.is_some() || id.len() < MemoryId::SHORTEST_BEGINNING {
        return Ok(exact);
    }
    match index.chunk_uids_beginning_with(id)?.as_slice() {
        [only] if store.rows().ids_beginning_with(id)?.is_empty() => index.chunk_by_uid(only),
        _ => Ok(None),
    }
}

fn memory_details(store: &Store, changes: &CodeChanges, row: &MemoryRow) -> Result<MemoryDetails, ToolError> {
    let confirmed = store.rows().last_confirmation(&row.memory.id)?;
    let standing = store.rows().standing(row)?;
    let (attributes, state) = (&row.memory.attributes, &row.state);
    let displayed = |at: Moment| at.local_second().replace('T', " ");
    let mut metadata = attributes.metadata.clone();
    // The details describe the anchors in words.
    metadata.remove(ANCHORS);
    Ok(MemoryDetails {
        kind: row.memory.kind,
        date: displayed(row.memory.at),
        session_id: row.memory.session_id.clone(),
        also: attributes.also.clone(),
        metadata,
        supersedes: attributes.supersedes.as_ref().map(ToString::to_string),
        superseded_by: row.superseded_by.as_ref().map(ToString::to_string),
        auto: attributes.auto,
        source: attributes.source.as_ref().map(ToString::to_string),
        evidence: evidence_of(store.rows(), &mut store.locator(), row)?,
        code: changes.anchors.iter().map(CodeChange::describe).collect(),
        standing: (standing > Standing::Noted).then(|| standing.name().to_owned()),
        confirmed_at: confirmed.map(|(at, _)| displayed(at)),
        state: row
            .shared_state(&Moment::now())
            .map(|state| format!("shared, {}", state.name()))
            .or(state.phase.name().map(str::to_owned)),
        settled_by: state.settled_by.clone(),
        repeats: state.repeats,
        repeated_at: state.repeated_at.map(displayed),
    })
}

/// The row, synchronised with its entry.
fn refreshed_row(store: &mut Store, id: &MemoryId) -> Result<Option<MemoryRow>, ToolError> {
    let Some(mut row) = store.rows().by_id(id)? else { return Ok(None) };
    match store.catch_up(&row.path, IndexLockWait::Short.duration()) {
        Ok(CatchUpOutcome::AlreadyInSync | CatchUpOutcome::Busy) => return Ok(Some(row)),
        Ok(CatchUpOutcome::SyncedUnread | CatchUpOutcome::SyncedByReading(_)) => return Ok(store.rows().by_id(id)?),
        Err(error) if error.is_damage() => return Err(error.into()),
        // Another process is writing, so the entry is read from the file.
        Err(_) => {}
    }
    let text = read_file(store.layout(), &row.path)?.text;
    let entry =
        LogKind::from_path(&row.path).and_then(|kind| find_entry(text.as_bytes(), &row.memory, &row.path, kind));
    if let Some(entry) = entry {
        row.memory = Memory { id: row.memory.id, ..entry.memory };
    }
    Ok(Some(row))
}

fn get_by_path(store: &Store, path: &str, input: &GetInput, limit: usize) -> Result<GetOutput, ToolError> {
    let from = input.from.unwrap_or(1);
    if from < 1 {
        return Err(ToolError::Invalid(format!("from is {from}: lines count from 1")));
    }
    if let Some(lines) = input.lines.filter(|lines| *lines < 1) {
        return Err(ToolError::Invalid(format!("lines is {lines}: ask for 1 or more")));
    }
    let inside = confine_path(store.layout(), path)?;
    let FileText { text, notice: about } = read_file(store.layout(), &inside)?;
    let total_lines = text.lines().count();
    let start = from.unsigned_abs() as usize;
    let wanted = input.lines.map_or(usize::MAX, |lines| lines.unsigned_abs() as usize);
    let output = |start_line, end_line, content, notice| {
        let (path, notice) = (display_path(&inside), join_notices([about, notice]));
        Ok(GetOutput { path, start_line, end_line, total_lines, content, memory: None, notice })
    };
    if start > total_lines {
        let notice = format!("from is {from}, but the file ends at line {total_lines}");
        return output(total_lines + 1, total_lines, String::new(), Some(notice));
    }
    let mut content = String::new();
    let mut end_line = start - 1;
    let mut notice = None;
    for line in text.lines().skip(start - 1).take(wanted) {
        if !content.is_empty() && content.len() + line.len() > limit {
            notice =
                Some(format!("cut after line {end_line}; continue with from {}, or raise maxTokens", end_line + 1));
            break;
        }
        if end_line >= start {
            content.push('\n');
        }
        content.push_str(line);
        end_line += 1;
    }
    let (content, long_line) = truncate(content, "the line continues", limit);
    let short = input.lines.is_some_and(|_| end_line == total_lines && wanted > total_lines - start + 1);
    let notice = long_line.or(notice).or_else(|| short.then(|| format!("the file ends at line {total_lines}")));
    output(start, end_line, content, notice)
}

fn join_notices<const N: usize>(notices: [Option<String>; N]) -> Option<String> {
    let texts: Vec<String> = notices.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn truncate(mut text: String, rest: &str, limit: usize) -> (String, Option<String>) {
    if text.len() <= limit {
        return (text, None);
    }
    let total = text.chars().count();
    text.truncate(text.floor_char_boundary(limit));
    let notice = format!("cut after {} of {total} characters; {rest}, or raise maxTokens", text.chars().count());
    (text, Some(notice))
}

/// Returns the memory that a conclusion was taken from, with the text around it. `None` if it was saved on purpose, or the memory is gone.
pub(super) fn evidence_of(
    rows: Rows<'_>,
    locator: &mut Locator,
    row: &MemoryRow,
) -> rusqlite::Result<Option<Evidence>> {
    let Some(id) = &row.memory.attributes.source else { return Ok(None) };
    let Some(source) = rows.by_id(id)? else { return Ok(None) };
    let (start_line, end_line) = locator.find_lines(&source);
    Ok(Some(Evidence {
        id: source.memory.id.to_string(),
        kind: source.memory.kind,
        path: display_path(&source.path),
        start_line,
        end_line,
        text: excerpt(&source.memory.content, &row.memory.content),
    }))
}

/// The part of a text that has a conclusion, or else its beginning, on one line.
fn excerpt(text: &str, conclusion: &str) -> String {
    let beginning = conclusion.chars().take(BEGINNING).collect::<String>();
    let (from, to) = match text.find(&beginning) {
        Some(at) => (at.saturating_sub(AROUND), at + conclusion.len() + AROUND),
        None => (0, 2 * AROUND),
    };
    let (from, to) = (text.floor_char_boundary(from), text.ceil_char_boundary(to));
    let words = text[from..to].split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "…" } else { "" };
    let after = if to < text.len() { "…" } else { "" };
    format!("{before}{words}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_has_the_conclusion_and_its_surroundings() {
        let (before, after) = ("전 ".repeat(80), " nach".repeat(60));
        let text = format!("{before}we always use tabs{after}");
        let shown = excerpt(&text, "we always use tabs");
        assert!(
            shown.starts_with("…") && shown.ends_with('…') && shown.contains("전 we always use tabs nach"),
            "{shown}"
        );
        assert_eq!(excerpt("2.", "Cache in Redis"), "2.");
    }
}
