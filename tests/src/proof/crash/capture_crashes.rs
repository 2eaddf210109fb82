//! Crashes during capture.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use schema::files::lock::FileLock;
use serde_json::json;

use super::crash_run::CrashRun;
use super::kill::{KillTime, ProgramEnd, run_until_killed};
use crate::mcp_client::Era;
use crate::polling::eventually;
use crate::proof::SeededRandom;

/// The number of concurrent hooks, and of prompts per hook.
const HOOKS: usize = 4;
const PROMPTS: usize = 2;

/// The time within which a server must answer the queue.
const SEEN: Duration = Duration::from_secs(30);

/// Kills a hook that writes directly; the turn continues.
pub(super) fn crash_direct(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let is_cold = matches!(blow, KillTime::AtPoint { point: "store.created", .. });
    for _ in 0..if is_cold || random.once_in(3) { 0 } else { 2 } {
        let text = field.new_text();
        field.send_prompt(&text, None);
    }
    if matches!(blow, KillTime::AtPoint { point: "track.moved" | "track.kept", .. }) || random.once_in(3) {
        crash_turn_end(field, blow);
    } else {
        let text = field.new_text();
        field.send_prompt(&text, Some(blow));
        if random.once_in(2) {
            field.send_prompt(&text, None);
        }
    }
    let text = field.new_text();
    field.send_prompt(&text, None);
}

/// Kills the hook at the end of a turn that changed a file. The next prompt must save the change.
fn crash_turn_end(field: &mut CrashRun, blow: &KillTime) {
    let mut edit = field.sandbox.event("PostToolUse.Edit");
    edit["tool_input"]["file_path"] = field.sandbox.project().join("src/watcher.rs").to_string_lossy().into();
    let is_noted = field.run_hook("memory-track", &edit, None);
    let mut stop = field.sandbox.event("Stop");
    let answer = field.new_text();
    stop["session_id"] = edit["session_id"].clone();
    stop["last_assistant_message"] = answer.clone().into();
    field.ledger.allow(&answer);
    if field.run_hook("memory-complete", &stop, Some(blow)) {
        field.ledger.expect(&answer);
    }
    let text = field.new_text();
    let mut next = field.sandbox.prompt_event(&text);
    next["session_id"] = edit["session_id"].clone();
    field.ledger.allow(&text);
    if field.run_hook("memory-prompt-save", &next, None) {
        field.ledger.expect(&text);
        if is_noted {
            field.ledger.expect("Files modified: src/watcher.rs\n- two\n+ three");
        }
    }
}

/// Makes hooks find the store locked, so that they queue events on disk, and lets another process save them. Kills any of them.
pub(super) fn crash_spool(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let first = field.new_text();
    field.send_prompt(&first, None);
    let is_late = match blow {
        KillTime::AtPoint { point, .. } => !["spool.half", "spool.written", "spool.put"].contains(point),
        KillTime::After(_) => random.once_in(2),
    };
    let lock = FileLock::acquire(&field.sandbox.store().join("store.lock"), SEEN).expect("nobody else is there");
    for n in 0..3 {
        let text = field.new_text();
        field.send_prompt(&text, Some(blow).filter(|_| !is_late && n == 1));
    }
    drop(lock);
    if is_late {
        field.run_cli(&["index"], Some(blow));
    }
}

/// Kills a server while hooks send to it.
pub(super) fn crash_socket(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let mut command = field.sandbox.memory_command();
    command.arg("serve");
    blow.apply(&mut command);
    let mut client = crate::McpClient::start(command, Era::Modern);
    let sandbox = &field.sandbox;
    eventually(SEEN, || sandbox.socket().is_some_and(|socket| UnixStream::connect(socket).is_ok()));
    let texts: Vec<Vec<String>> = (0..HOOKS).map(|_| (0..PROMPTS).map(|_| field.new_text()).collect()).collect();
    texts.iter().flatten().for_each(|text| field.ledger.allow(text));
    let sandbox = &field.sandbox;
    let ended = thread::scope(|scope| {
        let hooks: Vec<_> = texts
            .iter()
            .map(|texts| {
                scope.spawn(move || {
                    let send = |text: &String| {
                        run_until_killed(
                            sandbox.hook_command("memory-prompt-save"),
                            &sandbox.prompt_event(text).to_string(),
                            None,
                        )
                    };
                    texts.iter().map(send).collect::<Vec<ProgramEnd>>()
                })
            })
            .collect();
        if let KillTime::After(_) = blow {
            // Each hook takes a few milliseconds, so the kill hits it at a random moment.
            thread::sleep(Duration::from_micros(random.below(60_000) as u64));
            client.kill_now();
        }
        hooks.into_iter().map(|hook| hook.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    for (text, end) in texts.iter().flatten().zip(ended.iter().flatten()) {
        match end {
            ProgramEnd::ByItself { status, stderr, .. } if status.success() && stderr.is_empty() => {
                field.ledger.expect(text);
            }
            other => field.add_finding(format!("a hook beside a server that was killed: {other:?}")),
        }
    }
    // A server that was just killed may still be running.
    if !client.close().status.success() {
        field.count_hit();
    }
}

/// Kills a save of a command or of a server, and repeats it.
pub(super) fn crash_save(field: &mut CrashRun, blow: &KillTime, random: &mut SeededRandom) {
    let kinds = ["decision", "learning", "error_fix", "convention", "preference"];
    let save = |field: &mut CrashRun, kind: &str, text: &str, long_term: bool, blow: Option<&KillTime>| {
        let mut arguments = vec!["save", kind, text];
        arguments.extend(long_term.then_some("--long-term"));
        field.ledger.allow(text);
        if field.run_cli(&arguments, blow) {
            field.ledger.expect(text);
        }
    };
    let kind = random.pick(&kinds);
    let long_term = match blow {
        KillTime::AtPoint { point: "log.half" | "log.appended", .. } => false,
        KillTime::AtPoint { point: "log.rewritten" | "log.replaced", .. } => true,
        _ => random.once_in(4),
    };
    for _ in 0..2 {
        let text = field.new_text();
        save(field, random.pick(&kinds), &text, long_term, None);
    }
    let text = field.new_text();
    if random.once_in(2) {
        save(field, kind, &text, long_term, Some(blow));
    } else {
        let mut command = field.sandbox.memory_command();
        command.arg("serve");
        blow.apply(&mut command);
        let mut client = crate::McpClient::start(command, Era::Modern);
        let arguments = json!({ "type": kind, "content": text, "longTerm": long_term });
        field.ledger.allow(&text);
        let asked = client.send_call("memory_save", arguments);
        if let KillTime::After(_) = blow {
            thread::sleep(Duration::from_micros(random.below(20_000) as u64));
            client.kill_now();
        }
        match client.answer_or_end(asked) {
            Some(answer) if answer.as_ref().is_ok_and(|answer| answer["isError"] != true) => field.ledger.expect(&text),
            Some(answer) => field.add_finding(format!("a save that was not killed: {answer:?}")),
            None => field.count_hit(),
        }
        client.kill();
    }
    if random.once_in(2) {
        save(field, kind, &text, long_term, None);
    }
}
