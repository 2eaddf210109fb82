//! Builds the memories that hooks would have stored from the prompts, answers and tool uses of a session, in order of time.
//!
//! Knows no format. The replay of each host's transcripts calls it.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::Path;

use schema::host::choice::LastTurn;
use schema::host::conclusions::{self, ConclusionSource};
use schema::host::hook::{EventKind, HookPayload, HostEvent, ToolUse};
use schema::host::track_buffer::{self, ToolUses};
use schema::host::transcript::{TURN_TEXTS, TurnTexts};
use schema::intake::prepare::{Draft, PreparedMemory, prepare};
use schema::model::failure::{FAILURE_IMPORTANCE, topics_of};
use schema::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::prose::small_talk::{is_acknowledgement, is_empty_answer};
use schema::settings::LoadedSettings;
use serde_json::Value;

use super::foreign::FROM;
use super::replay_context::{ReplayContext, ReplayEvent};
use super::tool_record::{FinishedTool, StartedTool};

/// Prefix of the `meta` keys of completely read transcripts.
pub const IMPORT_MARK_PREFIX: &str = "imported ";

/// Reads one transcript of a host.
pub trait SessionReplay {
    /// The next memory, `None` at the end. A torn last line is ignored.
    fn next_memory(&mut self) -> io::Result<Option<PreparedMemory>>;
    fn state(&self) -> ReplayState;
}

/// The progress and the result of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayState {
    /// Approximate bytes read so far.
    pub position: u64,
    /// Whether it ended inside a turn that may continue.
    pub is_open: bool,
    /// Whether it ended inside a line.
    pub is_torn: bool,
    /// Unreadable lines, without a torn last one.
    pub unreadable_lines: usize,
}

impl ReplayState {
    /// Counts a line that is not valid JSON.
    pub(super) fn count_unreadable(&mut self, is_complete: bool) {
        if is_complete {
            self.unreadable_lines += 1;
        } else {
            self.is_torn = true;
        }
    }
}

/// How to treat a transcript that ends inside a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptEnd {
    /// The session is over: store what the last turn changed.
    Complete,
    /// The session may continue: leave the rest to its hooks.
    Growing,
}

/// Builds the memories of a session.
#[derive(Debug)]
pub(super) struct TurnBuilder<'s> {
    pub(super) context: ReplayContext<'s>,
    ending: TranscriptEnd,
    pub(super) state: ReplayState,
    /// Whether the transcript was read to its end.
    pub(super) is_done: bool,
    turn: ReplayTurn,
    last_turn: LastTurn,
    /// Topics of this session's failures.
    failed: HashSet<String>,
    ready: VecDeque<PreparedMemory>,
    /// Time of the last event.
    pub(super) last_at: Option<Moment>,
    /// The place in another program that the next memories come from.
    pub(super) from: Option<String>,
}

/// Actions and messages since the last turn ended.
#[derive(Debug, Default)]
struct ReplayTurn {
    used: Option<ToolUses>,
    /// The memory of its prompt.
    prompt: Option<MemoryId>,
    /// Text between tool calls, and decisions by a person who picked options.
    said: TurnTexts,
    answer: Option<PendingAnswer>,
    is_started: bool,
}

#[derive(Debug, Clone)]
struct PendingAnswer {
    id: Option<String>,
    text: String,
    at: Moment,
    /// Whether the model finished with it.
    is_last: bool,
}

impl<'s> TurnBuilder<'s> {
    pub(super) fn new(
        project: &'s Path,
        loaded: &'s LoadedSettings,
        session_id: String,
        ending: TranscriptEnd,
    ) -> Self {
        Self {
            context: ReplayContext::new(project, loaded, session_id),
            ending,
            state: ReplayState::default(),
            is_done: false,
            turn: ReplayTurn::default(),
            last_turn: LastTurn::default(),
            failed: HashSet::new(),
            ready: VecDeque::new(),
            last_at: None,
            from: None,
        }
    }

    fn sanitizer(&self) -> &'s Sanitizer {
        &self.context.loaded.sanitizer
    }

    /// The next memory that is ready.
    pub(super) fn pop(&mut self) -> Option<PreparedMemory> {
        self.ready.pop_front()
    }

    /// Whether more of the transcript must be read for the next memory.
    pub(super) fn needs_more(&self) -> bool {
        self.ready.is_empty() && !self.is_done
    }

    /// A person's prompt, which ends the turn before.
    pub(super) fn add_prompt(&mut self, text: &str, at: Moment) {
        self.end_turn();
        if !is_acknowledgement(text) {
            self.turn.prompt = self.push_draft(MemoryType::UserPrompt, text.to_owned(), at);
        }
        self.conclude_prompt(text, at);
        self.last_turn.begin(text);
        self.turn.is_started = true;
    }

    /// Decisions by a person who picked options.
    pub(super) fn add_picked(&mut self, picked: Vec<String>) {
        self.turn.said.picked.extend(picked);
    }

    /// A prompt as a hook gets it: what the host injected is removed, and what the host wrote itself is no prompt.
    pub(super) fn add_raw_prompt(&mut self, text: String, at: Moment) {
        let payload = HookPayload {
            hook_event_name: Some("UserPromptSubmit".to_owned()),
            prompt: Some(text),
            ..HookPayload::default()
        };
        let ReplayContext { project, loaded, .. } = &self.context;
        match HostEvent::from_payload(&payload, project, &loaded.sanitizer).map(|event| event.kind) {
            Some(EventKind::Prompt(text)) => self.add_prompt(&text, at),
            _ => self.start_machine_turn(),
        }
    }

    /// A turn that the host began itself.
    pub(super) fn start_machine_turn(&mut self) {
        self.end_turn();
        self.turn.is_started = true;
    }

    /// Hooks get no event at the end of a cancelled turn. They read its text at the next prompt.
    pub(super) fn interrupt(&mut self) {
        self.continue_answer();
        self.turn.is_started = self.turn.used.is_some();
    }

    pub(super) fn add_summary(&mut self, text: String, at: Moment) {
        drop(self.push_draft(MemoryType::SessionSummary, text, at));
    }

    pub(super) fn compact(&mut self, at: Moment) {
        let last = self.turn.answer.clone().filter(|answer| answer.is_last);
        self.continue_answer();
        self.turn.answer = last;
        self.end_tool_uses();
        self.conclude_turn(None, at);
    }

    pub(super) fn add_answer(&mut self, id: Option<String>, text: String, at: Moment) {
        match &mut self.turn.answer {
            Some(open) if open.id.is_some() && open.id == id => {
                open.at = at;
                if open.text.len() + text.len() < schema::host::transcript::LINE_LIMIT {
                    open.text.push_str("\n\n");
                    open.text.push_str(&text);
                }
                return;
            }
            // The host ended a turn here, and a hook or a task continued it.
            Some(open) if open.is_last => self.end_turn(),
            Some(_) => self.continue_answer(),
            None => {}
        }
        self.turn.answer = Some(PendingAnswer { id, text, at, is_last: true });
        self.turn.is_started = true;
    }

    /// Decides whether the current answer ends its turn, from what the host says about a message.
    pub(super) fn judge_answer(&mut self, message: Option<&String>, stop_reason: Option<&str>, has_tools: bool) {
        let Some(answer) = &mut self.turn.answer else { return };
        if answer.id.as_ref() == message {
            // Each line of an answer has the stop reason. Without one, the model stopped if no tool was called.
            match stop_reason {
                Some(reason) => answer.is_last = reason != "tool_use",
                None => answer.is_last &= !has_tools,
            }
        } else if has_tools && answer.is_last {
            self.end_turn();
        }
    }

    /// Makes the current answer a text between tools, because the model continued or was interrupted.
    pub(super) fn continue_answer(&mut self) {
        let Some(answer) = self.turn.answer.take() else { return };
        self.turn.said.at = Some(answer.at);
        let texts = &mut self.turn.said.texts;
        texts.push(answer.text);
        // Keeps only the last texts of a long turn.
        while texts.iter().map(String::len).sum::<usize>() > TURN_TEXTS {
            texts.remove(0);
        }
    }

    pub(super) fn start_tools(&mut self, started: Vec<StartedTool>) {
        self.context.start_tools(started);
    }

    pub(super) fn finish_tool(&mut self, done: FinishedTool, cwd: Option<&str>, at: Moment) {
        if let Some(event) = self.context.finish_tool(done, cwd) {
            self.add_event(event, at);
        }
    }

    pub(super) fn add_event(&mut self, event: ReplayEvent, at: Moment) {
        match event {
            ReplayEvent::ToolUse(used) => self.used(used, at),
            ReplayEvent::Failed(text) => {
                self.failed.extend(topics_of(&text));
                if let Some(used) = &mut self.turn.used {
                    used.remove_successes(&text);
                }
                self.end_tool_uses();
                self.push_draft(MemoryType::Error, text, at);
            }
            ReplayEvent::Reported { text, .. } if is_empty_answer(&text) => {}
            ReplayEvent::Reported { agent_type, text } => {
                let report = agent_type.map_or_else(|| text.clone(), |kind| format!("{kind}: {text}"));
                let source = self.push_draft(MemoryType::SubagentResult, report, at);
                self.conclude(source, TurnTexts { texts: vec![text], ..TurnTexts::default() }, at);
            }
        }
    }

    /// Stores what hooks store of a tool use.
    fn used(&mut self, mut used: ToolUse, at: Moment) {
        used.changed = used.changed.and_then(|changed| changed.within(self.context.loaded.settings.edits));
        let is_success = used.attempt.topics().iter().any(|topic| self.failed.contains(topic));
        if used.changed.is_some() || is_success {
            let line = track_buffer::to_buffered_use(&used, is_success, &at, self.sanitizer());
            self.turn.used.get_or_insert_with(|| ToolUses::new(at)).add(line, at);
            self.turn.is_started = true;
        }
    }

    /// Stores what hooks store at the end of a turn: changes, answer or last text, then conclusions.
    pub(super) fn end_turn(&mut self) {
        self.end_tool_uses();
        let at = self.turn.answer.as_ref().map(|answer| answer.at);
        match self.turn.answer.take() {
            Some(PendingAnswer { text, at, is_last: true, .. }) => {
                self.last_turn.answer.clone_from(&text);
                let answer = (!is_empty_answer(&text)).then(|| text.clone());
                let source = answer.and_then(|text| self.push_draft(MemoryType::AssistantResponse, text, at));
                self.turn.said.texts.push(text);
                self.conclude_turn(source, at);
            }
            answer => {
                self.turn.said.at = at.or(self.turn.said.at);
                self.turn.said.texts.extend(answer.map(|answer| answer.text));
                if let Some(last) = self.turn.said.texts.last() {
                    self.last_turn.answer.clone_from(last);
                }
                let at = at.or(self.last_at).unwrap_or_else(Moment::now);
                let last = self.turn.said.unfinished(&self.context.session_id, at);
                let source = last.and_then(|draft| self.push(draft));
                self.conclude_turn(source, at);
            }
        }
        self.turn.prompt = None;
        self.turn.is_started = false;
    }

    fn end_tool_uses(&mut self) {
        if let Some(used) = self.turn.used.take()
            && let Some(text) = used.text()
        {
            let prepared = self.prepared(self.draft(MemoryType::ToolUsage, text, used.at));
            self.ready.extend(prepared.map(|memory| memory.with_succeeded(used.succeeded)));
        }
    }

    /// Extracts conclusions from a turn. `answer` is the memory of its answer.
    fn conclude_turn(&mut self, answer: Option<MemoryId>, at: Moment) {
        let said = std::mem::take(&mut self.turn.said);
        self.conclude(answer.or_else(|| self.turn.prompt.clone()), said, at);
    }

    fn conclude(&mut self, source: Option<MemoryId>, said: TurnTexts, at: Moment) {
        let drafts = |said_in: &_| conclusions::drafts_of_turn(said_in, said, self.sanitizer());
        self.push_conclusions(self.said_in(source, at).as_ref().map(drafts));
    }

    fn conclude_prompt(&mut self, text: &str, at: Moment) {
        let drafts = |said_in: &_| conclusions::drafts_of_prompt(said_in, text, &self.last_turn, self.sanitizer());
        self.push_conclusions(self.said_in(self.turn.prompt.clone(), at).as_ref().map(drafts));
    }

    /// The source of conclusions, unless the settings turn them off.
    fn said_in(&self, source: Option<MemoryId>, at: Moment) -> Option<ConclusionSource<'_>> {
        let ReplayContext { loaded, session_id, .. } = &self.context;
        loaded.settings.conclusions.then_some(ConclusionSource { session_id, source, at })
    }

    fn push_conclusions(&mut self, drafts: Option<Vec<Draft>>) {
        for draft in drafts.unwrap_or_default() {
            self.push(draft);
        }
    }

    /// Ends the session.
    pub(super) fn finish(&mut self) {
        self.is_done = true;
        let has_answer = self.turn.answer.as_ref().is_some_and(|answer| answer.is_last);
        if has_answer || self.ending == TranscriptEnd::Complete {
            self.end_turn();
        } else {
            self.state.is_open = self.turn.is_started;
            self.continue_answer();
            self.conclude_turn(None, self.last_at.unwrap_or_else(Moment::now));
        }
    }

    fn draft(&self, kind: MemoryType, content: String, at: Moment) -> Draft {
        let importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        Draft {
            attributes: MemoryAttributes { importance, ..MemoryAttributes::default() },
            ..Draft::new(self.context.session_id.clone(), kind, content, at)
        }
    }

    /// Adds a memory and returns its id.
    fn push_draft(&mut self, kind: MemoryType, content: String, at: Moment) -> Option<MemoryId> {
        self.push(self.draft(kind, content, at))
    }

    fn push(&mut self, draft: Draft) -> Option<MemoryId> {
        let prepared = self.prepared(draft)?;
        let id = prepared.id();
        self.ready.push_back(prepared);
        Some(id)
    }

    /// Prepares a memory that says where it came from.
    fn prepared(&self, mut draft: Draft) -> Option<PreparedMemory> {
        draft.attributes.metadata.extend(self.from.iter().map(|from| (FROM.to_owned(), Value::from(from.as_str()))));
        prepare(draft, self.sanitizer())
    }
}

#[cfg(test)]
mod tests {
    use schema::host::hook::ToolResponse;
    use schema::model::memory::UNFINISHED;
    use schema::settings::{Edits, Settings};
    use serde_json::json;

    use super::*;
    use crate::import::tool_record::ToolFailure;

    const AT: i64 = 1_769_563_800;

    fn memories(settings: &Settings, work: impl FnOnce(&mut TurnBuilder<'_>, Moment)) -> Vec<PreparedMemory> {
        let loaded = LoadedSettings::from(settings.clone());
        let mut turns =
            TurnBuilder::new(Path::new("/home/dev/project"), &loaded, "s".to_owned(), TranscriptEnd::Complete);
        work(&mut turns, Moment::from_unix(AT, Some(0)).unwrap());
        std::iter::from_fn(|| turns.pop()).collect()
    }

    #[rstest::rstest]
    #[case::edit_off("Edit", Edits::Off, 0)]
    #[case::edit_by_name("Edit", Edits::Names, 1)]
    #[case::command("Bash", Edits::Off, 1)]
    fn failed_edit_is_recorded_as_hooks_do(#[case] tool: &str, #[case] edits: Edits, #[case] expected: usize) {
        let settings = Settings { edits, ..Settings::default() };
        let found = memories(&settings, |turns, at| {
            let input = json!({ "file_path": "src/private.rs", "command": "make" });
            turns.start_tools(vec![StartedTool { id: "1".to_owned(), name: tool.to_owned(), input }]);
            let result = Err(ToolFailure::Failed("String to replace not found in file.".to_owned()));
            turns.finish_tool(FinishedTool { id: "1".to_owned(), result }, None, at);
        });
        let failures = found.iter().filter(|memory| memory.draft().kind == MemoryType::Error).count();
        assert_eq!(failures, expected);
    }

    #[test]
    fn interrupted_turn_has_its_last_informative_text() {
        let found = memories(&Settings::default(), |turns, at| {
            turns.add_prompt("Add a tree to find similar photos", at);
            turns.add_answer(None, "The range of child edges is too small.".to_owned(), at);
            turns.continue_answer();
            turns.interrupt();
            turns.add_prompt("Why are the tests red?", at);
        });
        let last = found.iter().find(|memory| memory.draft().kind == MemoryType::AssistantResponse).unwrap();
        assert!(last.draft().attributes.metadata.contains_key(UNFINISHED));
    }

    #[test]
    fn option_is_picked_after_a_turn_that_ended_twice() {
        let found = memories(&Settings::default(), |turns, at| {
            turns.add_prompt("Which store do we use for the sessions?", at);
            turns.add_answer(None, "1. Redis\n2. Postgres\n3. SQLite".to_owned(), at);
            turns.end_turn();
            turns.add_prompt("3.", at);
        });
        let decision = found.iter().find(|memory| memory.draft().kind == MemoryType::Decision).unwrap();
        assert!(decision.draft().content.contains("SQLite"), "{}", decision.draft().content);
    }

    #[test]
    fn failure_divides_what_a_turn_changed() {
        let found = memories(&Settings::default(), |turns, at| {
            turns.add_prompt("Split the parser", at);
            for (id, name, input, result) in [
                (
                    "1",
                    "Write",
                    json!({ "file_path": "src/parser.rs", "content": "one();" }),
                    Ok(ToolResponse::default()),
                ),
                (
                    "2",
                    "Bash",
                    json!({ "command": "make" }),
                    Err(ToolFailure::Failed("Exit code 2\nno lexer".to_owned())),
                ),
                (
                    "3",
                    "Write",
                    json!({ "file_path": "src/lexer.rs", "content": "two();" }),
                    Ok(ToolResponse::default()),
                ),
            ] {
                turns.start_tools(vec![StartedTool { id: id.to_owned(), name: name.to_owned(), input }]);
                turns.finish_tool(FinishedTool { id: id.to_owned(), result }, None, at);
            }
            turns.end_turn();
        });
        let kinds: Vec<MemoryType> = found.iter().map(|memory| memory.draft().kind).collect();
        assert_eq!(kinds, [MemoryType::UserPrompt, MemoryType::ToolUsage, MemoryType::Error, MemoryType::ToolUsage]);
    }

    #[test]
    fn picked_option_belongs_to_the_turn_and_not_to_a_report() {
        let picked = "Chosen: Redis (asked: Which store?)";
        let found = memories(&Settings::default(), |turns, at| {
            turns.add_prompt("Design the store of the sessions", at);
            turns.add_picked(vec![picked.to_owned()]);
            let text = "The tests cover the store.".to_owned();
            turns.add_event(ReplayEvent::Reported { agent_type: None, text }, at);
            turns.add_answer(None, "The sessions are in the new store.".to_owned(), at);
            turns.end_turn();
        });
        let answer = found.iter().find(|memory| memory.draft().kind == MemoryType::AssistantResponse).unwrap();
        let decision = found.iter().find(|memory| memory.draft().content == picked).unwrap();
        assert_eq!(decision.draft().attributes.source, Some(answer.id()));
    }
}
