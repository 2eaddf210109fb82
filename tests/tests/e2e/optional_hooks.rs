//! Hooks that a setting turns on: memories about a file that a tool opens, and the reminder before a compaction.

use std::fs;

use harness::{Sandbox, sandbox};
use serde_json::{Value, json};

/// Runs a hook and returns its output as JSON, or `Null` if it has none.
fn answer(sandbox: &Sandbox, command: &str, payload: &Value) -> Value {
    let output = sandbox.run_hook(command, &payload.to_string());
    output.assert_success().assert_no_stderr();
    if output.stdout.is_empty() { Value::Null } else { serde_json::from_str(&output.stdout).unwrap() }
}

fn open_file(sandbox: &Sandbox, session: &str, tool: &str, file: &str) -> Value {
    let payload = json!({"session_id": session, "cwd": sandbox.project(), "hook_event_name": "PreToolUse", "tool_name": tool,
        "tool_input": {"file_path": sandbox.project().join(file)}});
    let answer = answer(sandbox, "memory-file-recall", &payload);
    answer["hookSpecificOutput"]["additionalContext"].clone()
}

#[test]
fn opening_a_file_shows_memories_that_name_it_once() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory.toml", "file_recall = \"on\"\nexclude = [\"secret/**\"]\n");
    let save = |kind, text| {
        sandbox.run_cli(["save", kind, text]).assert_success();
    };
    save("decision", "token.rs never logs, because logs are sent to a vendor");
    save("learning", "src/auth/token.rs: clocks of devices are minutes off");
    save("error_fix", "src/auth/token.rs: compare tokens in constant time");
    save("decision", "Use pnpm");
    let shown = open_file(&sandbox, "s", "Edit", "src/auth/token.rs");
    let shown = shown.as_str().unwrap();
    assert!(shown.matches("token.rs").count() == 2 && !shown.contains("pnpm"), "{shown}");
    assert_eq!(open_file(&sandbox, "s", "Read", "src/auth/token.rs"), Value::Null, "a second time");
    assert_ne!(open_file(&sandbox, "t", "Read", "src/auth/token.rs"), Value::Null, "in another session");
    assert_eq!(open_file(&sandbox, "t", "Read", "secret/token.rs"), Value::Null, "an excluded file");
    assert_eq!(open_file(&sandbox, "t", "Read", "../token.rs"), Value::Null, "a file outside the project");
    sandbox.write(".jikime/memory.toml", "file_recall = \"off\"\n");
    assert_eq!(open_file(&sandbox, "u", "Read", "src/auth/token.rs"), Value::Null, "turned off");
}

#[test]
fn init_adds_and_removes_the_hook_of_a_setting() {
    let sandbox = sandbox!().installed();
    let events = || {
        sandbox.run_cli(["init", "--yes"]).assert_success();
        let settings: Value =
            serde_json::from_str(&fs::read_to_string(sandbox.project().join(".claude/settings.json")).unwrap())
                .unwrap();
        settings["hooks"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let without = events();
    assert!(!without.contains(&"PreToolUse".to_owned()), "{without:?}");
    sandbox.write(".jikime/memory.toml", "file_recall = \"on\"\n");
    assert!(events().contains(&"PreToolUse".to_owned()));
    assert!(sandbox.run_cli(["doctor"]).stdout.contains("hooks"));
    sandbox.write(".jikime/memory.toml", "");
    let settings = fs::read_to_string(sandbox.project().join(".claude/settings.json")).unwrap();
    assert!(settings.contains("PreToolUse"));
    events();
    let settings = fs::read_to_string(sandbox.project().join(".claude/settings.json")).unwrap();
    assert!(!settings.contains("memory-file-recall"), "{settings}");
}

#[test]
fn long_session_is_reminded_once_to_save() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory.toml", "reminder = \"on\"\n");
    let transcript = sandbox.home().join("t.jsonl");
    let write = |tokens: u64| fs::write(&transcript, long_transcript(tokens)).unwrap();
    let stop = |active: bool| {
        let payload = json!({"session_id": "s", "transcript_path": transcript, "cwd": sandbox.project(), "hook_event_name": "Stop",
            "stop_hook_active": active, "last_assistant_message": "The cache is ready now."});
        answer(&sandbox, "memory-complete", &payload)
    };
    write(90_000);
    assert_eq!(stop(false), Value::Null, "a short session");
    write(130_000);
    assert_eq!(stop(true), Value::Null, "a turn that a hook continued");
    let reminder = stop(false);
    assert_eq!(reminder["decision"], "block");
    assert!(reminder["reason"].as_str().unwrap().contains("memory_save"), "{reminder}");
    assert_eq!(stop(false), Value::Null, "a second time");
    sandbox.write(".jikime/memory.toml", "");
    fs::remove_dir_all(sandbox.store().join("track")).unwrap();
    assert_eq!(stop(false), Value::Null, "turned off");
    assert!(sandbox.logs().contains("The cache is ready now."));
}

#[test]
fn reminder_does_not_depend_on_saving() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory.toml", "reminder = \"on\"\n");
    let transcript = sandbox.home().join("t.jsonl");
    fs::write(&transcript, long_transcript(130_000)).unwrap();
    // Nothing can be saved: the database and the spool are what they cannot be.
    fs::create_dir_all(sandbox.store().join("memory.db")).unwrap();
    fs::write(sandbox.store().join("spool"), "").unwrap();
    let payload = json!({"session_id": "s", "transcript_path": transcript, "cwd": sandbox.project(),
        "hook_event_name": "Stop", "last_assistant_message": "The cache is ready now."});
    assert_eq!(answer(&sandbox, "memory-complete", &payload)["decision"], "block");
    let logged = fs::read_to_string(sandbox.store().join("hook.log")).unwrap();
    assert!(logged.contains("spool"), "{logged}");
}

/// Returns a transcript whose last message has a context of `tokens`.
fn long_transcript(tokens: u64) -> String {
    let usage = json!({"input_tokens": 7, "cache_read_input_tokens": tokens, "cache_creation_input_tokens": 0});
    let message = json!({"model": "claude", "usage": usage, "content": [{"type": "text", "text": "An answer."}]});
    format!("{}\n", json!({"type": "assistant", "message": message, "timestamp": "2026-01-28T01:30:15Z"}))
}
