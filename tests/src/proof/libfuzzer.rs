//! Runs the targets of `tests/fuzz` with cargo-fuzz, which is guided by code coverage. It needs a nightly toolchain and a
//! C++ compiler; otherwise `fuzz` mutates input itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::proof::ProofResult;
use crate::proof::fuzz::FuzzTarget;

/// Limits of one input in seconds, and of memory in MiB.
const HANG: u64 = 10;
const MEMORY: u64 = 2_048;

/// The toolchain with the compiler features that cargo-fuzz needs.
const TOOLCHAIN: &str = "+nightly";

pub fn is_available() -> bool {
    let answers = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    answers(Command::new("cargo").args([TOOLCHAIN, "--version"]))
        && answers(Command::new("cargo").args(["fuzz", "--version"]))
}

/// Fuzzes for `time`, starting with the corpus. New inputs are discarded. Building happens once before, for all targets.
pub fn run(target: FuzzTarget, time: Duration, seed: u64) -> ProofResult {
    let mut tally = ProofResult::new("fuzz", format!("{} under cargo-fuzz", target.name()));
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = match tempfile::tempdir() {
        Ok(found) => found,
        Err(error) => {
            tally.findings.push(format!("no folder can be made: {error}"));
            return tally;
        }
    };
    let mut fuzz = Command::new("cargo");
    // Does not inherit the parent's toolchain.
    fuzz.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC").current_dir(tests);
    fuzz.args([TOOLCHAIN, "fuzz", "run", "--fuzz-dir", "fuzz", "--sanitizer", "none"]);
    if !target.needs_engine() {
        fuzz.arg("--no-default-features");
    }
    fuzz.arg(target.name());
    fuzz.arg(found.path()).arg(tests.join("fuzz-corpus").join(target.name())).arg("--");
    fuzz.arg(format!("-max_total_time={}", time.as_secs())).arg(format!("-seed={seed}"));
    fuzz.arg(format!("-timeout={HANG}")).arg(format!("-rss_limit_mb={MEMORY}"));
    fuzz.arg("-print_final_stats=1").arg(format!("-artifact_prefix={}/", found.path().display()));
    let output = match fuzz.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            tally.findings.push(format!("cargo fuzz cannot be started: {error}"));
            return tally;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let number = |name: &str| -> Option<usize> {
        said.lines().find_map(|line| {
            line.strip_prefix("stat::")?.strip_prefix(name)?.trim_start_matches(':').trim().parse().ok()
        })
    };
    tally.rounds = number("number_of_executed_units").unwrap_or_default();
    let reached =
        said.lines().rev().find_map(|line| line.split_once(" cov: ")?.1.split(' ').next()?.parse::<usize>().ok());
    tally.measured = format!(
        "{} places in the code reached; {} inputs that reach new ones; {} MB at most",
        reached.unwrap_or_default(),
        number("new_units_added").unwrap_or_default(),
        number("peak_rss_mb").unwrap_or_default()
    );
    if !output.status.success() {
        let from = said.find("panicked at").or_else(|| said.find("ERROR")).unwrap_or(said.len().saturating_sub(2_000));
        let cause: String = said.get(from..).unwrap_or(&said).chars().take(1_000).collect();
        tally.findings.push(format!("seed {seed}: {cause}; the input: {:?}", failing_input(found.path())));
    }
    tally
}

/// Returns the failing input that libFuzzer saved.
fn failing_input(folder: &Path) -> Option<String> {
    let left: Vec<PathBuf> = fs::read_dir(folder).ok()?.filter_map(|item| Some(item.ok()?.path())).collect();
    let is_artifact = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        ["crash-", "timeout-", "oom-", "leak-"].iter().any(|kind| name.starts_with(kind))
    };
    let bytes = fs::read(left.iter().find(is_artifact)?).ok()?;
    Some(String::from_utf8_lossy(&bytes).chars().take(600).collect())
}
