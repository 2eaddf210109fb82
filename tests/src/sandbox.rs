//! An isolated environment per test: a project, a home directory, and a minimal set of variables.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::environment;
use crate::fixtures::{recorded_event, replace_texts};
use crate::mcp_client::{Era, McpClient};
use crate::program_output::{ProgramOutput, run_to_end};

/// Returns the time limit of a command. It is generous, because tests of speed measure `elapsed` instead.
fn command_deadline() -> Duration {
    // Long tests are slow in a debug build.
    let seconds = if environment::is_long() { 600 } else { 60 };
    Duration::from_secs(seconds)
}

/// The time zone of sandboxes: far from UTC, on another day than America, and without daylight saving.
const TIME_ZONE: &str = "Asia/Seoul";

/// The variable for a folder with `jikime-memory` and `jikime-hook` to test instead of this build, such as the programs that README.md
/// installs.
const PROGRAMS: &str = "JIKIME_TEST_PROGRAMS";

/// The programs under test. Use [`binaries!`](crate::binaries), because Cargo passes their paths to tests only.
#[derive(Debug, Clone)]
pub struct Binaries {
    pub memory: PathBuf,
    pub hook: PathBuf,
}

impl Binaries {
    /// Returns the programs in `JIKIME_TEST_PROGRAMS`, if it is set.
    #[track_caller]
    pub fn named() -> Option<Self> {
        let folder = PathBuf::from(environment::variable(PROGRAMS).filter(|folder| !folder.is_empty())?);
        assert!(folder.is_absolute(), "{PROGRAMS}={} is not an absolute path", folder.display());
        let program = |name: &str| {
            let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
            assert!(path.is_file(), "{PROGRAMS} names a folder without {}", path.display());
            path
        };
        Some(Self { memory: program("jikime-memory"), hook: program("jikime-hook") })
    }

    /// Copies both programs to a new folder under their usual names.
    pub fn copy_to(&self, bin: &Path) -> Self {
        fs::create_dir(bin).expect("the folder is new");
        let put = |program: &Path, name: &str| {
            let to = bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
            fs::hard_link(program, &to).or_else(|_| copy_program(program, &to)).expect("a program that can be copied");
            to
        };
        Self { memory: put(&self.memory, "jikime-memory"), hook: put(&self.hook, "jikime-hook") }
    }
}

/// Copies a program so that it can be started at once.
///
/// On Unix, another process copies it. A file that this process opens for writing is also open in each child that another thread starts
/// meanwhile, until that child has become its program, and a file that is open for writing cannot be started (`ETXTBSY`).
pub fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return fs::copy(from, to).map(drop);
    }
    match Command::new("cp").arg(from).arg(to).status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("cp ended with {status}"))),
    }
}

/// The [`Binaries`] in `JIKIME_TEST_PROGRAMS`, or those of this build.
#[macro_export]
macro_rules! binaries {
    () => {
        $crate::Binaries::named().unwrap_or_else(|| $crate::built_binaries!())
    };
}

/// The [`Binaries`] of this build, for tests of features that other builds lack: crash points, and a hook that loads shared libraries.
#[macro_export]
macro_rules! built_binaries {
    () => {
        $crate::Binaries {
            memory: ::std::path::PathBuf::from(env!("CARGO_BIN_EXE_jikime-memory-under-test")),
            hook: ::std::path::PathBuf::from(env!("CARGO_BIN_EXE_jikime-hook-under-test")),
        }
    };
}

/// A [`Sandbox`] with a git project.
#[macro_export]
macro_rules! sandbox {
    () => {
        $crate::Sandbox::new($crate::binaries!())
    };
}

/// A temporary directory with `project/` and `home/`, removed on drop.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    pub(crate) binaries: Binaries,
    environment: Vec<(OsString, OsString)>,
    /// The user id that runs the programs, if not the user of the tests.
    pub(crate) user: Option<u32>,
}

impl Sandbox {
    /// Creates a sandbox whose project is the root of a git checkout.
    pub fn new(binaries: Binaries) -> Self {
        let sandbox = Self::without_git(binaries);
        sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        sandbox
    }

    /// Creates a sandbox whose project is a plain directory.
    pub fn without_git(binaries: Binaries) -> Self {
        let root = tempfile::Builder::new().prefix("jikime-").tempdir().expect("a temporary directory can be made");
        let sandbox = Self { root, binaries, environment: Vec::new(), user: None };
        for directory in [sandbox.project(), sandbox.home(), sandbox.temporary()] {
            fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        }
        sandbox
    }

    /// Returns the root directory. Its links are resolved, so that printed paths can be compared.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.root.path()).expect("the sandbox exists until it is dropped")
    }

    /// Returns the project, which is the working directory of commands.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Returns the project's store, which may not exist yet.
    pub fn store(&self) -> PathBuf {
        self.project().join(".jikime").join("memory")
    }

    fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// Replaces the programs by other ones.
    pub fn set_binaries(&mut self, binaries: Binaries) -> &mut Self {
        self.binaries = binaries;
        self
    }

    /// Copies both programs to a folder of the sandbox, which becomes the first one in `PATH`.
    pub fn installed(mut self) -> Self {
        let bin = self.root().join("bin");
        self.binaries.copy_to(&bin);
        let path = environment::variable("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
        self.set_variable("PATH", path.expect("folders without the separator of PATH"));
        self
    }

    /// Sets a variable for all later commands.
    pub fn set_variable(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Writes a file of the project, creates its folders, and returns its path.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        let parent = path.parent().expect("a file below the project has a folder");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.project().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns the daily logs joined by date, or an empty text without logs.
    pub fn logs(&self) -> String {
        let Ok(entries) = fs::read_dir(self.store()) else { return String::new() };
        let is_log =
            |name: &str| name.len() == "2026-01-28.md".len() && name.starts_with("20") && name.ends_with(".md");
        let mut names: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_str().is_some_and(is_log))
            .map(|entry| entry.path())
            .collect();
        names.sort();
        names.iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }

    /// Returns the path of the store's socket, even if no server listens any more.
    pub fn socket(&self) -> Option<PathBuf> {
        let directories = fs::read_dir(self.temporary()).expect("it was made with the sandbox").filter_map(Result::ok);
        let files = directories.filter_map(|directory| fs::read_dir(directory.path()).ok()).flatten();
        let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
        paths.find(|path| path.extension().is_some_and(|ending| ending == "sock"))
    }

    /// Sets the version of the database and returns the previous one.
    #[track_caller]
    pub fn set_version(&self, version: i64) -> i64 {
        let db = rusqlite::Connection::open(self.store().join("memory.db")).expect("a database");
        let before = db.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
        db.pragma_update(None, "user_version", version).expect("a database that can be written");
        db.pragma_update(None, "wal_checkpoint", "TRUNCATE").expect("a log that can be checkpointed");
        before
    }

    /// Returns a recorded event adapted to this sandbox; see [`recorded_event`].
    #[track_caller]
    pub fn event(&self, name: &str) -> Value {
        let mut event = recorded_event(name);
        replace_texts(&mut event, "/home/dev/project", &self.project().to_string_lossy());
        replace_texts(&mut event, "/home/dev", &self.home().to_string_lossy());
        event
    }

    /// Returns the event of a prompt.
    #[track_caller]
    pub fn prompt_event(&self, text: &str) -> Value {
        let mut event = self.event("UserPromptSubmit");
        event["prompt"] = text.into();
        event
    }

    pub fn memory_command(&self) -> Command {
        self.command(&self.binaries.memory)
    }

    pub fn hook_command(&self, command: &str) -> Command {
        let mut hook = self.command(&self.binaries.hook);
        hook.arg(command).env("CLAUDE_PROJECT_DIR", self.project()).env("CLAUDECODE", "1");
        hook
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear();
        command.envs(environment::inherited());
        command.env("TZ", TIME_ZONE);
        // Prevents background processes, except in tests about them.
        command.env("JIKIME_EMBED_BACKFILL", "0");
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, self.home());
        }
        // Temporary files are removed with the sandbox.
        for name in ["TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"] {
            command.env(name, self.temporary());
        }
        command.env("APPDATA", self.home().join("AppData/Roaming"));
        command.env("LOCALAPPDATA", self.home().join("AppData/Local"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        #[cfg(unix)]
        if let Some(user) = self.user {
            std::os::unix::process::CommandExt::uid(&mut command, user);
        }
        command
    }

    #[track_caller]
    pub fn run_cli<I, S>(&self, arguments: I) -> ProgramOutput
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.memory_command();
        command.args(arguments);
        run_to_end(command, "", command_deadline())
    }

    /// Runs `jikime-hook COMMAND` with `payload` on standard input.
    #[track_caller]
    pub fn run_hook(&self, command: &str, payload: &str) -> ProgramOutput {
        run_to_end(self.hook_command(command), payload, command_deadline())
    }

    /// Starts `jikime-memory serve` and initialises it.
    #[track_caller]
    pub fn serve(&self, era: Era) -> McpClient {
        let mut command = self.memory_command();
        command.arg("serve");
        McpClient::start(command, era)
    }
}
