//! Stories: sessions of a developer with a coding agent, replayed through the real hooks. The next brief is compared with the expected
//! facts, and searches are run as in the next session.
//!
//! A file contains `{"stories": [STORY]}`, and a story is `{id, lang, title, server, sessions: [{events: [EVENT]}], brief, search}`.
//!
//! | event | meaning |
//! | --- | --- |
//! | `prompt` TEXT, `say` TEXT, `answer` TEXT | a prompt, the agent's text between tools, and its final answer |
//! | `edit` {file, old, new}, `write` {file, content} | a change of a file, which is really made |
//! | `bash` {command, stdout, exit} | a command; an `exit` other than 0 is a failure |
//! | `subagent` {type, task, report} | a subagent that ends with a report |
//! | `compact` {summary, trigger} | a compaction, with the hooks in the order of the host |
//! | `interrupt` true | the turn ends without an answer |
//! | `save` {type, content, …} | `memory_save` |
//! | `memory_md` TEXT | a person adds to `MEMORY.md` |
//! | `end` REASON | the end of the session; without it a session ends after its last event |
//!
//! `brief` is `{source, must: [{fact, kind, any, weight}], must_not: [{why, kind, any}]}`, and `search` a list of
//! `{q, kind, any, within, not_first}`. `any` and `not_first` are case-insensitive regular expressions without look-around.

mod by_tools;
mod verdict;

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::fixtures::read_json;
use crate::mcp_client::{Era, McpClient};
use crate::polling::eventually;
use crate::sandbox::{Binaries, Sandbox};
use verdict::{letters, list, text};

pub use by_tools::play_by_tools;
pub use verdict::StoryResult;

/// Returns the path of a file of the project's own stories.
pub fn own_stories(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "stories", name].iter().collect()
}

/// Reads the stories of a file.
pub fn read(path: &Path) -> Vec<Value> {
    let json: Value = read_json(path).unwrap_or_else(|error| panic!("{error}"));
    list(&json["stories"]).to_vec()
}

/// Plays stories, several at once, and returns their results in another order. A story waits most of the time, because a session begins in
/// its own second.
pub fn play_all(stories: &[Value], binaries: &Binaries, at_once: usize) -> Vec<StoryResult> {
    let play_each = |first| stories.iter().skip(first).step_by(at_once).map(|story| play(story, binaries.clone()));
    thread::scope(|scope| {
        let players: Vec<_> =
            (0..at_once).map(|first| scope.spawn(move || play_each(first).collect::<Vec<_>>())).collect();
        players.into_iter().flat_map(|player| player.join().expect("a story was not played to its end")).collect()
    })
}

/// Plays a story and returns its result.
pub fn play(story: &Value, binaries: Binaries) -> StoryResult {
    let mut scene =
        Scene { sandbox: Sandbox::new(binaries), server: None, with_server: story["server"] == true, sessions: 0 };
    let source = text(&story["brief"]["source"]);
    let sessions = list(&story["sessions"]);
    let (mut brief, mut last, mut start) = (String::new(), String::new(), "startup");
    for (number, session) in sessions.iter().enumerate() {
        let mut session_id = scene.new_session();
        scene.begin(&session_id, start);
        start = "startup";
        let events = list(&session["events"]);
        let mut is_open = true;
        for event in events {
            let (kind, value) = event.as_object().and_then(|event| event.iter().next()).expect("an event has a kind");
            if kind == "end" {
                scene.end(&session_id, text(value));
                start = if value == "clear" { "clear" } else { "startup" };
                is_open = false;
            } else if let Some(told) = scene.replay(&session_id, kind, value) {
                brief = told;
            }
        }
        let ends_compacted = number + 1 == sessions.len() && source == "compact";
        if is_open && !ends_compacted {
            scene.end(&session_id, "other");
        }
        last = std::mem::take(&mut session_id);
    }
    if source != "compact" {
        if source != "resume" {
            last = scene.new_session();
        }
        brief = scene.begin(&last, source);
    }
    evaluate(story, &mut scene, &last, brief)
}

/// Judges the brief, and asks the questions as in the next session.
fn evaluate(story: &Value, scene: &mut Scene, session_id: &str, brief: String) -> StoryResult {
    let mut result = StoryResult::of_brief(story, brief);
    let mut asked = HashSet::new();
    for question in list(&story["search"]) {
        let shown = scene.search(session_id, question, &mut asked);
        result.count_search(question, &shown);
    }
    result
}

/// The project in which a story is played.
struct Scene {
    sandbox: Sandbox,
    server: Option<McpClient>,
    with_server: bool,
    sessions: usize,
}

impl Scene {
    /// Returns the id of a new session, which begins in its own second. Logs record only seconds, and people never begin two sessions in
    /// one.
    fn new_session(&mut self) -> String {
        let second = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let before = second();
        eventually(Duration::from_secs(5), || second() > before);
        self.sessions += 1;
        format!("5e550000-0000-4000-8000-{:012}", self.sessions)
    }

    fn transcript(&self, session_id: &str) -> PathBuf {
        self.sandbox.home().join(format!("{session_id}.jsonl"))
    }

    /// Adds a line to the transcript in the format of the host.
    fn write_line(&self, session_id: &str, kind: &str, message: &Value) {
        let now = schema::model::moment::Moment::now().utc();
        let line =
            json!({"type": kind, "sessionId": session_id, "timestamp": now, "isSidechain": false, "message": message});
        let opened = fs::OpenOptions::new().append(true).create(true).open(self.transcript(session_id));
        let written = opened.and_then(|mut file| writeln!(file, "{line}"));
        written.unwrap_or_else(|error| panic!("the transcript: {error}"));
    }

    fn hook(&self, command: &str, event: &str, session_id: &str, fields: Value) -> String {
        let mut payload = json!({
            "hook_event_name": event,
            "session_id": session_id,
            "transcript_path": self.transcript(session_id),
            "cwd": self.sandbox.project(),
        });
        if let (Some(payload), Value::Object(fields)) = (payload.as_object_mut(), fields) {
            payload.extend(fields);
        }
        let outcome = self.sandbox.run_hook(command, &payload.to_string());
        outcome.assert_success().assert_no_stderr();
        outcome.stdout.clone()
    }

    /// Starts a session and returns its brief.
    fn begin(&mut self, session_id: &str, source: &str) -> String {
        if self.with_server && self.server.is_none() {
            self.server = Some(self.settle(None));
        }
        let answer = self.hook("memory-load", "SessionStart", session_id, json!({"source": source}));
        if answer.trim().is_empty() {
            return String::new();
        }
        let answer: Value = serde_json::from_str(&answer).expect("a hook prints JSON or nothing");
        text(&answer["hookSpecificOutput"]["additionalContext"]).to_owned()
    }

    fn end(&mut self, session_id: &str, reason: &str) {
        // `/clear` keeps the server; otherwise the host stops it before this hook.
        if reason != "clear" {
            self.server = None;
        }
        self.hook("memory-save", "SessionEnd", session_id, json!({"reason": reason}));
    }

    /// Replays an event. A compaction returns the brief after it.
    fn replay(&mut self, session_id: &str, kind: &str, value: &Value) -> Option<String> {
        match kind {
            "prompt" => {
                self.hook("memory-prompt-save", "UserPromptSubmit", session_id, json!({"prompt": value}));
                self.write_line(session_id, "user", &json!({"role": "user", "content": value}));
            }
            "say" => self.answer_line(session_id, value),
            "answer" => {
                let fields = json!({"last_assistant_message": value, "stop_hook_active": false});
                self.hook("memory-complete", "Stop", session_id, fields);
                self.answer_line(session_id, value);
            }
            "edit" => {
                let (path, old, new) = (text(&value["file"]), text(&value["old"]), text(&value["new"]));
                let before = fs::read_to_string(self.sandbox.project().join(path)).unwrap_or_default();
                let before = if before.contains(old) { before } else { before + old + "\n" };
                let path = self.sandbox.write(path, before.replacen(old, new, 1));
                let input = json!({"file_path": path, "old_string": old, "new_string": new});
                self.used(session_id, "Edit", &input, &json!({"filePath": path}));
            }
            "write" => {
                let path = self.sandbox.write(text(&value["file"]), text(&value["content"]));
                let input = json!({"file_path": path, "content": value["content"]});
                self.used(session_id, "Write", &input, &json!({"filePath": path, "type": "create"}));
            }
            "bash" => self.run(session_id, value),
            "compact" => {
                let summary = format!("<analysis>\nx\n</analysis>\n<summary>\n{}\n</summary>", text(&value["summary"]));
                let trigger = &value["trigger"];
                self.hook("memory-flush", "PreCompact", session_id, json!({"trigger": trigger}));
                let fields = json!({"agent_id": "c1", "agent_type": "", "last_assistant_message": summary});
                self.hook("memory-subagent", "SubagentStop", session_id, fields);
                let brief = self.begin(session_id, "compact");
                let fields = json!({"trigger": trigger, "compact_summary": summary});
                self.hook("memory-compact", "PostCompact", session_id, fields);
                return Some(brief);
            }
            "subagent" => {
                let fields = json!({
                    "agent_id": "a1b2c3d4e5f6a7b8c", "agent_type": value["type"], "last_assistant_message": value["report"],
                    "stop_hook_active": false
                });
                self.hook("memory-subagent", "SubagentStop", session_id, fields);
            }
            "save" => {
                let mut own = if self.server.is_none() { Some(self.settle(None)) } else { None };
                let server = own.as_mut().or(self.server.as_mut()).expect("one of them is there");
                server.call("memory_save", value.clone()).expect("a tool that answers").expect_success();
            }
            "memory_md" => {
                let path = self.sandbox.store().join("MEMORY.md");
                let before = fs::read_to_string(&path).unwrap_or_default();
                let gap = if before.is_empty() { "" } else { "\n" };
                self.sandbox.write(path, format!("{before}{gap}{}\n", text(value).trim_end()));
            }
            "interrupt" | "days" => {}
            other => panic!("no event {other}"),
        }
        None
    }

    fn answer_line(&self, session_id: &str, said: &Value) {
        let content = json!([{"type": "text", "text": said}]);
        self.write_line(
            session_id,
            "assistant",
            &json!({"role": "assistant", "model": "claude-opus-5-5", "content": content}),
        );
    }

    fn used(&self, session_id: &str, tool: &str, input: &Value, response: &Value) {
        let fields = json!({"tool_name": tool, "tool_input": input, "tool_response": response});
        self.hook("memory-track", "PostToolUse", session_id, fields);
    }

    fn run(&self, session_id: &str, value: &Value) {
        let (input, stdout) = (json!({"command": value["command"]}), value["stdout"].as_str().unwrap_or_default());
        match value["exit"].as_i64().unwrap_or(0) {
            0 => self.used(session_id, "Bash", &input, &json!({"stdout": stdout, "stderr": "", "interrupted": false})),
            code => {
                let error = format!("Exit code {code}\n{stdout}");
                let fields = json!({"tool_name": "Bash", "tool_input": input, "error": error, "is_interrupt": false});
                self.hook("memory-track", "PostToolUseFailure", session_id, fields);
            }
        }
    }

    /// Waits until a server has indexed everything, starting it if necessary.
    fn settle(&self, server: Option<McpClient>) -> McpClient {
        let mut server = server.unwrap_or_else(|| self.sandbox.serve(Era::Legacy));
        server.wait_until_indexed();
        server
    }

    /// Asks a question, as a prompt and as a search, and returns the texts of the hits. Ignores hits that repeat a question.
    fn search(&mut self, session_id: &str, question: &Value, asked: &mut HashSet<String>) -> Vec<String> {
        self.replay(session_id, "prompt", &question["q"]);
        asked.insert(letters(text(&question["q"])));
        let server = self.server.take();
        let mut server = self.settle(server);
        let found = server.call("memory_search", json!({"query": question["q"]})).expect("a tool that answers");
        let mut shown = Vec::new();
        for hit in list(&found.expect_success()["results"]).to_vec() {
            let mut whole = String::new();
            if hit["source"] == "memory" {
                let opened = server.call("memory_get", json!({"id": hit["id"]})).expect("a tool that answers");
                whole = text(&opened.expect_success()["content"]).to_owned();
            }
            let snippet = text(&hit["snippet"]);
            let said = if whole.is_empty() { snippet } else { &whole };
            if !asked.contains(&letters(said)) {
                shown.push(format!("{snippet}\n{whole}"));
            }
        }
        self.server = Some(server);
        shown
    }
}
