//! The process: arguments, standard input, a deadline, and an exit status that never disturbs the host.
//!
//! Only unknown commands are reported on standard error, because hosts show it to people. Errors go to the store's `hook.log`,
//! and how long each hook took to `hook.times`.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use schema::files::layout::Layout;
use schema::files::project::{ProjectContext, resolve};
use schema::host::hook::{HookHost, HookPayload};
use schema::settings;
use schema::store::hook_log;

use crate::command::{HookCommand, MAX_RUN_TIME};
use crate::dispatch::dispatch;
use crate::hook_session::spool_unsaved;

/// The largest event that is read as a whole, in bytes. The answer of a tool can be larger and is not needed.
const INPUT_LIMIT: usize = 64 * 1024 * 1024;

/// How much of a larger event is parsed, in bytes. It is far more than is stored of a text.
const PARSED_BYTES: usize = 8 * 1024 * 1024;

/// The stack of a thread that only waits, in bytes.
const WATCH_STACK: usize = 64 * 1024;

/// The stack of the thread that writes unsaved memories into the spool, in bytes.
const SPOOL_STACK: usize = 512 * 1024;

/// The time before the deadline that is reserved for spooling and logging, on another thread because the disk may hang.
const SHUTDOWN_RESERVE: Duration = Duration::from_millis(50);

/// The store whose log gets the errors, once it is known.
static LAYOUT: OnceLock<Layout> = OnceLock::new();

/// Runs the client with the arguments and input of the process.
pub fn main() -> ExitCode {
    // With a handler, exceeding the limit on file sizes is an error of the write instead of the end of the process.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let arguments = Arguments::parse(std::env::args_os().skip(1));
    match (arguments.name.as_str(), HookCommand::parse(&arguments.name)) {
        (_, command @ Some(_)) => run_command(command, arguments),
        ("", None) if !io::stdin().is_terminal() => run_command(None, arguments),
        // Hosts that are set up for vectors may call this as a hook. There is nothing to do.
        ("embed-backfill", _) => {}
        ("--version" | "-V", _) => print_answer(&format!("jikime-hook {}\n", env!("CARGO_PKG_VERSION"))),
        ("" | "--help" | "-h", _) => print_answer(&HookCommand::help_text()),
        // The host's settings were written by hand or for another version: report the mistake to their author.
        (unknown, _) => {
            let _ = writeln!(io::stderr(), "jikime-hook: unknown command {unknown:?}; --help lists the commands");
        }
    }
    ExitCode::SUCCESS
}

/// The arguments of the process.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    /// The command, or an empty text.
    name: String,
    project: Option<PathBuf>,
    host: HookHost,
}

impl Arguments {
    /// Ignores unknown arguments and unknown hosts.
    fn parse(mut given: impl Iterator<Item = OsString>) -> Self {
        let mut found = Self::default();
        let host = |name: &str| HookHost::parse(name).unwrap_or_default();
        while let Some(argument) = given.next() {
            let text = argument.to_string_lossy();
            if let Some(path) = text.strip_prefix("--project=") {
                found.project = Some(PathBuf::from(path));
            } else if let Some(name) = text.strip_prefix("--host=") {
                found.host = host(name);
            } else if text == "--project" {
                found.project = given.next().map(PathBuf::from);
            } else if text == "--host" {
                found.host = given.next().map_or(found.host, |name| host(&name.to_string_lossy()));
            } else if found.name.is_empty() {
                found.name = text.into_owned();
            }
        }
        found
    }
}

/// Hands the event on standard input to `command`, or to the command for that event.
fn run_command(command: Option<&'static HookCommand>, arguments: Arguments) {
    let started = Instant::now();
    let name = command.map_or("an event", |command| command.name);
    start_watchdog(command);
    panic::set_hook(Box::new(move |panic| {
        spool_and_log(&format!("jikime-hook panicked in {name}: {panic}"));
        process::exit(0);
    }));
    // Without a store there is nowhere to report an error.
    if let Err(error) = handle_event(command, arguments, started)
        && let Some(layout) = LAYOUT.get()
    {
        hook_log::append_error(layout, &*error);
    }
}

/// Records how long this process took, once.
fn record_time(command: Option<&'static HookCommand>, took: Duration) {
    static RECORDED: OnceLock<()> = OnceLock::new();
    if let Some(layout) = LAYOUT.get()
        && RECORDED.set(()).is_ok()
    {
        hook_log::append_time(layout, command.map_or("unknown", |command| command.name), took);
    }
}

/// Starts a thread that ends the process at its deadline, whatever the process waits for: a host that never closes our input, or a disk that
/// does not respond.
fn start_watchdog(command: Option<&'static HookCommand>) {
    let deadline = command.map_or(MAX_RUN_TIME, HookCommand::deadline);
    let watch = move || {
        thread::sleep(deadline.saturating_sub(SHUTDOWN_RESERVE));
        let logging = thread::Builder::new().stack_size(SPOOL_STACK).spawn(move || {
            spool_and_log(&format!("stopped at its limit of {} ms, before everything was done", deadline.as_millis()));
            record_time(command, deadline);
        });
        drop(logging);
        thread::sleep(SHUTDOWN_RESERVE);
        process::exit(0);
    };
    // Without this thread only the host's own limit applies.
    let _ = thread::Builder::new().stack_size(WATCH_STACK).spawn(watch);
}

/// Records the event on standard input, prints the answer for the host and records the time, unless the user turned the memory off.
fn handle_event(
    command: Option<&'static HookCommand>,
    arguments: Arguments,
    started: Instant,
) -> Result<(), Box<dyn Error>> {
    let Arguments { project, host, .. } = arguments;
    // Claude Code names its project in the environment. Some other hosts name it only in the event.
    let found = (host == HookHost::ClaudeCode).then(|| find_store(project.clone(), None));
    // Read the input even if it is not needed: a host that writes to a closed pipe reports a failed hook.
    let mut input = Vec::new();
    let read = io::stdin().take(INPUT_LIMIT as u64).read_to_end(&mut input);
    let is_cut = input.len() == INPUT_LIMIT;
    let read = read.and_then(|_| io::copy(&mut io::stdin(), &mut io::sink()));
    let payloads = if is_cut { host.read_beginning(&input[..PARSED_BYTES]) } else { host.read(&input) };
    let directory = payloads.as_ref().ok().and_then(|payloads| payloads.first()?.cwd.clone());
    let layout = found.unwrap_or_else(|| find_store(project, directory.as_deref().map(Path::new)))?;
    let loaded = settings::load(layout);
    if loaded.settings.disabled {
        return Ok(());
    }
    read.map_err(|error| format!("cannot read the event: {error}"))?;
    let payloads = payloads?;
    let command_of = |payload: &HookPayload| payload.hook_event_name.as_deref().and_then(HookCommand::for_event);
    // All payloads of a process are of the same event. Only the use of a tool has several.
    let command = command.or_else(|| command_of(payloads.first()?));
    // A command ignores other events than its own.
    let mut own = payloads.iter().filter(|payload| command.is_some() && command_of(payload) == command);
    let answer = own.try_fold(None, |before: Option<String>, payload| {
        dispatch(host, payload, layout, &loaded).map(|answer| answer.or(before))
    });
    if is_cut {
        hook_log::append_message(layout, "an event of 64 MB or more: only its beginning is recorded");
    }
    answer?.iter().for_each(|answer| print_answer(answer));
    record_time(command, started.elapsed());
    Ok(())
}

/// Finds the store of the project that `directory`, or else the working directory, belongs to.
fn find_store(project: Option<PathBuf>, directory: Option<&Path>) -> Result<&'static Layout, Box<dyn Error>> {
    let mut request = ProjectContext::from_environment(project)?;
    if let Some(directory) = directory.filter(|directory| directory.is_dir()) {
        directory.clone_into(&mut request.working_directory);
    }
    let root = resolve(&request)?.root;
    Ok(LAYOUT.get_or_init(|| Layout::new(&root)))
}

/// Spools unsaved memories and logs why the hook stopped.
fn spool_and_log(reason: &str) {
    let Some(layout) = LAYOUT.get() else { return };
    if let Err(error) = spool_unsaved(layout) {
        hook_log::append_error(layout, &error);
    }
    hook_log::append_message(layout, reason);
}

fn print_answer(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
