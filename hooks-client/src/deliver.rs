//! The ladder of an event: into the store directly, or, when that cannot be done in time, into the spool.

use std::path::Path;

use schema::capture::{Destination, Draft, Prepared, commit, prepare};
use schema::database::Patience;
use schema::hook::{Event, Occurrence, Payload};
use schema::layout::Layout;
use schema::memory::{Attributes, MemoryType};
use schema::moment::Moment;
use schema::spool;
use schema::store::{Store, StoreError};
use schema::tool_usage;
use schema::track;

use crate::command::Command;

/// Waiting memories that one hook takes along, so that it stays quick after a long outage.
const TAKEN_ALONG: usize = 4;

/// A failure is worth a second look: the importance of memories of it.
const FAILURE_IMPORTANCE: u8 = 3;

/// Remembers what a payload tells, if it tells anything that `command` is for.
pub(crate) fn deliver(command: Command, payload: &Payload, project: &Path) -> Result<(), StoreError> {
    let Some(Occurrence { session_id, event }) = Occurrence::of(payload, project) else { return Ok(()) };
    let mut ladder = Ladder { layout: Layout::new(project), session_id, now: Moment::now(), store: None };
    match (command, event) {
        (Command::PromptSave, Event::Prompt(text)) => ladder.keep(MemoryType::UserPrompt, text, ladder.now),
        (Command::Track, Event::ToolUse(tool_use)) => ladder.track(&tool_use),
        (Command::Track, Event::Failure(text)) => ladder.keep(MemoryType::Error, text, ladder.now),
        (Command::Complete, Event::TurnEnd(answer)) => {
            let used = ladder.flush();
            let kept = answer.map_or(Ok(()), |answer| ladder.keep(MemoryType::AssistantResponse, answer, ladder.now));
            used.and(kept)
        }
        _ => Ok(()),
    }
}

struct Ladder {
    layout: Layout,
    session_id: String,
    now: Moment,
    /// Opened by the first memory that needs it.
    store: Option<Store>,
}

impl Ladder {
    fn track(&self, tool_use: &schema::hook::Use) -> Result<(), StoreError> {
        self.layout.create().map_err(|source| StoreError::Create { path: self.layout.dir().to_owned(), source })?;
        track::append(&self.layout, &self.session_id, tool_use, &self.now)
    }

    /// Makes one memory of what the turn changed.
    fn flush(&mut self) -> Result<(), StoreError> {
        let (layout, session_id) = (self.layout.clone(), self.session_id.clone());
        track::take(&layout, &session_id, |taken| match tool_usage::describe(&taken.files, &taken.commands) {
            Some(text) => self.keep(MemoryType::ToolUsage, text, taken.at),
            None => Ok(()),
        })
    }

    fn keep(&mut self, kind: MemoryType, content: String, at: Moment) -> Result<(), StoreError> {
        let importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        let draft = Draft {
            session_id: self.session_id.clone(),
            kind,
            content,
            at,
            attributes: Attributes { importance, ..Attributes::default() },
            destination: Destination::DailyLog,
        };
        let Some(prepared) = prepare(draft) else { return Ok(()) };
        match self.write(&prepared) {
            Ok(()) => Ok(()),
            // The event waits for somebody with more time or more rights; the fault is still told.
            Err(fault) => spool::put(&self.layout, &prepared).and(Err(fault)),
        }
    }

    fn write(&mut self, prepared: &Prepared) -> Result<(), StoreError> {
        let store = match &mut self.store {
            Some(store) => store,
            none => none.insert(Store::open(self.layout.project(), Patience::Hook)?),
        };
        commit(store, prepared)?;
        spool::drain(store, TAKEN_ALONG).map(drop)
    }
}
