//! Finds our programs on this machine and their versions.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::hook_entries::{self, HookSet};
use super::host::{ProgramCommands, SetupScope};
use super::host_dirs::{HostDirs, find_on_path, is_program};
use super::server_entry;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) on_path: Option<PathBuf>,
    /// The program next to the running one, or the running program itself.
    pub(crate) beside: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) memory: Program,
    pub(crate) hook: Program,
}

impl Programs {
    pub(crate) fn locate(places: &HostDirs) -> Self {
        let running = std::env::current_exe().ok();
        let folder = running.as_deref().and_then(Path::parent);
        let beside = |name: &str| {
            folder.map(|folder| folder.join(format!("{name}{EXE_SUFFIX}"))).filter(|path| is_program(path))
        };
        let program = |name, beside| Program { name, on_path: find_on_path(name, places.path.as_deref()), beside };
        Self {
            memory: program(server_entry::NAME, running.clone()),
            hook: program(hook_entries::PROGRAM, beside(hook_entries::PROGRAM)),
        }
    }

    /// The commands for files of `scope`, or `None` without a hooks client.
    pub(crate) fn commands(&self, scope: SetupScope, has_file_recall: bool) -> Option<ProgramCommands> {
        let hooks = HookSet { program: self.hook.command_in(scope)?, has_file_recall };
        Some(ProgramCommands { memory: self.memory.command_in(scope)?, hooks })
    }
}

impl Program {
    /// The absolute path, for files of one user.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.on_path.as_deref().or(self.beside.as_deref())
    }

    /// The command for settings files. Shared files get the bare name, because paths differ between machines. Files of one user get the
    /// path, because desktop programs do not know the `PATH` of shells. A program that is not on `PATH` always gets its path.
    pub(crate) fn command_in(&self, scope: SetupScope) -> Option<String> {
        match (scope, &self.on_path) {
            (SetupScope::Project, Some(_)) => Some(self.name.to_owned()),
            _ => self.path().map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

/// The program that a command of a settings file starts.
pub(crate) fn resolve_command(command: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let named = Path::new(command);
    if named.components().count() > 1 {
        return Some(named.to_owned()).filter(|path| is_program(path) || is_program(&path.with_extension("exe")));
    }
    find_on_path(command.strip_suffix(EXE_SUFFIX).filter(|name| !name.is_empty()).unwrap_or(command), path)
}

/// The last word of `--version`, as in `jikime-memory 0.1.0`.
pub(crate) fn program_version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().last().map(str::to_owned)
}
