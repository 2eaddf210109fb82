//! Codex CLI: reads its transcripts (`rollout-*.jsonl`). Holds one line in memory at a time.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use schema::host::hook::{CommandOutput, codex_output, deserialize_lenient, file_patches};
use schema::host::transcript::line_reader::ForwardLines;
use schema::intake::prepare::PreparedMemory;
use schema::model::moment::Moment;
use schema::model::word_list::WordList;
use schema::settings::LoadedSettings;
use serde::Deserialize;
use serde_json::{Value, json};

use super::foreign::parse_time;
use super::tool_record::{FinishedTool, StartedTool, ToolFailure};
use super::turns::{ReplayState, SessionReplay, TranscriptEnd, TurnBuilder};

/// The start of user messages that Codex writes itself.
static INJECTED: WordList = WordList::phrases(
    "<environment_context>|<user_instructions>|<skills_instructions>|<permissions|<turn_aborted>|<user_shell_command>|\
     <subagent_notification>|# AGENTS.md instructions",
);

/// Results of calls that never started.
const NEVER_STARTED: [&str; 3] = ["unsupported call", "unsupported custom tool call", "aborted by user"];

/// A line of a transcript.
#[derive(Debug, Deserialize)]
struct CodexLine {
    #[serde(default, deserialize_with = "deserialize_lenient")]
    timestamp: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "deserialize_lenient")]
    kind: Option<String>,
    #[serde(default)]
    payload: Value,
}

/// Reads a transcript of Codex.
#[derive(Debug)]
pub struct CodexReplay<'s> {
    lines: ForwardLines,
    turns: TurnBuilder<'s>,
    cwd: Option<String>,
    /// How many tools of ours a call became.
    calls: HashMap<String, usize>,
}

impl<'s> CodexReplay<'s> {
    pub fn open(path: &Path, project: &'s Path, loaded: &'s LoadedSettings, ending: TranscriptEnd) -> io::Result<Self> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        // `rollout-2026-01-28T10-30-15-ID`
        let id = name.get("rollout-2026-01-28T10-30-15-".len()..).unwrap_or(&name).to_owned();
        let mut turns = TurnBuilder::new(project, loaded, String::new(), ending);
        set_session(&mut turns, id);
        Ok(Self { lines: ForwardLines::open(path, 0)?, turns, cwd: None, calls: HashMap::new() })
    }

    fn add_line(&mut self, line: &CodexLine, at: Moment) {
        let payload = &line.payload;
        let kind = text(payload, "type").unwrap_or_default();
        match (line.kind.as_deref().unwrap_or_default(), kind) {
            ("session_meta", _) => {
                if let Some(id) = text(payload, "id") {
                    set_session(&mut self.turns, id.to_owned());
                }
                self.cwd = text(payload, "cwd").map(str::to_owned);
                // The report of a subagent is in the session that started it.
                self.turns.is_done = payload.pointer("/source/subagent").is_some();
            }
            ("turn_context", _) => self.cwd = text(payload, "cwd").map(str::to_owned).or(self.cwd.take()),
            ("compacted", _) => {
                self.turns.compact(at);
                if let Some(summary) = text(payload, "message").filter(|text| !text.trim().is_empty()) {
                    self.turns.add_summary(summary.to_owned(), at);
                }
            }
            ("event_msg", "task_complete" | "turn_complete") => self.turns.end_turn(),
            ("event_msg", "turn_aborted") => self.turns.interrupt(),
            ("response_item", "message") => self.add_message(payload, at),
            ("response_item", "function_call" | "custom_tool_call" | "local_shell_call") => self.start_call(payload),
            ("response_item", "function_call_output" | "custom_tool_call_output") => self.finish_call(payload, at),
            _ => {}
        }
    }

    fn add_message(&mut self, payload: &Value, at: Moment) {
        let blocks = payload.get("content").and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| text(block, "text")).collect();
        match text(payload, "role") {
            Some("user") => {
                let is_typed = |text: &&str| !INJECTED.begins(text.trim_start());
                let typed: Vec<&str> = texts.into_iter().filter(is_typed).collect();
                if !typed.is_empty() {
                    self.turns.add_raw_prompt(typed.join("\n\n"), at);
                }
            }
            Some("assistant") if !texts.is_empty() => {
                self.turns.add_answer(text(payload, "id").map(str::to_owned), texts.join("\n\n"), at);
            }
            _ => {}
        }
    }

    fn start_call(&mut self, payload: &Value) {
        let Some(id) = text(payload, "call_id") else { return };
        self.turns.continue_answer();
        let tools = tools_of_call(payload);
        self.calls.insert(id.to_owned(), tools.len());
        let started = tools.into_iter().enumerate();
        let started = started.map(|(index, (name, input))| StartedTool { id: part_id(id, index), name, input });
        self.turns.start_tools(started.collect());
    }

    fn finish_call(&mut self, payload: &Value, at: Moment) {
        let Some(id) = text(payload, "call_id") else { return };
        let count = self.calls.remove(id).unwrap_or_default();
        let output = output_text(payload.get("output").unwrap_or(&Value::Null));
        let CommandOutput { code, text } = codex_output(&output).unwrap_or_else(|| {
            // A patch that does not fit its files has no exit code.
            let has_failed = output.starts_with("apply_patch verification failed");
            CommandOutput { code: has_failed.into(), text: &output }
        });
        for index in 0..count {
            let result = match code {
                _ if NEVER_STARTED.iter().any(|start| output.starts_with(start)) => Err(ToolFailure::NeverStarted),
                0 => Ok(serde_json::from_value(json!({ "stdout": text })).unwrap_or_default()),
                // One report is enough for a patch of several files.
                _ if index > 0 => Err(ToolFailure::NeverStarted),
                code => Err(ToolFailure::Failed(format!("Exit code {code}\n{text}"))),
            };
            self.turns.finish_tool(FinishedTool { id: part_id(id, index), result }, self.cwd.as_deref(), at);
        }
    }
}

impl SessionReplay for CodexReplay<'_> {
    fn next_memory(&mut self) -> io::Result<Option<PreparedMemory>> {
        while self.turns.needs_more() {
            let Some(bytes) = self.lines.next_line()? else {
                self.turns.finish();
                break;
            };
            self.turns.state.position += bytes.len() as u64 + 1;
            match serde_json::from_slice::<CodexLine>(bytes) {
                Ok(line) => {
                    let at = line.timestamp.as_deref().and_then(parse_time);
                    if let Some(at) = at.or(self.turns.last_at) {
                        self.turns.last_at = Some(at);
                        self.add_line(&line, at);
                    }
                }
                Err(_) => self.turns.state.count_unreadable(self.lines.is_line_complete()),
            }
        }
        Ok(self.turns.pop())
    }

    fn state(&self) -> ReplayState {
        self.turns.state
    }
}

fn set_session(turns: &mut TurnBuilder<'_>, id: String) {
    turns.from = Some(format!("codex/{id}"));
    turns.context.session_id = id;
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

fn part_id(call: &str, index: usize) -> String {
    format!("{call}#{index}")
}

/// The tools of Claude Code that a call corresponds to, with their inputs.
fn tools_of_call(payload: &Value) -> Vec<(String, Value)> {
    let name = text(payload, "name").unwrap_or("local_shell");
    if name == "apply_patch" {
        let arguments: Value = parse_json(text(payload, "arguments"));
        let patch = text(payload, "input").or_else(|| text(&arguments, "input")).unwrap_or_default();
        let calls = file_patches(patch).into_iter().map(|file| file.tool_call());
        return calls.map(|(name, input)| (name.to_owned(), input)).collect();
    }
    let arguments: Value = match payload.get("action") {
        Some(action) => action.clone(),
        None => parse_json(text(payload, "arguments")),
    };
    let command = match ["cmd", "command"].iter().find_map(|name| arguments.get(name)) {
        Some(Value::String(command)) => command.clone(),
        Some(Value::Array(words)) => shell_line(words),
        _ => return vec![(name.to_owned(), arguments)],
    };
    vec![("Bash".to_owned(), json!({ "command": command }))]
}

fn parse_json(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The script of `bash -lc SCRIPT`, or the words.
fn shell_line(words: &[Value]) -> String {
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => (*script).to_owned(),
        words => words.join(" "),
    }
}

/// The text of a result, which is a text, JSON in a text, or an object.
fn output_text(output: &Value) -> String {
    if let Some(content) = output.get("content").or_else(|| output.get("output")).and_then(Value::as_str) {
        return content.to_owned();
    }
    let Some(text) = output.as_str() else { return String::new() };
    let inner: Value = parse_json(Some(text).filter(|text| text.starts_with('{')));
    let code = inner.pointer("/metadata/exit_code").and_then(Value::as_i64);
    match (inner.get("output").and_then(Value::as_str), code) {
        (Some(output), Some(code)) => format!("Exit code: {code}\nOutput:\n{output}"),
        _ => text.to_owned(),
    }
}

/// The directory in which a session started.
pub fn codex_session_directory(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut lines = ForwardLines::open(path, 0)?;
    for _ in 0..4 {
        let Some(bytes) = lines.next_line()? else { break };
        if let Ok(line) = serde_json::from_slice::<CodexLine>(bytes)
            && let Some(cwd) = text(&line.payload, "cwd")
        {
            return Ok(Some(PathBuf::from(cwd)));
        }
    }
    Ok(None)
}
