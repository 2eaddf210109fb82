//! The ladder of an event: to the running server, else into the store directly, else into the spool.

use std::path::Path;

use schema::brief::{Occasion, Request, brief, recollection};
use schema::capture::{Destination, Draft, Prepared, commit, prepare};
use schema::database::Patience;
use schema::extract::extract;
use schema::hook::{Adds, Event, Occurrence, Payload, add_context, warn_at_start};
use schema::hook_log;
use schema::layout::Layout;
use schema::memory::{Attributes, MemoryType};
use schema::moment::Moment;
use schema::queue;
use schema::screen::Screen;
use schema::settings::{self, Loaded};
use schema::shown;
use schema::spool;
use schema::store::{Store, StoreError};
use schema::tool_usage;
use schema::track;
use schema::transcript::{Since, Thread, last_answer, turns};

use crate::backfill;
use crate::command::Command;

/// Waiting memories that one hook takes along, so that it stays quick after a long outage.
const TAKEN_ALONG: usize = 4;

/// A failure is worth a second look: the importance of memories of it.
const FAILURE_IMPORTANCE: u8 = 3;

/// Remembers what a payload tells, if it tells anything that `command` is for, and answers what the host is to be told.
pub(crate) fn deliver(
    command: Command,
    payload: &Payload,
    layout: &Layout,
    loaded: &Loaded,
) -> Result<Option<String>, StoreError> {
    let screen = &loaded.screen;
    let Some(Occurrence { session_id, event }) = Occurrence::of(payload, layout.project(), screen) else {
        return Ok(None);
    };
    let mut ladder = Ladder { layout, session_id, now: Moment::now(), screen, store: None };
    match (command, event) {
        (Command::Load, Event::SessionStart(occasion)) => return ladder.brief(occasion, loaded),
        (Command::PromptSave, Event::Prompt(text)) if loaded.settings.recall => {
            let kept = if loaded.settings.capture { ladder.end_turn(prompted(text.clone())) } else { Ok(()) };
            let recalled = ladder.recall(&text);
            return kept.map(|()| recalled);
        }
        _ if !loaded.settings.capture => Ok(()),
        (Command::PromptSave, Event::Prompt(text)) => ladder.end_turn(prompted(text)),
        (Command::Track, Event::ToolUse(tool_use)) => ladder.track(&tool_use),
        (Command::Track, Event::Failure(text)) => ladder.keep([ladder.draft(MemoryType::Error, text, ladder.now)]),
        (Command::Complete, Event::TurnEnd(answer)) => {
            let answer = answer.or_else(|| said_last(payload.transcript_path.as_deref(), Thread::Main));
            ladder.end_turn(answer.map(|answer| (MemoryType::AssistantResponse, answer)))
        }
        (Command::Subagent, Event::Report { agent_type, text }) => {
            let text = text.or_else(|| said_last(payload.agent_transcript_path.as_deref(), Thread::Subagent));
            let report = text.map(|text| agent_type.map_or(text.clone(), |kind| format!("{kind}: {text}")));
            ladder.keep(report.map(|report| ladder.draft(MemoryType::SubagentResult, report, ladder.now)))
        }
        (Command::Flush, Event::CompactionAhead) => {
            let used = ladder.end_turn(None);
            used.and(ladder.keep(ladder.extract(payload.transcript_path.as_deref())))
        }
        (Command::Compact, Event::Compacted(summary)) => {
            ladder.keep([ladder.draft(MemoryType::SessionSummary, summary, ladder.now)])
        }
        (Command::Save, Event::SessionEnd) => {
            track::tidy(layout);
            let kept = ladder.end_turn(None);
            // Closed first: the last one to close a database tidies up, and that is not for a hook to wait for.
            drop(ladder);
            backfill::start(layout, &loaded.settings);
            kept
        }
        _ => Ok(()),
    }
    .map(|()| None)
}

/// A prompt as the end of the turn before it: one that was interrupted has none of its own, and what it changed is remembered
/// before the next one begins.
fn prompted(text: String) -> Option<(MemoryType, String)> {
    Some((MemoryType::UserPrompt, text))
}

/// The last thing that was said in a transcript. One that is missing or unreadable says nothing.
fn said_last(transcript: Option<&str>, thread: Thread) -> Option<String> {
    last_answer(Path::new(transcript?), thread).ok().flatten()
}

struct Ladder<'l> {
    layout: &'l Layout,
    session_id: String,
    now: Moment,
    screen: &'l Screen,
    /// Opened by the first memory that needs it.
    store: Option<Store>,
}

impl Ladder<'_> {
    fn draft(&self, kind: MemoryType, content: String, at: Moment) -> Draft {
        let importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        Draft {
            session_id: self.session_id.clone(),
            kind,
            content,
            at,
            attributes: Attributes { importance, ..Attributes::default() },
            destination: Destination::DailyLog,
        }
    }

    fn track(&self, tool_use: &schema::hook::Use) -> Result<(), StoreError> {
        self.create()?;
        track::append(self.layout, &self.session_id, tool_use, &self.now, self.screen)
    }

    /// Makes one memory of what the turn changed, and keeps it before what was said.
    fn end_turn(&mut self, said: Option<(MemoryType, String)>) -> Result<(), StoreError> {
        let (layout, session_id) = (self.layout, self.session_id.clone());
        let mut said = said.map(|(kind, text)| self.draft(kind, text, self.now));
        let taken = track::take(layout, &session_id, |taken| {
            let used = tool_usage::describe(&taken.files, &taken.commands);
            let used = used.map(|text| self.draft(MemoryType::ToolUsage, text, taken.at));
            self.keep(used.into_iter().chain(said.take()))
        });
        // A buffer that cannot be taken is told; what was said does not depend on it.
        self.keep(said).and(taken)
    }

    /// What was decided, learned and fixed since the last compaction, before its words leave the context.
    fn extract(&self, transcript: Option<&str>) -> Vec<Draft> {
        let said = transcript.and_then(|path| turns(Path::new(path), Since::LastCompaction).ok());
        let found = said.map(|said| extract(said, self.screen)).unwrap_or_default().into_iter();
        found.map(|found| self.draft(found.kind, found.content, found.at)).collect()
    }

    /// What the host adds to the context of a session that begins, as it wants to be told.
    fn brief(&mut self, occasion: Occasion, loaded: &Loaded) -> Result<Option<String>, StoreError> {
        let Loaded { settings, problems, .. } = loaded;
        if let Err(refused) = self.layout.verify() {
            // A store that is not used has no log of faults either.
            return Ok(Some(warn_at_start(&format!("The project's memory is not used: {refused}"))));
        }
        let is_wanted = match settings.brief {
            settings::Brief::Always => true,
            settings::Brief::AfterCompaction => occasion == Occasion::Compact,
            settings::Brief::Never => false,
        };
        if !is_wanted {
            return Ok(None);
        }
        // A project without a memory is left as it is until there is something to remember.
        if !self.layout.memory_db().exists() {
            return Ok(None);
        }
        let project = self.layout.project().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let session_id = self.session_id.clone();
        let store = self.store()?;
        // A store that is only read has no rows yet; what it says of that is all there is.
        let mut problems = problems.clone();
        problems.extend(store.require_writable().err().iter().map(ToString::to_string));
        let request = Request {
            project: &project,
            session_id: &session_id,
            occasion,
            problems: &problems,
            size: settings.brief_size,
        };
        let text = brief(store.rows(), &request)?;
        Ok(text.map(|text| add_context(Adds::SessionStart, &text)))
    }

    /// The memories that fit a prompt and that the session was not shown before, as the host wants to be told.
    fn recall(&self, prompt: &str) -> Option<String> {
        let found = queue::recall(self.layout, self.screen, prompt, &self.session_id)?;
        let new = shown::not_yet(self.layout, &self.session_id, found).ok()?;
        recollection(&new).map(|text| add_context(Adds::UserPromptSubmit, &text))
    }

    /// Keeps memories, by the first rung of the ladder that holds.
    fn keep(&mut self, drafts: impl IntoIterator<Item = Draft>) -> Result<(), StoreError> {
        let memories: Vec<Prepared> = drafts.into_iter().filter_map(|draft| prepare(draft, self.screen)).collect();
        if memories.is_empty() || queue::capture(self.layout, &memories) {
            return Ok(());
        }
        let mut waiting = memories.as_slice();
        while let [memory, rest @ ..] = waiting {
            if let Err(fault) = self.store().and_then(|store| commit(store, memory).map(drop)) {
                return self.set_aside(waiting, &fault);
            }
            waiting = rest;
        }
        if let Err(fault) = self.store().and_then(|store| spool::drain(store, TAKEN_ALONG)) {
            self.note(&fault);
        }
        Ok(())
    }

    /// Leaves memories to somebody with more time or more rights.
    fn set_aside(&self, memories: &[Prepared], fault: &StoreError) -> Result<(), StoreError> {
        // The spool is made by itself when nothing else can be.
        let _ = self.create();
        for memory in memories {
            spool::put(self.layout, memory)?;
        }
        self.note(fault);
        Ok(())
    }

    /// Tells a fault that lost nothing, unless others were just faster.
    fn note(&self, fault: &StoreError) {
        if !fault.is_busy() {
            hook_log::note_error(self.layout, fault);
        }
    }

    fn create(&self) -> Result<(), StoreError> {
        self.layout.create().map_err(|source| StoreError::Create { path: self.layout.dir().to_owned(), source })
    }

    fn store(&mut self) -> Result<&mut Store, StoreError> {
        match &mut self.store {
            Some(store) => Ok(store),
            none => {
                let store = Store::open(self.layout.project(), Patience::Hook)?;
                store.notes().iter().for_each(|note| hook_log::note(self.layout, note));
                Ok(none.insert(store))
            }
        }
    }
}
