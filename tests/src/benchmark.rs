//! Programs to measure: installed builds, and minimal programs as a baseline.

mod document;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

pub use document::{describe_machine, replace_block};

type BenchResult<T> = Result<T, Box<dyn Error>>;

/// Minimal programs, statically linked like the hooks client.
#[derive(Debug)]
pub struct BaselinePrograms {
    /// Exits immediately.
    pub noop: PathBuf,
    append: PathBuf,
    _directory: tempfile::TempDir,
}

impl BaselinePrograms {
    /// Builds them in a temporary directory.
    pub fn build() -> BenchResult<Self> {
        const APPEND: &str = "use std::io::Write;
            fn main() {
                let path = std::env::args().nth(1).unwrap();
                let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
                file.write_all(b\"a line\\n\").unwrap();
            }";
        let directory = tempfile::tempdir()?;
        let build = |name: &str, text: &str| -> BenchResult<PathBuf> {
            let source = directory.path().join(format!("{name}.rs"));
            fs::write(&source, text)?;
            let program = directory.path().join(name).with_extension(std::env::consts::EXE_EXTENSION);
            let mut rustc = Command::new("rustc");
            rustc.args(["-O", "-C", "target-feature=+crt-static", "-o"]).arg(&program).arg(&source);
            if rustc.status()?.success() { Ok(program) } else { Err("rustc cannot build a baseline program".into()) }
        };
        let (noop, append) = (build("noop", "fn main() {}")?, build("append", APPEND)?);
        Ok(Self { noop, append, _directory: directory })
    }

    pub fn append(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.append);
        command.arg(path);
        command
    }
}

/// Builds a program with the commands of README.md, in its own target directory.
pub fn install_program(package: &str, options: &[&str]) -> BenchResult<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--package", package]).args(options);
    cargo.args(["--message-format", "json-render-diagnostics"]).current_dir(project).stderr(Stdio::inherit());
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(format!("cargo cannot build {package}").into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let path = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = path.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    path.ok_or_else(|| "cargo reported no program".into())
}

/// Reproducible numbers between -1 and 1.
pub fn pseudo_random_numbers() -> impl Iterator<Item = f32> {
    let mut state = 0x9E37_79B9_u32;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    })
}
