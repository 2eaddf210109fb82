//! One memory with everything that is known about it.

use schema::host::session_context::given_memories;
use schema::log::log_file;
use schema::model::memory::{MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::sharing::SharedState;
use schema::privacy::output_text::clean_text;
use schema::store::MemoryRow;
use schema::tool::{GetOutput, MemoryDetails};
use serde::Serialize;
use tools::engine::Engine;
use tools::error::ToolError;
use tools::index::metadata_tags;

use super::{MemoryItem, digest_of, minute};

/// Lines of the log around a memory.
const AROUND: usize = 2;

/// The most lines of a citation, and sessions whose records are searched for a memory.
const CITED: usize = 60;
const SESSIONS: usize = 200;

/// Characters of a line of a log, which may be as long as a memory.
const LINE: usize = 4_000;

/// The most memories that replaced one another.
const CHAIN: usize = 50;

/// Characters of a text that a page shows at once.
const SHOWN: usize = 200_000;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct OpenedMemory {
    pub(in crate::page) id: String,
    pub(in crate::page) path: String,
    pub(in crate::page) start_line: usize,
    pub(in crate::page) end_line: usize,
    /// The file on this machine.
    pub(in crate::page) file: String,
    pub(in crate::page) text: String,
    /// Whether the page shows only the beginning of the text.
    pub(in crate::page) is_cut: bool,
    /// Whether the text has characters that the page does not show, so that an edit here would remove them.
    pub(in crate::page) has_unshown: bool,
    /// Identifies the text, so that a change of another one is noticed.
    pub(in crate::page) digest: String,
    /// `None` for a passage of Markdown.
    #[serde(flatten)]
    pub(in crate::page) memory: Option<AboutMemory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) notice: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct AboutMemory {
    #[serde(flatten)]
    pub(in crate::page) details: MemoryDetails,
    pub(in crate::page) session_title: Option<String>,
    pub(in crate::page) tags: Vec<String>,
    pub(in crate::page) is_pinned: bool,
    pub(in crate::page) is_long_term: bool,
    pub(in crate::page) is_event: bool,
    /// Whether a person may say that it still holds.
    pub(in crate::page) can_be_confirmed: bool,
    pub(in crate::page) is_open_task: bool,
    /// `proposed`, `approved` or `retired`, if it is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) shared: Option<&'static str>,
    /// The id of the copy that the team has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::page) shared_copy: Option<String>,
    /// Whether it can be proposed to a team.
    pub(in crate::page) can_be_shared: bool,
    /// Whether this user may approve it.
    pub(in crate::page) can_be_approved: bool,
    /// How often a model opened it.
    pub(in crate::page) opened: i64,
    /// The memories that replaced it or that it replaced, the newest first.
    pub(in crate::page) chain: Vec<MemoryItem>,
    /// When sessions were given it, the last first.
    pub(in crate::page) given: Vec<GivenTo>,
}

/// A session that was given a memory.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct GivenTo {
    pub(in crate::page) session_id: String,
    pub(in crate::page) session_title: Option<String>,
    /// `brief`, `recall` or `search`.
    pub(in crate::page) how: &'static str,
    pub(in crate::page) at: String,
}

/// The lines of a log around a memory.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct Citation {
    pub(in crate::page) path: String,
    pub(in crate::page) start_line: usize,
    pub(in crate::page) end_line: usize,
    /// The first of `lines`, from 1.
    pub(in crate::page) first: usize,
    pub(in crate::page) lines: Vec<String>,
}

pub(in crate::page) fn open(engine: &mut Engine, id: &str) -> Result<OpenedMemory, ToolError> {
    let id = engine.resolve_id(id)?;
    let output = engine.peek_details(&id)?;
    let row = engine.peek(&id)?;
    let GetOutput { path, start_line, end_line, content, memory, notice, .. } = output;
    let digest = row.as_ref().map(digest_of).unwrap_or_default();
    let end = content.char_indices().nth(SHOWN).map_or(content.len(), |(at, _)| at);
    let file = engine.store().layout().project().join(&path).to_string_lossy().into_owned();
    let memory = match memory.zip(row) {
        Some((details, row)) => Some(AboutMemory::new(engine, details, &row)?),
        None => None,
    };
    Ok(OpenedMemory {
        id,
        path,
        start_line,
        end_line,
        file,
        text: content[..end].to_owned(),
        is_cut: end < content.len(),
        has_unshown: clean_text(&content[..end]) != content[..end],
        digest,
        memory,
        notice,
    })
}

impl AboutMemory {
    fn new(engine: &mut Engine, details: MemoryDetails, row: &MemoryRow) -> Result<Self, ToolError> {
        let tags = row.memory.attributes.metadata.get("tags").into_iter().flat_map(metadata_tags);
        let shared = row.shared_state(&Moment::now());
        let shared_copy = engine.shared_copy(row)?.map(|copy| copy.memory.id.to_string());
        let session = engine.store().rows().session(&row.memory.session_id)?;
        Ok(Self {
            details,
            session_title: session.and_then(|session| session.title),
            tags: tags.map(str::to_owned).collect(),
            is_pinned: row.memory.attributes.pinned,
            is_long_term: row.path == schema::log::LONG_TERM_FILE,
            is_event: row.memory.kind.is_event(),
            can_be_confirmed: row.memory.kind.may_be_confirmed() && row.superseded_by.is_none(),
            is_open_task: row.is_open_task(),
            shared: shared.map(SharedState::name),
            can_be_shared: engine.may_share(row)?,
            shared_copy,
            can_be_approved: engine.may_approve()(row),
            opened: row.access_count,
            chain: chain(engine, row)?,
            given: given_to(engine, row.memory.id.as_str())?,
        })
    }
}

/// The memories that replaced one another, without this one.
fn chain(engine: &mut Engine, row: &MemoryRow) -> Result<Vec<MemoryItem>, ToolError> {
    let mut seen = vec![row.memory.id.clone()];
    let newer = follow(engine, row, &mut seen, CHAIN, |row| row.superseded_by.clone())?;
    let older = follow(engine, row, &mut seen, 2 * CHAIN, |row| row.memory.attributes.supersedes.clone())?;
    Ok(newer.into_iter().rev().chain(older).collect())
}

/// The memories to which `next` leads, until `most` memories were `seen`.
fn follow(
    engine: &mut Engine,
    from: &MemoryRow,
    seen: &mut Vec<MemoryId>,
    most: usize,
    next: fn(&MemoryRow) -> Option<MemoryId>,
) -> Result<Vec<MemoryItem>, ToolError> {
    let (mut found, mut at) = (Vec::new(), next(from));
    while let Some(id) = at.take().filter(|id| !seen.contains(id) && seen.len() < most) {
        let Some(row) = engine.peek(id.as_str())? else { break };
        seen.push(id);
        at = next(&row);
        found.push(MemoryItem::of_row(&row));
    }
    Ok(found)
}

fn given_to(engine: &mut Engine, id: &str) -> Result<Vec<GivenTo>, ToolError> {
    let mut found = Vec::new();
    for session_id in engine.last_session_ids(SESSIONS)? {
        let mut given = given_memories(engine.store().layout(), &session_id);
        given.retain(|given| given.id == id);
        if given.is_empty() {
            continue;
        }
        let session_title = engine.store().rows().session(&session_id)?.and_then(|session| session.title);
        found.extend(given.into_iter().map(|given| GivenTo {
            session_id: session_id.clone(),
            session_title: session_title.clone(),
            how: given.how.name(),
            at: minute(&given.at),
        }));
    }
    found.sort_by(|a, b| b.at.cmp(&a.at));
    Ok(found)
}

pub(in crate::page) fn cite(engine: &mut Engine, id: &str) -> Result<Citation, ToolError> {
    let id = engine.resolve_id(id)?;
    let row = engine.peek(&id)?;
    let row = row.ok_or_else(|| ToolError::NotFound(format!("there is no memory with the id {id:?}")))?;
    let (start_line, end_line) = engine.locator().find_lines(&row);
    let bytes = log_file::read(&engine.store().layout().store_path(&row.path)).unwrap_or_default();
    let first = start_line.saturating_sub(AROUND).max(1);
    let text = String::from_utf8_lossy(&bytes);
    let count = (end_line + AROUND + 1).saturating_sub(first).min(CITED);
    let lines = text.lines().skip(first - 1).take(if start_line == 0 { 0 } else { count });
    let lines = lines.map(|line| line.chars().take(LINE).collect());
    Ok(Citation { path: row.path.clone(), start_line, end_line, first, lines: lines.collect() })
}

/// The types that a text can get when it is promoted.
pub(in crate::page) fn promotable_types() -> impl Iterator<Item = MemoryType> {
    MemoryType::ALL.into_iter().filter(|kind| !kind.is_event() && *kind != MemoryType::SessionSummary)
}
