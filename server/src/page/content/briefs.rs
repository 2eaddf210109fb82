//! The brief that the next session would get, and the memories that earlier ones got.

use std::collections::HashMap;

use schema::host::hook::SessionSource;
use schema::host::session_context::given_memories;
use schema::privacy::output_text::clean_line;
use schema::settings::{self, BRIEF_SIZES, BriefMode};
use serde::Deserialize;
use tools::engine::Engine;
use tools::error::ToolError;

use super::{MemoryItem, minute};

/// Sessions on the page, and memories of one of them.
const SESSIONS: usize = 30;
const MEMORIES: usize = 60;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(in crate::page) struct BriefsForm {
    pub(in crate::page) source: String,
    /// A number; others are ignored.
    pub(in crate::page) size: String,
}

#[derive(Debug)]
pub(in crate::page) struct Briefs {
    pub(in crate::page) source: SessionSource,
    /// The size that was tried, and the one of the settings.
    pub(in crate::page) size: usize,
    pub(in crate::page) set_size: usize,
    /// The setting `brief`.
    pub(in crate::page) mode: BriefMode,
    pub(in crate::page) brief: Option<String>,
    pub(in crate::page) sessions: Vec<GivenSession>,
}

/// The memories that a session was given.
#[derive(Debug)]
pub(in crate::page) struct GivenSession {
    pub(in crate::page) id: String,
    pub(in crate::page) title: Option<String>,
    pub(in crate::page) started: String,
    pub(in crate::page) memories: Vec<GivenItem>,
    /// Memories that are not listed.
    pub(in crate::page) more: usize,
}

#[derive(Debug)]
pub(in crate::page) struct GivenItem {
    pub(in crate::page) how: &'static str,
    pub(in crate::page) at: String,
    /// `None` if it was deleted since.
    pub(in crate::page) memory: Option<MemoryItem>,
}

/// Reasons for a session to start.
pub(in crate::page) const SOURCES: [SessionSource; 4] =
    [SessionSource::Startup, SessionSource::Resume, SessionSource::Compact, SessionSource::Clear];

pub(in crate::page) fn read(engine: &mut Engine, form: &BriefsForm) -> Result<Briefs, ToolError> {
    let settings = settings::load(engine.store().layout()).settings;
    let source = SessionSource::parse(&form.source);
    let size = form
        .size
        .trim()
        .parse()
        .map_or(settings.brief_size, |size: usize| size.clamp(*BRIEF_SIZES.start(), *BRIEF_SIZES.end()));
    let sessions = engine.last_sessions(SESSIONS)?;
    // A session that goes on, or that was compacted, is the last one.
    let last = sessions.first().map(|session| session.id.clone()).unwrap_or_default();
    let session_id = if source == SessionSource::Startup { "" } else { &last };
    let brief = engine.brief_for(source, session_id, Some(size))?;
    // Briefs repeat memories.
    let mut known: HashMap<String, Option<MemoryItem>> = HashMap::new();
    let mut given_to = Vec::new();
    for session in sessions {
        let memories = given_memories(engine.store().layout(), &session.id);
        if memories.is_empty() {
            continue;
        }
        let more = memories.len().saturating_sub(MEMORIES);
        let mut listed = Vec::new();
        for given in memories.into_iter().take(MEMORIES) {
            if !known.contains_key(&given.id) {
                let row = engine.peek(&given.id)?;
                known.insert(given.id.clone(), row.as_ref().map(MemoryItem::of_row));
            }
            let memory = known.get(&given.id).cloned().flatten();
            listed.push(GivenItem { how: given.how.name(), at: minute(&given.at), memory });
        }
        given_to.push(GivenSession {
            id: session.id,
            title: session.title.as_deref().map(clean_line),
            started: minute(&session.started),
            memories: listed,
            more,
        });
    }
    Ok(Briefs { source, size, set_size: settings.brief_size, mode: settings.brief, brief, sessions: given_to })
}
