//! Gemini CLI: reads its recorded chats (`session-*.jsonl`, and `.json` of older versions).
//!
//! A later line may replace a message or take back several, so a chat is read as a whole.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::Path;

use schema::files::regular_file;
use schema::host::hook::{CommandOutput, gemini_output};
use schema::intake::prepare::PreparedMemory;
use schema::model::moment::Moment;
use schema::settings::LoadedSettings;
use serde_json::{Value, json};

use super::foreign::parse_time;
use super::tool_record::{FinishedTool, StartedTool, ToolFailure};
use super::turns::{ReplayState, SessionReplay, TranscriptEnd, TurnBuilder};

/// The start of user messages that Gemini CLI writes itself.
const INJECTED: [&str; 3] = ["<session_context>", "<state_snapshot>", "This is the Gemini CLI."];

/// Names of tools, and those of Claude Code.
const TOOLS: [(&str, &str); 3] = [("run_shell_command", "Bash"), ("write_file", "Write"), ("replace", "Edit")];

/// Reads a chat of Gemini CLI.
#[derive(Debug)]
pub struct GeminiReplay<'s> {
    messages: VecDeque<Value>,
    turns: TurnBuilder<'s>,
    bytes: u64,
}

/// The messages of a chat in order. Some are replaced or removed by later lines.
#[derive(Debug, Default)]
struct Chat {
    session_id: Option<String>,
    is_subagent: bool,
    messages: Vec<Value>,
    positions: HashMap<String, usize>,
}

impl<'s> GeminiReplay<'s> {
    pub fn open(path: &Path, project: &'s Path, loaded: &'s LoadedSettings, ending: TranscriptEnd) -> io::Result<Self> {
        let bytes = regular_file::read(path, regular_file::MAX_BYTES)?;
        let (chat, state) = Chat::parse(&bytes);
        let name = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let session_id = chat.session_id.unwrap_or_else(name);
        let mut turns = TurnBuilder::new(project, loaded, session_id.clone(), ending);
        turns.from = Some(format!("gemini/{session_id}"));
        turns.state = state;
        // The report of a subagent is in the chat that started it.
        let messages = if chat.is_subagent { VecDeque::new() } else { chat.messages.into() };
        Ok(Self { messages, turns, bytes: bytes.len() as u64 })
    }

    fn add_message(&mut self, message: &Value, at: Moment) {
        let content = message.get("content").map(parts_text).unwrap_or_default();
        let is_injected = INJECTED.iter().any(|start| content.trim_start().starts_with(start));
        match message.get("type").and_then(Value::as_str) {
            Some("user") if !content.trim().is_empty() && !is_injected => self.turns.add_raw_prompt(content, at),
            Some("gemini") => {
                if !content.trim().is_empty() {
                    self.turns.add_answer(None, content, at);
                }
                let calls = message.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
                calls.for_each(|call| self.add_call(call, at));
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &Value, at: Moment) {
        let field = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        self.turns.continue_answer();
        let at = parse_time(field("timestamp")).unwrap_or(at);
        let name = TOOLS.iter().find(|(theirs, _)| *theirs == field("name")).map_or(field("name"), |(_, ours)| ours);
        let input = call.get("args").cloned().unwrap_or_default();
        let output = response_text(call.get("result").unwrap_or(&Value::Null));
        let shown = call.get("resultDisplay").and_then(Value::as_str);
        let CommandOutput { code, text } = gemini_output(&output, shown);
        let result = match (field("status"), code) {
            ("cancelled", _) => Err(ToolFailure::NeverStarted),
            ("error", _) => Err(ToolFailure::Failed(text.to_owned())),
            (_, 0) => Ok(serde_json::from_value(json!({ "stdout": text })).unwrap_or_default()),
            (_, code) => Err(ToolFailure::Failed(format!("Exit code {code}\n{text}"))),
        };
        let id = field("id").to_owned();
        self.turns.start_tools(vec![StartedTool { id: id.clone(), name: name.to_owned(), input }]);
        let directory = self.turns.context.project.to_str();
        self.turns.finish_tool(FinishedTool { id, result }, directory, at);
    }
}

impl SessionReplay for GeminiReplay<'_> {
    fn next_memory(&mut self) -> io::Result<Option<PreparedMemory>> {
        while self.turns.needs_more() {
            let Some(message) = self.messages.pop_front() else {
                self.turns.state.position = self.bytes;
                self.turns.finish();
                break;
            };
            let at = message.get("timestamp").and_then(Value::as_str).and_then(parse_time);
            if let Some(at) = at.or(self.turns.last_at) {
                self.turns.last_at = Some(at);
                self.add_message(&message, at);
            }
        }
        Ok(self.turns.pop())
    }

    fn state(&self) -> ReplayState {
        self.turns.state
    }
}

impl Chat {
    fn parse(bytes: &[u8]) -> (Self, ReplayState) {
        let (mut chat, mut state) = (Self::default(), ReplayState::default());
        if let Ok(whole) = serde_json::from_slice::<Value>(bytes) {
            chat.add_record(whole);
            return (chat, state);
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(record) => chat.add_record(record),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) => state.count_unreadable(line.ends_with(b"\n")),
            }
        }
        (chat, state)
    }

    fn add_record(&mut self, mut record: Value) {
        if let Some(id) = record.get("$rewindTo").and_then(Value::as_str) {
            if let Some(at) = self.positions.get(id).copied() {
                self.messages.truncate(at);
                self.positions.retain(|_, position| *position < at);
            }
            return;
        }
        if let Some(id) = record.get("sessionId").and_then(Value::as_str) {
            self.session_id = Some(id.to_owned());
        }
        self.is_subagent |= record.get("kind").and_then(Value::as_str) == Some("subagent");
        let changed = record.get_mut("$set").and_then(|set| set.get_mut("messages")).map(Value::take);
        let whole = record.get_mut("messages").map(Value::take);
        if let Some(Value::Array(messages)) = changed.or(whole) {
            messages.into_iter().for_each(|message| self.add_message(message));
        } else if record.get("id").is_some() {
            self.add_message(record);
        }
    }

    /// Adds a message, or replaces the one with its id.
    fn add_message(&mut self, message: Value) {
        let Some(id) = message.get("id").and_then(Value::as_str).map(str::to_owned) else { return };
        match self.positions.get(&id) {
            Some(position) => self.messages[*position] = message,
            None => {
                self.positions.insert(id, self.messages.len());
                self.messages.push(message);
            }
        }
    }
}

/// The text of a content: a text, a part, or a list of parts.
fn parts_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n\n")
        }
        part => part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
    }
}

/// The output or the error in the results of a call.
fn response_text(result: &Value) -> String {
    let responses =
        result.as_array().into_iter().flatten().filter_map(|part| part.pointer("/functionResponse/response"));
    let text =
        |response: &Value| ["output", "error"].iter().find_map(|name| Some(response.get(name)?.as_str()?.to_owned()));
    responses.filter_map(text).collect::<Vec<String>>().join("\n")
}
