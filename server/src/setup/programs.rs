//! Finds our programs on this machine and their versions, and chooses the paths that host files start.
//!
//! Host files get native programs in places that stay. `npx` and `uvx` run programs in caches that are cleaned up, so these are copied. The
//! programs of npm on `PATH` are scripts that start Node.js for each event, so the files name the native program behind them.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::hook_entries::{self, HookSet};
use super::host::{ProgramCommands, SetupScope};
use super::host_dirs::{HostDirs, all_on_path, is_program};
use super::program_copies::ProgramCopies;
use super::server_entry;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The first program on `PATH` that is not in a cache. It may be a script of npm.
    pub(crate) on_path: Option<PathBuf>,
    /// The program next to the running one, or the running program itself.
    pub(crate) sibling: Option<PathBuf>,
    /// The copy to make of a program in a cache.
    pub(crate) copy: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Programs {
    pub(crate) memory: Program,
    pub(crate) hook: Program,
}

impl Programs {
    pub(crate) fn locate(places: &HostDirs) -> Self {
        Self::locate_next_to(std::env::current_exe().ok().as_deref(), places)
    }

    fn locate_next_to(running: Option<&Path>, places: &HostDirs) -> Self {
        let folder = running.and_then(Path::parent);
        let sibling = |name: &str| {
            folder.map(|folder| folder.join(format!("{name}{EXE_SUFFIX}"))).filter(|path| is_program(path))
        };
        let program = |name, sibling: Option<PathBuf>| {
            let on_path = all_on_path(name, places.path.as_deref()).find(|path| !is_in_cache(path));
            let is_lasting = on_path.as_deref().is_some_and(|path| !is_shim(path));
            let is_copied = !is_lasting && sibling.as_deref().is_some_and(is_in_cache);
            let copy = places.copies_dir().filter(|_| is_copied).map(|dir| dir.join(format!("{name}{EXE_SUFFIX}")));
            Program { name, on_path, sibling, copy }
        };
        Self {
            memory: program(server_entry::NAME, running.map(Path::to_owned)),
            hook: program(hook_entries::PROGRAM, sibling(hook_entries::PROGRAM)),
        }
    }

    /// The commands for files of `scope`, or `None` if `jikime-hook` is not found.
    pub(crate) fn commands(&self, scope: SetupScope, has_file_recall: bool) -> Option<ProgramCommands> {
        let hooks = HookSet { program: self.hook.command_in(scope)?, has_file_recall };
        Some(ProgramCommands { memory: self.memory.command_in(scope)?, hooks })
    }

    /// The copies that must be made before host files name them.
    pub(crate) fn copies(&self) -> ProgramCopies {
        let pair = |program: &Program| Some((program.sibling.clone()?, program.copy.clone()?));
        ProgramCopies([&self.memory, &self.hook].into_iter().filter_map(pair).collect())
    }
}

impl Program {
    /// The absolute path of the native program, for files of one user.
    pub(crate) fn path(&self) -> Option<&Path> {
        let native = self.on_path.as_deref().filter(|path| !is_shim(path));
        native.or(self.copy.as_deref()).or(self.sibling.as_deref()).or(self.on_path.as_deref())
    }

    /// The command for settings files. Shared files get the bare name, because paths differ between machines. Files of one user get the
    /// path, because desktop programs do not know the `PATH` of shells. A program that `PATH` does not start natively always gets its path.
    pub(crate) fn command_in(&self, scope: SetupScope) -> Option<String> {
        let path = self.path()?;
        if scope == SetupScope::Project && self.on_path.as_deref() == Some(path) {
            return Some(self.name.to_owned());
        }
        Some(path.to_string_lossy().into_owned())
    }

    /// Whether project files name the program by its path, which differs between machines.
    pub(crate) fn needs_path(&self) -> bool {
        self.on_path.is_none() || self.path() != self.on_path.as_deref()
    }
}

/// Whether a program is in a cache whose owner deletes it at any time: of `npx`, `uvx`, `pnpm dlx`, `bunx` or `pipx run`.
pub(crate) fn is_in_cache(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let names: Vec<&str> = real.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let is_numbered = |name: &str, start: &str| {
        name.strip_prefix(start).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_cache = |name: &str| {
        name == "_npx" || ["archive-v", "environments-v", "bunx-"].iter().any(|start| is_numbered(name, start))
    };
    let is_pair = |pair: &[&str]| matches!(pair, ["pnpm", "dlx"] | ["pipx", ".cache"] | [".cache", "pipx"]);
    names.iter().any(|name| is_cache(name)) || names.windows(2).any(is_pair)
}

/// Bytes in which the script of a package manager names what it starts.
const SHIM_HEAD: u64 = 2048;

/// Whether a program on `PATH` only starts the real one: a script for Node.js, or a link to a version manager.
pub(crate) fn is_shim(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_other = real.file_name().is_none_or(|name| !name.to_string_lossy().starts_with("jikime-"));
    let mut head = Vec::new();
    let _ = File::open(&real).and_then(|file| file.take(SHIM_HEAD).read_to_end(&mut head));
    is_other || (head.starts_with(b"#!") && head.windows(4).any(|word| word == b"node"))
}

/// The program that a host starts for a command of a settings file. Hosts do not have the caches on `PATH` that `npx` and `uvx` add.
pub(crate) fn resolve_command(command: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let named = Path::new(command);
    if named.components().count() > 1 {
        return Some(named.to_owned()).filter(|path| is_program(path) || is_program(&path.with_extension("exe")));
    }
    let name = command.strip_suffix(EXE_SUFFIX).filter(|name| !name.is_empty()).unwrap_or(command);
    all_on_path(name, path).find(|path| !is_in_cache(path))
}

/// The last word of `--version`, as in `jikime-memory 0.1.0`.
pub(crate) fn program_version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    let output = command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().last().map(str::to_owned)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use rstest::rstest;

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Commands for project files, with the root of the machine as `~`.
    #[rstest]
    #[case::cargo("bin", &["bin"], "jikime-memory", "jikime-hook")]
    #[case::not_on_path("opt", &[], "~/opt/jikime-memory", "~/opt/jikime-hook")]
    #[case::uv_tool("uv/tools/x/bin", &["uv/tools/x/bin"], "jikime-memory", "jikime-hook")]
    #[case::uvx("uv/archive-v0/k/bin", &["uv/archive-v0/k/bin"], "~/own/bin/jikime-memory", "~/own/bin/jikime-hook")]
    #[case::uvx_next_to_cargo("uv/archive-v0/k/bin", &["uv/archive-v0/k/bin", "bin"], "jikime-memory", "jikime-hook")]
    #[case::npm("lib/m/bin", &["shims"], "~/lib/m/bin/jikime-memory", "~/lib/m/bin/jikime-hook")]
    #[case::npx("_npx/1/m/bin", &["_npx/1/.bin"], "~/own/bin/jikime-memory", "~/own/bin/jikime-hook")]
    #[case::npx_next_to_npm("_npx/1/m/bin", &["shims"], "~/own/bin/jikime-memory", "~/own/bin/jikime-hook")]
    fn host_files_get_lasting_native_programs(
        #[case] running: &str,
        #[case] path: &[&str],
        #[case] memory: &str,
        #[case] hook: &str,
    ) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap();
        for name in ["jikime-memory", "jikime-hook"] {
            for native in ["bin", running] {
                put(&folder.join(native).join(name), "\x7fELF");
            }
            for script in ["shims", "_npx/1/.bin"] {
                put(&folder.join(script).join(name), "#!/usr/bin/env node\n");
            }
        }
        let places = HostDirs::for_tests(&folder.join("own"), path.iter().map(|name| folder.join(name)));
        let programs = Programs::locate_next_to(Some(&folder.join(running).join("jikime-memory")), &places);
        let commands = programs.commands(SetupScope::Project, false).unwrap();
        let expected = |path: &str| path.replacen('~', &folder.to_string_lossy(), 1);
        assert_eq!((commands.memory, commands.hooks.program), (expected(memory), expected(hook)));
        assert_eq!(programs.memory.needs_path(), memory.starts_with('~'));
        assert_eq!(programs.copies() != ProgramCopies::default(), memory.contains("own"));
    }
}
