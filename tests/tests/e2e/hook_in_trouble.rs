//! A hook never disturbs the host: on any input and error it exits 0 silently, and saves what it can.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::{Sandbox, built_binaries, run_to_end, sandbox};
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

/// Runs all hooks on their events, and asserts that each exits 0 silently.
fn assert_all_end_well(sandbox: &Sandbox) {
    for (command, event) in COMMANDS {
        let event = sandbox.event(event).to_string();
        let outcome = sandbox.run_hook(command, &event);
        outcome.assert_success().assert_no_stderr();
        if command != "memory-load" {
            outcome.assert_no_stdout();
        }
        for cut in [event.len() / 2, event.len() - 1] {
            sandbox.run_hook(command, &event[..cut]).assert_success().assert_no_stdout().assert_no_stderr();
        }
    }
}

fn spooled(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.store().join("spool")).map_or(0, Iterator::count)
}

#[test]
fn hook_survives_missing_transcript_and_store() {
    let sandbox = sandbox!();
    assert_all_end_well(&sandbox);
    assert!(sandbox.logs().contains("**User Prompt**: RIG-HELLO"), "{}", sandbox.logs());
}

#[cfg(unix)]
#[rstest]
#[case::nothing(0)]
#[case::one_block(1)]
fn limit_on_file_size_is_survived(#[case] blocks: u32) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).assert_success();
    for (command, event) in COMMANDS {
        let hook = sandbox.hook_command(command);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -f {blocks} && exec \"$@\""), "sh"]).arg(hook.get_program());
        limited.args(hook.get_args()).current_dir(sandbox.project()).env_clear();
        limited.envs(hook.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let outcome = run_to_end(limited, &sandbox.event(event).to_string(), Duration::from_mins(1));
        outcome.assert_success().assert_no_stderr();
    }
}

#[rstest]
#[case::empty("")]
#[case::nowhere("/nonexistent/home")]
fn hook_survives_a_missing_home(#[case] home: &str) {
    let mut sandbox = sandbox!();
    for name in ["HOME", "USERPROFILE", "APPDATA"] {
        sandbox.set_variable(name, home);
    }
    assert_all_end_well(&sandbox);
    assert!(sandbox.logs().contains("**User Prompt**: RIG-HELLO"), "{}", sandbox.logs());
}

#[test]
fn hook_survives_an_event_of_fifty_megabytes() {
    let sandbox = sandbox!();
    let mut event = sandbox.event("PostToolUse.Edit");
    event["tool_response"]["originalFile"] = "word 단어 ".repeat(4_000_000).into();
    sandbox.run_hook("memory-track", &event.to_string()).assert_success().assert_no_stdout().assert_no_stderr();
    event = sandbox.event("Stop");
    event["session_id"] = sandbox.event("PostToolUse.Edit")["session_id"].clone();
    sandbox.run_hook("memory-complete", &event.to_string()).assert_success();
    assert!(sandbox.logs().contains("Files modified: notes.txt"), "{}", sandbox.logs());
}

#[test]
fn hook_survives_a_prompt_of_megabytes() {
    let sandbox = sandbox!();
    let text = format!("the beginning {} the end", "word 단어 ".repeat(300_000));
    sandbox
        .run_hook("memory-prompt-save", &sandbox.prompt_event(&text).to_string())
        .assert_success()
        .assert_no_stdout()
        .assert_no_stderr();
    let logs = sandbox.logs();
    assert!(
        logs.contains("**User Prompt**: the beginning word") && logs.contains("word 단어  the end"),
        "{}",
        logs.len()
    );
    assert!(logs.contains("characters left out") && logs.len() < 100_000, "{}", logs.len());
}

#[test]
fn event_over_the_limit_keeps_its_beginning() {
    let sandbox = sandbox!();
    let text = format!("the beginning {}", "word ".repeat(14_000_000));
    let outcome = sandbox.run_hook("memory-prompt-save", &sandbox.prompt_event(&text).to_string());
    outcome.assert_success().assert_no_stdout().assert_no_stderr();
    let logs = sandbox.logs();
    assert!(logs.contains("**User Prompt**: the beginning word"), "{}", logs.len());
    let faults = fs::read_to_string(sandbox.store().join("hook.log")).unwrap();
    assert!(faults.contains("only its beginning is recorded"), "{faults}");
}

#[test]
fn edit_waits_in_the_spool_while_its_buffer_is_locked() {
    let sandbox = sandbox!();
    sandbox.run_hook("memory-track", &sandbox.event("PostToolUse.Edit").to_string()).assert_success();
    let buffers = fs::read_dir(sandbox.store().join("track")).unwrap().map(|item| item.unwrap().path());
    let buffers: Vec<_> = buffers.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect();
    let buffer = fs::File::options().write(true).open(&buffers[0]).unwrap();
    buffer.lock().unwrap();
    let mut edit = sandbox.event("PostToolUse.Edit");
    edit["tool_input"]["file_path"] = sandbox.project().join("src/second.rs").to_string_lossy().into();
    sandbox.run_hook("memory-track", &edit.to_string()).assert_success().assert_no_stderr();
    assert_eq!(spooled(&sandbox), 1);
    drop(buffer);
    sandbox.run_cli(["index"]).assert_success();
    assert!(sandbox.logs().contains("src/second.rs"), "{}", sandbox.logs());
}

#[test]
fn hook_survives_an_unreadable_transcript() {
    let sandbox = sandbox!();
    let garbage = sandbox.write("garbage.jsonl", [0xff, 0x00, b'{', b'\n', 0xc3].repeat(10_000));
    for path in [garbage, sandbox.project(), sandbox.project().join("missing.jsonl")] {
        for (command, event) in [("memory-complete", "2.1.20/Stop"), ("memory-flush", "PreCompact.auto")] {
            let mut event = sandbox.event(event);
            event["transcript_path"] = path.to_string_lossy().into();
            sandbox.run_hook(command, &event.to_string()).assert_success().assert_no_stdout().assert_no_stderr();
        }
    }
    assert_eq!(sandbox.logs(), "");
}

#[test]
fn hooks_survive_a_locked_store() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).assert_success();
    let lock = fs::File::options().append(true).open(sandbox.store().join("store.lock")).unwrap();
    lock.lock().unwrap();
    assert_all_end_well(&sandbox);
    let waiting = spooled(&sandbox);
    assert!(waiting >= 5, "{waiting}");
    lock.unlock().unwrap();
    // The next hook saves some queued events, the next command all.
    sandbox.run_hook("memory-prompt-save", &sandbox.prompt_event("and now the cache").to_string()).assert_success();
    assert!(spooled(&sandbox) < waiting);
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(spooled(&sandbox), 0);
    assert_eq!(sandbox.logs().matches("**User Prompt**").count(), 2, "{}", sandbox.logs());
}

#[test]
fn hooks_survive_a_locked_buffer() {
    let sandbox = sandbox!();
    let edit = sandbox.event("PostToolUse.Edit");
    sandbox.run_hook("memory-track", &edit.to_string()).assert_success();
    let buffer = fs::read_dir(sandbox.store().join("track")).unwrap().next().unwrap().unwrap().path();
    let lock = fs::File::options().append(true).open(buffer).unwrap();
    lock.lock().unwrap();
    let mut stop = sandbox.event("Stop");
    stop["session_id"] = edit["session_id"].clone();
    sandbox.run_hook("memory-complete", &stop.to_string()).assert_success().assert_no_stdout().assert_no_stderr();
    assert!(sandbox.logs().contains("**Assistant Response**") && !sandbox.logs().contains("**Tool Usage**"));
    lock.unlock().unwrap();
    sandbox.run_hook("memory-save", &stop.to_string().replace("\"Stop\"", "\"SessionEnd\"")).assert_success();
    assert!(sandbox.logs().contains("**Tool Usage**: Files modified: notes.txt"), "{}", sandbox.logs());
}

#[test]
fn hooks_survive_a_busy_database() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).assert_success();
    let db = Connection::open(sandbox.store().join("memory.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_all_end_well(&sandbox);
    db.execute_batch("ROLLBACK").unwrap();
    sandbox.run_cli(["index"]).assert_success();
    let prompts = sandbox.run_cli(["list", "--json", "--type", "user_prompt"]).assert_success().json();
    assert_eq!(prompts.as_array().unwrap().len(), 1, "{prompts:#}");
}

#[rstest]
#[case::garbage(b"no database at all".to_vec(), false)]
#[case::of_a_later_version(later_version(), true)]
fn foreign_database_is_refused(#[case] bytes: Vec<u8>, #[case] is_newer: bool) {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).assert_success();
    for name in ["memory.db-wal", "memory.db-shm"] {
        let _ = fs::remove_file(sandbox.store().join(name));
    }
    fs::write(sandbox.store().join("memory.db"), bytes).unwrap();
    assert_all_end_well(&sandbox);
    let is_kept = || sandbox.logs().contains("**User Prompt**: RIG-HELLO");
    assert!(!is_kept() && spooled(&sandbox) > 0, "{}", sandbox.logs());
    let faults = fs::read_to_string(sandbox.store().join("hook.log")).unwrap();
    assert_eq!(faults.contains("not a database"), !is_newer, "{faults}");
    let start = sandbox.event("SessionStart.startup").to_string();
    let brief = sandbox.run_hook("memory-load", &start).assert_success().stdout.clone();
    assert_eq!(brief.contains("the store is read-only"), is_newer, "{brief}");
    // Unlike a hook, a command has time for a repair.
    sandbox.run_cli(["index"]);
    assert_eq!((is_kept(), spooled(&sandbox) > 0), (!is_newer, is_newer), "{}", sandbox.logs());
}

/// The header of a database of a newer version.
fn later_version() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("later.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch("PRAGMA application_id = 0x4a4d454d; PRAGMA user_version = 99; CREATE TABLE later (x)").unwrap();
    drop(db);
    fs::read(path).unwrap()
}

#[test]
fn hook_ends_although_input_stays_open() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "there is a store"]).assert_success();
    let mut command = sandbox.hook_command("memory-save");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // Held until the end: waiting for the process would close it first.
    let input = child.stdin.take();
    assert!(child.wait().unwrap().success());
    drop(input);
    let problems = sandbox.run_cli(["stats", "--json"]).assert_success().json()["problems"].to_string();
    assert!(problems.contains("stopped at its limit of 500 ms"), "{problems}");
}

#[rstest]
#[case::prompt("memory-prompt-save", "UserPromptSubmit")]
#[case::answer("memory-complete", "Stop")]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no crash points")]
fn stopped_hook_spools_text_that_waits_for_the_buffer(#[case] command: &str, #[case] event: &str) {
    let sandbox = Sandbox::new(built_binaries!());
    let (edit, mut event) = (sandbox.event("PostToolUse.Edit"), sandbox.event(event));
    sandbox.run_hook("memory-track", &edit.to_string()).assert_success();
    event["session_id"] = edit["session_id"].clone();
    let mut hook = sandbox.hook_command(command);
    // It ends while the uses of tools are taken from their buffer, which happens before the text is saved.
    hook.env("JIKIME_CRASH_AT", "panic=track.moved");
    run_to_end(hook, &event.to_string(), Duration::from_mins(1)).assert_success();
    assert_eq!((spooled(&sandbox), sandbox.logs()), (1, String::new()));
}
