//! The ladder of an event: into the store directly, or, when that cannot be done in time, into the spool.

use std::path::Path;

use schema::brief::{DEFAULT_SIZE, Occasion, brief};
use schema::capture::{Destination, Draft, Prepared, commit, prepare};
use schema::database::Patience;
use schema::extract::extract;
use schema::hook::{Event, Occurrence, Payload, session_context};
use schema::layout::Layout;
use schema::memory::{Attributes, MemoryType};
use schema::moment::Moment;
use schema::screen::Screen;
use schema::spool;
use schema::store::{Store, StoreError};
use schema::tool_usage;
use schema::track;
use schema::transcript::{Since, Thread, last_answer, turns};

use crate::command::Command;

/// Waiting memories that one hook takes along, so that it stays quick after a long outage.
const TAKEN_ALONG: usize = 4;

/// A failure is worth a second look: the importance of memories of it.
const FAILURE_IMPORTANCE: u8 = 3;

/// Remembers what a payload tells, if it tells anything that `command` is for, and answers what the host is to be told.
pub(crate) fn deliver(command: Command, payload: &Payload, project: &Path) -> Result<Option<String>, StoreError> {
    let screen = Screen::default();
    let Some(Occurrence { session_id, event }) = Occurrence::of(payload, project, &screen) else { return Ok(None) };
    let mut ladder = Ladder { layout: Layout::new(project), session_id, now: Moment::now(), screen, store: None };
    match (command, event) {
        (Command::Load, Event::SessionStart(occasion)) => return ladder.brief(occasion),
        (Command::PromptSave, Event::Prompt(text)) => {
            // An interrupted turn has no end of its own; what it changed is remembered before the next one begins.
            let used = ladder.flush();
            let kept = ladder.keep(MemoryType::UserPrompt, text, ladder.now);
            used.and(kept)
        }
        (Command::Track, Event::ToolUse(tool_use)) => ladder.track(&tool_use),
        (Command::Track, Event::Failure(text)) => ladder.keep(MemoryType::Error, text, ladder.now),
        (Command::Complete, Event::TurnEnd(answer)) => {
            let used = ladder.flush();
            let answer = answer.or_else(|| said_last(payload.transcript_path.as_deref(), Thread::Main));
            let kept = answer.map_or(Ok(()), |answer| ladder.keep(MemoryType::AssistantResponse, answer, ladder.now));
            used.and(kept)
        }
        (Command::Subagent, Event::Report { agent_type, text }) => {
            match text.or_else(|| said_last(payload.agent_transcript_path.as_deref(), Thread::Subagent)) {
                Some(text) => {
                    let text = agent_type.map_or(text.clone(), |kind| format!("{kind}: {text}"));
                    ladder.keep(MemoryType::SubagentResult, text, ladder.now)
                }
                None => Ok(()),
            }
        }
        (Command::Flush, Event::CompactionAhead) => {
            let used = ladder.flush();
            used.and(ladder.extract(payload.transcript_path.as_deref()))
        }
        (Command::Compact, Event::Compacted(summary)) => ladder.keep(MemoryType::SessionSummary, summary, ladder.now),
        (Command::Save, Event::SessionEnd) => ladder.end(),
        _ => Ok(()),
    }
    .map(|()| None)
}

/// The last thing that was said in a transcript. One that is missing or unreadable says nothing.
fn said_last(transcript: Option<&str>, thread: Thread) -> Option<String> {
    last_answer(Path::new(transcript?), thread).ok().flatten()
}

struct Ladder {
    layout: Layout,
    session_id: String,
    now: Moment,
    screen: Screen,
    /// Opened by the first memory that needs it.
    store: Option<Store>,
}

impl Ladder {
    fn track(&self, tool_use: &schema::hook::Use) -> Result<(), StoreError> {
        self.layout.create().map_err(|source| StoreError::Create { path: self.layout.dir().to_owned(), source })?;
        track::append(&self.layout, &self.session_id, tool_use, &self.now, &self.screen)
    }

    /// Makes one memory of what the turn changed.
    fn flush(&mut self) -> Result<(), StoreError> {
        let (layout, session_id) = (self.layout.clone(), self.session_id.clone());
        track::take(&layout, &session_id, |taken| match tool_usage::describe(&taken.files, &taken.commands) {
            Some(text) => self.keep(MemoryType::ToolUsage, text, taken.at),
            None => Ok(()),
        })
    }

    /// Remembers what was decided, learned and fixed since the last compaction, before its words leave the context.
    fn extract(&mut self, transcript: Option<&str>) -> Result<(), StoreError> {
        let Some(said) = transcript.and_then(|path| turns(Path::new(path), Since::LastCompaction).ok()) else {
            return Ok(());
        };
        for found in extract(said, &self.screen) {
            self.keep(found.kind, found.content, found.at)?;
        }
        Ok(())
    }

    /// Remembers what is still in the buffer, and tidies up after sessions of yesterday.
    fn end(&mut self) -> Result<(), StoreError> {
        track::tidy(&self.layout);
        self.flush()
    }

    /// What the host adds to the context of a session that begins, as it wants to be told.
    fn brief(&mut self, occasion: Occasion) -> Result<Option<String>, StoreError> {
        let (layout, session_id) = (self.layout.clone(), self.session_id.clone());
        // A project without a memory is left as it is until there is something to remember.
        if !layout.memory_db().exists() {
            return Ok(None);
        }
        let project = layout.project().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = brief(self.store()?.rows(), &project, &session_id, occasion, DEFAULT_SIZE)?;
        Ok(text.map(|text| session_context(&text)))
    }

    fn store(&mut self) -> Result<&mut Store, StoreError> {
        match &mut self.store {
            Some(store) => Ok(store),
            none => Ok(none.insert(Store::open(self.layout.project(), Patience::Hook)?)),
        }
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
        let Some(prepared) = prepare(draft, &self.screen) else { return Ok(()) };
        match self.write(&prepared) {
            Ok(()) => Ok(()),
            // The event waits for somebody with more time or more rights; the fault is still told.
            Err(fault) => spool::put(&self.layout, &prepared).and(Err(fault)),
        }
    }

    fn write(&mut self, prepared: &Prepared) -> Result<(), StoreError> {
        let store = self.store()?;
        commit(store, prepared)?;
        spool::drain(store, TAKEN_ALONG).map(drop)
    }
}
