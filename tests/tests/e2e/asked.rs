//! Confirmations on a terminal, and interruptions: nothing happens without consent, and a repeated command finishes
//! interrupted work.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use harness::{Sandbox, eventually, files_below, sandbox};
use rstest::rstest;
use schema::model::moment::Moment;
use serde_json::json;

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const SIGINT: i32 = 2;

fn was_interrupted(status: ExitStatus) -> bool {
    status.signal() == Some(SIGINT) || status.code() == Some(128 + SIGINT)
}

#[rstest]
#[case::no("n\r", false)]
#[case::nothing("\r", false)]
#[case::other("sure\r", false)]
#[case::end_of_input(CTRL_D, false)]
#[case::yes("y\r", true)]
#[case::yes_in_korean("네\r", true)]
fn action_needs_confirmation(#[case] keys: &str, #[case] is_yes: bool) {
    let sandbox = sandbox!();
    for text in ["Falcon flies", "It stays"] {
        sandbox.run_cli(["save", "decision", text]).assert_success();
    }
    let mut terminal = sandbox.terminal((80, 24), &["forget", "--query", "falcon"]);
    terminal.wait_for("Delete 1 memory for good? [y/N]").press(keys);
    let said = if is_yes { "Deleted 1 memory." } else { "Nothing was changed." };
    terminal.wait_for(said);
    assert!(terminal.end().success());
    assert_eq!(sandbox.logs().contains("Falcon"), !is_yes);
}

#[test]
fn a_memory_is_deleted_after_a_yes_on_a_terminal() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "It stays"]).assert_success();
    let saved = sandbox.run_cli(["save", "decision", "Falcon flies", "--json"]).assert_success().json();
    let id = saved["id"].as_str().unwrap();
    for (keys, said) in [("n\r", "Nothing was changed."), ("y\r", "Deleted 1 memory.")] {
        assert!(sandbox.logs().contains("Falcon"));
        let mut terminal = sandbox.terminal((80, 24), &["delete", id]);
        terminal.wait_for("Delete 1 memory for good? [y/N]").press(keys).wait_for(said);
        assert!(terminal.end().success());
    }
    assert!(!sandbox.logs().contains("Falcon"));
}

#[test]
fn init_and_uninstall_ask_and_interrupt_means_no() {
    let mut sandbox = sandbox!().installed();
    sandbox.set_variable("PAGER", "cat");
    let is_written = || sandbox.project().join(".mcp.json").exists();
    let mut terminal = sandbox.terminal((40, 24), &["init"]);
    terminal.wait_for("Write this? [y/N]").press(CTRL_C);
    assert!(was_interrupted(terminal.end()) && !is_written() && !sandbox.store().exists());
    let mut terminal = sandbox.terminal((80, 24), &["init"]);
    terminal.wait_for("Write this? [y/N]").wait_for("This sets up Claude Code").wait_for("9 files with slash commands");
    terminal.press("d\r").wait_for("@@");
    let is_asked_again = |terminal: &harness::Terminal| terminal.written().matches("Write this?").count() >= 2;
    eventually(Duration::from_secs(30), || is_asked_again(&terminal));
    terminal.press("y\r").wait_for("lists 6 tools").wait_for("jikime-memory uninstall`");
    assert!(terminal.end().success() && is_written());
    let mut terminal = sandbox.terminal((80, 24), &["uninstall"]);
    terminal.wait_for("Do this? [y/N]").press("n\r").wait_for("Nothing was changed.");
    assert!(terminal.end().success() && is_written());
}

#[test]
fn prompts_fit_forty_columns() {
    let mut sandbox = sandbox!().installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.set_variable("COLUMNS", "40");
    sandbox.run_cli(["save", "decision", "Nothing is deleted before somebody said that it may be."]).assert_success();
    for arguments in [
        &["init", "--yes"][..],
        &["init", "--list-hosts"],
        &["doctor"],
        &["forget", "--query", "deleted", "--dry-run"],
        &["uninstall", "--dry-run", "--host", "zed"],
    ] {
        let said = sandbox.run_cli(arguments).assert_success().stdout.clone();
        let longest = said.lines().map(|line| line.chars().count()).max();
        assert!(longest.is_some_and(|longest| longest <= 40), "{arguments:?}: {said}");
    }
}

/// Writes a transcript with this many questions and answers.
fn transcript(path: &Path, lines: usize) {
    let line = |n: usize| {
        let time = Moment::from_unix(1_769_563_800 + n as i64 * 90, Some(0)).unwrap().utc();
        let (kind, message) = match n % 2 {
            0 => ("user", json!({ "content": format!("question {n} {}", "of many words ".repeat(20)) })),
            _ => {
                let content = json!([{ "type": "text", "text": format!("answer {n}") }]);
                ("assistant", json!({ "id": format!("m{n}"), "stop_reason": "end_turn", "content": content }))
            }
        };
        format!("{}\n", json!({ "type": kind, "message": message, "timestamp": time, "sessionId": "s" }))
    };
    fs::write(path, (0..lines).map(line).collect::<String>()).unwrap();
}

/// Interrupts a command once `is_at_it`, and returns the store. If it ends before that, it is tried again in another store.
fn interrupted(prepare: impl Fn() -> Sandbox, arguments: &[&str], is_at_it: impl Fn(&Sandbox) -> bool) -> Sandbox {
    for _ in 0..10 {
        let sandbox = prepare();
        let mut command = sandbox.memory_command();
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        eventually(Duration::from_mins(1), || is_at_it(&sandbox) || child.try_wait().unwrap().is_some());
        let id = child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status().unwrap();
        let status = child.wait().unwrap();
        if was_interrupted(status) {
            return sandbox;
        }
        assert!(status.success(), "{status}");
    }
    panic!("{arguments:?} always ends before it is interrupted");
}

fn exported(sandbox: &Sandbox) -> Vec<String> {
    let mut lines: Vec<String> =
        sandbox.run_cli(["export"]).assert_success().stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

const LINES: usize = 2_000;
const IMPORT: [&str; 4] = ["import", "claude-code", "--from", "long.jsonl"];

fn sandbox_with_transcript() -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory.toml", "conclusions = false\n");
    transcript(&sandbox.project().join("long.jsonl"), LINES);
    sandbox
}

fn sandbox_with_import() -> Sandbox {
    let sandbox = sandbox_with_transcript();
    sandbox.run_cli(IMPORT).assert_success();
    sandbox
}

#[test]
fn interrupted_import_is_completed() {
    let stopped = interrupted(sandbox_with_transcript, &IMPORT, |sandbox| !sandbox.logs().is_empty());
    // The result is consistent: each entry is a memory of the transcript, and no files are left over.
    let some = exported(&stopped);
    let again = stopped.run_cli(IMPORT.iter().chain(&["--json"])).assert_success().json();
    assert_eq!(again["already_known"], some.len(), "{again:#}");
    let all = exported(&sandbox_with_import());
    assert_eq!(exported(&stopped), all);
    assert!(some.iter().all(|line| all.contains(line)) && all.len() == LINES);
}

#[test]
fn interrupted_forget_is_completed() {
    let forget = ["forget", "--query", "question", "--yes"];
    let whole = sandbox_with_import();
    let (all, before) = (exported(&whole), whole.logs().len());
    let stopped = interrupted(sandbox_with_import, &forget, |sandbox| sandbox.logs().len() < before);
    stopped.run_cli(forget).assert_success();
    let left = exported(&stopped);
    assert!(left.len() == LINES / 2 && left.iter().all(|line| all.contains(line)), "{} are left", left.len());
    for file in files_below(&stopped.store()) {
        let bytes = fs::read(&file).unwrap();
        let is_clean = !bytes.windows(b"of many words".len()).any(|part| part == b"of many words");
        assert!(is_clean, "{} holds what was forgotten", file.display());
    }
}
