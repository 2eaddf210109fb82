//! The process: arguments, standard input, a deadline, and an exit status that never disturbs the host.
//!
//! Standard error stays empty, for hosts show it to people; faults go to the store's `hook.log`.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::panic;
use std::path::PathBuf;
use std::process::{self, ExitCode};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use schema::files::layout::Layout;
use schema::files::project::{ProjectContext, resolve};
use schema::host::hook::HookPayload;
use schema::settings;
use schema::store::hook_log;

use crate::command::{HookCommand, MAX_RUN_TIME};
use crate::deliver::deliver;

/// The largest event that is read, in bytes. A tool's answer can be large, and is not needed.
const INPUT_LIMIT: u64 = 64 * 1024 * 1024;

/// The stack of the thread that does nothing but wait, in bytes.
const WATCH_STACK: usize = 64 * 1024;

/// How long noting that the deadline passed may take: the disk may be what did not answer.
const NOTING: Duration = Duration::from_millis(50);

/// The store that faults are noted in, once it is known.
static STORE: OnceLock<Layout> = OnceLock::new();

/// Runs the client on the process's own arguments and input.
pub fn main() -> ExitCode {
    // A limit on the size of files is then an error of the write, not the end of the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let (name, project) = parse_arguments(std::env::args_os().skip(1));
    match (name.as_str(), HookCommand::parse(&name)) {
        (_, Some(command)) => run_command(Some(command), project),
        ("", None) if !io::stdin().is_terminal() => run_command(None, project),
        // Registered by hosts that are set up for meaning as well as words; there is nothing to make up for yet.
        ("embed-backfill", _) => {}
        ("--version" | "-V", _) => print_answer(&format!("jikime-hook {}\n", env!("CARGO_PKG_VERSION"))),
        ("" | "--help" | "-h", _) => print_answer(&HookCommand::help_text()),
        // Settings written by hand or for another version; whoever wrote them will want to know.
        (unknown, _) => {
            let _ = writeln!(io::stderr(), "jikime-hook: unknown command {unknown:?}; --help lists the commands");
        }
    }
    ExitCode::SUCCESS
}

/// The command, empty when there is none, and the project that was named.
fn parse_arguments(mut given: impl Iterator<Item = OsString>) -> (String, Option<PathBuf>) {
    let (mut name, mut project) = (String::new(), None);
    while let Some(argument) = given.next() {
        let text = argument.to_string_lossy();
        match text.strip_prefix("--project=") {
            Some(path) => project = Some(PathBuf::from(path)),
            None if text == "--project" => project = given.next().map(PathBuf::from),
            None if name.is_empty() => name = text.into_owned(),
            None => {}
        }
    }
    (name, project)
}

/// Hands the event on standard input to `command`, or to the one that it is for.
fn run_command(command: Option<HookCommand>, project: Option<PathBuf>) {
    exit_after(command.map_or(MAX_RUN_TIME, HookCommand::deadline));
    panic::set_hook(Box::new(move |fault| {
        note_fault(&format!("a fault in jikime-hook ended {}: {fault}", command.map_or("an event", HookCommand::name)));
        process::exit(0);
    }));
    match handle_event(command, project) {
        Ok(answer) => answer.iter().for_each(|answer| print_answer(answer)),
        // Without a store there is nobody to tell.
        Err(fault) => STORE.get().into_iter().for_each(|layout| hook_log::append_error(layout, &*fault)),
    }
}

/// Ends the process after a while, whatever it is waiting for: a host that never closes our input, a disk that does not answer.
fn exit_after(deadline: Duration) {
    let watch = move || {
        thread::sleep(deadline - NOTING);
        let noting = thread::Builder::new().stack_size(WATCH_STACK).spawn(move || {
            note_fault(&format!("ended after {} ms, before everything was done", deadline.as_millis()));
        });
        drop(noting);
        thread::sleep(NOTING);
        process::exit(0);
    };
    // Without this thread the host's own limit is left.
    let _ = thread::Builder::new().stack_size(WATCH_STACK).spawn(watch);
}

fn handle_event(command: Option<HookCommand>, project: Option<PathBuf>) -> Result<Option<String>, Box<dyn Error>> {
    let root = ProjectContext::from_environment(project).map_err(Box::<dyn Error>::from);
    let root = root.and_then(|request| Ok(resolve(&request)?.root));
    let layout = root.map(|root| STORE.get_or_init(|| Layout::new(&root)));
    // The input is read even when it is not wanted: a host that writes to a closed pipe reports a failed hook.
    let mut input = Vec::new();
    let read = io::stdin().take(INPUT_LIMIT).read_to_end(&mut input);
    let layout: &Layout = layout?;
    let loaded = settings::load(layout);
    if loaded.settings.disabled {
        return Ok(None);
    }
    read.map_err(|error| format!("cannot read the event: {error}"))?;
    let payload = HookPayload::parse(&input)?;
    let command = command.or_else(|| HookCommand::for_event(payload.hook_event_name.as_deref()?));
    command.map_or(Ok(None), |command| Ok(deliver(command, &payload, layout, &loaded)?))
}

/// Notes a fault where `memory_stats` finds it.
fn note_fault(fault: &str) {
    if let Some(layout) = STORE.get() {
        hook_log::append_note(layout, fault);
    }
}

fn print_answer(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
