//! `memory_get`: a full hit, or lines of a memory file.

use schema::host::code::changes::{ChangeDetector, CodeChange};
use schema::log::{LogKind, find_entry};
use schema::model::code_anchor::ANCHORS;
use schema::model::memory::{Memory, MemoryId};
use schema::model::moment::Moment;
use schema::model::state_note::Standing;
use schema::store::{CatchUpOutcome, MemoryRow, Store, StoreAccess};
use schema::tool::{GetInput, GetOutput, MemoryDetails};
use serde_json::{Map, Value};

use super::evidence::evidence_of;
use super::file_access::{FileText, confine_path, display_path, max_bytes, read_file};
use crate::error::ToolError;
use crate::index::{ChunkRow, Index, IndexLockWait};

pub(super) fn get(
    store: &mut Store,
    index: &Index,
    detector: &mut ChangeDetector,
    input: &GetInput,
) -> Result<GetOutput, ToolError> {
    let limit = max_bytes(input.max_tokens)?;
    match (&input.id, &input.path) {
        (Some(id), None) => {
            let (row_id, output) = get_by_id(store, index, detector, id.trim(), limit)?;
            if let Some(id) = row_id.filter(|_| *store.access() == StoreAccess::Full) {
                // The read counter is optional, so a lock held by another process is no reason to fail.
                let _ = store.rows().record_access(&id, &Moment::now());
            }
            Ok(output)
        }
        (None, Some(path)) => get_by_path(store, path, input.from, input.lines, limit),
        (Some(_), Some(_)) => Err(ToolError::Invalid("give either id or path, not both".to_owned())),
        (None, None) => Err(ToolError::Invalid("give the id of a search hit or the path of a file".to_owned())),
    }
}

/// Returns a chunk, or a memory with its id.
pub(super) fn get_by_id(
    store: &mut Store,
    index: &Index,
    detector: &mut ChangeDetector,
    id: &str,
    limit: usize,
) -> Result<(Option<MemoryId>, GetOutput), ToolError> {
    if let Some(chunk) = find_chunk(store, index, &comparable_id(id))? {
        let FileText { text, notice } = read_file(store.layout(), &chunk.path)?;
        let total_lines = count_lines(&text);
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
        Ok(FileText { text, notice }) => (count_lines(&text), notice),
        Err(_) => (end_line, None),
    };
    let waits = row
        .is_pending()
        .then(|| "another program is writing the file; the memory is added when it has finished".to_owned());
    detector.begin();
    let changes = detector.changes(store.rows(), &row)?;
    let confirmed = store.rows().last_confirmation(&row.memory.id)?;
    let standing = store.rows().standing(&row)?;
    let memory = Some(MemoryDetails {
        evidence: evidence_of(store.rows(), &mut store.locator(), &row)?,
        code: changes.anchors.iter().map(CodeChange::describe).collect(),
        standing: Some(standing)
            .filter(|standing| *standing > Standing::Noted)
            .map(|standing| standing.name().to_owned()),
        confirmed_at: confirmed.map(|(at, _)| at.local_second().replace('T', " ")),
        ..memory_details(&row)
    });
    let changed = changes.summary().map(|text| format!("{text}; {CONFIRM}"));
    let (content, rest) = truncate(row.memory.content, "the rest is in the file; open it by path", limit);
    let notice = join_notices([notice, waits, rest, changed]);
    let path = display_path(&row.path);
    Ok((Some(parsed), GetOutput { path, start_line, end_line, total_lines, content, memory, notice }))
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

/// The fewest characters of an id that stand for it. The brief shows as many.
pub(super) const SHORTEST: usize = 8;

/// The id that is given whole or by its beginning, if there is a memory with it.
pub(super) fn resolve_id(store: &Store, id: &str) -> Result<Option<MemoryId>, ToolError> {
    let rows = store.rows();
    let Some(parsed) = MemoryId::parse(id) else { return Ok(None) };
    if id.len() < MemoryId::SHORTEST_BEGINNING || rows.by_id(&parsed)?.is_some() {
        return Ok(rows.by_id(&parsed)?.map(|_| parsed));
    }
    let id = &comparable_id(id);
    Ok(only_match(id, rows.ids_beginning_with(id)?)?.and_then(|only| MemoryId::parse(&only)))
}

/// An id as it is stored: hexadecimal digits are lower-case.
pub(super) fn comparable_id(id: &str) -> String {
    let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { id.to_ascii_lowercase() } else { id.to_owned() }
}

/// The only one of these ids, all with the same beginning, or the one that is the beginning itself.
pub(super) fn only_match(beginning: &str, ids: Vec<String>) -> Result<Option<String>, ToolError> {
    if let [first, second, ..] = &ids[..]
        && first != beginning
    {
        let text = format!("{beginning:?} matches {first} and {second}: give more characters of the id");
        return Err(ToolError::Invalid(text));
    }
    Ok(ids.into_iter().next())
}

fn memory_details(row: &MemoryRow) -> MemoryDetails {
    let state = &row.state;
    MemoryDetails {
        kind: row.memory.kind,
        date: row.memory.at.local_second().replace('T', " "),
        session_id: row.memory.session_id.clone(),
        also: row.memory.attributes.also.clone(),
        metadata: without_anchors(row.memory.attributes.metadata.clone()),
        supersedes: row.memory.attributes.supersedes.as_ref().map(ToString::to_string),
        superseded_by: row.superseded_by.as_ref().map(ToString::to_string),
        auto: row.memory.attributes.auto,
        source: row.memory.attributes.source.as_ref().map(ToString::to_string),
        evidence: None,
        code: Vec::new(),
        standing: None,
        confirmed_at: None,
        state: row
            .shared_state(&Moment::now())
            .map(|state| format!("shared, {}", state.name()))
            .or(state.phase.name().map(str::to_owned)),
        settled_by: state.settled_by.clone(),
        repeats: state.repeats,
        repeated_at: state.repeated_at.map(|at| at.local_second().replace('T', " ")),
    }
}

/// The details describe the anchors in words.
fn without_anchors(mut metadata: Map<String, Value>) -> Map<String, Value> {
    metadata.remove(ANCHORS);
    metadata
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

fn get_by_path(
    store: &Store,
    path: &str,
    from: Option<i64>,
    lines: Option<i64>,
    limit: usize,
) -> Result<GetOutput, ToolError> {
    let from = from.unwrap_or(1);
    if from < 1 {
        return Err(ToolError::Invalid(format!("from is {from}: lines count from 1")));
    }
    if lines.is_some_and(|lines| lines < 1) {
        return Err(ToolError::Invalid(format!("lines is {}: ask for 1 or more", lines.unwrap_or_default())));
    }
    let inside = confine_path(store.layout(), path)?;
    let FileText { text, notice: about } = read_file(store.layout(), &inside)?;
    let total_lines = count_lines(&text);
    let start = from.unsigned_abs() as usize;
    let wanted = lines.map_or(usize::MAX, |lines| lines.unsigned_abs() as usize);
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
    let short = lines.is_some_and(|_| end_line == total_lines && wanted > total_lines - start + 1);
    let notice = long_line.or(notice).or_else(|| short.then(|| format!("the file ends at line {total_lines}")));
    output(start, end_line, content, notice)
}

fn join_notices<const N: usize>(notices: [Option<String>; N]) -> Option<String> {
    let texts: Vec<String> = notices.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn count_lines(text: &str) -> usize {
    text.lines().count()
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
