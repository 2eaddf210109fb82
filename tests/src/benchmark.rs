//! Parts of all benchmarks: the programs to measure, minimal programs as a baseline, the machine, and the results in documents.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

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

/// Replaces what a document has between two markers.
pub fn replace_block(path: &Path, begin: &str, end: &str, block: &str) -> BenchResult<()> {
    let document = fs::read_to_string(path)?;
    let (before, rest) = document.split_once(begin).ok_or_else(|| format!("{} has no {begin}", path.display()))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| format!("{} has no {end}", path.display()))?;
    Ok(fs::write(path, format!("{before}{begin}{block}{end}{after}"))?)
}

/// Describes the machine, and its load before the run.
pub fn describe_machine(binaries: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let count = thread::available_parallelism().map_or(1, usize::from);
    let memory = value(&read("/proc/meminfo"), "MemTotal");
    let memory = memory.and_then(|text| text.strip_suffix(" kB")?.parse::<f64>().ok());
    let memory = memory.map_or_else(String::new, |kilobytes| format!(", {:.0} GB", kilobytes / 1e6));
    let system =
        Command::new("uname").arg("-sr").output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let system = system.unwrap_or_else(|_| std::env::consts::OS.to_owned());
    format!("{count} processors, {processor}{memory}, {}. {binaries} {}", system.trim(), other_load())
}

/// Returns the share of busy processors, sampled while this program is idle.
fn other_load() -> String {
    let times = || {
        let text = fs::read_to_string("/proc/stat").ok()?;
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = line.split_whitespace().filter_map(|time| time.parse().ok()).collect();
        Some((*times.get(3)? + *times.get(4)?, times.iter().take(8).sum::<u64>()))
    };
    let before = times();
    thread::sleep(Duration::from_secs(1));
    match before.zip(times()) {
        Some(((idle, all), (idle_then, all_then))) if all_then > all => {
            let busy = 100 - 100 * (idle_then - idle) / (all_then - all);
            format!("Others kept the processors busy for {busy} % of the time just before.")
        }
        _ => String::new(),
    }
}
