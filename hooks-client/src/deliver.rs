//! Delivers an event: to the running server, or directly into the store, or into the spool.

use std::path::Path;

use schema::files::database::LockTimeout;
use schema::files::environment;
use schema::files::layout::Layout;
use schema::host::brief::{Brief, BriefRequest, SessionSource, brief, recall_context};
use schema::host::conclusion::{self, SaidIn, Speaker};
use schema::host::file_recall::memories_naming;
use schema::host::given::{self, Given};
use schema::host::hook::{
    ContextEvent, EventKind, HookPayload, HostEvent, Used, add_context, continue_turn, warn_at_start,
};
use schema::host::session_record::{SessionPlace, closing_summary, missing_summaries};
use schema::host::track_buffer::{self, ToolUses};
use schema::host::transcript::{
    ReadFrom, TranscriptThread, Utterance, last_answer, last_context_tokens, last_model, texts_of_turn, utterances,
};
use schema::intake::capture::{Destination, Draft, PreparedMemory, commit, prepare};
use schema::intake::drain::drain;
use schema::intake::queue;
use schema::intake::spool;
use schema::model::failure::topics_of;
use schema::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::prose::small_talk::is_empty_answer;
use schema::settings::{self, LoadedSettings, Settings};
use schema::store::hook_log;
use schema::store::{Store, StoreError};

use crate::backfill;
use crate::command::HookCommand;

/// How many spooled memories a hook saves as well. Few, so that it stays fast after a long outage.
const DRAIN_LIMIT: usize = 4;

/// Seconds without an event after which a session has ended. People may come back after lunch.
const SESSION_IDLE_SECONDS: i64 = 6 * 60 * 60;

/// The tokens from which a session counts as long. Hosts compact contexts of 200,000 tokens at about 160,000.
const LONG_CONTEXT: u64 = 120_000;

/// The most conclusions that are saved before a compaction. Of more, the last ones are saved.
const CONCLUSIONS_AT_COMPACTION: usize = 20;

const REMINDER: &str = "This session has become long and may be compacted soon. If it has decisions, preferences, conventions, fixes or open \
     steps that are not in the project's memory yet, save them now with memory_save, one at a time. Otherwise just stop. This reminder \
     comes once.";

/// The importance of failures, which deserve a second look.
const FAILURE_IMPORTANCE: u8 = 3;

/// Records what `command` covers in a payload, and returns what to print for the host.
pub(crate) fn deliver(
    command: HookCommand,
    payload: &HookPayload,
    layout: &Layout,
    loaded: &LoadedSettings,
) -> Result<Option<String>, StoreError> {
    let screen = &loaded.sanitizer;
    let Some(HostEvent { session_id, kind: event }) = HostEvent::from_payload(payload, layout.project(), screen) else {
        return Ok(None);
    };
    let session_id = if session_id.is_empty() { of_process(environment::text) } else { session_id };
    let mut ladder = EventDelivery {
        layout,
        session_id,
        now: Moment::now(),
        sanitizer: screen,
        settings: &loaded.settings,
        store: None,
    };
    let transcript = payload.transcript_path.as_deref();
    match (command, event) {
        (HookCommand::Load, EventKind::SessionStart(occasion)) => {
            let told = ladder.start_context(occasion, loaded);
            ladder.begin_session(payload, loaded.settings.capture);
            return told;
        }
        (HookCommand::PromptSave, EventKind::Prompt(text)) if loaded.settings.recall => {
            let kept = if loaded.settings.capture { ladder.begin_turn(Some(&text), transcript) } else { Ok(()) };
            let recalled = ladder.prompt_context(&text);
            return kept.map(|()| recalled);
        }
        (HookCommand::FileRecall, EventKind::FileOpen(path)) => {
            return if loaded.settings.file_recall { ladder.file_context(&path) } else { Ok(None) };
        }
        (HookCommand::Complete, EventKind::TurnEnd(answer)) if loaded.settings.reminder => {
            let kept = if loaded.settings.capture { ladder.end_turn(answer, transcript) } else { Ok(()) };
            let is_continued = payload.stop_hook_active == Some(true);
            return kept.map(|()| transcript.filter(|_| !is_continued).and_then(|path| ladder.reminder(path)));
        }
        _ if !loaded.settings.capture => Ok(()),
        (HookCommand::PromptSave, EventKind::Prompt(text)) => ladder.begin_turn(Some(&text), transcript),
        (HookCommand::PromptSave, EventKind::Acknowledgement) => ladder.begin_turn(None, transcript),
        (HookCommand::Track, EventKind::ToolUse(used)) => ladder.track_use(used),
        (HookCommand::Track, EventKind::Failure(text)) => ladder.fail(text),
        (HookCommand::Complete, EventKind::TurnEnd(answer)) => ladder.end_turn(answer, transcript),
        (HookCommand::Subagent, EventKind::Report { agent_type, text }) => {
            let text =
                text.or_else(|| last_answer_of(payload.agent_transcript_path.as_deref(), TranscriptThread::Subagent));
            text.map_or(Ok(()), |text| ladder.report(agent_type, &text))
        }
        (HookCommand::Flush, EventKind::BeforeCompaction) => {
            let interrupted = ladder.interrupt(None, None);
            let kept = ladder.capture(ladder.concluded_since_compaction(transcript));
            // The turn continues after the compaction.
            interrupted.and_then(|prompt| ladder.begin(prompt)).and(kept)
        }
        (HookCommand::Compact, EventKind::AfterCompaction(summary)) => {
            ladder.capture([ladder.new_draft(MemoryType::SessionSummary, summary, ladder.now)])
        }
        (HookCommand::Save, EventKind::SessionEnd) => {
            track_buffer::remove_old_files(layout);
            let kept = ladder.interrupt(transcript, None).map(drop).and(ladder.close_session(payload));
            // Close the store first: the last process to close a database checkpoints it, and that should be the backfill.
            drop(ladder);
            backfill::start_backfill(layout, &loaded.settings);
            kept
        }
        _ => Ok(()),
    }
    .map(|()| None)
}

/// Names the session after the process if the host gives neither its id nor its transcript.
fn of_process(variable: impl Fn(&str) -> Option<String>) -> String {
    let named = |name| variable(name).filter(|value| !value.trim().is_empty());
    named("CLAUDE_CODE_SESSION_ID").unwrap_or_else(|| {
        let process = named("CLAUDE_PID").unwrap_or_else(parent);
        format!("process-{process}")
    })
}

fn parent() -> String {
    #[cfg(unix)]
    {
        std::os::unix::process::parent_id().to_string()
    }
    #[cfg(not(unix))]
    {
        std::process::id().to_string()
    }
}

/// Returns the last answer in a transcript. A missing or unreadable transcript has none.
fn last_answer_of(transcript: Option<&str>, thread: TranscriptThread) -> Option<String> {
    last_answer(Path::new(transcript?), thread).ok().flatten().filter(|text| !is_empty_answer(text))
}

struct EventDelivery<'l> {
    layout: &'l Layout,
    session_id: String,
    now: Moment,
    sanitizer: &'l Sanitizer,
    settings: &'l Settings,
    /// Opened when the first memory needs it.
    store: Option<Store>,
}

impl EventDelivery<'_> {
    fn new_draft(&self, kind: MemoryType, content: String, at: Moment) -> Draft {
        let importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        Draft {
            session_id: self.session_id.clone(),
            kind,
            content,
            at,
            attributes: MemoryAttributes { importance, ..MemoryAttributes::default() },
            destination: Destination::DailyLog,
        }
    }

    /// Notes what a tool changed, or that it succeeded after it had failed.
    fn track_use(&self, mut used: Used) -> Result<(), StoreError> {
        used.changed = used.changed.and_then(|changed| changed.within(self.settings.edits));
        let is_success = track_buffer::has_failed(self.layout, &used.attempt.topics());
        if used.changed.is_none() && !is_success {
            return Ok(());
        }
        self.create_dirs()?;
        track_buffer::append_use(self.layout, &self.session_id, &used, is_success, &self.now, self.sanitizer)
    }

    /// Records a failure, and notes its topics to recognise a later success.
    fn fail(&mut self, text: String) -> Result<(), StoreError> {
        let topics = topics_of(&text);
        self.capture([self.new_draft(MemoryType::Error, text, self.now)])?;
        self.create_dirs()?;
        let fault = |source| StoreError::Io { doing: "append to", path: self.layout.failed(), source };
        track_buffer::note_failure(self.layout, &topics).map_err(fault)
    }

    /// Finishes the last turn if it had no end, then records a prompt and its conclusions.
    fn begin_turn(&mut self, prompt: Option<&str>, transcript: Option<&str>) -> Result<(), StoreError> {
        let ended = self.interrupt(transcript, prompt);
        let prepared = prompt.map(|text| self.new_draft(MemoryType::UserPrompt, text.to_owned(), self.now));
        let prepared = prepared.and_then(|draft| prepare(draft, self.sanitizer));
        let id = prepared.as_ref().map(PreparedMemory::id);
        let concluded = self.concluded(id.clone(), Speaker::Person, prompt);
        let kept = self.save_prepared(&prepared.into_iter().chain(concluded).collect::<Vec<_>>());
        let begun = self.begin(Some(id));
        // A buffer that cannot be read is reported, but must not cost the texts.
        kept.and(ended.map(drop)).and(begun)
    }

    fn end_turn(&mut self, answer: Option<String>, transcript: Option<&str>) -> Result<(), StoreError> {
        let answer = answer.or_else(|| last_answer_of(transcript, TranscriptThread::Main));
        self.finish_turn(answer, transcript)
    }

    /// Records what a turn changed, then its answer and the conclusions of all its texts.
    fn finish_turn(&mut self, answer: Option<String>, transcript: Option<&str>) -> Result<(), StoreError> {
        let (layout, session_id) = (self.layout, self.session_id.clone());
        let said = answer.clone().map(|text| self.new_draft(MemoryType::AssistantResponse, text, self.now));
        let said = said.and_then(|draft| prepare(draft, self.sanitizer));
        let mut texts = self.texts_of_turn(transcript, None);
        texts.extend(answer);
        let concluded =
            self.concluded(said.as_ref().map(PreparedMemory::id), Speaker::Agent, texts.iter().map(String::as_str));
        let mut rest: Vec<PreparedMemory> = said.into_iter().chain(concluded).collect();
        let taken = track_buffer::take_uses(layout, &session_id, |taken| {
            let used = self.used(taken);
            self.save_prepared(&used.into_iter().chain(std::mem::take(&mut rest)).collect::<Vec<_>>())
        });
        // A buffer that cannot be read is reported, but must not cost the texts.
        self.save_prepared(&rest).and(taken)
    }

    /// Notes that a turn begins, and the memory of its prompt if it has one.
    fn begin(&self, prompt: Option<Option<MemoryId>>) -> Result<(), StoreError> {
        let Some(prompt) = prompt else { return Ok(()) };
        self.create_dirs()?;
        track_buffer::begin(self.layout, &self.session_id, prompt.as_ref(), &self.now)
    }

    /// Records the changes and texts of a turn that may have no end. `next` is the prompt after it. Returns the prompt of the turn, if
    /// there is a turn.
    fn interrupt(
        &mut self,
        transcript: Option<&str>,
        next: Option<&str>,
    ) -> Result<Option<Option<MemoryId>>, StoreError> {
        let (layout, session_id) = (self.layout, self.session_id.clone());
        let mut prompt = None;
        track_buffer::take_uses(layout, &session_id, |taken| {
            prompt.clone_from(&taken.prompt);
            let used = self.used(taken);
            let texts = if prompt.is_some() { self.texts_of_turn(transcript, next) } else { Vec::new() };
            let concluded = self.concluded(prompt.clone().flatten(), Speaker::Agent, texts.iter().map(String::as_str));
            self.save_prepared(&used.into_iter().chain(concluded).collect::<Vec<_>>())
        })?;
        Ok(prompt)
    }

    /// Returns a memory of a turn's changes.
    fn used(&self, taken: ToolUses) -> Option<PreparedMemory> {
        let draft = self.new_draft(MemoryType::ToolUsage, taken.text()?, taken.at);
        Some(prepare(draft, self.sanitizer)?.with_succeeded(taken.succeeded))
    }

    fn report(&mut self, agent_type: Option<String>, text: &str) -> Result<(), StoreError> {
        let report = agent_type.map_or_else(|| text.to_owned(), |kind| format!("{kind}: {text}"));
        let prepared = prepare(self.new_draft(MemoryType::SubagentResult, report, self.now), self.sanitizer);
        let concluded = self.concluded(prepared.as_ref().map(PreparedMemory::id), Speaker::Agent, [text]);
        self.save_prepared(&prepared.into_iter().chain(concluded).collect::<Vec<_>>())
    }

    fn texts_of_turn(&self, transcript: Option<&str>, next: Option<&str>) -> Vec<String> {
        let path = transcript.filter(|_| self.settings.conclusions);
        path.and_then(|path| texts_of_turn(Path::new(path), next).ok()).unwrap_or_default()
    }

    /// Returns the conclusions in the texts of an event.
    fn concluded<'t>(
        &self,
        source: Option<MemoryId>,
        speaker: Speaker,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Vec<PreparedMemory> {
        if !self.settings.conclusions {
            return Vec::new();
        }
        let place = SaidIn { session_id: &self.session_id, source, speaker, at: self.now };
        let drafts = conclusion::drafts(&place, texts, self.sanitizer);
        drafts.into_iter().filter_map(|draft| prepare(draft, self.sanitizer)).collect()
    }

    /// Returns the conclusions since the last compaction, before their words leave the context. Most are known already.
    fn concluded_since_compaction(&self, transcript: Option<&str>) -> Vec<Draft> {
        let path = transcript.filter(|_| self.settings.conclusions);
        let said = path.and_then(|path| utterances(Path::new(path), ReadFrom::LastCompaction).ok());
        let said = said.into_iter().flatten().filter_map(|said| match said {
            Utterance::Prompt { text, at } => Some((Speaker::Person, text, at)),
            Utterance::Answer { text, at } => Some((Speaker::Agent, text, at)),
            Utterance::Summary { .. } => None,
        });
        let concluded = said.flat_map(|(speaker, text, at)| {
            let place = SaidIn { session_id: &self.session_id, source: None, speaker, at };
            conclusion::drafts(&place, [text.as_str()], self.sanitizer)
        });
        let mut drafts: Vec<Draft> = concluded.collect();
        drafts.drain(..drafts.len().saturating_sub(CONCLUSIONS_AT_COMPACTION));
        drafts
    }

    /// Returns the context for a session that begins, in the form that the host expects.
    fn start_context(
        &mut self,
        occasion: SessionSource,
        loaded: &LoadedSettings,
    ) -> Result<Option<String>, StoreError> {
        let LoadedSettings { settings, problems, .. } = loaded;
        if let Err(refused) = self.layout.verify_dirs() {
            // A store that is not used has no log of faults either.
            return Ok(Some(warn_at_start(&format!("The project's memory is not used: {refused}"))));
        }
        let is_wanted = match settings.brief {
            settings::BriefMode::Always => true,
            settings::BriefMode::AfterCompaction => occasion == SessionSource::Compact,
            settings::BriefMode::Never => false,
        };
        if !is_wanted {
            return Ok(None);
        }
        // Create no store before there is something to record.
        if !self.layout.memory_db().exists() {
            return Ok(None);
        }
        let project = self.layout.project().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let session_id = self.session_id.clone();
        let store = self.open_store()?;
        // A store that can only be read has no rows yet, so report why.
        let mut problems = problems.clone();
        problems.extend(store.require_writable().err().iter().map(ToString::to_string));
        let request = BriefRequest {
            project: &project,
            session_id: &session_id,
            source: occasion,
            problems: &problems,
            size: settings.brief_size,
        };
        let made = brief(store.rows(), store.layout(), &request)?;
        Ok(made.map(|Brief { text, ids }| {
            if occasion == SessionSource::Compact {
                self.note_given(given::note_compaction(self.layout, &session_id));
            }
            self.note_given(given::note(self.layout, &session_id, Given::Brief, ids.iter().map(String::as_str)));
            add_context(ContextEvent::SessionStart, &text)
        }))
    }

    /// Notes where a session begins, and summarises sessions that never reported their end.
    fn begin_session(&mut self, payload: &HookPayload, captures: bool) {
        if !captures || !self.layout.memory_db().exists() || self.layout.verify_dirs().is_err() {
            return;
        }
        let place = SessionPlace { model: payload.model.clone(), ..self.checked_out(payload) }.cleaned(self.sanitizer);
        self.note_given(given::note_start(self.layout, &self.session_id, &place));
        let before = Moment::from_unix(self.now.unix() - SESSION_IDLE_SECONDS, Some(self.now.offset_seconds()));
        let session_id = self.session_id.clone();
        let missing = self
            .open_store()
            .ok()
            .zip(before)
            .and_then(|(store, before)| missing_summaries(store.rows(), &session_id, before).ok());
        let kept = self.capture(missing.unwrap_or_default());
        self.note_given(kept);
    }

    /// Records the summary of a session that ends.
    fn close_session(&mut self, payload: &HookPayload) -> Result<(), StoreError> {
        if !self.layout.memory_db().exists() {
            return Ok(());
        }
        let model = payload.transcript_path.as_deref().and_then(|path| last_model(Path::new(path)).ok().flatten());
        let end = SessionPlace { model, end_reason: payload.reason.clone(), ..self.checked_out(payload) }
            .cleaned(self.sanitizer);
        let place = end.begun_at(given::start(self.layout, &self.session_id));
        let (session_id, now) = (self.session_id.clone(), self.now);
        let summary = closing_summary(self.open_store()?.rows(), &session_id, &place, now)?;
        self.capture(summary)
    }

    fn checked_out(&self, payload: &HookPayload) -> SessionPlace {
        SessionPlace::checked_out(payload.cwd.as_deref().map_or(self.layout.project(), Path::new))
    }

    /// Returns the memories that fit a prompt and that the session has not seen, in the form that the host expects.
    fn prompt_context(&self, prompt: &str) -> Option<String> {
        let found = queue::recall(self.layout, self.sanitizer, prompt, &self.session_id)?;
        let new = given::take_unshown(self.layout, &self.session_id, found).ok()?;
        recall_context(&new).map(|text| add_context(ContextEvent::UserPromptSubmit, &text))
    }

    /// Returns the memories that name a file and that the session has not seen, in the form that the host expects.
    fn file_context(&mut self, path: &str) -> Result<Option<String>, StoreError> {
        if !self.layout.memory_db().exists() || self.layout.verify_dirs().is_err() {
            return Ok(None);
        }
        let found = memories_naming(self.open_store()?.rows(), path)?;
        let new = given::take_unshown(self.layout, &self.session_id, found)?;
        Ok(recall_context(&new).map(|text| add_context(ContextEvent::PreToolUse, &text)))
    }

    /// Returns the reminder to save memories if the session has become long, once a session.
    fn reminder(&self, transcript: &str) -> Option<String> {
        let tokens = last_context_tokens(Path::new(transcript)).ok().flatten()?;
        let is_due = tokens >= LONG_CONTEXT && given::take_reminder(self.layout, &self.session_id).ok()?;
        is_due.then(|| continue_turn(REMINDER))
    }

    /// Reports a fault that does not change what the session is given.
    fn note_given(&self, noted: Result<(), StoreError>) {
        if let Err(fault) = noted {
            self.note_delay(&fault);
        }
    }

    /// Records memories in the first way that works: server, store or spool.
    fn capture(&mut self, drafts: impl IntoIterator<Item = Draft>) -> Result<(), StoreError> {
        self.save_prepared(&drafts.into_iter().filter_map(|draft| prepare(draft, self.sanitizer)).collect::<Vec<_>>())
    }

    fn save_prepared(&mut self, memories: &[PreparedMemory]) -> Result<(), StoreError> {
        if memories.is_empty() || queue::capture(self.layout, memories) {
            return Ok(());
        }
        let mut waiting = memories;
        while let [memory, rest @ ..] = waiting {
            if let Err(fault) = self.open_store().and_then(|store| commit(store, memory).map(drop)) {
                return self.spool(waiting, &fault);
            }
            waiting = rest;
        }
        if let Err(fault) = self.open_store().and_then(|store| drain(store, DRAIN_LIMIT)) {
            self.note_delay(&fault);
        }
        Ok(())
    }

    /// Leaves memories to a process with more time or more rights.
    fn spool(&self, memories: &[PreparedMemory], fault: &StoreError) -> Result<(), StoreError> {
        // The spool can exist without the other directories.
        let _ = self.create_dirs();
        for memory in memories {
            spool::write_memory(self.layout, memory)?;
        }
        self.note_delay(fault);
        Ok(())
    }

    /// Reports a fault that lost nothing, unless other processes were just faster.
    fn note_delay(&self, fault: &StoreError) {
        if !fault.is_busy() {
            hook_log::append_error(self.layout, fault);
        }
    }

    fn create_dirs(&self) -> Result<(), StoreError> {
        self.layout
            .create_dirs_and_gitignore()
            .map_err(|source| StoreError::Create { path: self.layout.store_dir().to_owned(), source })
    }

    fn open_store(&mut self) -> Result<&mut Store, StoreError> {
        match &mut self.store {
            Some(store) => Ok(store),
            none => {
                let store = Store::open(self.layout.project(), LockTimeout::Hook)?;
                store.notes().iter().for_each(|note| hook_log::append_note(self.layout, note));
                Ok(none.insert(store))
            }
        }
    }
}
