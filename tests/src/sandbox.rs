//! A place of its own for each test: a project, a home directory, and an environment in which nothing else is set.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::fixtures::{recorded_event, replace_texts};
use crate::mcp_client::{Era, McpClient};
use crate::outcome::{Outcome, run_to_end};

/// How long a command may take. Generous, because a test is not a benchmark: what must be fast measures `elapsed`.
fn command_deadline() -> Duration {
    // What the long tests do takes long in a debug build.
    let seconds = if std::env::var_os("JIKIME_LONG_TESTS").is_some() { 600 } else { 60 };
    Duration::from_secs(seconds)
}

/// The time zone of every sandbox: far from UTC, on the other side of midnight from America, and without summer time.
const TIME_ZONE: &str = "Asia/Seoul";

/// Variables without which programs do not start at all on some platform, and which point at nothing of the user's.
const INHERITED: [&str; 4] = ["PATH", "SystemRoot", "SystemDrive", "PATHEXT"];

/// Names a folder with `jikime-memory` and `jikime-hook`: the tests and proofs run these programs instead of the ones of their build, for
/// example those that README.md installs.
const PROGRAMS: &str = "JIKIME_TEST_PROGRAMS";

/// The programs under test. [`binaries!`](crate::binaries) makes it, because Cargo names its programs to tests only.
#[derive(Debug, Clone)]
pub struct Binaries {
    /// The server and command line, `jikime-memory`.
    pub memory: PathBuf,
    /// The hooks client, `jikime-hook`.
    pub hook: PathBuf,
}

impl Binaries {
    /// The programs in the folder that `JIKIME_TEST_PROGRAMS` names, if it is set.
    #[track_caller]
    pub fn named() -> Option<Self> {
        let folder = PathBuf::from(std::env::var_os(PROGRAMS).filter(|folder| !folder.is_empty())?);
        assert!(folder.is_absolute(), "{PROGRAMS}={} is not an absolute path", folder.display());
        let program = |name: &str| {
            let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
            assert!(path.is_file(), "{PROGRAMS} names a folder without {}", path.display());
            path
        };
        Some(Self { memory: program("jikime-memory"), hook: program("jikime-hook") })
    }

    /// Both under the names that people know, in a new folder.
    pub fn put_in(&self, bin: &Path) -> Self {
        fs::create_dir(bin).expect("the folder is new");
        let put = |program: &Path, name: &str| {
            let to = bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
            fs::hard_link(program, &to)
                .or_else(|_| fs::copy(program, &to).map(drop))
                .expect("a program that can be copied");
            to
        };
        Self { memory: put(&self.memory, "jikime-memory"), hook: put(&self.hook, "jikime-hook") }
    }
}

/// The [`Binaries`] that `JIKIME_TEST_PROGRAMS` names, or those of this build.
#[macro_export]
macro_rules! binaries {
    () => {
        $crate::Binaries::named().unwrap_or_else(|| $crate::Binaries {
            memory: ::std::path::PathBuf::from(env!("CARGO_BIN_EXE_jikime-memory-under-test")),
            hook: ::std::path::PathBuf::from(env!("CARGO_BIN_EXE_jikime-hook-under-test")),
        })
    };
}

/// A [`Sandbox`] with a git project in it, ready to run the programs under test.
#[macro_export]
macro_rules! sandbox {
    () => {
        $crate::Sandbox::new($crate::binaries!())
    };
}

/// A temporary directory with `project/` and `home/`, removed when it is dropped.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
    pub(crate) binaries: Binaries,
    environment: Vec<(OsString, OsString)>,
    /// Whom the programs run as, when that is not who runs the tests.
    pub(crate) user: Option<u32>,
}

impl Sandbox {
    /// A sandbox whose project is the root of a git checkout, as most projects are.
    pub fn new(binaries: Binaries) -> Self {
        let sandbox = Self::without_git(binaries);
        sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
        sandbox
    }

    /// A sandbox whose project is a plain directory.
    pub fn without_git(binaries: Binaries) -> Self {
        let root = tempfile::Builder::new().prefix("jikime-").tempdir().expect("a temporary directory can be made");
        let sandbox = Self { root, binaries, environment: Vec::new(), user: None };
        for directory in [sandbox.project(), sandbox.home(), sandbox.temporary()] {
            fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        }
        sandbox
    }

    /// The directory that holds everything of this sandbox. Links are resolved, so that printed paths compare.
    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.root.path()).expect("the sandbox exists as long as its value")
    }

    /// The project, and the working directory of every command.
    pub fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    /// The home directory.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// The project's store, whether or not it exists yet.
    pub fn store(&self) -> PathBuf {
        self.project().join(".jikime").join("memory")
    }

    fn temporary(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// From now on the programs are these: copies that lie where a test wants them.
    pub fn set_binaries(&mut self, binaries: Binaries) -> &mut Self {
        self.binaries = binaries;
        self
    }

    /// The same with both programs in a folder of its own that is first on `PATH`, under the names that people know.
    pub fn installed(mut self) -> Self {
        let bin = self.root().join("bin");
        self.binaries.put_in(&bin);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
        self.set_variable("PATH", path.expect("folders without the sign between folders"));
        self
    }

    /// Sets a variable for every command built from now on.
    pub fn set_variable(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Writes a file below the project, with the folders it needs, and gives its path.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        let parent = path.parent().expect("a file below the project has a folder");
        fs::create_dir_all(parent).unwrap_or_else(|error| panic!("{}: {error}", parent.display()));
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Reads a file below the project.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.project().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The project's daily logs joined in order of their days; empty when there are none.
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

    /// The socket of the store, wherever a server of this sandbox made it, and whether or not one still listens.
    pub fn socket(&self) -> Option<PathBuf> {
        let directories = fs::read_dir(self.temporary()).expect("it was made with the sandbox").filter_map(Result::ok);
        let files = directories.filter_map(|directory| fs::read_dir(directory.path()).ok()).flatten();
        let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
        paths.find(|path| path.extension().is_some_and(|ending| ending == "sock"))
    }

    /// Makes the store one of another version of the program, and gives the version that it was of.
    #[track_caller]
    pub fn set_version(&self, version: i64) -> i64 {
        let db = rusqlite::Connection::open(self.store().join("memory.db")).expect("a database");
        let before = db.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a version");
        db.pragma_update(None, "user_version", version).expect("a database that can be written");
        db.pragma_update(None, "wal_checkpoint", "TRUNCATE").expect("a log that can be taken in");
        before
    }

    /// A recorded event as the host would have sent it from this sandbox; see [`recorded_event`].
    #[track_caller]
    pub fn event(&self, name: &str) -> Value {
        let mut event = recorded_event(name);
        replace_texts(&mut event, "/home/dev/project", &self.project().to_string_lossy());
        replace_texts(&mut event, "/home/dev", &self.home().to_string_lossy());
        event
    }

    /// `jikime-memory`, in the project, with the sandbox's environment.
    pub fn memory_command(&self) -> Command {
        self.command(&self.binaries.memory)
    }

    /// `jikime-hook COMMAND` as the host starts it.
    pub fn hook_command(&self, command: &str) -> Command {
        let mut hook = self.command(&self.binaries.hook);
        hook.arg(command).env("CLAUDE_PROJECT_DIR", self.project()).env("CLAUDECODE", "1");
        hook
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.env("TZ", TIME_ZONE);
        // Nothing goes on in a sandbox after its test, unless the test is about that.
        command.env("JIKIME_EMBED_BACKFILL", "0");
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, self.home());
        }
        // What a program leaves in the directory for temporary files goes with the sandbox.
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

    /// Runs `jikime-memory` with `arguments` to its end.
    #[track_caller]
    pub fn run_cli<I, S>(&self, arguments: I) -> Outcome
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.memory_command();
        command.args(arguments);
        run_to_end(command, "", command_deadline())
    }

    /// Runs `jikime-hook COMMAND` to its end with `payload` on its standard input.
    #[track_caller]
    pub fn run_hook(&self, command: &str, payload: &str) -> Outcome {
        run_to_end(self.hook_command(command), payload, command_deadline())
    }

    /// Starts `jikime-memory serve` and greets it in the manner of `era`.
    #[track_caller]
    pub fn serve(&self, era: Era) -> McpClient {
        let mut command = self.memory_command();
        command.arg("serve");
        McpClient::start(command, era)
    }
}
