//! What a hook costs the host: whole processes from start to end, as ratios to a process that does nothing.
//!
//! `cargo bench -p jikime-memory-tests --bench hooks` builds `jikime-hook` as README.md installs it. `--memories N` sets the size of
//! the store that the brief is made from, `--runs N` how often each is measured. Compare ratios of one run, not milliseconds.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Binaries, Era, Sandbox};
use serde_json::Value;

/// Processes at once, and events of each, in the test of many at once.
const PROCESSES: usize = 8;
const EVENTS: usize = 200;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    let argument = |name: &str, default: usize| {
        let given = std::env::args().skip_while(|argument| argument != name).nth(1);
        given.map_or(Ok(default), |text| text.parse())
    };
    let (memories, runs) = (argument("--memories", 100_000)?, argument("--runs", 300)?);
    let floors = Floors::build()?;
    let memory = PathBuf::from(env!("CARGO_BIN_EXE_jikime-memory-under-test"));
    let binaries = Binaries { memory, hook: installed_hook()? };
    println!("jikime-hook: {} bytes\n", fs::metadata(&binaries.hook)?.len());
    let file = tempfile::tempdir()?;
    let line = file.path().join("log");
    let [alone, served, full] = [(); 3].map(|()| Sandbox::new(binaries.clone()));
    fill(&full, memories)?;
    let mut client = served.serve(Era::Modern);
    client.call("memory_stats", serde_json::json!({})).map_err(|error| format!("{error:?}"))?;
    let prompt = |sandbox: &Sandbox, n: usize| hook(sandbox, "memory-prompt-save", "UserPromptSubmit", "prompt", n);
    let brief = format!("memory-load, {memories} memories");
    let cases: [(&str, &str, Case<'_>); 6] = [
        ("a process that does nothing", "", &|_| (Command::new(&floors.noop), String::new())),
        ("one that appends a line", "", &|_| (floors.append(&line), String::new())),
        ("memory-track", "1.6", &|n| tracking(&alone, n)),
        ("memory-prompt-save, through the queue", "2", &|n| prompt(&served, n)),
        ("memory-prompt-save, direct", "6", &|n| prompt(&alone, n)),
        (&brief, "12", &|_| starting(&full)),
    ];
    let times = measure(runs, &cases.each_ref().map(|(.., case)| *case))?;
    println!("{:<44} {:>8} {:>8} {:>8} {:>9} {:>6}", "whole process", "p50 ms", "p95 ms", "p99 ms", "x no-op", "goal");
    for ((name, goal, _), times_of) in cases.iter().zip(&times) {
        let [p50, p95, p99] = [50, 95, 99].map(|percent| times_of.percentile(percent).as_secs_f64() * 1e3);
        let ratio = p50 / (times[0].percentile(50).as_secs_f64() * 1e3);
        println!("{name:<44} {p50:>8.2} {p95:>8.2} {p99:>8.2} {ratio:>9.2} {goal:>6}");
    }
    drop(client);

    let floor = at_once(|process, _| (floors.append(&file.path().join(process.to_string())), String::new()))?;
    println!("\n{PROCESSES} at once x {EVENTS} events: {:<22} {:>8} {:>9} {:>6}", "", "s", "x append", "goal");
    for is_served in [false, true] {
        let sandbox = Sandbox::new(binaries.clone());
        let client = is_served.then(|| sandbox.serve(Era::Modern));
        let taken = at_once(|process, n| prompt(&sandbox, process * EVENTS + n))?;
        drop(client);
        let kept = sandbox.run_cli(["stats", "--json"]).success().json()["memories"].as_u64().unwrap_or_default();
        let name = format!("{}, {kept} kept", if is_served { "with a server" } else { "without one" });
        let ratio = taken.as_secs_f64() / floor.as_secs_f64();
        println!("{name:<50} {:>8.2} {ratio:>9.2} {:>6}", taken.as_secs_f64(), 6);
    }
    Ok(())
}

/// Programs that do as little as a process can, built like the hooks client: without shared libraries.
struct Floors {
    noop: PathBuf,
    append: PathBuf,
    _directory: tempfile::TempDir,
}

impl Floors {
    fn build() -> Outcome<Self> {
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

    fn append(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.append);
        command.arg(path);
        command
    }
}

/// The hooks client as README.md installs it, in a directory below the target directory of this build.
fn installed_hook() -> Outcome<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--locked", "--package", "jikime-hook", "--config", "hooks-client/small.toml"]);
    cargo.args(["--message-format", "json-render-diagnostics"]).current_dir(project).stderr(Stdio::inherit());
    let output = cargo.output()?;
    if !output.status.success() {
        return Err("cargo could not build jikime-hook".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let path = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let path = path.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    path.ok_or_else(|| "cargo built no program".into())
}

/// How long each of some runs took, in order of length.
struct Times(Vec<Duration>);

impl Times {
    fn percentile(&self, percent: usize) -> Duration {
        self.0[(self.0.len() * percent / 100).min(self.0.len() - 1)]
    }
}

/// Makes the program to measure, and what it reads, for one of many runs.
type Case<'c> = &'c dyn Fn(usize) -> (Command, String);

/// Runs the cases in turn, so that what else the machine does is in all of them.
fn measure<const N: usize>(runs: usize, cases: &[Case<'_>; N]) -> Outcome<[Times; N]> {
    let mut times = [(); N].map(|()| Vec::with_capacity(runs));
    for n in 0..runs {
        for (case, times) in cases.iter().zip(&mut times) {
            let (command, input) = case(n);
            let started = Instant::now();
            run(command, &input)?;
            times.push(started.elapsed());
        }
    }
    Ok(times.map(|mut times| {
        times.sort_unstable();
        Times(times)
    }))
}

fn run(mut command: Command, input: &str) -> Outcome<()> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing may be gone already.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait()?.success().then_some(()).ok_or_else(|| "a measured program failed".into())
}

/// How long [`PROCESSES`] take to run [`EVENTS`] programs each, one after the other.
fn at_once(prepare: impl Fn(usize, usize) -> (Command, String) + Sync) -> Outcome<Duration> {
    let started = Instant::now();
    thread::scope(|scope| {
        let prepare = &prepare;
        let workers = (0..PROCESSES).map(|process| {
            scope.spawn(move || {
                (0..EVENTS).try_for_each(|n| {
                    let (command, input) = prepare(process, n);
                    run(command, &input).map_err(|error| error.to_string())
                })
            })
        });
        let workers: Vec<_> = workers.collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?.map_err(Box::<dyn Error>::from))
    })?;
    Ok(started.elapsed())
}

/// A recorded event with a text of its own.
fn hook(sandbox: &Sandbox, command: &str, event: &str, field: &str, n: usize) -> (Command, String) {
    let mut event = sandbox.event(event);
    event[field] = format!("{n}: why does the watcher miss files that editors replace? {}", "x ".repeat(300)).into();
    (sandbox.hook_command(command), event.to_string())
}

fn tracking(sandbox: &Sandbox, n: usize) -> (Command, String) {
    let mut event = sandbox.event("PostToolUse.Edit");
    event["tool_input"]["file_path"] = sandbox.project().join(format!("src/{n}.rs")).to_string_lossy().into();
    (sandbox.hook_command("memory-track"), event.to_string())
}

fn starting(sandbox: &Sandbox) -> (Command, String) {
    (sandbox.hook_command("memory-load"), sandbox.event("SessionStart.startup").to_string())
}

/// Gives a sandbox a store of `memories`, a thousand a day, and brings its databases in step.
fn fill(sandbox: &Sandbox, memories: usize) -> Outcome<()> {
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
    sandbox.run_cli(["index"]).success();
    Ok(())
}
