//! `memory_get`: a hit whole, or lines of a memory file.

use schema::daily_log::{LogKind, find};
use schema::memory::{Memory, MemoryId};
use schema::moment::Moment;
use schema::store::{Access, CaughtUp, Row, Store};
use schema::tool::{AboutMemory, GetInput, GetOutput};

use super::file_access::{Text, confine, read, shown};
use crate::error::ToolError;
use crate::index::{Index, Urgency};

/// Tokens of an answer when nothing is said, of about four bytes each.
const DEFAULT_TOKENS: i64 = 8_000;

pub(super) fn get(store: &mut Store, index: &Index, input: &GetInput) -> Result<GetOutput, ToolError> {
    let tokens = input.max_tokens.unwrap_or(DEFAULT_TOKENS);
    if tokens < 1 {
        return Err(ToolError::Invalid(format!("maxTokens is {tokens}: it starts at 1")));
    }
    let limit = (tokens.unsigned_abs() as usize).saturating_mul(4);
    match (&input.id, &input.path) {
        (Some(id), None) => by_id(store, index, id.trim(), limit),
        (None, Some(path)) => by_path(store, path, input.from, input.lines, limit),
        (Some(_), Some(_)) => Err(ToolError::Invalid("give either id or path, not both".to_owned())),
        (None, None) => Err(ToolError::Invalid("give the id of a search hit, or the path of a file".to_owned())),
    }
}

fn by_id(store: &mut Store, index: &Index, id: &str, limit: usize) -> Result<GetOutput, ToolError> {
    if let Some(chunk) = index.chunk_by_uid(id)? {
        let Text { text, notice } = read(store.layout(), &chunk.path)?;
        let total_lines = count_lines(&text);
        let (content, rest) = cut(chunk.text, "the rest is in the file; open it by path", limit);
        let notice = joined(notice, rest);
        let (start_line, end_line) = (chunk.start_line, chunk.end_line);
        let path = shown(&chunk.path);
        return Ok(GetOutput { path, start_line, end_line, total_lines, content, memory: None, notice });
    }
    let missing = || {
        ToolError::NotFound(format!(
            "there is no memory with the id {id:?}; it may have been edited or deleted: search again"
        ))
    };
    let parsed = MemoryId::parse(id).ok_or_else(missing)?;
    let row = located(store, &parsed)?.ok_or_else(missing)?;
    if *store.access() == Access::Full {
        // How often a memory is read is nice to know; another process that writes is no reason to fail.
        let _ = store.rows().touch(&parsed, &Moment::now());
    }
    let (start_line, end_line) = store.locator().lines(&row);
    let (total_lines, notice) = match read(store.layout(), &row.path) {
        Ok(Text { text, notice }) => (count_lines(&text), notice),
        Err(_) => (end_line, None),
    };
    let waits = row
        .is_waiting()
        .then(|| "another program is writing the file; the memory comes when it has finished".to_owned());
    let memory = Some(about(&row));
    let (content, rest) = cut(row.memory.content, "the rest is in the file; open it by path", limit);
    let notice = joined(joined(notice, waits), rest);
    Ok(GetOutput { path: shown(&row.path), start_line, end_line, total_lines, content, memory, notice })
}

fn about(row: &Row) -> AboutMemory {
    AboutMemory {
        kind: row.memory.kind,
        date: row.memory.at.local_second().replace('T', " "),
        session_id: row.memory.session_id.clone(),
        metadata: row.memory.attributes.metadata.clone(),
        supersedes: row.memory.attributes.supersedes.as_ref().map(ToString::to_string),
        superseded_by: row.superseded_by.as_ref().map(ToString::to_string),
    }
}

/// The row as its entry says now.
fn located(store: &mut Store, id: &MemoryId) -> Result<Option<Row>, ToolError> {
    let Some(mut row) = store.rows().by_id(id)? else { return Ok(None) };
    match store.catch_up(&row.path, Urgency::Now.limit()) {
        Ok(CaughtUp::WasInStep | CaughtUp::NotYet) => return Ok(Some(row)),
        Ok(CaughtUp::WithoutReading | CaughtUp::ByReading(_)) => return Ok(store.rows().by_id(id)?),
        Err(error) if error.is_damage() => return Err(error.into()),
        // When another process writes just now, the entry is looked up in the file instead.
        Err(_) => {}
    }
    let text = read(store.layout(), &row.path)?.text;
    let entry = LogKind::of(&row.path).and_then(|kind| find(text.as_bytes(), &row.memory, &row.path, kind));
    if let Some(entry) = entry {
        row.memory = Memory { id: row.memory.id, ..entry.memory };
    }
    Ok(Some(row))
}

fn by_path(
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
    let inside = confine(store.layout(), path)?;
    let Text { text, notice: about } = read(store.layout(), &inside)?;
    let total_lines = count_lines(&text);
    let start = from.unsigned_abs() as usize;
    let wanted = lines.map_or(usize::MAX, |lines| lines.unsigned_abs() as usize);
    if start > total_lines {
        let notice = format!("the file ends at line {total_lines}");
        let (end_line, content) = (start - 1, String::new());
        return Ok(GetOutput {
            path: shown(&inside),
            start_line: start,
            end_line,
            total_lines,
            content,
            memory: None,
            notice: joined(about, Some(notice)),
        });
    }
    let mut content = String::new();
    let mut end_line = start - 1;
    let mut notice = None;
    for line in text.lines().skip(start - 1).take(wanted) {
        if !content.is_empty() && content.len() + line.len() > limit {
            notice = Some(format!("cut after line {end_line}; go on with from {}, or raise maxTokens", end_line + 1));
            break;
        }
        if end_line >= start {
            content.push('\n');
        }
        content.push_str(line);
        end_line += 1;
    }
    let (content, long_line) = cut(content, "the line goes on", limit);
    let short = lines.is_some_and(|_| end_line == total_lines && wanted > total_lines - start + 1);
    let notice = long_line.or(notice).or_else(|| short.then(|| format!("the file ends at line {total_lines}")));
    let notice = joined(about, notice);
    Ok(GetOutput { path: shown(&inside), start_line: start, end_line, total_lines, content, memory: None, notice })
}

fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    let texts: Vec<String> = one.into_iter().chain(other).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn count_lines(text: &str) -> usize {
    text.lines().count()
}

fn cut(mut text: String, rest: &str, limit: usize) -> (String, Option<String>) {
    if text.len() <= limit {
        return (text, None);
    }
    let total = text.chars().count();
    text.truncate(text.floor_char_boundary(limit));
    let notice = format!("cut after {} of {total} characters; {rest}, or raise maxTokens", text.chars().count());
    (text, Some(notice))
}
