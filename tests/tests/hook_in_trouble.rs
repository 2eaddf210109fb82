//! A hook never hurts: whatever it is given and whatever it meets, it exits 0 and says nothing, and what can be kept is kept.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::{Sandbox, run_to_end, sandbox};
use rstest::rstest;
use rusqlite::Connection;

const COMMANDS: [(&str, &str); 9] = [
    ("memory-load", "SessionStart.startup"),
    ("memory-prompt-save", "UserPromptSubmit"),
    ("memory-track", "PostToolUse.Edit"),
    ("memory-track", "PostToolUseFailure.Bash"),
    ("memory-complete", "Stop"),
    ("memory-subagent", "SubagentStop"),
    ("memory-flush", "PreCompact.auto"),
    ("memory-compact", "PostCompact.auto"),
    ("memory-save", "SessionEnd.other"),
];

/// Runs every command on its event, and asserts that none hurts.
fn all_end_well(sandbox: &Sandbox) {
    for (command, event) in COMMANDS {
        let event = sandbox.event(event).to_string();
        let outcome = sandbox.run_hook(command, &event);
        outcome.success().complained_of_nothing();
        if command != "memory-load" {
            outcome.printed_nothing();
        }
        for cut in [event.len() / 2, event.len() - 1] {
            sandbox.run_hook(command, &event[..cut]).success().printed_nothing().complained_of_nothing();
        }
    }
}

fn prompt(sandbox: &Sandbox, text: &str) -> String {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = text.into();
    event.to_string()
}

fn spooled(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.store().join("spool")).map_or(0, Iterator::count)
}

#[test]
fn without_transcripts_and_without_a_store() {
    let sandbox = sandbox!();
    all_end_well(&sandbox);
    assert!(sandbox.logs().contains("**User Prompt**: RIG-HELLO"), "{}", sandbox.logs());
}

#[cfg(unix)]
#[rstest]
#[case::nothing(0)]
#[case::one_block(1)]
fn limit_on_file_size_is_survived(#[case] blocks: u32) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).success();
    for (command, event) in COMMANDS {
        let hook = sandbox.hook_command(command);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -f {blocks} && exec \"$@\""), "sh"]).arg(hook.get_program());
        limited.args(hook.get_args()).current_dir(sandbox.project()).env_clear();
        limited.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let outcome = run_to_end(limited, &sandbox.event(event).to_string(), Duration::from_secs(60));
        outcome.success().complained_of_nothing();
    }
}

#[rstest]
#[case::empty("")]
#[case::nowhere("/nonexistent/home")]
fn without_a_home(#[case] home: &str) {
    let mut sandbox = sandbox!();
    for name in ["HOME", "USERPROFILE", "APPDATA"] {
        sandbox.set_variable(name, home);
    }
    all_end_well(&sandbox);
    assert!(sandbox.logs().contains("**User Prompt**: RIG-HELLO"), "{}", sandbox.logs());
}

#[test]
fn with_an_event_of_fifty_megabytes() {
    let sandbox = sandbox!();
    let mut event = sandbox.event("PostToolUse.Edit");
    event["tool_response"]["originalFile"] = "word 단어 ".repeat(4_000_000).into();
    sandbox.run_hook("memory-track", &event.to_string()).success().printed_nothing().complained_of_nothing();
    event = sandbox.event("Stop");
    event["session_id"] = sandbox.event("PostToolUse.Edit")["session_id"].clone();
    sandbox.run_hook("memory-complete", &event.to_string()).success();
    assert!(sandbox.logs().contains("Files modified: notes.txt"), "{}", sandbox.logs());
}

#[test]
fn with_a_prompt_of_megabytes() {
    let sandbox = sandbox!();
    let text = format!("the beginning {} the end", "word 단어 ".repeat(300_000));
    sandbox
        .run_hook("memory-prompt-save", &prompt(&sandbox, &text))
        .success()
        .printed_nothing()
        .complained_of_nothing();
    let logs = sandbox.logs();
    assert!(
        logs.contains("**User Prompt**: the beginning word") && logs.contains("word 단어  the end"),
        "{}",
        logs.len()
    );
    assert!(logs.contains("characters left out") && logs.len() < 100_000, "{}", logs.len());
}

#[test]
fn with_a_transcript_that_cannot_be_read() {
    let sandbox = sandbox!();
    let garbage = sandbox.write("garbage.jsonl", [0xff, 0x00, b'{', b'\n', 0xc3].repeat(10_000));
    for path in [garbage, sandbox.project(), sandbox.project().join("missing.jsonl")] {
        for (command, event) in [("memory-complete", "2.1.20/Stop"), ("memory-flush", "PreCompact.auto")] {
            let mut event = sandbox.event(event);
            event["transcript_path"] = path.to_string_lossy().into();
            sandbox.run_hook(command, &event.to_string()).success().printed_nothing().complained_of_nothing();
        }
    }
    assert_eq!(sandbox.logs(), "");
}

#[test]
fn while_another_process_holds_the_store() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).success();
    let lock = fs::File::options().append(true).open(sandbox.store().join("store.lock")).unwrap();
    lock.lock().unwrap();
    all_end_well(&sandbox);
    let waiting = spooled(&sandbox);
    assert!(waiting >= 5, "{waiting}");
    lock.unlock().unwrap();
    // The next hook takes some along, the next command all.
    sandbox.run_hook("memory-prompt-save", &prompt(&sandbox, "and now")).success();
    assert!(spooled(&sandbox) < waiting);
    sandbox.run_cli(["index"]).success();
    assert_eq!(spooled(&sandbox), 0);
    assert_eq!(sandbox.logs().matches("**User Prompt**").count(), 2, "{}", sandbox.logs());
}

#[test]
fn while_another_process_holds_the_buffer() {
    let sandbox = sandbox!();
    let edit = sandbox.event("PostToolUse.Edit");
    sandbox.run_hook("memory-track", &edit.to_string()).success();
    let buffer = fs::read_dir(sandbox.store().join("track")).unwrap().next().unwrap().unwrap().path();
    let lock = fs::File::options().append(true).open(buffer).unwrap();
    lock.lock().unwrap();
    let mut stop = sandbox.event("Stop");
    stop["session_id"] = edit["session_id"].clone();
    sandbox.run_hook("memory-complete", &stop.to_string()).success().printed_nothing().complained_of_nothing();
    assert!(sandbox.logs().contains("**Assistant Response**") && !sandbox.logs().contains("**Tool Usage**"));
    lock.unlock().unwrap();
    sandbox.run_hook("memory-save", &stop.to_string().replace("\"Stop\"", "\"SessionEnd\"")).success();
    assert!(sandbox.logs().contains("**Tool Usage**: Files modified: notes.txt"), "{}", sandbox.logs());
}

#[test]
fn while_another_process_writes_to_the_database() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).success();
    let db = Connection::open(sandbox.store().join("memory.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    all_end_well(&sandbox);
    db.execute_batch("ROLLBACK").unwrap();
    sandbox.run_cli(["index"]).success();
    let prompts = sandbox.run_cli(["list", "--json", "--type", "user_prompt"]).success().json();
    assert_eq!(prompts.as_array().unwrap().len(), 1, "{prompts:#}");
}

#[rstest]
#[case::garbage(b"no database at all".to_vec(), false)]
#[case::of_a_later_version(later_version(), true)]
fn with_a_database_that_is_none_of_ours(#[case] bytes: Vec<u8>, #[case] is_newer: bool) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).success();
    for name in ["memory.db-wal", "memory.db-shm"] {
        let _ = fs::remove_file(sandbox.store().join(name));
    }
    fs::write(sandbox.store().join("memory.db"), bytes).unwrap();
    all_end_well(&sandbox);
    let is_kept = || sandbox.logs().contains("**User Prompt**: RIG-HELLO");
    assert!(!is_kept() && spooled(&sandbox) > 0, "{}", sandbox.logs());
    let faults = fs::read_to_string(sandbox.store().join("hook.log")).unwrap();
    assert_eq!(faults.contains("not a database"), !is_newer, "{faults}");
    let start = sandbox.event("SessionStart.startup").to_string();
    let brief = sandbox.run_hook("memory-load", &start).success().stdout.clone();
    assert_eq!(brief.contains("the store is read-only"), is_newer, "{brief}");
    // A command has the time that a hook has not.
    sandbox.run_cli(["index"]);
    assert_eq!((is_kept(), spooled(&sandbox) > 0), (!is_newer, is_newer), "{}", sandbox.logs());
}

/// The header of a database of ours that a later version made.
fn later_version() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("later.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA application_id = 0x4a4d454d; PRAGMA user_version = 99; CREATE TABLE later (x)").unwrap();
    drop(db);
    fs::read(path).unwrap()
}

#[test]
fn with_a_host_that_never_closes_its_input() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).success();
    let mut command = sandbox.hook_command("memory-save");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // Held until the end: waiting for the process would close it first.
    let input = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(input);
    let problems = sandbox.run_cli(["stats", "--json"]).success().json()["problems"].to_string();
    assert!(problems.contains("ended after 500 ms"), "{problems}");
}
