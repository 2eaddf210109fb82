//! Our programs on this machine: where they are, how files should call them, and of which version they are.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::hooks;
use super::host::{Commands, Scope};
use super::places::Places;
use super::server_entry;

/// One of our programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) on_path: Option<PathBuf>,
    /// Beside the program that runs, or the one that runs.
    pub(crate) beside: Option<PathBuf>,
}

/// Both of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) memory: Program,
    pub(crate) hook: Program,
}

impl Programs {
    pub(crate) fn find(places: &Places) -> Self {
        let running = std::env::current_exe().ok();
        let folder = running.as_deref().and_then(Path::parent);
        let beside = |name: &str| {
            folder.map(|folder| folder.join(format!("{name}{EXE_SUFFIX}"))).filter(|path| is_program(path))
        };
        let program = |name, beside| Program { name, on_path: on_path(name, places.path.as_deref()), beside };
        Self {
            memory: program(server_entry::NAME, running.clone()),
            hook: program(hooks::PROGRAM, beside(hooks::PROGRAM)),
        }
    }

    /// How files of `scope` call them. `None` without a hooks client.
    pub(crate) fn commands(&self, scope: Scope) -> Option<Commands> {
        Some(Commands { memory: self.memory.command_in(scope)?, hook: self.hook.command_in(scope)? })
    }
}

impl Program {
    /// The path that a file of one user may name.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.on_path.as_deref().or(self.beside.as_deref())
    }

    /// A bare name in files that people share, because paths differ between machines; a path in files of one user, because programs
    /// with windows do not know the `PATH` of shells. What is not on `PATH` has no other name than its path.
    pub(crate) fn command_in(&self, scope: Scope) -> Option<String> {
        match (scope, &self.on_path) {
            (Scope::Project, Some(_)) => Some(self.name.to_owned()),
            _ => self.path().map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

/// The program that a shell would start.
pub(crate) fn on_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let file = format!("{name}{EXE_SUFFIX}");
    let folders = std::env::split_paths(path?).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&file)).find(|path| is_program(path))
}

/// The program that a command of a settings file starts.
pub(crate) fn resolve(command: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let named = Path::new(command);
    if named.components().count() > 1 {
        return Some(named.to_owned()).filter(|path| is_program(path) || is_program(&path.with_extension("exe")));
    }
    on_path(command.strip_suffix(EXE_SUFFIX).filter(|name| !name.is_empty()).unwrap_or(command), path)
}

/// What a program says of its version, as in `jikime-memory 0.1.0`: the last word.
pub(crate) fn version_of(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().last().map(str::to_owned)
}

fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let may_run =
        |metadata: &std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &std::fs::Metadata| true;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}
