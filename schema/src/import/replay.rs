//! A transcript of Claude Code as the memories that hooks would have made of it: one line of it in memory at a time.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde_json::Value;

use super::record::{Begun, Done, Failure, Record, Tools};
use super::side::{Happened, Side, side_events};
use crate::capture::{Destination, Draft};
use crate::extract::Findings;
use crate::hook::{Event, Occurrence, Payload, Use};
use crate::memory::{Attributes, MemoryType};
use crate::moment::Moment;
use crate::screen::Screen;
use crate::tool_usage;
use crate::track;
use crate::transcript::Thread;
use crate::transcript::line::{Heard, Line};
use crate::transcript::lines::Forward;

/// A failure is worth a second look, as it is to hooks.
const FAILURE_IMPORTANCE: u8 = 3;

/// Tools whose results are waited for at most.
const WAITING: usize = 1_000;

/// How names in `meta` begin under which it is noted that a transcript was read whole.
pub const READ_BEFORE: &str = "imported ";

/// Texts before which a line of the host is not worth parsing.
const SPEAKERS: [&[u8]; 3] = [b"\"user\"", b"\"assistant\"", b"compact_boundary"];

/// How a transcript that ends in the middle of a turn is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nobody writes to it any more: what the last turn changed is kept.
    Over,
    /// Its session may go on: what its hooks will keep is left to them.
    Open,
}

/// Reads one transcript with those of its subagents.
#[derive(Debug)]
pub struct Replay<'s> {
    scene: Scene<'s>,
    lines: Forward,
    side: VecDeque<Side>,
    ending: Ending,
    turn: Turn,
    findings: Findings,
    ready: VecDeque<Draft>,
    /// How many bytes were read.
    read: u64,
    is_done: bool,
    is_open: bool,
    /// Lines that say nothing because they are no JSON.
    not_understood: usize,
    is_torn: bool,
}

/// Where what is read happened.
#[derive(Debug)]
pub(super) struct Scene<'s> {
    pub(super) project: &'s Path,
    pub(super) screen: &'s Screen,
    pub(super) session_id: String,
    waiting: HashMap<String, (String, Value)>,
}

/// What was done and said since the last turn ended.
#[derive(Debug, Default)]
struct Turn {
    files: Vec<String>,
    commands: Vec<String>,
    used_at: Option<Moment>,
    answer: Option<Answer>,
    /// Whether anything was said or done in it.
    is_begun: bool,
}

#[derive(Debug)]
struct Answer {
    id: Option<String>,
    text: String,
    at: Moment,
    /// Whether the model had no more to do after it.
    is_last: bool,
}

impl<'s> Replay<'s> {
    /// Opens a transcript of `project`.
    pub fn open(path: &Path, project: &'s Path, screen: &'s Screen, ending: Ending) -> io::Result<Self> {
        let session_id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let scene = Scene::new(project, screen, session_id);
        let side = side_events(&path.with_extension("").join("subagents"), project, screen);
        Ok(Self {
            lines: Forward::open(path, 0)?,
            scene,
            side,
            ending,
            turn: Turn::default(),
            findings: Findings::default(),
            ready: VecDeque::new(),
            read: 0,
            is_done: false,
            is_open: false,
            not_understood: 0,
            is_torn: false,
        })
    }

    /// How many bytes were read so far, about.
    pub fn position(&self) -> u64 {
        self.read
    }

    /// Whether it ended in the middle of a turn of which the rest is still to come.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// How many lines could not be read, the last one left out where it is torn.
    pub fn not_understood(&self) -> usize {
        self.not_understood
    }

    /// Whether it ended in the middle of a line.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// The next memory, `None` at the end. A torn last line says nothing.
    pub fn next_memory(&mut self) -> io::Result<Option<Draft>> {
        while self.ready.is_empty() && !self.is_done {
            let Some(bytes) = self.lines.next()? else {
                self.finish();
                break;
            };
            self.read += bytes.len() as u64 + 1;
            let speaks = SPEAKERS.iter().any(|speaker| memmem::find(bytes, speaker).is_some());
            let line = if speaks { Line::parse(bytes) } else { None };
            // Most lines are of no use here, and are told by their brackets to be what they should.
            let is_object = bytes.trim_ascii().starts_with(b"{") && bytes.trim_ascii().ends_with(b"}");
            let is_bad = match &line {
                Some(_) => false,
                // A line of a kind that is not known here may name a speaker somewhere within.
                None if speaks => serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err(),
                None => !is_object && !bytes.trim_ascii().is_empty(),
            };
            if let Some(line) = line
                && let Some(at) = line.at()
                && let Some(record) = Record::parse(bytes)
            {
                if let Some(session_id) = record.session_id.clone().filter(|id| !id.is_empty()) {
                    self.scene.session_id = session_id;
                }
                let tools = record.tools();
                let cwd = record.cwd;
                self.take(&line, at, &tools);
                self.scene.begin(tools.begun);
                for done in tools.done {
                    if let Some(happened) = self.scene.done(done, cwd.as_deref()) {
                        self.happen(happened, at);
                    }
                }
            }
            if is_bad && self.lines.is_ended() {
                self.not_understood += 1;
            } else if is_bad {
                self.is_torn = true;
            }
        }
        Ok(self.ready.pop_front())
    }

    fn take(&mut self, line: &Line, at: Moment, tools: &Tools) {
        while self.side.front().is_some_and(|side| side.at <= at) {
            self.take_side();
        }
        if line.is_interruption() {
            // A turn that was stopped has no end of which hooks are told.
            self.hear_answer();
            self.turn.answer = None;
            self.turn.is_begun = !self.turn.files.is_empty() || !self.turn.commands.is_empty();
            return;
        }
        if line.is_command() {
            self.end_turn();
            return;
        }
        match line.heard(Thread::Main) {
            Heard::Prompt(text) => {
                self.end_turn();
                self.findings.hear(&text, at, self.scene.screen);
                self.emit(MemoryType::UserPrompt, text, at);
                self.turn.is_begun = true;
            }
            Heard::MachinePrompt => {
                self.end_turn();
                self.turn.is_begun = true;
            }
            Heard::Answer { id, text } => self.answer(id, text, at),
            Heard::Summary(text) => self.emit(MemoryType::SessionSummary, summary(&text).to_owned(), at),
            Heard::Compaction => {
                self.hear_answer();
                self.end_use();
                self.conclude();
            }
            Heard::Nothing => {}
        }
        let Some(answer) = &mut self.turn.answer else { return };
        if answer.id == tools.message_id {
            // Of one answer each line says why the model stopped; hosts that do not say it stop where no tool is called.
            match tools.stop_reason.as_deref() {
                Some(reason) => answer.is_last = reason != "tool_use",
                None => answer.is_last &= tools.begun.is_empty(),
            }
        } else if !tools.begun.is_empty() && answer.is_last {
            self.end_turn();
        }
    }

    fn answer(&mut self, id: Option<String>, text: String, at: Moment) {
        match &mut self.turn.answer {
            Some(open) if open.id.is_some() && open.id == id => {
                open.at = at;
                if open.text.len() + text.len() < crate::transcript::LINE_LIMIT {
                    open.text.push_str("\n\n");
                    open.text.push_str(&text);
                }
                return;
            }
            // The host ended a turn here, and a hook or a task made it go on.
            Some(open) if open.is_last => self.end_turn(),
            Some(_) => self.hear_answer(),
            None => {}
        }
        self.turn.answer = Some(Answer { id, text, at, is_last: true });
        self.turn.is_begun = true;
    }

    fn take_side(&mut self) {
        let Some(Side { at, session_id, happened }) = self.side.pop_front() else { return };
        let main = session_id.map(|session_id| std::mem::replace(&mut self.scene.session_id, session_id));
        self.happen(happened, at);
        if let Some(main) = main {
            self.scene.session_id = main;
        }
    }

    fn happen(&mut self, happened: Happened, at: Moment) {
        match happened {
            Happened::Used(tool_use) => self.turn.used(tool_use, at, self.scene.screen),
            Happened::Failed(text) => self.emit(MemoryType::Error, text, at),
            Happened::Reported(text) => self.emit(MemoryType::SubagentResult, text, at),
        }
    }

    /// What hooks keep at the end of a turn: what it changed, then its answer.
    fn end_turn(&mut self) {
        self.hear_answer();
        self.end_use();
        if let Some(Answer { text, at, is_last: true, .. }) = self.turn.answer.take() {
            self.emit(MemoryType::AssistantResponse, text, at);
        }
        self.turn.is_begun = false;
    }

    fn end_use(&mut self) {
        let Turn { files, commands, used_at, .. } = &mut self.turn;
        let (files, commands) = (std::mem::take(files), std::mem::take(commands));
        if let (Some(text), Some(at)) = (tool_usage::describe(&files, &commands), used_at.take()) {
            self.emit(MemoryType::ToolUsage, text, at);
        }
    }

    /// Looks for conclusions in the answer at hand, which is heard whole.
    fn hear_answer(&mut self) {
        if let Some(answer) = &self.turn.answer {
            self.findings.hear(&answer.text, answer.at, self.scene.screen);
        }
    }

    fn conclude(&mut self) {
        for found in self.findings.take() {
            self.emit(found.kind, found.content, found.at);
        }
    }

    fn finish(&mut self) {
        self.is_done = true;
        while !self.side.is_empty() {
            self.take_side();
        }
        let has_answer = self.turn.answer.as_ref().is_some_and(|answer| answer.is_last);
        if has_answer || self.ending == Ending::Over {
            self.end_turn();
        } else {
            self.is_open = self.turn.is_begun;
            self.hear_answer();
        }
        self.conclude();
    }

    fn emit(&mut self, kind: MemoryType, content: String, at: Moment) {
        let importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        self.ready.push_back(Draft {
            session_id: self.scene.session_id.clone(),
            kind,
            content,
            at,
            attributes: Attributes { importance, ..Attributes::default() },
            destination: Destination::DailyLog,
        });
    }
}

impl Turn {
    fn used(&mut self, tool_use: Use, at: Moment, screen: &Screen) {
        let (list, text) = match tool_use {
            Use::File(path) => (&mut self.files, path),
            Use::Command(line) => (&mut self.commands, line),
        };
        let text = track::noted(&text, screen);
        if !list.contains(&text) {
            list.push(text);
        }
        self.used_at = self.used_at.max(Some(at));
        self.is_begun = true;
    }
}

impl<'s> Scene<'s> {
    pub(super) fn new(project: &'s Path, screen: &'s Screen, session_id: String) -> Self {
        Self { project, screen, session_id, waiting: HashMap::new() }
    }

    pub(super) fn begin(&mut self, begun: Vec<Begun>) {
        for Begun { id, name, input } in begun {
            if self.waiting.len() >= WAITING {
                self.waiting.clear();
            }
            self.waiting.insert(id, (name, input));
        }
    }

    /// What hooks make of a result: the same as of their payload.
    pub(super) fn done(&mut self, done: Done, cwd: Option<&str>) -> Option<Happened> {
        let (name, input) = self.waiting.remove(&done.id)?;
        let (event, error) = match done.result {
            Ok(()) => ("PostToolUse", None),
            Err(Failure::Failed(text)) => ("PostToolUseFailure", Some(text)),
            Err(Failure::NeverBegun) => return None,
        };
        let payload = Payload {
            session_id: None,
            hook_event_name: Some(event.to_owned()),
            transcript_path: None,
            cwd: cwd.map(str::to_owned),
            source: None,
            prompt: None,
            tool_name: Some(name),
            tool_input: input,
            error,
            is_interrupt: None,
            last_assistant_message: None,
            agent_type: None,
            agent_transcript_path: None,
            compact_summary: None,
        };
        match Occurrence::of(&payload, self.project, self.screen)?.event {
            Event::ToolUse(tool_use) => Some(Happened::Used(tool_use)),
            Event::Failure(text) => Some(Happened::Failed(text)),
            _ => None,
        }
    }
}

/// What the model wrote of a summary, without what the host says around it.
fn summary(text: &str) -> &str {
    let text = text.split_once("\nSummary:\n").or_else(|| text.split_once("Summary:\n")).map_or(text, |(_, rest)| rest);
    let ends =
        ["\n\nIf you need specific details from before compaction", "\nContinue the conversation from where it left"];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    text[..end.unwrap_or(text.len())].trim()
}

/// The directory that a session began in, by the first line of its transcript that says one. Reads the beginning only.
pub fn working_directory(path: &Path) -> io::Result<Option<PathBuf>> {
    const LINES: usize = 200;
    let mut lines = Forward::open(path, 0)?;
    for _ in 0..LINES {
        let Some(bytes) = lines.next()? else { break };
        if memmem::find(bytes, b"\"cwd\"").is_some()
            && let Some(cwd) = Record::parse(bytes).and_then(|record| record.cwd)
        {
            return Ok(Some(PathBuf::from(cwd)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
