//! What hooks cost the host, whole processes from start to end: on a large store with a server, without one, and many at once, as ratios
//! to processes that do as little as one can.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harness::benchmark::Floors;
use harness::{Binaries, Sandbox};
use serde_json::{Value, json};

use crate::Outcome;
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{Table, percentile};
use crate::serving::Server;
use crate::start::serve;

/// How often each is run.
const RUNS: usize = 150;

/// The ratios that are promised.
const TRACKING: f64 = 1.6;
const PROMPT: f64 = 2.0;
const DIRECT: f64 = 6.0;
const BRIEF: f64 = 12.0;
const AT_ONCE: f64 = 6.0;

/// Processes at once, and events of each.
const PROCESSES: usize = 8;
const EVENTS: usize = 200;

/// More events than a store was told of before.
const BEFORE: usize = 1_000_000;

pub(crate) fn measure(sandbox: &Sandbox, floors: &Floors, table: &mut Table) -> Outcome<()> {
    let [mut nothing, mut tracking, mut prompt, mut brief] = [(); 4].map(|()| Vec::with_capacity(RUNS));
    for run in 0..RUNS {
        nothing.push(timed(Command::new(&floors.noop), &Value::Null)?);
        let mut event = sandbox.event("PostToolUse.Edit");
        event["tool_input"]["file_path"] = sandbox.project().join(format!("src/{run}.rs")).to_string_lossy().into();
        tracking.push(timed(sandbox.hook_command("memory-track"), &event)?);
        prompt.push(timed(sandbox.hook_command("memory-prompt-save"), &asking(sandbox, run))?);
        brief.push(timed(sandbox.hook_command("memory-load"), &sandbox.event("SessionStart.startup"))?);
    }
    nothing.sort_unstable();
    let floor = percentile(&nothing, 50);
    let cases = [
        ("hook memory-track", &mut tracking, TRACKING),
        ("hook memory-prompt-save, with a server", &mut prompt, PROMPT),
        ("hook memory-load", &mut brief, BRIEF),
    ];
    for (name, times, goal) in cases {
        table.add_times(name, times, Some(floor), &[(50, Some(AtMost(goal * floor))), (99, None)]);
    }
    Ok(())
}

/// How long hooks take, and whether what they keep is there, while the index of a large store is made anew.
pub(crate) fn while_indexing(sandbox: &Sandbox, table: &mut Table) -> Outcome<()> {
    let mut command = sandbox.memory_command();
    command.args(["index", "--full"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut indexing = command.spawn()?;
    let mut prompt = Vec::new();
    while indexing.try_wait()?.is_none() {
        let number = BEFORE + prompt.len();
        prompt.push(timed(sandbox.hook_command("memory-prompt-save"), &asking(sandbox, number))?);
    }
    indexing.wait()?.success().then_some(()).ok_or("index --full failed")?;
    let kept = (BEFORE..BEFORE + prompt.len()).map(question);
    let logs = sandbox.logs();
    let kept = kept.filter(|text| logs.contains(text)).count() as f64 / prompt.len() as f64;
    let name = "hook memory-prompt-save, beside index --full";
    table.add_times(name, &mut prompt, None, &[(50, None), (99, Some(AtMost(15.0)))]);
    table.add("  of which are kept", kept, "share", None, Some(AtLeast(1.0)));
    Ok(())
}

/// The same without a server, and of many processes at once, in stores of their own.
pub(crate) fn without_others(binaries: &Binaries, floors: &Floors, table: &mut Table) -> Outcome<()> {
    let file = tempfile::tempdir()?;
    let sandbox = Sandbox::new(binaries.clone());
    let [mut nothing, mut append, mut direct] = [(); 3].map(|()| Vec::with_capacity(RUNS));
    for run in 0..RUNS {
        nothing.push(timed(Command::new(&floors.noop), &Value::Null)?);
        append.push(timed(floors.append(&file.path().join("log")), &Value::Null)?);
        direct.push(timed(sandbox.hook_command("memory-prompt-save"), &asking(&sandbox, run))?);
    }
    nothing.sort_unstable();
    let floor = percentile(&nothing, 50);
    table.add_times("a process that appends a line", &mut append, Some(floor), &[(50, None)]);
    let goals = [(50, Some(AtMost(DIRECT * floor))), (99, None)];
    table.add_times("hook memory-prompt-save, without a server", &mut direct, Some(floor), &goals);
    let appended = at_once(|process, _| (floors.append(&file.path().join(process.to_string())), Value::Null))?;
    for served in ["without a server", "with a server"] {
        let sandbox = Sandbox::new(binaries.clone());
        let mut server = Server::start(serve(&sandbox))?;
        server.call("memory_stats", &json!({}))?;
        let server = if served == "with a server" { Some(server) } else { server.end().map(|()| None)? };
        let taken =
            at_once(|process, n| (sandbox.hook_command("memory-prompt-save"), asking(&sandbox, process * EVENTS + n)))?;
        server.map_or(Ok(()), Server::end)?;
        let name = format!("{PROCESSES} x {EVENTS} hooks at once, {served}");
        let goal = AtMost(AT_ONCE * appended.as_secs_f64());
        table.add(name, taken.as_secs_f64(), "s", Some(appended.as_secs_f64()), Some(goal));
        let kept = sandbox.run_cli(["stats", "--json"]).success().json()["memories"].as_f64().unwrap_or_default();
        table.add("  of which are kept", kept / (PROCESSES * EVENTS) as f64, "share", None, Some(AtLeast(1.0)));
    }
    Ok(())
}

/// How long [`PROCESSES`] take to run [`EVENTS`] programs each, one after the other.
fn at_once(prepare: impl Fn(usize, usize) -> (Command, Value) + Sync) -> Outcome<Duration> {
    let started = Instant::now();
    thread::scope(|scope| {
        let prepare = &prepare;
        let work = (0..PROCESSES).map(|process| {
            scope.spawn(move || {
                (0..EVENTS).try_for_each(|n| {
                    let (command, event) = prepare(process, n);
                    timed(command, &event).map(drop).map_err(|error| error.to_string())
                })
            })
        });
        let work: Vec<_> = work.collect();
        work.into_iter().try_for_each(|work| work.join().map_err(|_| "a process panicked".to_owned())?)
    })?;
    Ok(started.elapsed())
}

/// A prompt with a text of its own.
fn asking(sandbox: &Sandbox, n: usize) -> Value {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = question(n).into();
    event
}

fn question(n: usize) -> String {
    format!("{n}: why does the watcher miss files that editors replace?")
}

fn timed(mut command: Command, event: &Value) -> Outcome<Duration> {
    let input = event.to_string();
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads nothing may be gone already.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait()?.success().then(|| started.elapsed()).ok_or_else(|| "a measured program failed".into())
}
