//! Reads the text of an item, and finds its place.

use schema::model::memory::short_id;
use schema::store::{MemoryRow, SessionRow};
use schema::tool::GetInput;
use tools::engine::{Engine, HistoryFilter};
use tools::error::ToolError;

use super::super::message::{BrowseReply, ItemKind, ItemRef, OpenedItem, ReadMode};
use crate::cli::sessions::{render_counts, session_title, short_session_id, text_of};
use crate::cli::terminal_text::{clean_for_terminal, count_of_memories, format_duration, one_line};

pub(super) fn open_item(engine: &mut Engine, item: &ItemRef, mode: ReadMode) -> Result<OpenedItem, ToolError> {
    let id = item.id.clone();
    if item.kind == ItemKind::Session {
        return open_session(engine, id);
    }
    let row = engine.peek(&id)?;
    if let Some(row) = row.as_ref().filter(|_| mode == ReadMode::Preview) {
        let about = describe_row(row);
        return Ok(OpenedItem { id, about, content: clean_for_terminal(&row.memory.content) });
    }
    let input = GetInput { id: Some(id.clone()), max_tokens: Some(i64::from(u16::MAX)), ..GetInput::default() };
    let output = engine.get(&input)?;
    let about = row.as_ref().map_or_else(|| one_line(&format!("{}:{}", output.path, output.start_line)), describe_row);
    Ok(OpenedItem { id, about, content: clean_for_terminal(&output.content) })
}

fn open_session(engine: &mut Engine, id: String) -> Result<OpenedItem, ToolError> {
    let mut wanted = HistoryFilter::default();
    wanted.filter.session_id = Some(id.clone());
    let sessions = engine.sessions(&wanted, usize::MAX)?;
    let session = sessions.into_iter().find(|session| session.id == id);
    let session = session.ok_or_else(|| ToolError::NotFound(format!("there is no session {id:?} any more")))?;
    let about = format!("session {}, {}", short_session_id(&id), count_of_memories(session.memories));
    Ok(OpenedItem { id, about, content: describe_session(&session) })
}

/// A session in some lines: its title, when it was, what it changed, and its summary.
fn describe_session(session: &SessionRow) -> String {
    let mut lines = vec![session_title(session.title.as_deref()), String::new()];
    lines.push(format!(
        "{} {}, {}, {}",
        session.started.date(),
        &session.started.time()[..5],
        format_duration(session.duration()),
        render_counts(session.prompts, session.errors)
    ));
    for name in ["branch", "commit", "model", "end_reason"] {
        lines.extend(text_of(session, name).map(|value| format!("{}: {value}", name.replace('_', " "))));
    }
    if !session.files.is_empty() {
        lines.push(String::new());
        lines.extend(session.files.iter().map(|file| one_line(file)));
    }
    lines.extend(session.summary.as_deref().map(|summary| format!("\n{}", clean_for_terminal(summary))));
    lines.join("\n")
}

fn describe_row(row: &MemoryRow) -> String {
    let MemoryRow { memory, path, superseded_by, access_count, .. } = row;
    let mut about = format!("{}, {}, {path}", memory.kind, memory.at.local_second().replace('T', " "));
    if !memory.session_id.is_empty() {
        about.push_str(&format!(", session {}", short_session_id(&memory.session_id)));
    }
    let supersedes = memory.attributes.supersedes.as_ref();
    about.extend(supersedes.map(|id| format!(", supersedes {}", short_id(id.as_str()))));
    about.extend(superseded_by.as_ref().map(|id| format!(", superseded by {}", short_id(id.as_str()))));
    if memory.attributes.pinned {
        about.push_str(", pinned");
    }
    if *access_count > 0 {
        about.push_str(&format!(", opened {access_count}×"));
    }
    one_line(&about)
}

pub(super) fn locate_item(engine: &mut Engine, id: String) -> Result<BrowseReply, ToolError> {
    if let Some(row) = engine.peek(&id)? {
        let path = format!("{}/{}", schema::files::layout::STORE_DIR, row.path);
        return Ok(BrowseReply::Location { path, line: engine.locator().find_lines(&row).0 });
    }
    let output = engine.get(&GetInput { id: Some(id), ..GetInput::default() })?;
    Ok(BrowseReply::Location { path: output.path, line: output.start_line })
}
