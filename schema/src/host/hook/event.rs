//! Decides what happened in the host, as far as it is worth recording.

use std::path::Path;

use serde_json::Value;

use super::payload::HookPayload;
use super::{edit, edited_file};
use crate::host::brief::SessionSource;
use crate::host::host_text::{is_machine_made, strip_injected};
use crate::model::command_line::{changes_something, is_answer, shell_words};
use crate::model::failure::{Attempt, all_passed, cause_of};
use crate::privacy::sanitizer::Sanitizer;
use crate::prose::small_talk::{is_acknowledgement, is_empty_answer};
use crate::settings::Edits;

/// The prefixes of our own tools in the host. Their uses are not recorded.
const OWN_TOOLS: [&str; 2] = ["mcp__jikime-memory__", "mcp__plugin_jikime-memory_"];

/// The longest command line that is recorded, in bytes.
const COMMAND_LIMIT: usize = 240;

/// How much of a failure's report is read, at its beginning and at its end, in bytes.
const REPORT: usize = 32 * 1024;

/// An event in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEvent {
    pub session_id: String,
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A prompt with a request.
    Prompt(String),
    /// A prompt that means nothing by itself, such as "go on".
    Acknowledgement,
    /// A tool is about to read or edit this file, relative to the project.
    FileOpen(String),
    /// A tool succeeded.
    ToolUse(Used),
    /// A tool failed.
    Failure(String),
    /// The agent finished a turn, with its answer if the host sent it. An answer that means nothing by itself is empty.
    TurnEnd(Option<String>),
    /// A session starts, or continues with a new context.
    SessionStart(SessionSource),
    /// A subagent finished, with its report if the host sent it.
    Report { agent_type: Option<String>, text: Option<String> },
    /// The context is about to be compacted.
    BeforeCompaction,
    /// The context was compacted; this is the summary.
    AfterCompaction(String),
    /// The session ends.
    SessionEnd,
}

/// The use of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    /// The attempt, which may have failed before.
    pub attempt: Attempt,
    /// The change, if there was one.
    pub changed: Option<ToolUse>,
    /// Whether the host says that the tool succeeded. Only then does it settle an earlier failure.
    pub is_success_known: bool,
}

/// A change by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolUse {
    /// A file, relative to the project if it is inside, and a summary of the change if that may be recorded.
    File { path: String, change: Option<String> },
    /// A command that was run.
    Command(String),
}

/// Whether a tool edits files.
pub fn is_edit_tool(name: &str) -> bool {
    matches!(name, "Edit" | "MultiEdit" | "Write" | "NotebookEdit")
}

impl ToolUse {
    /// Returns the part that the setting allows to record.
    pub fn within(self, edits: Edits) -> Option<Self> {
        match (edits, self) {
            (Edits::Off, Self::File { .. }) => None,
            (Edits::Names, Self::File { path, .. }) => Some(Self::File { path, change: None }),
            (_, used) => Some(used),
        }
    }
}

impl HostEvent {
    /// Returns the event in a payload, or `None` if it is not worth recording.
    ///
    /// Events about excluded files are not recorded. The texts still contain secrets, but are not cut through one; `capture` and
    /// `track_buffer` clean them.
    pub fn from_payload(payload: &HookPayload, project: &Path, sanitizer: &Sanitizer) -> Option<Self> {
        let context = ToolContext { payload, project, sanitizer };
        let event = match payload.hook_event_name.as_deref()? {
            "UserPromptSubmit" => prompt_event(payload)?,
            "PreToolUse" => EventKind::FileOpen(context.opened_file()?),
            "PostToolUse" => EventKind::ToolUse(context.tool_use()?),
            "PostToolUseFailure" => EventKind::Failure(context.failure()?),
            "Stop" => EventKind::TurnEnd(
                last_answer_text(payload).map(|text| if is_empty_answer(&text) { String::new() } else { text }),
            ),
            "SessionStart" => {
                EventKind::SessionStart(SessionSource::parse(payload.source.as_deref().unwrap_or_default()))
            }
            "SubagentStop" => report_event(payload)?,
            "PreCompact" => EventKind::BeforeCompaction,
            "PostCompact" => EventKind::AfterCompaction(strip_thoughts(payload.compact_summary.as_deref()?).to_owned()),
            "SessionEnd" => EventKind::SessionEnd,
            _ => return None,
        };
        // Clean the id first, because it names the session everywhere.
        let named = payload.session_id.as_deref().filter(|id| !id.trim().is_empty());
        // If the host does not name the session, use its transcript.
        let transcript = || Path::new(payload.transcript_path.as_deref()?).file_stem()?.to_str();
        let session_id = sanitizer.clean(named.or_else(transcript).unwrap_or_default()).text.into_owned();
        Some(Self { session_id, kind: event })
    }
}

fn prompt_event(payload: &HookPayload) -> Option<EventKind> {
    let written_by_hand = payload.source.as_deref().is_none_or(|source| matches!(source, "user" | "sdk"));
    let prompt = payload.prompt.as_deref()?;
    (written_by_hand && !is_machine_made(prompt)).then(|| {
        let prompt = strip_injected(prompt);
        if is_acknowledgement(&prompt) { EventKind::Acknowledgement } else { EventKind::Prompt(prompt.into_owned()) }
    })
}

/// The use of a tool, and its project.
struct ToolContext<'p> {
    payload: &'p HookPayload,
    project: &'p Path,
    sanitizer: &'p Sanitizer,
}

impl ToolContext<'_> {
    fn tool_use(&self) -> Option<Used> {
        let changed = match self.payload.tool_name.as_deref()? {
            "Edit" | "MultiEdit" | "Write" => Some(self.file_use(self.input("file_path")?)?),
            "NotebookEdit" => Some(self.file_use(self.input("notebook_path")?)?),
            "Bash" | "PowerShell" => self.command_use(self.input("command")?)?,
            _ => return None,
        };
        Some(Used { attempt: self.attempt()?, changed, is_success_known: !self.payload.is_outcome_unknown })
    }

    /// Returns the attempt in the form in which failures name it.
    fn attempt(&self) -> Option<Attempt> {
        let tool = self.payload.tool_name.as_deref()?;
        let is_command = self.input("command").is_some();
        let input = ["command", "file_path", "notebook_path", "url", "pattern"]
            .into_iter()
            .find_map(|name| Some((name, self.input(name)?)));
        let input = input.map(|(name, input)| {
            let input = match name {
                "file_path" | "notebook_path" => self.shown_path(input).unwrap_or_else(|| input.to_owned()),
                _ => input.trim().to_owned(),
            };
            // Clean before joining lines and cutting the end, which could make a secret unrecognisable.
            truncate_head(&self.sanitizer.clean(&input).text.replace('\n', " "), COMMAND_LIMIT)
        });
        let passed = is_command && all_passed(&self.payload.tool_response.output);
        Some(Attempt { tool: tool.to_owned(), input, passed })
    }

    fn input(&self, name: &str) -> Option<&str> {
        self.payload.tool_input.get(name).and_then(Value::as_str)
    }

    /// Returns the file of the project that the tool opens, unless it is excluded.
    fn opened_file(&self) -> Option<String> {
        let path = self.input("file_path").or_else(|| self.input("notebook_path"))?;
        if self.sanitizer.excludes(path, self.directory(), self.project) {
            return None;
        }
        let shown = edited_file::display_path(path, self.directory(), self.project)?;
        // Many memories contain the name of a folder as an ordinary word.
        let is_file = shown.is_relative() && !shown.as_os_str().is_empty() && !self.directory().join(path).is_dir();
        is_file.then(|| shown.to_string_lossy().replace('\\', "/"))
    }

    /// Returns the name of a file in the memory, without secrets, or `None` for a file that tools made.
    fn shown_path(&self, path: &str) -> Option<String> {
        // Clean the path as written: normalising it could make a secret unrecognisable.
        let clean = self.sanitizer.clean(path).text;
        let shown = edited_file::display_path(&clean, self.directory(), self.project)?;
        Some(shown.to_string_lossy().replace('\\', "/"))
    }

    fn file_use(&self, path: &str) -> Option<ToolUse> {
        if self.sanitizer.excludes(path, self.directory(), self.project) {
            return None;
        }
        let (file, path) = (self.directory().join(path), self.shown_path(path)?);
        let change = if self.may_show(&file) { edit::change(self.payload, &file, &path, self.sanitizer) } else { None };
        Some(ToolUse::File { path, change })
    }

    /// Whether the content of a file may be recorded, by its name and by the file that it is a link to.
    fn may_show(&self, file: &Path) -> bool {
        edited_file::may_show(file, self.project)
    }

    /// Returns what a command changes. The outer `None` means that it must not be recorded.
    fn command_use(&self, line: &str) -> Option<Option<ToolUse>> {
        if self.excludes_command(line) {
            return None;
        }
        let changed = changes_something(line).then(|| self.attempt()?.input.map(ToolUse::Command));
        Some(changed.flatten())
    }

    fn excludes_command(&self, line: &str) -> bool {
        self.sanitizer.excludes_command(line, &shell_words(line), self.directory(), self.project)
    }

    fn failure(&self) -> Option<String> {
        let tool = self.payload.tool_name.as_deref()?;
        // An interruption by the user is not a failure of the tool.
        if self.payload.is_interrupt == Some(true) || OWN_TOOLS.iter().any(|own| tool.starts_with(own)) {
            return None;
        }
        if self.names_excluded(&self.payload.tool_input) {
            return None;
        }
        let whole = self.payload.error.as_deref().unwrap_or_default().trim();
        let report = ends(whole, REPORT);
        if let Some(line) = self.input("command")
            && let Some((code, output)) = exit_code(&report)
            && is_answer(line, code, output)
        {
            return None;
        }
        // Clean the whole report, because half a secret would not be recognised.
        let report = self.sanitizer.clean(&report).text;
        let cause = match tool {
            "Bash" | "PowerShell" => cause_of(&report, &self.project.to_string_lossy()),
            // After their first line, such tools repeat their input.
            _ => cause_of(
                report.lines().find(|line| !line.trim().is_empty()).unwrap_or_default(),
                &self.project.to_string_lossy(),
            ),
        };
        if self.sanitizer.excludes_text(&report, self.directory(), self.project) {
            return None;
        }
        Some(self.attempt()?.failed(&cause))
    }

    /// Whether a tool's input names an excluded file, apart from the text to be written.
    fn names_excluded(&self, input: &Value) -> bool {
        match input {
            Value::String(text) => {
                self.sanitizer.excludes(text, self.directory(), self.project) || self.excludes_command(text)
            }
            Value::Array(items) => items.iter().any(|item| self.names_excluded(item)),
            Value::Object(fields) => {
                let is_content = |name: &str| matches!(name, "content" | "old_string" | "new_string" | "new_source");
                fields.iter().any(|(name, value)| !is_content(name) && self.names_excluded(value))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns the directory that relative paths refer to.
    fn directory(&self) -> &Path {
        self.payload.cwd.as_deref().map_or(self.project, Path::new)
    }
}

/// Returns the report of a subagent. The one that writes the summary of a compaction has an empty type and reports nothing. Hosts of
/// January 2026 send no type.
fn report_event(payload: &HookPayload) -> Option<EventKind> {
    let agent_type = payload.agent_type.clone();
    let is_summary = agent_type.as_deref() == Some("");
    (!is_summary).then(|| EventKind::Report {
        agent_type,
        text: last_answer_text(payload).filter(|text| !is_empty_answer(text)),
    })
}

/// Returns the agent's last message, if the host sent it.
fn last_answer_text(payload: &HookPayload) -> Option<String> {
    payload.last_assistant_message.clone().filter(|text| !text.trim().is_empty())
}

/// Returns the exit code at the beginning of a report, and the output after it.
fn exit_code(report: &str) -> Option<(i32, &str)> {
    let rest = report.strip_prefix("Exit code ")?;
    let (code, output) = rest.split_once('\n').unwrap_or((rest, ""));
    Some((code.trim().parse().ok()?, output))
}

/// Returns a text, or the beginning and the end of a long one, cut between lines.
fn ends(text: &str, limit: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= 2 * limit {
        return text.into();
    }
    let head = &text[..text.floor_char_boundary(limit)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit)..];
    let (head, tail) =
        (head.rsplit_once('\n').map_or(head, |(head, _)| head), tail.split_once('\n').map_or(tail, |(_, tail)| tail));
    format!("{head}\n{tail}").into()
}

/// Removes the thoughts that the host's model writes before a summary.
fn strip_thoughts(text: &str) -> &str {
    let text = text.split_once("<summary>").map_or(text, |(_, summary)| summary);
    let text = text.split_once("</summary>").map_or(text, |(summary, _)| summary);
    text.split_once("</analysis>").map_or(text, |(_, rest)| rest).trim()
}

fn truncate_head(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::path::PathBuf;

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::privacy::redaction::redact;

    fn event_of(payload: &Value) -> Option<EventKind> {
        event_with_sanitizer(payload, &Sanitizer::default())
    }

    fn event_with_sanitizer(payload: &Value, sanitizer: &Sanitizer) -> Option<EventKind> {
        let payload = HookPayload::parse(payload.to_string().as_bytes()).unwrap();
        HostEvent::from_payload(&payload, Path::new("/p"), sanitizer).map(|occurrence| occurrence.kind)
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
    fn only_prompts_of_people_are_recorded(#[case] mut fields: Value, #[case] remembered: bool) {
        fields["hook_event_name"] = "UserPromptSubmit".into();
        assert_eq!(event_of(&fields).is_some(), remembered);
    }

    #[rstest]
    #[case::edit("Edit", json!({"file_path": "/p/src/a.rs"}), Some(file("src/a.rs")))]
    #[case::outside("Write", json!({"file_path": "/etc/hosts"}), Some(file("/etc/hosts")))]
    #[case::notebook("NotebookEdit", json!({"notebook_path": "/p/n.ipynb"}), Some(file("n.ipynb")))]
    #[case::dependency("Write", json!({"file_path": "/p/node_modules/x/a.js"}), None)]
    #[case::module("Edit", json!({"file_path": "/p/src/build/mod.rs"}), Some(file("src/build/mod.rs")))]
    #[case::own_store("Write", json!({"file_path": "/p/.jikime/memory/MEMORY.md"}), None)]
    #[case::build("Bash", json!({"command": "cargo test\n"}), Some(ToolUse::Command("cargo test".into())))]
    #[case::read("Read", json!({"file_path": "/p/a"}), None)]
    fn only_changes_are_tracked(#[case] tool: &str, #[case] input: Value, #[case] expected: Option<ToolUse>) {
        let found = event_of(&json!({"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": input}));
        let used = |event| match event {
            EventKind::ToolUse(used) => used.changed,
            other => panic!("{other:?} is not the use of a tool"),
        };
        assert_eq!(found.map(used), expected.map(Some));
    }

    fn file(path: &str) -> ToolUse {
        ToolUse::File { path: path.into(), change: None }
    }

    #[test]
    fn file_named_like_a_secret_is_shown_within_the_project() {
        let path = format!("/p/keys/gh{}_{}.txt", "p", "A1b2".repeat(9));
        let input = json!({"file_path": path});
        let found = event_of(&json!({"hook_event_name": "PostToolUse", "tool_name": "Edit", "tool_input": input}));
        let Some(EventKind::ToolUse(Used { attempt, changed, .. })) = found else { panic!("{found:?}") };
        let shown = "keys/[redacted: github token].txt";
        assert_eq!((attempt.input.as_deref(), changed), (Some(shown), Some(file(shown))));
    }

    #[test]
    fn only_opened_files_bring_back_memories() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("src")).unwrap();
        std::fs::write(home.path().join("src/a.rs"), "").unwrap();
        let opened = |path: &str| {
            let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "cwd": home.path(),
                "tool_input": {"file_path": path}});
            let payload = HookPayload::parse(payload.to_string().as_bytes()).unwrap();
            HostEvent::from_payload(&payload, home.path(), &Sanitizer::default()).map(|event| event.kind)
        };
        assert_eq!(opened("src/a.rs"), Some(EventKind::FileOpen("src/a.rs".into())));
        for path in ["src", "", ".", "/etc/hosts"] {
            assert_eq!(opened(path), None, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn link_to_an_ignored_or_secret_file_shows_only_its_path() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("p");
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(project.join(".gitignore"), "local.toml\n").unwrap();
        for name in ["local.toml", ".env", "plain.toml"] {
            std::fs::write(project.join(name), "b").unwrap();
            std::os::unix::fs::symlink(name, project.join(format!("{name}.link"))).unwrap();
        }
        std::os::unix::fs::symlink(&project, home.path().join("link")).unwrap();
        let shown = |project: &Path, file: PathBuf| {
            let payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Edit",
                "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"}});
            let payload = HookPayload::parse(payload.to_string().as_bytes()).unwrap();
            match HostEvent::from_payload(&payload, project, &Sanitizer::default()).unwrap().kind {
                EventKind::ToolUse(Used { changed: Some(ToolUse::File { change, .. }), .. }) => change.is_some(),
                other => panic!("{other:?} is not the use of a file"),
            }
        };
        let by_link = home.path().join("link");
        for name in ["local.toml", "local.toml.link", ".env.link"] {
            assert!(!shown(&project, project.join(name)), "{name}");
            assert!(!shown(&by_link, project.join(name)) && !shown(&project, by_link.join(name)), "{name} by a link");
        }
        assert!(shown(&project, project.join("plain.toml.link")));
    }

    #[test]
    fn read_only_command_is_an_attempt_without_change() {
        let input = json!({"command": "cat notes.txt; echo BASH-OK"});
        let found = event_of(&json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": input}));
        let attempt = Attempt { tool: "Bash".into(), input: Some("cat notes.txt; echo BASH-OK".into()), passed: false };
        assert_eq!(found, Some(EventKind::ToolUse(Used { attempt, changed: None, is_success_known: true })));
    }

    #[rstest]
    #[case::agreement("ok, go on", Some(EventKind::Acknowledgement))]
    #[case::command_of_the_host("/clear", Some(EventKind::Acknowledgement))]
    #[case::question("ok?", Some(EventKind::Prompt("ok?".into())))]
    fn agreement_is_an_acknowledgement(#[case] prompt: &str, #[case] expected: Option<EventKind>) {
        assert_eq!(event_of(&json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt})), expected);
    }

    #[rstest]
    #[case::named(json!({"session_id": "s1", "transcript_path": "/h/t2.jsonl"}), "s1")]
    #[case::by_its_transcript(json!({"transcript_path": "/h/t2.jsonl"}), "t2")]
    #[case::empty(json!({"session_id": " ", "transcript_path": "/h/t2.jsonl"}), "t2")]
    #[case::by_nothing(json!({}), "")]
    fn session_without_id_is_named_after_its_transcript(#[case] mut fields: Value, #[case] session: &str) {
        fields["hook_event_name"] = "SessionEnd".into();
        let payload = HookPayload::parse(fields.to_string().as_bytes()).unwrap();
        let occurrence = HostEvent::from_payload(&payload, Path::new("/p"), &Sanitizer::default()).unwrap();
        assert_eq!(occurrence.session_id, session);
    }

    #[test]
    fn exit_code_that_is_an_answer_is_not_a_failure() {
        let failure = |command: &str, error: &str| {
            event_of(&json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
                "tool_input": {"command": command}, "error": error}))
        };
        assert_eq!(failure("grep -rn foo src", "Exit code 1"), None);
        assert!(failure("grep -rn foo nothing", "Exit code 2\ngrep: nothing: No such file or directory").is_some());
    }

    #[rstest]
    #[case::plain("Two steps were done.", "Two steps were done.")]
    #[case::as_the_host_sends_it("<analysis>\nthinking\n</analysis>\n\n<summary>\n1. Done\n</summary>", "1. Done")]
    #[case::without_end("<analysis>a</analysis> rest", "rest")]
    fn summary_is_stored_without_its_analysis(#[case] text: &str, #[case] summary: &str) {
        let event = event_of(&json!({"hook_event_name": "PostCompact", "compact_summary": text}));
        assert_eq!(event, Some(EventKind::AfterCompaction(summary.into())));
    }

    #[rstest]
    #[case::probe(json!({"agent_type": "probe", "last_assistant_message": "done"}), true)]
    #[case::compaction(json!({"agent_type": "", "last_assistant_message": "<analysis>"}), false)]
    #[case::older_host(json!({"agent_transcript_path": "/p/agent.jsonl"}), true)]
    fn only_subagents_with_a_task_report(#[case] mut fields: Value, #[case] remembered: bool) {
        fields["hook_event_name"] = "SubagentStop".into();
        assert_eq!(event_of(&fields).is_some(), remembered);
    }

    #[test]
    fn output_of_a_piped_test_run_says_whether_it_passed() {
        for (stderr, expected) in [("", true), ("error: test failed, to rerun pass `--lib`", false)] {
            let payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash",
                "tool_input": {"command": "cargo test | tail -1"},
                "tool_response": {"stdout": "test result: ok. 3 passed; 0 failed; 0 ignored", "stderr": stderr}});
            let Some(EventKind::ToolUse(used)) = event_of(&payload) else { panic!("no use of a tool") };
            assert_eq!(used.attempt.passed, expected);
        }
    }

    #[test]
    fn failure_names_its_attempt_and_interrupt_is_ignored() {
        let mut payload = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": {"command": "make"}, "error": "Exit code 2\nno rule"});
        let expected = "Bash failed: make\nExit code 2\nno rule";
        assert_eq!(event_of(&payload), Some(EventKind::Failure(expected.into())));
        payload["is_interrupt"] = true.into();
        assert_eq!(event_of(&payload), None);
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
    fn use_of_an_excluded_file_leaves_no_trace(#[case] event: &str, #[case] tool: &str, #[case] input: Value) {
        let payload =
            json!({"hook_event_name": event, "tool_name": tool, "tool_input": input, "cwd": "/p/app", "error": "no"});
        let (sanitizer, _) = Sanitizer::new(&[], &["/secrets/**".into()]);
        assert_eq!(event_with_sanitizer(&payload, &sanitizer), None);
        assert!(event_of(&payload).is_some(), "without the glob it is remembered");
    }

    #[test]
    fn failure_that_names_an_excluded_file_leaves_no_trace() {
        let payload = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "cwd": "/p",
            "tool_input": {"command": "make"}, "error": "Exit code 2\ncat: secrets/a: No such file or directory"});
        let (sanitizer, _) = Sanitizer::new(&[], &["secrets/**".into()]);
        assert_eq!(event_with_sanitizer(&payload, &sanitizer), None);
        assert!(event_of(&payload).is_some(), "without the glob it is remembered");
    }

    #[test]
    fn text_is_not_cut_within_a_secret() {
        let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
        for at in COMMAND_LIMIT - 40..COMMAND_LIMIT {
            let command = format!("make {} {token} and what follows it", "x".repeat(at));
            let used =
                json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
            let failed = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
                "tool_input": {"command": command}, "error": format!("{}{command}", "y ".repeat(REPORT - 60))});
            for payload in [used, failed] {
                let event = format!("{:?}", event_of(&payload).unwrap());
                // Even a text that is not cut is cleaned later.
                assert!(!redact(&event).text.contains("A1b2"), "{event}");
            }
        }
    }
}
