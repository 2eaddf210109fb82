//! What happened in the host, as far as it is worth remembering.

use std::path::Path;

use serde_json::Value;

use super::command_line::{changes_something, words};
use super::noise;
use super::wire::Payload;
use crate::brief::Occasion;
use crate::host_text::{is_machine_made, without_injected};
use crate::screen::Screen;

/// Our own tools' names begin so in the host: what they do is no news to us.
const OWN_TOOLS: [&str; 2] = ["mcp__jikime-memory__", "mcp__plugin_jikime-memory_"];

/// The longest command line, and the longest report of a failure, that is kept, in bytes.
const COMMAND_LIMIT: usize = 240;
const FAILURE_LIMIT: usize = 2_000;

/// Something that happened, and in which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    pub session_id: String,
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody asked for something.
    Prompt(String),
    /// A tool changed something.
    ToolUse(Use),
    /// A tool failed.
    Failure(String),
    /// The agent finished a turn, with this answer if the host told it.
    TurnEnd(Option<String>),
    /// A session begins, or goes on with a context made anew.
    SessionStart(Occasion),
    /// A subagent finished, with this report if the host told it.
    Report { agent_type: Option<String>, text: Option<String> },
    /// The context is about to be compacted.
    CompactionAhead,
    /// The context was compacted to this summary.
    Compacted(String),
    /// The session ends.
    SessionEnd,
}

/// What a tool changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Use {
    /// A file, relative to the project where it lies in it.
    File(String),
    /// A command that was run.
    Command(String),
}

impl Occurrence {
    /// What a payload tells, or `None` when it is nothing to remember.
    ///
    /// What is told of a file that the screen excludes is nothing to remember. The texts still hold their secrets, but are
    /// not cut through one; `capture` and `track` clean them.
    pub fn of(payload: &Payload, project: &Path, screen: &Screen) -> Option<Self> {
        let scene = Scene { payload, project, screen };
        let event = match payload.hook_event_name.as_deref()? {
            "UserPromptSubmit" => prompt(payload)?,
            "PostToolUse" => Event::ToolUse(scene.tool_use()?),
            "PostToolUseFailure" => Event::Failure(scene.failure()?),
            "Stop" => Event::TurnEnd(said(payload)),
            "SessionStart" => Event::SessionStart(Occasion::of(payload.source.as_deref().unwrap_or_default())),
            "SubagentStop" => report(payload)?,
            "PreCompact" => Event::CompactionAhead,
            "PostCompact" => Event::Compacted(summary(payload.compact_summary.as_deref()?).to_owned()),
            "SessionEnd" => Event::SessionEnd,
            _ => return None,
        };
        // It names the session in every place, so that it is cleaned before anything else is done with it.
        let session_id = screen.clean(payload.session_id.as_deref().unwrap_or_default()).text.into_owned();
        Some(Self { session_id, event })
    }
}

fn prompt(payload: &Payload) -> Option<Event> {
    let written_by_hand = payload.source.as_deref().is_none_or(|source| matches!(source, "user" | "sdk"));
    let prompt = payload.prompt.as_deref()?;
    (written_by_hand && !is_machine_made(prompt)).then(|| Event::Prompt(without_injected(prompt).into_owned()))
}

/// What a tool did, and to which project.
struct Scene<'p> {
    payload: &'p Payload,
    project: &'p Path,
    screen: &'p Screen,
}

impl Scene<'_> {
    fn tool_use(&self) -> Option<Use> {
        match self.payload.tool_name.as_deref()? {
            "Edit" | "MultiEdit" | "Write" => self.file(self.input("file_path")?),
            "NotebookEdit" => self.file(self.input("notebook_path")?),
            "Bash" | "PowerShell" => self.command(self.input("command")?),
            _ => None,
        }
    }

    fn input(&self, name: &str) -> Option<&str> {
        self.payload.tool_input.get(name).and_then(Value::as_str)
    }

    fn file(&self, path: &str) -> Option<Use> {
        if self.screen.excludes(path, self.directory(), self.project) {
            return None;
        }
        // Cleaned as it was written: what tidies a path would take the shape of a secret from it.
        let open = self.screen.clean(path);
        let shown = match open.count {
            0 => noise::shown(&open.text, self.directory(), self.project)?.to_string_lossy().into_owned(),
            _ => open.text.into_owned(),
        };
        Some(Use::File(shown.replace('\\', "/")))
    }

    fn command(&self, line: &str) -> Option<Use> {
        if !changes_something(line) || self.excludes_command(line) {
            return None;
        }
        // Its lines are joined and its end is cut, and either could make a secret unrecognisable.
        let clean = self.screen.clean(line.trim()).text;
        Some(Use::Command(head(&clean.replace('\n', " "), COMMAND_LIMIT)))
    }

    fn excludes_command(&self, line: &str) -> bool {
        self.screen.excludes_command(line, &words(line), self.directory(), self.project)
    }

    fn failure(&self) -> Option<String> {
        let tool = self.payload.tool_name.as_deref()?;
        // A user who stops a tool is no fault of it.
        if self.payload.is_interrupt == Some(true) || OWN_TOOLS.iter().any(|own| tool.starts_with(own)) {
            return None;
        }
        if self.names_excluded(&self.payload.tool_input) {
            return None;
        }
        let input = ["command", "file_path", "url", "pattern"].iter().find_map(|name| self.input(name));
        let what = match input {
            Some(input) => format!("{tool} failed: {}", self.start(input.trim(), COMMAND_LIMIT)),
            None => format!("{tool} failed"),
        };
        let whole = self.payload.error.as_deref().unwrap_or_default().trim();
        let error = self.start(whole, FAILURE_LIMIT);
        // What is kept may end within a name, so that more than it is read; not all, because it may be long.
        let tells = |text: &str| self.screen.excludes_text(text, self.directory(), self.project);
        if tells(&error) || tells(&head(whole, 2 * FAILURE_LIMIT)) {
            return None;
        }
        Some(if error.is_empty() { what } else { format!("{what}\n{error}") })
    }

    /// Whether a tool's input names an excluded file anywhere but in what is to be written.
    fn names_excluded(&self, input: &Value) -> bool {
        match input {
            Value::String(text) => {
                self.screen.excludes(text, self.directory(), self.project) || self.excludes_command(text)
            }
            Value::Array(items) => items.iter().any(|item| self.names_excluded(item)),
            Value::Object(fields) => {
                let is_content = |name: &str| matches!(name, "content" | "old_string" | "new_string" | "new_source");
                fields.iter().any(|(name, value)| !is_content(name) && self.names_excluded(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// The start of a text. One that is cut is cleaned first: half a secret is not recognised any more.
    fn start(&self, text: &str, limit: usize) -> String {
        if text.len() <= limit { text.to_owned() } else { head(&self.screen.clean(text).text, limit) }
    }

    /// The directory that relative paths are meant from.
    fn directory(&self) -> &Path {
        self.payload.cwd.as_deref().map_or(self.project, Path::new)
    }
}

/// A subagent's report. The one that writes a compaction's summary has an empty type and nothing to report; hosts of January
/// 2026 name no type at all.
fn report(payload: &Payload) -> Option<Event> {
    let agent_type = payload.agent_type.clone();
    let is_summary = agent_type.as_deref() == Some("");
    (!is_summary).then(|| Event::Report { agent_type, text: said(payload) })
}

/// What the agent said last, where the host tells it.
fn said(payload: &Payload) -> Option<String> {
    payload.last_assistant_message.clone().filter(|text| !text.trim().is_empty())
}

/// A summary without the thoughts that the host asks its model to write before it.
fn summary(text: &str) -> &str {
    let text = text.split_once("<summary>").map_or(text, |(_, summary)| summary);
    let text = text.split_once("</summary>").map_or(text, |(summary, _)| summary);
    text.split_once("</analysis>").map_or(text, |(_, rest)| rest).trim()
}

fn head(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::redaction::redact;

    fn occurrence(payload: &Value) -> Option<Event> {
        screened(payload, &Screen::default())
    }

    fn screened(payload: &Value, screen: &Screen) -> Option<Event> {
        let payload = Payload::parse(payload.to_string().as_bytes()).unwrap();
        Occurrence::of(&payload, Path::new("/p"), screen).map(|occurrence| occurrence.event)
    }

    #[rstest]
    #[case::user(json!({"prompt": "fix it", "source": "user"}), true)]
    #[case::older_host(json!({"prompt": "fix it"}), true)]
    #[case::slash_command(json!({"prompt": "/review the parser"}), true)]
    #[case::wake_up(json!({"prompt": "fix it", "source": "loop_wakeup"}), false)]
    #[case::notification(json!({"prompt": "<task-notification>\n<task-id>a</task-id>"}), false)]
    #[case::command_output(json!({"prompt": "<local-command-stdout>x</local-command-stdout>"}), false)]
    #[case::no_prompt(json!({}), false)]
    #[case::of_another_type(json!({"prompt": {"text": "fix it"}}), false)]
    #[case::beside_another_type(json!({"prompt": "fix it", "error": ["x"], "is_interrupt": "no"}), true)]
    fn only_prompts_of_people_are_remembered(#[case] mut fields: Value, #[case] remembered: bool) {
        fields["hook_event_name"] = "UserPromptSubmit".into();
        assert_eq!(occurrence(&fields).is_some(), remembered);
    }

    #[rstest]
    #[case::edit("Edit", json!({"file_path": "/p/src/a.rs"}), Some(Use::File("src/a.rs".into())))]
    #[case::outside("Write", json!({"file_path": "/etc/hosts"}), Some(Use::File("/etc/hosts".into())))]
    #[case::notebook("NotebookEdit", json!({"notebook_path": "/p/n.ipynb"}), Some(Use::File("n.ipynb".into())))]
    #[case::dependency("Write", json!({"file_path": "/p/node_modules/x/a.js"}), None)]
    #[case::module("Edit", json!({"file_path": "/p/src/build/mod.rs"}), Some(Use::File("src/build/mod.rs".into())))]
    #[case::own_store("Write", json!({"file_path": "/p/.jikime/memory/MEMORY.md"}), None)]
    #[case::build("Bash", json!({"command": "cargo test\n"}), Some(Use::Command("cargo test".into())))]
    #[case::look("Bash", json!({"command": "cat notes.txt; echo BASH-OK"}), None)]
    #[case::read("Read", json!({"file_path": "/p/a"}), None)]
    fn only_changes_are_tracked(#[case] tool: &str, #[case] input: Value, #[case] expected: Option<Use>) {
        let found = occurrence(&json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input}));
        assert_eq!(found, expected.map(Event::ToolUse));
    }

    #[rstest]
    #[case::plain("Two steps were done.", "Two steps were done.")]
    #[case::as_the_host_sends_it("<analysis>\nthinking\n</analysis>\n\n<summary>\n1. Done\n</summary>", "1. Done")]
    #[case::without_end("<analysis>a</analysis> rest", "rest")]
    fn a_summary_is_kept_without_the_thoughts_before_it(#[case] text: &str, #[case] kept: &str) {
        let event = occurrence(&json!({"hook_event_name": "PostCompact", "compact_summary": text}));
        assert_eq!(event, Some(Event::Compacted(kept.into())));
    }

    #[rstest]
    #[case::probe(json!({"agent_type": "probe", "last_assistant_message": "done"}), true)]
    #[case::compaction(json!({"agent_type": "", "last_assistant_message": "<analysis>"}), false)]
    #[case::older_host(json!({"agent_transcript_path": "/p/agent.jsonl"}), true)]
    fn only_subagents_with_a_task_report(#[case] mut fields: Value, #[case] remembered: bool) {
        fields["hook_event_name"] = "SubagentStop".into();
        assert_eq!(occurrence(&fields).is_some(), remembered);
    }

    #[test]
    fn a_failure_says_what_was_tried_and_an_interrupt_is_none() {
        let mut payload = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": {"command": "make"}, "error": "Exit code 2\nno rule"});
        let expected = "Bash failed: make\nExit code 2\nno rule";
        assert_eq!(occurrence(&payload), Some(Event::Failure(expected.into())));
        payload["is_interrupt"] = true.into();
        assert_eq!(occurrence(&payload), None);
    }

    #[rstest]
    #[case::edit("PostToolUse", "Edit", json!({"file_path": "/p/secrets/a"}))]
    #[case::relative("PostToolUse", "Write", json!({"file_path": "../secrets/a"}))]
    #[case::notebook("PostToolUse", "NotebookEdit", json!({"notebook_path": "/p/secrets/n.ipynb"}))]
    #[case::command("PostToolUse", "Bash", json!({"command": "rm -r ../secrets"}))]
    #[case::failed_read("PostToolUseFailure", "Read", json!({"file_path": "/p/secrets/a"}))]
    #[case::failed_search("PostToolUseFailure", "Grep", json!({"pattern": "x", "path": "/p/secrets"}))]
    #[case::failed_command("PostToolUseFailure", "Bash", json!({"command": "cat /p/secrets/a"}))]
    #[case::failed_other_tool("PostToolUseFailure", "mcp__fs__read", json!({"paths": ["/p/a", "/p/secrets/a"]}))]
    fn what_is_done_to_an_excluded_file_leaves_no_trace(#[case] event: &str, #[case] tool: &str, #[case] input: Value) {
        let payload =
            json!({"hook_event_name": event, "tool_name": tool, "tool_input": input, "cwd": "/p/app", "error": "no"});
        let (screen, _) = Screen::new(&[], &["/secrets/**".into()]);
        assert_eq!(screened(&payload, &screen), None);
        assert!(occurrence(&payload).is_some(), "without the glob it is remembered");
    }

    #[test]
    fn a_failure_whose_report_names_an_excluded_file_leaves_no_trace() {
        let payload = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "cwd": "/p",
            "tool_input": {"command": "make"}, "error": "Exit code 2\ncat: secrets/a: No such file or directory"});
        let (screen, _) = Screen::new(&[], &["secrets/**".into()]);
        assert_eq!(screened(&payload, &screen), None);
        assert!(occurrence(&payload).is_some(), "without the glob it is remembered");
    }

    #[test]
    fn a_text_is_not_cut_through_a_secret() {
        let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
        for at in COMMAND_LIMIT - 40..COMMAND_LIMIT {
            let command = format!("make {} {token} and what follows it", "x".repeat(at));
            let used =
                json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
            let failed = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
                "tool_input": {"command": command}, "error": format!("{}{command}", "y ".repeat(FAILURE_LIMIT / 2 - 150))});
            for payload in [used, failed] {
                let event = format!("{:?}", occurrence(&payload).unwrap());
                // What is not cut is still to be cleaned, as everything is.
                assert!(!redact(&event).text.contains("A1b2"), "{event}");
            }
        }
    }
}
