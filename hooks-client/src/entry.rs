//! The process: arguments, standard input, a deadline, and an exit status that never disturbs the host.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use schema::hook::Payload;
use schema::hook_log;
use schema::layout::Layout;
use schema::project::{Request, resolve};
use schema::redaction::redact;

use crate::command::Command;
use crate::deliver::deliver;

/// When the process ends, whatever it is waiting for: a host that never closes our input, or a disk that does not answer.
const DEADLINE: Duration = Duration::from_secs(2);

/// The largest event that is read, in bytes. A tool's answer can be large, and is not needed.
const INPUT_LIMIT: u64 = 64 * 1024 * 1024;

/// Set to 1 by users who want no record of their prompts.
const NO_HISTORY: &str = "CLAUDE_CODE_SKIP_PROMPT_HISTORY";

/// Set to `off` to remember nothing.
const CAPTURE: &str = "JIKIME_CAPTURE";

/// Runs the client on the process's own arguments and input.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let project = match (arguments.next().as_deref(), arguments.next()) {
        (Some("--project"), Some(path)) => Some(PathBuf::from(path)),
        _ => None,
    };
    match (name.as_str(), Command::parse(&name)) {
        (_, Some(command)) => within_deadline(move || remember(command, project)),
        ("--version" | "-V", _) => print(&format!("jikime-hook {}\n", env!("CARGO_PKG_VERSION"))),
        ("" | "--help" | "-h", _) => print(&Command::help()),
        (unknown, _) => complain(&format!("unknown command {unknown:?}; jikime-hook --help lists the commands")),
    }
    ExitCode::SUCCESS
}

/// Does the work on a thread of its own, so that a panic or a wait in it cannot hold the process.
fn within_deadline(work: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    let worker = thread::Builder::new().spawn(move || {
        work();
        let _ = done.send(());
    });
    match worker {
        // A panic drops the sender, which ends the wait as well; its message is on standard error already.
        Ok(_) => drop(finished.recv_timeout(DEADLINE)),
        Err(error) => complain(&format!("cannot start: {error}")),
    }
}

fn remember(command: Command, project: Option<PathBuf>) {
    let is_set = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // The input is read even when it is not wanted: a host that writes to a closed pipe reports a failed hook.
    let mut input = Vec::new();
    if let Err(error) = io::stdin().take(INPUT_LIMIT).read_to_end(&mut input) {
        return complain(&format!("cannot read the event: {error}"));
    }
    if is_set(NO_HISTORY, "1") || is_set(CAPTURE, "off") {
        return;
    }
    let payload = match Payload::parse(&input) {
        Ok(payload) => payload,
        Err(error) => return complain(&error.to_string()),
    };
    let project = match Request::from_environment(project).map_err(|error| error.to_string()) {
        Ok(request) => resolve(&request).map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    let root = match project {
        Ok(project) => project.root,
        Err(error) => return complain(&error),
    };
    match deliver(command, &payload, &root) {
        Ok(answer) => answer.iter().for_each(|answer| print(answer)),
        Err(fault) => {
            let text = format!("{fault}: {}", chain(&fault));
            hook_log::note(&Layout::new(&root), &text);
            complain(&text);
        }
    }
}

/// The causes of an error, each after the other.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Tells a fault where the host may log it: without a secret that a path or a cause may hold.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "jikime-hook: {}", redact(text).text);
}
