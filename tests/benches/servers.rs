//! What several servers on one store save in a second together, each save acknowledged before the next.
//!
//! `cargo bench -p jikime-memory-tests --bench servers`; `--servers N`, `--saves N` of each, `--memories N` that are there before, and
//! `--at-once N` calls that a client has under way.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use harness::{Binaries, Era, McpClient, Sandbox};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Saves in a second that are wished for.
const GOAL: f64 = 4_000.0;

#[expect(clippy::print_stdout, reason = "a benchmark's output is its result")]
fn main() -> Outcome<()> {
    let argument = |name: &str, default: usize| {
        let given = std::env::args().skip_while(|argument| argument != name).nth(1);
        given.map_or(Ok(default), |text| text.parse())
    };
    let (servers, saves) = (argument("--servers", 8)?, argument("--saves", 200)?);
    let (memories, at_once) = (argument("--memories", 0)?, argument("--at-once", 1)?);
    let memory = PathBuf::from(env!("CARGO_BIN_EXE_jikime-memory-under-test"));
    let hook = PathBuf::from(env!("CARGO_BIN_EXE_jikime-hook-under-test"));
    let sandbox = Sandbox::new(Binaries { memory, hook });
    fill(&sandbox, memories)?;
    let before = kept(&sandbox);
    let start = Barrier::new(servers + 1);
    let (taken, mut times) = thread::scope(|scope| {
        let clients: Vec<_> = (0..servers)
            .map(|server| {
                let (start, sandbox) = (&start, &sandbox);
                scope.spawn(move || {
                    let mut client = sandbox.serve(Era::Modern);
                    let found = client.call("memory_stats", json!({})).map_err(|error| format!("{error:?}"))?;
                    found.expect_success();
                    start.wait();
                    let times = save(&mut client, server, saves, at_once);
                    start.wait();
                    times
                })
            })
            .collect();
        start.wait();
        let started = Instant::now();
        start.wait();
        let taken = started.elapsed();
        let times: Result<Vec<Vec<Duration>>, String> =
            clients.into_iter().map(|client| client.join().map_err(|_| "a client panicked".to_owned())?).collect();
        (taken, times.map(|times| times.into_iter().flatten().collect::<Vec<_>>()))
    });
    let times = times.as_mut().map_err(|error| error.clone())?;
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    let rate = times.len() as f64 / taken.as_secs_f64();
    println!("{servers} servers x {saves} saves, {at_once} under way each, on {before} memories");
    println!("acknowledged {}, kept {}", times.len(), kept(&sandbox) - before);
    println!("{rate:.0} saves/s in total (goal {GOAL:.0}); p50 {:.2} ms, p99 {:.2} ms", at(50), at(99));
    Ok(())
}

/// Saves so many memories and answers how long each took to be acknowledged.
fn save(client: &mut McpClient, server: usize, saves: usize, at_once: usize) -> Result<Vec<Duration>, String> {
    let mut times = Vec::with_capacity(saves);
    let numbers: Vec<usize> = (0..saves).collect();
    for batch in numbers.chunks(at_once) {
        let sent: Vec<_> = batch
            .iter()
            .map(|n| {
                let content =
                    format!("finding {n} of server {server}: editors replace files instead of writing to them");
                (Instant::now(), client.send_call("memory_save", json!({ "type": "learning", "content": content })))
            })
            .collect();
        for (started, id) in sent {
            let answer = client.answer(id).map_err(|error| format!("{error:?}"))?;
            if answer["structuredContent"]["saved"] != Value::Bool(true) {
                return Err(format!("not saved: {answer}"));
            }
            times.push(started.elapsed());
        }
    }
    Ok(times)
}

fn kept(sandbox: &Sandbox) -> u64 {
    let stats = sandbox.run_cli(["stats", "--json"]);
    if stats.stdout.is_empty() { 0 } else { stats.json()["memories"].as_u64().unwrap_or_default() }
}

/// Gives a sandbox a store of so many memories, a thousand a day.
fn fill(sandbox: &Sandbox, memories: usize) -> Outcome<()> {
    for day in 0..memories.div_ceil(1_000) {
        let date = format!("{}-{:02}-{:02}", 2024 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
        let mut log = format!("# {date}\n\n<!-- session {day:04} -->\n");
        for n in 0..1_000.min(memories - day * 1_000) {
            let (hour, minute) = (n / 60 % 24, n % 60);
            writeln!(log, "- [{hour:02}:{minute:02}:00] **User Prompt**: change part {n} of the module of day {day}")?;
        }
        sandbox.write(format!(".jikime/memory/{date}.md"), log);
    }
    if memories > 0 {
        sandbox.run_cli(["index"]).success();
    }
    Ok(())
}
