//! What a hook costs the host: whole processes from start to end, as ratios to a process that does nothing.
//!
//! `cargo bench -p jikime-memory-tests --bench hooks` builds `jikime-hook` as README.md installs it. `--memories N` sets the size of
//! the store that the brief is made from, `--runs N` how often each is measured. Compare ratios of one run, not milliseconds.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::benchmark::{Floors, Times, argument, fill, installed};
use harness::{Binaries, Era, Sandbox};

/// Processes at once, and events of each, in the test of many at once.
const PROCESSES: usize = 8;
const EVENTS: usize = 200;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    let (memories, runs) = (argument("--memories", 100_000)?, argument("--runs", 300)?);
    let floors = Floors::build()?;
    let memory = PathBuf::from(env!("CARGO_BIN_EXE_jikime-memory-under-test"));
    let binaries = Binaries { memory, hook: installed("jikime-hook", &["--config", "hooks-client/small.toml"])? };
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
    Ok(times.map(Times::new))
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
