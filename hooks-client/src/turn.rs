//! Records the turns of a session: prompts, changes, failures, answers, and what they conclude.
//!
//! A text is prepared before anything else of its event is computed, and is spooled if the hook reaches its deadline. A text is lost only
//! if the deadline comes before it is prepared.

use std::path::Path;

use schema::host::choice::{LastTurn, may_choose};
use schema::host::code::anchored::CodePlace;
use schema::host::conclusions::{self, ConclusionSource};
use schema::host::failed_topics;
use schema::host::hook::{ToolUse, is_edit_tool};
use schema::host::session_context;
use schema::host::track_buffer::{self, ToolUses, TurnPrompt};
use schema::host::transcript::{
    ReadFrom, TranscriptThread, TurnTexts, Utterance, last_answer, last_turn, texts_of_turn, utterances,
};
use schema::intake::prepare::{Draft, PreparedMemory, prepare};
use schema::model::failure::topics_of;
use schema::model::memory::{MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::prose::small_talk::is_empty_answer;
use schema::settings::Edits;
use schema::store::StoreError;

use crate::hook_session::{HookSession, set_unsaved};

/// The most conclusions that are saved before a compaction. If there are more, the last ones are saved.
const CONCLUSIONS_AT_COMPACTION: usize = 20;

/// A turn whose changes were saved.
#[derive(Debug, Default)]
pub(crate) struct SavedTurn {
    /// Its prompt, unless it has none.
    pub(crate) prompt: Option<TurnPrompt>,
    /// The files that it changed.
    files: Vec<String>,
    /// The texts of an open turn.
    said: TurnTexts,
    /// The source of its conclusions: its last informative text, or else its prompt.
    source: Option<MemoryId>,
}

/// How a turn stands when its changes are saved.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TurnEnd<'t> {
    /// It ended with an answer.
    Answered,
    /// It may have no end. Its texts are in the transcript, before the next prompt.
    Open { transcript: Option<&'t str>, next: Option<&'t str> },
    /// It goes on after a failure.
    Failed(&'t str),
    /// It goes on after a compaction.
    Compacted,
}

/// The part of a prompt that is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SavedPart {
    /// The prompt and its conclusions.
    Prompt,
    /// Its conclusions, because it means nothing by itself.
    Conclusions,
}

impl HookSession<'_> {
    /// Notes what a tool changed, or that it succeeded after it had failed.
    pub(crate) fn track_use(&self, mut used: ToolUse) -> Result<(), StoreError> {
        if self.settings.edits == Edits::Off && is_edit_tool(&used.attempt.tool) {
            return Ok(());
        }
        used.changed = used.changed.and_then(|changed| changed.within(self.settings.edits));
        let is_success = used.is_success_known && failed_topics::has_failed(self.layout, &used.attempt.topics());
        if used.changed.is_none() && !is_success {
            return Ok(());
        }
        self.create_dirs()?;
        let line = track_buffer::to_buffered_use(&used, is_success, &self.now, self.sanitizer);
        track_buffer::append(self.layout, &self.session_id, &line).or_else(|error| {
            let mut uses = ToolUses::new(self.now);
            uses.add(line, self.now);
            self.spool(&Vec::from_iter(self.prepare_tool_usage(uses)), error)
        })
    }

    /// Records what the turn changed so far and a failure, and notes its topics to recognise a later success.
    pub(crate) fn save_failure(&mut self, text: &str) -> Result<(), StoreError> {
        let topics = topics_of(text);
        let failure = self.prepare_text(MemoryType::Error, text.to_owned(), self.now);
        let saved = self.save_turn(failure, TurnEnd::Failed(text)).map(drop);
        self.create_dirs()?;
        let noted = failed_topics::note_failure(self.layout, &topics)
            .map_err(StoreError::io("append to", self.layout.failed_topics_file()));
        saved.and(noted)
    }

    /// Finishes the last turn if it had no end, and records a prompt and its conclusions.
    pub(crate) fn begin_turn(
        &mut self,
        prompt: &str,
        part: SavedPart,
        transcript: Option<&str>,
    ) -> Result<(), StoreError> {
        let asked = match part {
            SavedPart::Prompt => self.prepare_text(MemoryType::UserPrompt, prompt.to_owned(), self.now),
            SavedPart::Conclusions => None,
        };
        let id = asked.as_ref().map(PreparedMemory::id);
        let ended = self.save_turn(asked, TurnEnd::Open { transcript, next: Some(prompt) });
        let start = TurnPrompt { memory: id.clone(), at: self.now };
        let begun = self.create_dirs().and_then(|()| track_buffer::begin(self.layout, &self.session_id, &start));
        if begun.is_ok() {
            self.record_missing_start();
            // A command of the host says nothing to the model.
            if part == SavedPart::Conclusions && !prompt.trim_start().starts_with('/') {
                self.log_unless_busy(session_context::record_acknowledgement(self.layout, &self.session_id));
            }
        }
        let (before, ended) = ended.map_or_else(|error| (SavedTurn::default(), Err(error)), |turn| (turn, Ok(())));
        let mut concluded = self.prepare_turn_conclusions(before.source, before.said, &before.files);
        // An acknowledgement concludes nothing by itself, but may accept what was recommended.
        if part == SavedPart::Prompt || may_choose(prompt) {
            concluded.extend(self.prepare_prompt_conclusions(id, prompt, transcript));
        }
        ended.and(self.save_prepared(&concluded)).and(begun)
    }

    /// Records what a turn changed, then its answer and the conclusions of all its texts.
    pub(crate) fn end_turn(&mut self, answer: Option<String>, transcript: Option<&str>) -> Result<(), StoreError> {
        let answer = answer.or_else(|| last_answer_of(transcript, TranscriptThread::Main));
        let prepared_answer =
            answer.clone().and_then(|text| self.prepare_text(MemoryType::AssistantResponse, text, self.now));
        let id = prepared_answer.as_ref().map(PreparedMemory::id);
        let saved = self.save_turn(prepared_answer, TurnEnd::Answered);
        let mut said = texts_of_turn_in(transcript.filter(|_| self.settings.conclusions), None, None);
        said.texts.extend(answer);
        let files = saved.as_ref().map(|turn| turn.files.clone()).unwrap_or_default();
        let concluded = self.prepare_turn_conclusions(id, said, &files);
        saved.map(drop).and(self.save_prepared(&concluded))
    }

    /// Records the changes of a turn, its last informative text if it is open, and then `text`.
    pub(crate) fn save_turn(
        &mut self,
        text: Option<PreparedMemory>,
        end: TurnEnd<'_>,
    ) -> Result<SavedTurn, StoreError> {
        let (layout, session_id) = (self.layout, self.session_id.clone());
        let (mut text, mut turn) = (text, SavedTurn::default());
        // The buffer may take until the deadline.
        set_unsaved(text.as_slice());
        let taken = track_buffer::take_uses(layout, &session_id, |mut taken| {
            let (prompt, files) = (taken.prompt.clone(), taken.files_of_turn());
            let said = match (end, &prompt) {
                (TurnEnd::Open { transcript, next }, Some(prompt)) => {
                    texts_of_turn_in(transcript, Some(prompt.at), next)
                }
                _ => TurnTexts::default(),
            };
            if let TurnEnd::Failed(failure) = end {
                taken.remove_successes(failure);
            }
            let used = self.prepare_tool_usage(taken);
            let last = said.unfinished(&self.session_id, self.now).and_then(|draft| prepare(draft, self.sanitizer));
            let source = last.as_ref().map(PreparedMemory::id).or_else(|| prompt.as_ref()?.memory.clone());
            turn = SavedTurn { prompt, files, said, source };
            self.save_prepared(&used.into_iter().chain(last).chain(text.take()).collect::<Vec<_>>())?;
            match end {
                TurnEnd::Answered | TurnEnd::Open { .. } => Ok(()),
                TurnEnd::Failed(_) | TurnEnd::Compacted => {
                    track_buffer::resume(layout, &session_id, turn.prompt.as_ref(), turn.files.clone(), &self.now)
                }
            }
        });
        // A buffer that cannot be read is reported, but must not cost the text.
        self.save_prepared(&Vec::from_iter(text)).and(taken).map(|()| turn)
    }

    /// Records the changes, the last text and the conclusions of a turn that may have no end.
    pub(crate) fn save_open_turn(&mut self, transcript: Option<&str>) -> Result<SavedTurn, StoreError> {
        let mut turn = self.save_turn(None, TurnEnd::Open { transcript, next: None })?;
        let said = std::mem::take(&mut turn.said);
        let concluded = self.prepare_turn_conclusions(turn.source.clone(), said, &turn.files);
        self.save_prepared(&concluded).map(|()| turn)
    }

    /// Returns a memory of a turn's changes.
    fn prepare_tool_usage(&self, taken: ToolUses) -> Option<PreparedMemory> {
        let prepared = self.prepare_text(MemoryType::ToolUsage, taken.text()?, taken.at)?;
        Some(prepared.with_succeeded(taken.succeeded))
    }

    pub(crate) fn save_subagent_report(&mut self, agent_type: Option<String>, text: &str) -> Result<(), StoreError> {
        let report = agent_type.map_or_else(|| text.to_owned(), |kind| format!("{kind}: {text}"));
        let prepared = self.prepare_text(MemoryType::SubagentResult, report, self.now);
        let id = prepared.as_ref().map(PreparedMemory::id);
        let saved = self.save_prepared(&Vec::from_iter(prepared));
        let concluded =
            self.prepare_conclusions(id, &[], |said_in| conclusions::drafts(said_in, [text], self.sanitizer));
        saved.and(self.save_prepared(&concluded))
    }

    /// Records the summary of a compaction and its open steps. Its other statements were recorded when they were said.
    pub(crate) fn save_summary(&mut self, text: &str) -> Result<(), StoreError> {
        let prepared = self.prepare_text(MemoryType::SessionSummary, text.to_owned(), self.now);
        let source = prepared.as_ref().map(PreparedMemory::id);
        let saved = self.save_prepared(&Vec::from_iter(prepared));
        let steps = self
            .prepare_conclusions(source, &[], |said_in| conclusions::drafts_of_summary(said_in, text, self.sanitizer));
        saved.and(self.save_prepared(&steps))
    }

    /// Returns the conclusions in the texts of a turn, and the decisions in the dialogues of the host.
    fn prepare_turn_conclusions(
        &self,
        source: Option<MemoryId>,
        said: TurnTexts,
        files: &[String],
    ) -> Vec<PreparedMemory> {
        self.prepare_conclusions(source, files, |said_in| conclusions::drafts_of_turn(said_in, said, self.sanitizer))
    }

    /// Prepares conclusions with the code that they are about. `files` are those that their turn changed.
    fn prepare_anchored(&self, drafts: Vec<Draft>, files: &[String]) -> Vec<PreparedMemory> {
        let place = CodePlace { project: self.layout.project(), directory: self.directory, sanitizer: self.sanitizer };
        let prepared = drafts.into_iter().filter_map(|draft| prepare(draft, self.sanitizer));
        prepared.map(|memory| place.anchored(memory, files)).collect()
    }

    /// Returns the conclusions that `find` draws from an event, unless the settings turn them off.
    fn prepare_conclusions(
        &self,
        source: Option<MemoryId>,
        files: &[String],
        find: impl FnOnce(&ConclusionSource<'_>) -> Vec<Draft>,
    ) -> Vec<PreparedMemory> {
        if !self.settings.conclusions {
            return Vec::new();
        }
        let said_in = ConclusionSource { session_id: &self.session_id, source, at: self.now };
        self.prepare_anchored(find(&said_in), files)
    }

    /// Returns the conclusions in a prompt, which may pick something that the last answer offered.
    fn prepare_prompt_conclusions(
        &self,
        source: Option<MemoryId>,
        prompt: &str,
        transcript: Option<&str>,
    ) -> Vec<PreparedMemory> {
        self.prepare_conclusions(source, &[], |said_in| {
            let path = transcript.filter(|_| may_choose(prompt));
            let before = path.and_then(|path| last_turn(Path::new(path), prompt).ok()).unwrap_or_default();
            conclusions::drafts_of_prompt(said_in, prompt, &before, self.sanitizer)
        })
    }

    /// Returns the conclusions since the last compaction, before their words leave the context. Most are known already. `open_prompt` is the
    /// memory of the prompt that has no final answer yet.
    pub(crate) fn prepare_conclusions_since_compaction(
        &self,
        transcript: Option<&str>,
        open_prompt: Option<&MemoryId>,
    ) -> Vec<PreparedMemory> {
        let path = transcript.filter(|_| self.settings.conclusions);
        let said = path.and_then(|path| utterances(Path::new(path), ReadFrom::LastCompaction).ok());
        let mut before = LastTurn::default();
        let said_at = |at| ConclusionSource { session_id: &self.session_id, source: None, at };
        let mut drafts: Vec<Draft> = Vec::new();
        let mut turn_start = 0;
        for said in said.into_iter().flatten() {
            match said {
                Utterance::Prompt { text, at } => {
                    turn_start = drafts.len();
                    drafts.extend(conclusions::drafts_of_prompt(&said_at(at), &text, &before, self.sanitizer));
                    before.begin(&text);
                }
                Utterance::Answer { text, at } => {
                    before.answer.clone_from(&text);
                    drafts.extend(conclusions::drafts(&said_at(at), [text.as_str()], self.sanitizer));
                }
                Utterance::Summary { .. } => {}
            }
        }
        for draft in &mut drafts[turn_start..] {
            draft.attributes.source = open_prompt.cloned();
        }
        drafts.drain(..drafts.len().saturating_sub(CONCLUSIONS_AT_COMPACTION));
        self.prepare_anchored(drafts, &[])
    }
}

/// Returns the last answer in a transcript. A missing or unreadable transcript has none.
pub(crate) fn last_answer_of(transcript: Option<&str>, thread: TranscriptThread) -> Option<String> {
    last_answer(Path::new(transcript?), thread).ok().flatten().filter(|text| !is_empty_answer(text))
}

/// Returns what was said since the last prompt. A missing or unreadable transcript has nothing.
fn texts_of_turn_in(transcript: Option<&str>, since: Option<Moment>, next: Option<&str>) -> TurnTexts {
    transcript.and_then(|path| texts_of_turn(Path::new(path), since, next).ok()).unwrap_or_default()
}
