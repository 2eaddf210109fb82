//! Starts `jikime-memory embed-backfill`, which makes vectors of memories that were stored while no server ran, and does not wait for it.

use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::files::layout::Layout;
use schema::intake::queue;
use schema::settings::{EmbeddingProvider, Settings};

/// Turns the backfill off, for people who want no process that outlives a session.
const SWITCH: &str = "JIKIME_EMBED_BACKFILL";

const HOOK: &str = "jikime-hook";
const MEMORY: &str = "jikime-memory";

/// Starts the backfill unless a server does its work. The process inherits nothing that the host waits for.
pub(crate) fn start_backfill(layout: &Layout, settings: &Settings) {
    let is_off = environment::variable(SWITCH).is_some_and(|value| value == "0" || value == "off");
    if is_off || settings.embedding_provider == EmbeddingProvider::None || !layout.memory_db().exists() {
        return;
    }
    // A server that answers hooks makes vectors as well.
    if queue::is_served(layout) {
        return;
    }
    // If only the hooks client is installed, there is no program to start.
    let _ = spawn(&memory_program(), layout.project());
}

/// Returns the program next to this one, or the name alone, which is searched in the path.
fn memory_program() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|path| {
        let name = path.file_name()?.to_str()?.replace(HOOK, MEMORY);
        Some(path.with_file_name(name)).filter(|other| *other != path && other.is_file())
    });
    beside.unwrap_or_else(|| PathBuf::from(MEMORY))
}

const COMMAND: &str = "embed-backfill";
const PROJECT: &str = "--project";

/// Starts the program in a process group of its own, so that the end of the session does not end it. `std::process::Command` would add 46
/// KB, more than all the rest here.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn spawn(program: &Path, project: &Path) -> Option<()> {
    use std::ffi::{CString, OsStr};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    use nix::fcntl::OFlag;
    use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
    use nix::sys::stat::Mode;
    use nix::unistd::Pid;

    let text = |text: &OsStr| CString::new(text.as_bytes()).ok();
    let program = text(program.as_os_str())?;
    let arguments =
        [program.clone(), text(OsStr::new(COMMAND))?, text(OsStr::new(PROJECT))?, text(project.as_os_str())?];
    let variable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        CString::new([name.into_vec(), value.into_vec()].join(&b'=')).ok()
    };
    let environment: Vec<CString> = environment::all().filter_map(variable).collect();
    let mut attributes = PosixSpawnAttr::init().ok()?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETPGROUP).ok()?;
    attributes.set_pgroup(Pid::from_raw(0)).ok()?;
    let mut files = PosixSpawnFileActions::init().ok()?;
    for descriptor in 0..=2 {
        files.add_open(descriptor, c"/dev/null", OFlag::O_RDWR, Mode::empty()).ok()?;
    }
    posix_spawnp(&program, &files, &attributes, &arguments, &environment).ok().map(drop)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn spawn(program: &Path, project: &Path) -> Option<()> {
    use std::process::{Command, Stdio};

    let mut command = Command::new(program);
    command.arg(COMMAND).arg(PROJECT).arg(project);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt as _;
        const DETACHED_PROCESS: u32 = 0x0000_0008;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
        command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
    }
    command.spawn().ok().map(drop)
}
