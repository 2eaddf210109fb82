//! Session rows: what happened in a session, derived from its memories whenever one of them changes.

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::{Map, Value};

use super::Rows;
use crate::model::memory::{Memory, MemoryType};
use crate::model::moment::Moment;
use crate::model::tool_usage;
use crate::prose::gist::shortened;
use crate::prose::small_talk::is_small_talk;

/// The longest title of a session, in characters.
const TITLE_LENGTH: usize = 80;

/// How many prompts may become the title of a session.
const FIRST_PROMPTS: usize = 5;

impl Rows<'_> {
    /// Updates the row of a session after a memory was inserted. Its last memory only adds to the row, unless it is tool use or a summary;
    /// in all other cases the row is derived again.
    pub(crate) fn add_to_session(&self, memory: &Memory) -> rusqlite::Result<()> {
        let db = self.0;
        let adds = match memory.kind {
            MemoryType::UserPrompt => (1, 0),
            MemoryType::Error => (0, 1),
            MemoryType::ToolUsage | MemoryType::SessionSummary => return self.refresh_session(&memory.session_id),
            kind if !kind.is_event() && has_events(db, &memory.session_id)? => return Ok(()),
            _ => (0, 0),
        };
        // One of the first prompts becomes the title.
        let added = db
            .prepare_cached(
                "UPDATE sessions SET ended_at = ?2, duration = unixepoch(?2) - unixepoch(started_at),
                 prompts = prompts + ?3, errors = errors + ?4
             WHERE id = ?1 AND ended_at <= ?2 AND (prompts >= ?5 OR ?3 = 0)",
            )?
            .execute(params![memory.session_id, memory.at.utc(), adds.0, adds.1, FIRST_PROMPTS as i64])?;
        if added == 0 { self.refresh_session(&memory.session_id) } else { Ok(()) }
    }

    /// Derives the row of one session again. A session without memories has no row.
    pub fn refresh_session(&self, session_id: &str) -> rusqlite::Result<()> {
        if session_id.is_empty() {
            return Ok(());
        }
        let db = self.0;
        let (mut files, mut tools) = (Vec::<String>::new(), 0);
        let mut add_file = |file: &str| {
            if !files.iter().any(|known| known == file) {
                files.push(file.to_owned());
            }
        };
        let mut usages = db.prepare_cached(
            "SELECT content FROM memories INDEXED BY memories_by_session
         WHERE session_id = ?1 AND type = 'tool_usage' ORDER BY created_at, seq",
        )?;
        for content in usages.query_map([session_id], |row| row.get::<_, String>(0))? {
            let content = content?;
            tools += tool_usage::commands(&content).count();
            for file in tool_usage::files(&content) {
                tools += 1;
                add_file(file);
            }
        }
        let (summary, fields) = summary(db, session_id)?;
        let named = fields.get("files").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        named.for_each(add_file);
        let started =
            fields.get("started_at").and_then(Value::as_str).and_then(Moment::parse_rfc3339).map(|at| at.utc());
        let title = first_prompt(db, session_id)?;
        db.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([session_id])?;
        db.prepare_cached(
        "INSERT INTO sessions (id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary)
         SELECT ?1, first, last, unixepoch(last) - unixepoch(first), ?2, prompts, ?3, ?4, errors, ?5 FROM (
             SELECT min(begun, ifnull(?6, begun)) AS first, last, prompts, errors FROM (
                 SELECT ifnull(min(event), min(created_at)) AS begun, ifnull(max(event), max(created_at)) AS last,
                     total(type = 'user_prompt') AS prompts, total(type = 'error') AS errors
                 FROM (SELECT type, created_at, CASE WHEN type IN
                     ('user_prompt', 'assistant_response', 'tool_usage', 'error', 'subagent_result', 'session_summary') THEN created_at END AS event
                     FROM memories INDEXED BY memories_by_session WHERE session_id = ?1)
                 HAVING count(*) > 0))",
    )?
    .execute(params![session_id, title, Value::from(files).to_string(), tools as i64, summary, started])
    .map(drop)
    }
}

/// Whether events determine the times of a session. Its conclusions may be saved at any time.
fn has_events(db: &Connection, session_id: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1 AND (prompts > 0 OR errors > 0 OR tools > 0))";
    db.prepare_cached(sql)?.query_row([session_id], |row| row.get(0))
}

/// Returns the newest summary of a session, and its metadata, which has files and times that no memory has.
fn summary(db: &Connection, session_id: &str) -> rusqlite::Result<(Option<String>, Map<String, Value>)> {
    let sql = "SELECT content, metadata FROM memories INDEXED BY memories_by_session
         WHERE session_id = ?1 AND type = 'session_summary' ORDER BY created_at DESC LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?));
    let found = db.prepare_cached(sql)?.query_row([session_id], read).optional()?;
    let (content, metadata) = found.unwrap_or_default();
    Ok((content, metadata.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default()))
}

/// Returns the first line of the first prompt that asks for something, or else of the first prompt.
fn first_prompt(db: &Connection, session_id: &str) -> rusqlite::Result<Option<String>> {
    let mut first = db.prepare_cached(
        "SELECT content FROM memories INDEXED BY memories_by_session
         WHERE session_id = ?1 AND type = 'user_prompt' ORDER BY created_at, seq LIMIT ?2",
    )?;
    let mut rows = first.query(params![session_id, FIRST_PROMPTS as i64])?;
    let mut title = None;
    while let Some(row) = rows.next()? {
        let prompt = row.get_ref(0)?.as_str()?;
        let asks = !is_small_talk(prompt);
        if title.is_none() || asks {
            let line = prompt.lines().find(|line| !line.trim().is_empty());
            title = line.map(|line| shortened(line, TITLE_LENGTH));
        }
        if asks {
            break;
        }
    }
    Ok(title)
}
