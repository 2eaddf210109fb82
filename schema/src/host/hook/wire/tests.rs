//! Recorded and documented payloads of other hosts become the events that Claude Code's become.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;
use serde_json::json;

use super::apply_patch::{FilePatch, Replacement, file_patches};
use super::*;
use crate::host::hook::SessionSource;
use crate::host::hook::{EventKind, HostEvent, ToolChange, ToolUse};
use crate::privacy::sanitizer::Sanitizer;

fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hosts").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn events(host: HookHost, payload: &str) -> Vec<EventKind> {
    let payloads = host.read(payload.as_bytes()).unwrap();
    let event = |payload| HostEvent::from_payload(payload, Path::new("/home/dev/project"), &Sanitizer::default());
    payloads.iter().filter_map(event).map(|event| event.kind).collect()
}

fn recorded(host: HookHost, name: &str) -> Vec<EventKind> {
    events(host, &fixture(&format!("{}/{name}.json", host.name())))
}

/// An event in short, without the parts that other tests cover.
fn short(event: &EventKind) -> String {
    match event {
        EventKind::ToolUse(ToolUse { changed: Some(ToolChange::File { path, change }), .. }) => {
            format!("file {path}: {}", change.as_deref().unwrap_or("-"))
        }
        EventKind::ToolUse(ToolUse { changed: Some(ToolChange::Command(line)), is_success_known, .. }) => {
            format!("ran {line}{}", if *is_success_known { "" } else { " (?)" })
        }
        EventKind::ToolUse(ToolUse { attempt, .. }) => format!("tried {}", attempt.input.as_deref().unwrap_or("-")),
        other => format!("{other:?}"),
    }
}

#[rstest]
#[case::codex_prompt(HookHost::Codex, "UserPromptSubmit", &[r#"Prompt("Limit the retries of the uploader")"#])]
#[case::codex_start(HookHost::Codex, "SessionStart.compact", &["SessionStart(Compact)"])]
#[case::codex_patch(HookHost::Codex, "PostToolUse.apply_patch", &["file check.sh: - exit 3\n+ exit 0", "file new.txt: + hello"])]
#[case::codex_answer(HookHost::Codex, "Stop", &[r#"TurnEnd(Some("We decided to keep backups in the object store."))"#])]
#[case::codex_compaction(HookHost::Codex, "PreCompact.auto", &["BeforeCompaction"])]
#[case::codex_end(HookHost::Codex, "SessionEnd.other", &["SessionEnd"])]
#[case::gemini_start(HookHost::Gemini, "SessionStart.startup", &["SessionStart(Startup)"])]
#[case::gemini_prompt(HookHost::Gemini, "BeforeAgent", &[r#"Prompt("Limit the retries of the uploader")"#])]
#[case::gemini_write(HookHost::Gemini, "AfterTool.write_file", &["file check.sh: + echo retries: unlimited >&2\n+ exit 3"])]
#[case::gemini_edit(HookHost::Gemini, "AfterTool.replace", &["file check.sh: - exit 3\n+ exit 0"])]
#[case::gemini_command(HookHost::Gemini, "AfterTool.run_shell_command", &["ran bash check.sh && git add check.sh"])]
#[case::gemini_failure(HookHost::Gemini, "AfterTool.run_shell_command.failed", &[r#"Failure("Bash failed: bash check.sh\nExit code 3\nretries: unlimited")"#])]
#[case::gemini_other_tool(HookHost::Gemini, "AfterTool.read_file.failed", &[])]
#[case::gemini_no_compression(HookHost::Gemini, "PreCompress.auto", &[])]
#[case::gemini_answer(HookHost::Gemini, "AfterAgent", &[r#"TurnEnd(Some("We decided to keep backups in the object store."))"#])]
#[case::gemini_end(HookHost::Gemini, "SessionEnd.exit", &["SessionEnd"])]
#[case::cursor_start(HookHost::Cursor, "sessionStart", &["SessionStart(Startup)"])]
#[case::cursor_prompt(HookHost::Cursor, "beforeSubmitPrompt", &[r#"Prompt("Limit the retries of the uploader")"#])]
#[case::cursor_edit(HookHost::Cursor, "afterFileEdit", &["file check.sh: - exit 3\n+ exit 0"])]
#[case::cursor_command(HookHost::Cursor, "postToolUse.Shell", &["ran bash check.sh && git add check.sh"])]
#[case::cursor_exit_code(HookHost::Cursor, "postToolUse.Shell.failed", &[r#"Failure("Bash failed: bash check.sh\nExit code 3\nretries: unlimited")"#])]
#[case::cursor_failure(HookHost::Cursor, "postToolUseFailure.Shell", &[r#"Failure("Bash failed: make upload\nCommand timed out after 30s")"#])]
#[case::cursor_answer(HookHost::Cursor, "afterAgentResponse", &[r#"TurnEnd(Some("We decided to keep backups in the object store."))"#])]
#[case::cursor_stop(HookHost::Cursor, "stop", &["TurnEnd(None)"])]
#[case::cursor_report(HookHost::Cursor, "subagentStop", &[r#"Report { agent_type: Some("generalPurpose"), text: Some("The limit holds.") }"#])]
#[case::cursor_compaction(HookHost::Cursor, "preCompact", &["BeforeCompaction"])]
#[case::cursor_end(HookHost::Cursor, "sessionEnd", &["SessionEnd"])]
#[case::vscode_start(HookHost::Vscode, "SessionStart", &["SessionStart(Startup)"])]
#[case::vscode_prompt(HookHost::Vscode, "UserPromptSubmit", &[r#"Prompt("Limit the retries of the uploader")"#])]
#[case::vscode_files(HookHost::Vscode, "PostToolUse.editFiles", &["file src/main.ts: -"])]
#[case::vscode_write(HookHost::Vscode, "PostToolUse.create_file", &["file check.sh: + exit 3"])]
#[case::vscode_edit(HookHost::Vscode, "PostToolUse.replace_string_in_file", &["file check.sh: - exit 3\n+ exit 0"])]
#[case::vscode_edits(HookHost::Vscode, "PostToolUse.multi_replace_string_in_file", &["file a.sh: - exit 3\n+ exit 0", "file b.sh: - exit 4\n+ exit 0"])]
#[case::vscode_command(HookHost::Vscode, "PostToolUse.run_in_terminal", &["ran git add check.sh (?)"])]
#[case::vscode_stop(HookHost::Vscode, "Stop", &["TurnEnd(None)"])]
#[case::windsurf_prompt(HookHost::Windsurf, "pre_user_prompt", &[r#"Prompt("Limit the retries of the uploader")"#])]
#[case::windsurf_edit(HookHost::Windsurf, "post_write_code", &["file check.sh: - exit 3\n+ exit 0"])]
#[case::windsurf_command(HookHost::Windsurf, "post_run_command", &["ran git add check.sh (?)"])]
#[case::windsurf_answer(HookHost::Windsurf, "post_cascade_response", &[r#"TurnEnd(Some("We decided to keep backups in the object store."))"#])]
fn payload_becomes_the_event(#[case] host: HookHost, #[case] name: &str, #[case] expected: &[&str]) {
    let found: Vec<String> = recorded(host, name).iter().map(short).collect();
    assert_eq!(found, expected);
}

/// A payload of Codex that names the recorded rollout file.
fn with_rollout(name: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let mut payload: serde_json::Value = serde_json::from_str(&fixture(&format!("codex/{name}.json"))).unwrap();
    let rollout = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hosts/codex/rollout.jsonl");
    payload["transcript_path"] = rollout.to_string_lossy().into();
    change(&mut payload);
    payload.to_string()
}

#[rstest]
#[case::failed(
    "PostToolUse.Bash.failed",
    "call_1_0",
    r#"Failure("Bash failed: bash check.sh\nExit code 3\nretries: unlimited")"#
)]
#[case::succeeded("PostToolUse.Bash", "call_5_0", "ran bash check.sh && git add check.sh")]
#[case::of_another_call("PostToolUse.Bash", "call_9_0", "ran bash check.sh && git add check.sh (?)")]
fn exit_code_of_codex_is_read_from_its_rollout(#[case] name: &str, #[case] call: &str, #[case] expected: &str) {
    let payload = with_rollout(name, |payload| payload["tool_use_id"] = call.into());
    let found: Vec<String> = events(HookHost::Codex, &payload).iter().map(short).collect();
    assert_eq!(found, [expected]);
}

#[test]
fn summary_of_codex_is_read_from_its_rollout() {
    let found = events(HookHost::Codex, &with_rollout("PostCompact.auto", |_| {}));
    assert_eq!(found, [EventKind::Summary("SUMMARY: retries are limited".to_owned())]);
    assert_eq!(recorded(HookHost::Codex, "PostCompact.auto"), []);
}

#[rstest]
#[case::subagent_of_codex(HookHost::Codex, json!({"hook_event_name": "UserPromptSubmit", "prompt": "Review it", "agent_id": "a"}))]
#[case::background_of_cursor(HookHost::Cursor, json!({"hook_event_name": "beforeSubmitPrompt", "prompt": "Review it", "is_background_agent": true}))]
#[case::unknown_event(HookHost::Gemini, json!({"hook_event_name": "BeforeModel", "llm_request": {}}))]
#[case::other_tool(HookHost::Codex, json!({"hook_event_name": "PostToolUse", "tool_name": "mcp__jikime-memory__memory_save", "tool_input": {}}))]
#[case::other_types(HookHost::Windsurf, json!({"agent_action_name": 5, "tool_info": []}))]
fn event_that_is_not_ours_has_no_payload(#[case] host: HookHost, #[case] payload: serde_json::Value) {
    assert_eq!(events(host, &payload.to_string()), []);
}

#[test]
fn events_of_vscode_are_recognised_in_hooks_of_claude_code() {
    let found = events(HookHost::ClaudeCode, &fixture("vscode/UserPromptSubmit.json"));
    assert_eq!(found, [EventKind::Prompt("Limit the retries of the uploader".to_owned())]);
    let start = json!({"hook_event_name": "SessionStart", "source": "resume"}).to_string();
    assert_eq!(events(HookHost::ClaudeCode, &start), [EventKind::SessionStart(SessionSource::Resume)]);
}

#[test]
fn context_of_hooks_is_no_part_of_a_prompt() {
    let prompt = "<hook_context>a brief</hook_context>\n\nLimit the retries";
    let payload = json!({"hook_event_name": "BeforeAgent", "prompt": prompt}).to_string();
    assert_eq!(events(HookHost::Gemini, &payload), [EventKind::Prompt("Limit the retries".to_owned())]);
}

#[test]
fn patch_is_split_into_files() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n@@ fn main()\n same\n-old\n+new\n@@\n+more\n\
                 *** Delete File: c.rs\n*** Add File: d.rs\n+one\n+two\n*** End Patch";
    let edit = |old: &str, new: &str| Replacement { old_string: old.to_owned(), new_string: new.to_owned() };
    assert_eq!(
        file_patches(patch),
        [
            FilePatch::Updated {
                path: "b.rs".to_owned(),
                edits: vec![edit("same\nold\n", "same\nnew\n"), edit("", "more\n")]
            },
            FilePatch::Deleted { path: "c.rs".to_owned() },
            FilePatch::Added { path: "d.rs".to_owned(), content: "one\ntwo\n".to_owned() },
        ]
    );
}

#[test]
fn hosts_are_found_by_their_names() {
    for (name, host) in HookHost::NAMES {
        assert_eq!((HookHost::parse(name), host.name()), (Some(host), name));
    }
    assert_eq!(HookHost::parse("emacs"), None);
}
