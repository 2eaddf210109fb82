//! Vectors for what was kept while no server runs: `jikime-memory embed-backfill` is started, and left alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use schema::layout::Layout;
use schema::lock::FileLock;
use schema::settings::{Provider, Settings};

/// Turns it off, for people who want no process that outlives a session.
const SWITCH: &str = "JIKIME_EMBED_BACKFILL";

const HOOK: &str = "jikime-hook";
const MEMORY: &str = "jikime-memory";

/// Starts it when nobody else does its work. It inherits nothing that the host waits for, and nobody waits for it.
pub(crate) fn start(layout: &Layout, settings: &Settings) {
    let is_off = std::env::var_os(SWITCH).is_some_and(|value| value == "0" || value == "off");
    if is_off || settings.embedding_provider == Provider::None || !layout.memory_db().exists() {
        return;
    }
    // A server that answers hooks makes vectors as well.
    if FileLock::acquire(&layout.queue_lock(), Duration::ZERO).is_err() {
        return;
    }
    let mut command = Command::new(program());
    command.arg("embed-backfill").arg("--project").arg(layout.project());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    apart(&mut command);
    // Where only the hooks client is installed there is nobody to start.
    let _ = command.spawn();
}

/// The program beside this one, else the one that is found by its name.
fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|path| {
        let name = path.file_name()?.to_str()?.replace(HOOK, MEMORY);
        Some(path.with_file_name(name)).filter(|beside| *beside != path && beside.is_file())
    });
    beside.unwrap_or_else(|| PathBuf::from(MEMORY))
}

/// Out of the host's process group, so that what ends the session does not end it.
#[cfg(unix)]
fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;
    command.process_group(0);
}

#[cfg(windows)]
fn apart(command: &mut Command) {
    use std::os::windows::process::CommandExt as _;
    const DETACHED_PROCESS: u32 = 0x0000_0008;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

#[cfg(not(any(unix, windows)))]
fn apart(_command: &mut Command) {}
