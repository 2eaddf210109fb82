//! What it costs to start the server: from the start of the process to its first answers, as ratios to a process that does nothing,
//! and what it holds in memory when it has nothing to do.
//!
//! `cargo bench -p jikime-memory-tests --bench server` builds `jikime-memory` as README.md installs it. `--memories N` sets the size of the larger store, `--runs N` how often each is
//! measured. Compare ratios of one run, not milliseconds.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::benchmark::{Floors, Times, argument, fill, installed};
use harness::{Binaries, Sandbox};

/// What a host says to a server, in either era.
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// The goal of each ratio.
const GOAL: f64 = 4.0;

/// How long a server has nothing to do before it is looked at.
const REST: Duration = Duration::from_secs(3);

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    let (memories, runs) = (argument("--memories", 100_000)?, argument("--runs", 200)?);
    let floors = Floors::build()?;
    let memory = installed("jikime-memory", &[])?;
    let binaries = Binaries { hook: memory.clone(), memory };
    let [empty, full] = [(); 2].map(|()| Sandbox::new(binaries.clone()));
    fill(&full, memories)?;
    let mut floor = Vec::with_capacity(runs);
    // Of each store: the answers to `initialize` and `tools/list` of one start, and that to `server/discover` of another.
    let mut starts = [(); 2].map(|()| [(); 3].map(|()| Vec::with_capacity(runs)));
    for _ in 0..runs {
        let started = Instant::now();
        Command::new(&floors.noop).status()?;
        floor.push(started.elapsed());
        for (sandbox, times) in [&empty, &full].into_iter().zip(&mut starts) {
            let mut server = Server::start(sandbox)?;
            server.ask(INITIALIZE)?;
            times[0].push(server.started.elapsed());
            server.say(INITIALIZED)?;
            server.ask(LIST)?;
            times[1].push(server.started.elapsed());
            server.end()?;
            let mut server = Server::start(sandbox)?;
            server.ask(DISCOVER)?;
            times[2].push(server.started.elapsed());
            server.end()?;
        }
    }
    let floor = Times::new(floor);
    println!("{:<44} {:>8} {:>8} {:>9} {:>6}", "from the start of the process", "p50 ms", "p95 ms", "x no-op", "goal");
    println!(
        "{:<44} {:>8.2} {:>8.2}",
        "a process that does nothing",
        milliseconds(&floor, 50),
        milliseconds(&floor, 95)
    );
    for (store, times) in ["no memories".to_owned(), format!("{memories} memories")].iter().zip(starts) {
        for (answer, times) in ["initialize", "tools/list", "server/discover"].iter().zip(times.map(Times::new)) {
            let (p50, p95) = (milliseconds(&times, 50), milliseconds(&times, 95));
            let ratio = p50 / milliseconds(&floor, 50);
            println!("{:<44} {p50:>8.2} {p95:>8.2} {ratio:>9.2} {GOAL:>6}", format!("{answer}, {store}"));
        }
    }
    for (store, sandbox) in [("no memories", &empty), ("the larger store", &full)] {
        let mut server = Server::start(sandbox)?;
        server.ask(INITIALIZE)?;
        server.say(INITIALIZED)?;
        server.ask(LIST)?;
        thread::sleep(REST);
        match server.resident() {
            Some(bytes) => println!("resident after {REST:?} at rest, {store}: {:.1} MB (goal 20)", bytes / 1e6),
            None => println!("resident, {store}: this system does not tell"),
        }
        server.end()?;
    }
    Ok(())
}

fn milliseconds(times: &Times, percent: usize) -> f64 {
    times.percentile(percent).as_secs_f64() * 1e3
}

/// A server as a host starts it.
struct Server {
    started: Instant,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    fn start(sandbox: &Sandbox) -> Outcome<Self> {
        let mut command = sandbox.memory_command();
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { started, child, stdin, stdout })
    }

    fn say(&mut self, line: &str) -> Outcome<()> {
        Ok(self.stdin.write_all(format!("{line}\n").as_bytes())?)
    }

    fn ask(&mut self, line: &str) -> Outcome<()> {
        self.say(line)?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        if answer.contains("\"result\"") { Ok(()) } else { Err(format!("no result: {answer}").into()) }
    }

    /// Bytes of memory that it holds.
    fn resident(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0)
    }

    fn end(mut self) -> Outcome<()> {
        drop(self.stdin);
        self.child.wait()?.success().then_some(()).ok_or_else(|| "the server failed".into())
    }
}
