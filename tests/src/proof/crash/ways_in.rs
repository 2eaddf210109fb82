//! Crashes on the ways by which something is captured.

use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use schema::lock::FileLock;
use serde_json::json;

use super::attempt::{Blow, End, attempt};
use super::field::{Field, prompt};
use crate::mcp_client::Era;
use crate::poll::eventually;
use crate::proof::Random;

/// Hooks at once, and the prompts of each.
const HOOKS: usize = 4;
const PROMPTS: usize = 2;

/// How long a server may take to answer the queue.
const SEEN: Duration = Duration::from_secs(30);

/// A hook is killed that writes by itself; the turn goes on.
pub(super) fn direct(field: &mut Field, blow: &Blow, random: &mut Random) {
    let is_cold = matches!(blow, Blow::At { point: "store.created", .. });
    for _ in 0..if is_cold || random.once_in(3) { 0 } else { 2 } {
        let text = field.text();
        field.prompt(&text, None);
    }
    if matches!(blow, Blow::At { point: "track.kept", .. }) || random.once_in(3) {
        turn(field, blow);
    } else {
        let text = field.text();
        field.prompt(&text, Some(blow));
        if random.once_in(2) {
            field.prompt(&text, None);
        }
    }
    let text = field.text();
    field.prompt(&text, None);
}

/// A turn that changed a file ends, and its hook is killed; the next prompt keeps what it left.
fn turn(field: &mut Field, blow: &Blow) {
    let mut edit = field.sandbox.event("PostToolUse.Edit");
    edit["tool_input"]["file_path"] = field.sandbox.project().join("src/watcher.rs").to_string_lossy().into();
    let is_noted = field.hook("memory-track", &edit, None);
    let mut stop = field.sandbox.event("Stop");
    let answer = field.text();
    stop["session_id"] = edit["session_id"].clone();
    stop["last_assistant_message"] = answer.clone().into();
    field.ledger.try_to_keep(&answer);
    if field.hook("memory-complete", &stop, Some(blow)) {
        field.ledger.keep(&answer);
    }
    let text = field.text();
    let mut next = prompt(&field.sandbox, &text);
    next["session_id"] = edit["session_id"].clone();
    field.ledger.try_to_keep(&text);
    if field.hook("memory-prompt-save", &next, None) {
        field.ledger.keep(&text);
        if is_noted {
            field.ledger.keep("Files modified: src/watcher.rs");
        }
    }
}

/// Hooks find the store taken and lay aside what happens; then somebody keeps it. Any of them is killed.
pub(super) fn spool(field: &mut Field, blow: &Blow, random: &mut Random) {
    let first = field.text();
    field.prompt(&first, None);
    let is_late = match blow {
        Blow::At { point, .. } => !["spool.half", "spool.written", "spool.put"].contains(point),
        Blow::After(_) => random.once_in(2),
    };
    let lock = FileLock::acquire(&field.sandbox.store().join("store.lock"), SEEN).expect("nobody else is there");
    for n in 0..3 {
        let text = field.text();
        field.prompt(&text, Some(blow).filter(|_| !is_late && n == 1));
    }
    drop(lock);
    if is_late {
        field.cli(&["index"], Some(blow));
    }
}

/// A server is killed to which hooks send at once.
pub(super) fn socket(field: &mut Field, blow: &Blow, random: &mut Random) {
    let mut command = field.sandbox.memory_command();
    command.arg("serve");
    blow.arm(&mut command);
    let mut client = crate::McpClient::start(command, Era::Modern);
    let sandbox = &field.sandbox;
    eventually(SEEN, || sandbox.socket().is_some_and(|socket| UnixStream::connect(socket).is_ok()));
    let texts: Vec<Vec<String>> = (0..HOOKS).map(|_| (0..PROMPTS).map(|_| field.text()).collect()).collect();
    texts.iter().flatten().for_each(|text| field.ledger.try_to_keep(text));
    let sandbox = &field.sandbox;
    let ended = thread::scope(|scope| {
        let hooks: Vec<_> = texts
            .iter()
            .map(|texts| {
                scope.spawn(move || {
                    let send = |text: &String| {
                        attempt(sandbox.hook_command("memory-prompt-save"), &prompt(sandbox, text).to_string(), None)
                    };
                    texts.iter().map(send).collect::<Vec<End>>()
                })
            })
            .collect();
        if let Blow::After(_) = blow {
            // Hooks take some milliseconds each; the moment of the blow is a random one among them.
            thread::sleep(Duration::from_micros(random.below(60_000) as u64));
            client.kill_now();
        }
        hooks.into_iter().map(|hook| hook.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    for (text, end) in texts.iter().flatten().zip(ended.iter().flatten()) {
        match end {
            End::Own { status, stderr, .. } if status.success() && stderr.is_empty() => field.ledger.keep(text),
            other => field.find(format!("a hook beside a server that was killed: {other:?}")),
        }
    }
    if !client.is_running() {
        field.count_hit();
    }
    client.kill();
}

/// A save is killed, of the command line or of a server, and done again.
pub(super) fn save(field: &mut Field, blow: &Blow, random: &mut Random) {
    let kinds = ["decision", "learning", "error_fix", "convention", "preference"];
    let save = |field: &mut Field, kind: &str, text: &str, long_term: bool, blow: Option<&Blow>| {
        let mut arguments = vec!["save", kind, text];
        arguments.extend(long_term.then_some("--long-term"));
        field.ledger.try_to_keep(text);
        if field.cli(&arguments, blow) {
            field.ledger.keep(text);
        }
    };
    let kind = random.one(&kinds);
    let long_term = match blow {
        Blow::At { point: "log.half" | "log.appended", .. } => false,
        Blow::At { point: "log.rewritten" | "log.replaced", .. } => true,
        _ => random.once_in(4),
    };
    for _ in 0..2 {
        let text = field.text();
        save(field, random.one(&kinds), &text, long_term, None);
    }
    let text = field.text();
    if random.once_in(2) {
        save(field, kind, &text, long_term, Some(blow));
    } else {
        let mut command = field.sandbox.memory_command();
        command.arg("serve");
        blow.arm(&mut command);
        let mut client = crate::McpClient::start(command, Era::Modern);
        let arguments = json!({ "type": kind, "content": text, "longTerm": long_term });
        field.ledger.try_to_keep(&text);
        let asked = client.send_call("memory_save", arguments);
        if let Blow::After(_) = blow {
            thread::sleep(Duration::from_micros(random.below(20_000) as u64));
            client.kill_now();
        }
        match client.answer_or_end(asked) {
            Some(answer) if answer.as_ref().is_ok_and(|answer| answer["isError"] != true) => field.ledger.keep(&text),
            Some(answer) => field.find(format!("a save that was not killed: {answer:?}")),
            None => field.count_hit(),
        }
        client.kill();
    }
    if random.once_in(2) {
        save(field, kind, &text, long_term, None);
    }
}
