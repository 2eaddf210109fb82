//! What the benchmarks share: programs to compare with, stores of a given size, and times in order.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::outcome::run_to_end;
use crate::sandbox::Sandbox;

/// How long a store may take to be indexed.
const INDEXING: Duration = Duration::from_secs(1_800);

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The number behind `name` on the command line, else `default`.
pub fn argument(name: &str, default: usize) -> Outcome<usize> {
    let given = std::env::args().skip_while(|argument| argument != name).nth(1);
    Ok(given.map_or(Ok(default), |text| text.parse())?)
}

/// Programs that do as little as a process can, built like the hooks client: without shared libraries.
#[derive(Debug)]
pub struct Floors {
    /// Starts and ends.
    pub noop: PathBuf,
    append: PathBuf,
    _directory: tempfile::TempDir,
}

impl Floors {
    /// Builds them in a directory that goes with this value.
    pub fn build() -> Outcome<Self> {
        const APPEND: &str = "use std::io::Write;
            fn main() {
                let path = std::env::args().nth(1).unwrap();
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                file.write_all(b\"a line\\n\").unwrap();
            }";
        let directory = tempfile::tempdir()?;
        let build = |name: &str, text: &str| -> Outcome<PathBuf> {
            let source = directory.path().join(format!("{name}.rs"));
            fs::write(&source, text)?;
            let program = directory.path().join(name).with_extension(std::env::consts::EXE_EXTENSION);
            let mut rustc = Command::new("rustc");
            rustc.args(["-O", "-C", "target-feature=+crt-static", "-o"]).arg(&program).arg(&source);
            if rustc.status()?.success() { Ok(program) } else { Err("rustc could not build a floor".into()) }
        };
        let (noop, append) = (build("noop", "fn main() {}")?, build("append", APPEND)?);
        Ok(Self { noop, append, _directory: directory })
    }

    /// Appends a line to a file.
    pub fn append(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.append);
        command.arg(path);
        command
    }
}

/// A program as README.md installs it, in a directory below the target directory of this build.
pub fn installed(package: &str, options: &[&str]) -> Outcome<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--package", package]).args(options);
    cargo.args(["--message-format", "json-render-diagnostics"]).current_dir(project).stderr(Stdio::inherit());
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(format!("cargo could not build {package}").into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let path = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = path.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    path.ok_or_else(|| "cargo built no program".into())
}

/// How long each of some runs took, in order of length.
#[derive(Debug)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Puts them in order.
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time within which so many of a hundred runs were done.
    pub fn percentile(&self, percent: usize) -> Duration {
        self.0[(self.0.len() * percent / 100).min(self.0.len() - 1)]
    }
}

/// Gives a sandbox a store of `memories`, a thousand a day, and brings its databases in step.
pub fn fill(sandbox: &Sandbox, memories: usize) -> Outcome<()> {
    for day in 0..memories.div_ceil(1_000) {
        let (year, month, of_month) = (2024 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
        let mut log = format!("# {year}-{month:02}-{of_month:02}\n\n");
        let mut decisions = String::from("\n## Decision\n\n");
        for n in 0..1_000.min(memories - day * 1_000) {
            let (hour, minute, second) = (n / 60 % 24, n % 60, n * 7 % 60);
            let session = n / 50;
            if n % 50 == 0 {
                writeln!(log, "\n<!-- session {day:04}-{session:02} -->")?;
            }
            match n % 20 {
                0 => writeln!(
                    decisions,
                    "- decision {day}-{n}: keep part {n} of module {session} in a table of its own"
                )?,
                1..=9 => writeln!(
                    log,
                    "- [{hour:02}:{minute:02}:{second:02}] **User Prompt**: change part {n} of module {session} on day {day}"
                )?,
                _ => writeln!(
                    log,
                    "- [{hour:02}:{minute:02}:{second:02}] **Assistant Response**: part {n} of module {session} is changed as asked on day {day}"
                )?,
            }
        }
        sandbox.write(format!(".jikime/memory/{year}-{month:02}-{of_month:02}.md"), log + &decisions);
    }
    let mut index = sandbox.memory_command();
    index.arg("index");
    run_to_end(index, "", INDEXING).success();
    Ok(())
}
