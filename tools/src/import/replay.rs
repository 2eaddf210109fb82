//! Converts a transcript of Claude Code to the memories that hooks would have stored. Holds one line in memory at a time.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use schema::host::choice::LastExchange;
use schema::host::conclusion::{self, SaidIn, Speaker};
use schema::host::hook::Used;
use schema::host::track_buffer::{self, ToolUses};
use schema::host::transcript::line::{LineContent, TranscriptLine};
use schema::host::transcript::line_reader::ForwardLines;
use schema::host::transcript::{TURN_TEXTS, TranscriptThread, picked_in};
use schema::intake::capture::{Destination, Draft, PreparedMemory, prepare};
use schema::model::failure::topics_of;
use schema::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::prose::small_talk::{is_acknowledgement, is_empty_answer};
use schema::settings::Settings;

use super::replay_context::{ReplayContext, SubagentEvent};
use super::subagent_events::{SubagentRecord, read_subagent_events};
use super::tool_record::{ToolActivity, ToolRecord};

/// Importance of a failure, as for hooks.
const FAILURE_IMPORTANCE: u8 = 3;

/// Prefix of the `meta` keys of completely read transcripts.
pub const IMPORT_MARK_PREFIX: &str = "imported ";

/// A line without any of these texts need not be parsed.
const SPEAKERS: [&[u8]; 3] = [b"\"user\"", b"\"assistant\"", b"compact_boundary"];

/// How to treat a transcript that ends inside a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptEnd {
    /// The session is over: store what the last turn changed.
    Complete,
    /// The session may continue: leave the rest to its hooks.
    Growing,
}

/// Reads a transcript and those of its subagents.
#[derive(Debug)]
pub struct TranscriptReplay<'s> {
    context: ReplayContext<'s>,
    lines: ForwardLines,
    subagent_events: VecDeque<SubagentRecord>,
    ending: TranscriptEnd,
    settings: &'s Settings,
    turn: ReplayTurn,
    exchange: LastExchange,
    /// Topics of this session's failures.
    failed: HashSet<String>,
    ready: VecDeque<PreparedMemory>,
    /// Time of the last event.
    last_at: Option<Moment>,
    read: u64,
    is_done: bool,
    is_open: bool,
    /// Lines that are not valid JSON.
    unreadable_lines: usize,
    is_torn: bool,
}

/// Actions and messages since the last turn ended.
#[derive(Debug, Default)]
struct ReplayTurn {
    used: Option<ToolUses>,
    /// The memory of its prompt.
    prompt: Option<MemoryId>,
    /// Text between tool calls.
    texts: Vec<String>,
    /// Decisions by a person who picked options.
    picked: Vec<String>,
    answer: Option<PendingAnswer>,
    is_started: bool,
}

#[derive(Debug)]
struct PendingAnswer {
    id: Option<String>,
    text: String,
    at: Moment,
    /// Whether the model finished with it.
    is_last: bool,
}

impl<'s> TranscriptReplay<'s> {
    pub fn open(
        path: &Path,
        project: &'s Path,
        sanitizer: &'s Sanitizer,
        settings: &'s Settings,
        ending: TranscriptEnd,
    ) -> io::Result<Self> {
        let session_id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let scene = ReplayContext::new(project, sanitizer, session_id);
        let side = read_subagent_events(&path.with_extension("").join("subagents"), project, sanitizer);
        Ok(Self {
            lines: ForwardLines::open(path, 0)?,
            context: scene,
            subagent_events: side,
            ending,
            settings,
            turn: ReplayTurn::default(),
            exchange: LastExchange::default(),
            failed: HashSet::new(),
            ready: VecDeque::new(),
            last_at: None,
            read: 0,
            is_done: false,
            is_open: false,
            unreadable_lines: 0,
            is_torn: false,
        })
    }

    /// Approximate bytes read so far.
    pub fn position(&self) -> u64 {
        self.read
    }

    /// Whether it ended inside a turn that may continue.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Unreadable lines, without a torn last one.
    pub fn unreadable_lines(&self) -> usize {
        self.unreadable_lines
    }

    /// Whether it ended inside a line.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// The next memory, `None` at the end. A torn last line is ignored.
    pub fn next_memory(&mut self) -> io::Result<Option<PreparedMemory>> {
        while self.ready.is_empty() && !self.is_done {
            let Some(bytes) = self.lines.next_line()? else {
                self.finish();
                break;
            };
            self.read += bytes.len() as u64 + 1;
            let speaks = SPEAKERS.iter().any(|speaker| memmem::find(bytes, speaker).is_some());
            let line = if speaks { TranscriptLine::parse(bytes) } else { None };
            // Most lines are irrelevant here, so a check of their brackets suffices.
            let is_object = bytes.trim_ascii().starts_with(b"{") && bytes.trim_ascii().ends_with(b"}");
            let is_bad = match &line {
                Some(_) => false,
                // An unknown kind of line may contain a speaker's name.
                None if speaks => serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err(),
                None => !is_object && !bytes.trim_ascii().is_empty(),
            };
            if let Some(line) = line
                && let Some(at) = line.moment()
                && let Some(record) = ToolRecord::parse(bytes)
            {
                if let Some(session_id) = record.session_id.clone().filter(|id| !id.is_empty()) {
                    self.context.session_id = session_id;
                }
                self.last_at = Some(at);
                let tools = record.tools();
                let cwd = record.cwd;
                let picked = picked_in(bytes);
                self.add_line(&line, at, &tools);
                self.turn.picked.extend(picked);
                self.context.start_tools(tools.started);
                for done in tools.finished {
                    if let Some(happened) = self.context.finish_tool(done, cwd.as_deref()) {
                        self.add_subagent_event(happened, at);
                    }
                }
            }
            if is_bad && self.lines.is_line_complete() {
                self.unreadable_lines += 1;
            } else if is_bad {
                self.is_torn = true;
            }
        }
        Ok(self.ready.pop_front())
    }

    fn add_line(&mut self, line: &TranscriptLine, at: Moment, tools: &ToolActivity) {
        while self.subagent_events.front().is_some_and(|side| side.at <= at) {
            self.replay_subagents();
        }
        if line.is_interruption() {
            // Hooks get no event at the end of a cancelled turn. They read its text at the next prompt.
            self.extract_from_answer();
            self.turn.answer = None;
            self.turn.is_started = self.turn.used.is_some();
            return;
        }
        if line.is_command() {
            self.end_turn();
            return;
        }
        match line.content(TranscriptThread::Main) {
            LineContent::Prompt(text) => {
                self.end_turn();
                if !is_acknowledgement(&text) {
                    self.turn.prompt = self.push_draft(MemoryType::UserPrompt, text.clone(), at);
                    self.conclude_prompt(&text, at);
                }
                self.exchange.ask(&text);
                self.turn.is_started = true;
            }
            LineContent::MachinePrompt => {
                self.end_turn();
                self.turn.is_started = true;
            }
            LineContent::Answer { id, text } => self.add_answer(id, text, at),
            LineContent::Summary(text) => {
                drop(self.push_draft(MemoryType::SessionSummary, summary_text(&text).to_owned(), at));
            }
            LineContent::Compaction => {
                self.extract_from_answer();
                self.end_tool_uses();
                self.conclude_turn(at);
            }
            LineContent::Nothing => {}
        }
        let Some(answer) = &mut self.turn.answer else { return };
        if answer.id == tools.message_id {
            // Each line of an answer has the stop reason. Without one, the model stopped if no tool was called.
            match tools.stop_reason.as_deref() {
                Some(reason) => answer.is_last = reason != "tool_use",
                None => answer.is_last &= tools.started.is_empty(),
            }
        } else if !tools.started.is_empty() && answer.is_last {
            self.end_turn();
        }
    }

    fn add_answer(&mut self, id: Option<String>, text: String, at: Moment) {
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
            Some(_) => self.extract_from_answer(),
            None => {}
        }
        self.turn.answer = Some(PendingAnswer { id, text, at, is_last: true });
        self.turn.is_started = true;
    }

    fn replay_subagents(&mut self) {
        let Some(SubagentRecord { at, session_id, event: happened }) = self.subagent_events.pop_front() else { return };
        let main = session_id.map(|session_id| std::mem::replace(&mut self.context.session_id, session_id));
        self.add_subagent_event(happened, at);
        if let Some(main) = main {
            self.context.session_id = main;
        }
    }

    fn add_subagent_event(&mut self, happened: SubagentEvent, at: Moment) {
        match happened {
            SubagentEvent::Used(used) => self.used(used, at),
            SubagentEvent::Failed(text) => {
                self.failed.extend(topics_of(&text));
                self.push_draft(MemoryType::Error, text, at);
            }
            SubagentEvent::Reported(text) => {
                let source = self.push_draft(MemoryType::SubagentResult, text.clone(), at);
                self.emit_conclusions(source, Speaker::Agent, &[text], at);
            }
        }
    }

    /// Stores what hooks store of a tool use.
    fn used(&mut self, mut used: Used, at: Moment) {
        used.changed = used.changed.and_then(|changed| changed.within(self.settings.edits));
        let is_success = used.attempt.topics().iter().any(|topic| self.failed.contains(topic));
        if used.changed.is_some() || is_success {
            let line = track_buffer::line_of(&used, is_success, self.context.sanitizer);
            self.turn.used.get_or_insert_with(|| ToolUses::new(at)).take_in(line, at);
            self.turn.is_started = true;
        }
    }

    /// Stores what hooks store at the end of a turn: changes, answer, then conclusions.
    fn end_turn(&mut self) {
        self.end_tool_uses();
        let at = self.turn.answer.as_ref().map(|answer| answer.at);
        match self.turn.answer.take() {
            Some(PendingAnswer { text, at, is_last: true, .. }) => {
                self.exchange.answer(&text);
                let source = if is_empty_answer(&text) {
                    None
                } else {
                    self.push_draft(MemoryType::AssistantResponse, text.clone(), at)
                };
                let mut texts = std::mem::take(&mut self.turn.texts);
                texts.push(text);
                let source = source.or_else(|| self.turn.prompt.clone());
                self.emit_conclusions(source, Speaker::Agent, &texts, at);
            }
            answer => {
                self.turn.texts.extend(answer.map(|answer| answer.text));
                self.conclude_turn(at.or(self.last_at).unwrap_or_else(Moment::now));
            }
        }
        self.turn.prompt = None;
        self.turn.is_started = false;
    }

    fn end_tool_uses(&mut self) {
        if let Some(used) = self.turn.used.take()
            && let Some(text) = used.text()
        {
            let draft = self.draft(MemoryType::ToolUsage, text, used.at);
            self.ready
                .extend(prepare(draft, self.context.sanitizer).map(|memory| memory.with_succeeded(used.succeeded)));
        }
    }

    /// Moves the current answer to the text between tools, because the model continued.
    fn extract_from_answer(&mut self) {
        if let Some(answer) = &self.turn.answer {
            self.turn.texts.push(answer.text.clone());
            // Keeps only the last texts of a long turn.
            let length = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
            while length(&self.turn.texts) > TURN_TEXTS {
                self.turn.texts.remove(0);
            }
        }
    }

    /// Extracts conclusions from a turn without an answer.
    fn conclude_turn(&mut self, at: Moment) {
        let texts = std::mem::take(&mut self.turn.texts);
        self.emit_conclusions(self.turn.prompt.clone(), Speaker::Agent, &texts, at);
    }

    fn conclude_prompt(&mut self, text: &str, at: Moment) {
        if self.settings.conclusions {
            let (session_id, source) = (self.context.session_id.clone(), self.turn.prompt.clone());
            let place = SaidIn { session_id: &session_id, source, speaker: Speaker::Person, at };
            let drafts = conclusion::drafts_of_prompt(&place, text, self.exchange.as_ref(), self.context.sanitizer);
            self.ready.extend(drafts.into_iter().filter_map(|draft| prepare(draft, self.context.sanitizer)));
        }
    }

    fn emit_conclusions(&mut self, source: Option<MemoryId>, speaker: Speaker, texts: &[String], at: Moment) {
        let picked = std::mem::take(&mut self.turn.picked);
        if self.settings.conclusions {
            let session_id = self.context.session_id.clone();
            let place = SaidIn { session_id: &session_id, source, speaker, at };
            let mut drafts = conclusion::drafts_of_picked(&place, picked);
            drafts.extend(conclusion::drafts(&place, texts.iter().map(String::as_str), self.context.sanitizer));
            self.ready.extend(drafts.into_iter().filter_map(|draft| prepare(draft, self.context.sanitizer)));
        }
    }

    fn finish(&mut self) {
        self.is_done = true;
        while !self.subagent_events.is_empty() {
            self.replay_subagents();
        }
        let has_answer = self.turn.answer.as_ref().is_some_and(|answer| answer.is_last);
        if has_answer || self.ending == TranscriptEnd::Complete {
            self.end_turn();
        } else {
            self.is_open = self.turn.is_started;
            self.extract_from_answer();
            self.conclude_turn(self.last_at.unwrap_or_else(Moment::now));
        }
    }

    fn draft(&self, kind: MemoryType, content: String, at: Moment) -> Draft {
        let importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        Draft {
            session_id: self.context.session_id.clone(),
            kind,
            content,
            at,
            attributes: MemoryAttributes { importance, ..MemoryAttributes::default() },
            destination: Destination::DailyLog,
        }
    }

    /// Adds a memory and returns its id.
    fn push_draft(&mut self, kind: MemoryType, content: String, at: Moment) -> Option<MemoryId> {
        let prepared = prepare(self.draft(kind, content, at), self.context.sanitizer)?;
        let id = prepared.id();
        self.ready.push_back(prepared);
        Some(id)
    }
}

/// The model's text of a summary, without the host's frame.
fn summary_text(text: &str) -> &str {
    let text = text.split_once("\nSummary:\n").or_else(|| text.split_once("Summary:\n")).map_or(text, |(_, rest)| rest);
    let ends =
        ["\n\nIf you need specific details from before compaction", "\nContinue the conversation from where it left"];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    text[..end.unwrap_or(text.len())].trim()
}

/// The session's working directory, from the first line that has one. Reads only the start of the file.
pub fn session_directory(path: &Path) -> io::Result<Option<PathBuf>> {
    const LINES: usize = 200;
    let mut lines = ForwardLines::open(path, 0)?;
    for _ in 0..LINES {
        let Some(bytes) = lines.next_line()? else { break };
        if memmem::find(bytes, b"\"cwd\"").is_some()
            && let Some(cwd) = ToolRecord::parse(bytes).and_then(|record| record.cwd)
        {
            return Ok(Some(PathBuf::from(cwd)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
