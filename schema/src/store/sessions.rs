//! Session rows: what happened in a session, derived from its memories whenever one of them changes.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::{Map, Value};

use crate::memory::{Memory, MemoryType};
use crate::moment::Moment;
use crate::tool_usage;

/// Characters of a session's title.
const TITLE: usize = 80;

/// Brings the row of a session up to a memory that was just inserted. What comes last and is no tool use or summary only adds
/// to the row; anything else has it derived anew.
pub(super) fn add(db: &Connection, memory: &Memory) -> rusqlite::Result<()> {
    let adds = match memory.kind {
        MemoryType::UserPrompt => (1, 0),
        MemoryType::Error => (0, 1),
        MemoryType::ToolUsage | MemoryType::SessionSummary => return refresh(db, &memory.session_id),
        _ => (0, 0),
    };
    // Without a title yet, this prompt may be it.
    let added = db
        .prepare_cached(
            "UPDATE sessions SET ended_at = ?2, duration = unixepoch(?2) - unixepoch(started_at),
                 prompts = prompts + ?3, errors = errors + ?4
             WHERE id = ?1 AND ended_at <= ?2 AND (title IS NOT NULL OR ?3 = 0)",
        )?
        .execute(params![memory.session_id, memory.at.utc(), adds.0, adds.1])?;
    if added == 0 { refresh(db, &memory.session_id) } else { Ok(()) }
}

/// Derives the row of one session anew; without memories it has none.
pub(super) fn refresh(db: &Connection, session_id: &str) -> rusqlite::Result<()> {
    if session_id.is_empty() {
        return Ok(());
    }
    let (mut files, mut tools) = (Vec::<String>::new(), 0);
    let mut usages = db.prepare_cached(
        "SELECT content FROM memories INDEXED BY memories_by_session
         WHERE session_id = ?1 AND type = 'tool_usage' ORDER BY created_at, seq",
    )?;
    for content in usages.query_map([session_id], |row| row.get::<_, String>(0))? {
        let content = content?;
        tools += tool_usage::commands(&content).count();
        for file in tool_usage::files(&content) {
            tools += 1;
            if !files.iter().any(|known| known == file) {
                files.push(file.to_owned());
            }
        }
    }
    let (summary, fields) = summary(db, session_id)?;
    let named = fields.get("files").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for file in named {
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
    }
    let started = fields.get("started_at").and_then(Value::as_str).and_then(Moment::parse_rfc3339).map(|at| at.utc());
    let title = first_prompt(db, session_id)?;
    db.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session_id])?;
    db.prepare_cached(
        "INSERT INTO sessions (id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary)
         SELECT ?1, first, last, unixepoch(last) - unixepoch(first), ?2, prompts, ?3, ?4, errors, ?5 FROM (
             SELECT min(min(created_at), ifnull(?6, min(created_at))) AS first, max(created_at) AS last,
                 total(type = 'user_prompt') AS prompts, total(type = 'error') AS errors
             FROM memories INDEXED BY memories_by_session WHERE session_id = ?1 HAVING count(*) > 0)",
    )?
    .execute(params![session_id, title, Value::from(files).to_string(), tools as i64, summary, started])
    .map(drop)
}

/// The newest summary of a session, and what its metadata says of files and times that no memory tells.
fn summary(db: &Connection, session_id: &str) -> rusqlite::Result<(Option<String>, Map<String, Value>)> {
    let sql = "SELECT content, metadata FROM memories INDEXED BY memories_by_session
         WHERE session_id = ?1 AND type = 'session_summary' ORDER BY created_at DESC LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?));
    let found = db.prepare_cached(sql)?.query_row([session_id], read).optional()?;
    let (content, metadata) = found.unwrap_or_default();
    Ok((content, metadata.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()))
}

fn first_prompt(db: &Connection, session_id: &str) -> rusqlite::Result<Option<String>> {
    let mut first = db.prepare_cached(
        "SELECT content FROM memories INDEXED BY memories_by_session
         WHERE session_id = ?1 AND type = 'user_prompt' ORDER BY created_at, seq LIMIT 1",
    )?;
    let mut rows = first.query([session_id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let prompt = row.get_ref(0)?.as_str()?;
    Ok(prompt.lines().find(|line| !line.trim().is_empty()).map(|line| line.trim().chars().take(TITLE).collect()))
}
