//! Converts a transcript of Claude Code to the memories that hooks would have stored. Holds one line in memory at a time.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use schema::host::transcript::line::{LineContent, TranscriptLine};
use schema::host::transcript::line_reader::ForwardLines;
use schema::host::transcript::{TranscriptThread, picked_options};
use schema::intake::prepare::PreparedMemory;
use schema::model::moment::Moment;
use schema::settings::LoadedSettings;

use super::subagent_events::{SubagentRecord, read_subagent_events};
use super::tool_record::{ToolActivity, ToolRecord};
use super::turns::{ReplayState, SessionReplay, TranscriptEnd, TurnBuilder};

/// A line without any of these texts need not be parsed.
const SPEAKERS: [&[u8]; 3] = [b"\"user\"", b"\"assistant\"", b"compact_boundary"];

/// Reads a transcript and those of its subagents.
#[derive(Debug)]
pub struct ClaudeCodeReplay<'s> {
    lines: ForwardLines,
    subagent_events: VecDeque<SubagentRecord>,
    turns: TurnBuilder<'s>,
}

impl<'s> ClaudeCodeReplay<'s> {
    pub fn open(path: &Path, project: &'s Path, loaded: &'s LoadedSettings, ending: TranscriptEnd) -> io::Result<Self> {
        let session_id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let subagent_events = read_subagent_events(&path.with_extension("").join("subagents"), project, loaded);
        Ok(Self {
            lines: ForwardLines::open(path, 0)?,
            subagent_events,
            turns: TurnBuilder::new(project, loaded, session_id, ending),
        })
    }

    fn add_line(&mut self, line: &TranscriptLine, at: Moment, tools: &ToolActivity) {
        while self.subagent_events.front().is_some_and(|record| record.at <= at) {
            self.replay_subagents();
        }
        if line.is_interruption() {
            self.turns.interrupt();
            return;
        }
        if line.is_command() {
            self.turns.end_turn();
            return;
        }
        match line.content(TranscriptThread::Main) {
            LineContent::Prompt(text) => self.turns.add_prompt(&text, at),
            LineContent::MachinePrompt => self.turns.start_machine_turn(),
            LineContent::Answer { id, text } => self.turns.add_answer(id, text, at),
            LineContent::Summary(text) => self.turns.add_summary(summary_text(&text).to_owned(), at),
            LineContent::Compaction => self.turns.compact(at),
            LineContent::Nothing => {}
        }
        self.turns.judge_answer(tools.message_id.as_ref(), tools.stop_reason.as_deref(), !tools.started.is_empty());
    }

    fn replay_subagents(&mut self) {
        let Some(SubagentRecord { at, session_id, event }) = self.subagent_events.pop_front() else { return };
        let main = session_id.map(|session_id| std::mem::replace(&mut self.turns.context.session_id, session_id));
        self.turns.add_event(event, at);
        if let Some(main) = main {
            self.turns.context.session_id = main;
        }
    }

    fn finish(&mut self) {
        while !self.subagent_events.is_empty() {
            self.replay_subagents();
        }
        self.turns.finish();
    }
}

impl SessionReplay for ClaudeCodeReplay<'_> {
    fn next_memory(&mut self) -> io::Result<Option<PreparedMemory>> {
        while self.turns.needs_more() {
            let Some(bytes) = self.lines.next_line()? else {
                self.finish();
                break;
            };
            self.turns.state.position += bytes.len() as u64 + 1;
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
                    self.turns.context.session_id = session_id;
                }
                self.turns.last_at = Some(at);
                let tools = record.tools();
                let cwd = record.cwd;
                let picked = picked_options(bytes);
                self.add_line(&line, at, &tools);
                self.turns.add_picked(picked);
                self.turns.start_tools(tools.started);
                for done in tools.finished {
                    self.turns.finish_tool(done, cwd.as_deref(), at);
                }
            }
            if is_bad {
                self.turns.state.count_unreadable(self.lines.is_line_complete());
            }
        }
        Ok(self.turns.pop())
    }

    fn state(&self) -> ReplayState {
        self.turns.state
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
pub fn claude_code_session_directory(path: &Path) -> io::Result<Option<PathBuf>> {
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
