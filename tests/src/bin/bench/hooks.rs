//! What hooks cost the host, whole processes from start to end: on a large store with a server, without one, and many at once, as ratios
//! to processes that do as little as one can.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::benchmark::Floors;
use harness::{Binaries, Sandbox};
use serde_json::{Value, json};

use crate::Outcome;
use crate::crowd::{self, TURNS, WORKERS};
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{Table, percentile};
use crate::memories::{Save, TYPES, kept, memories, saves};
use crate::serving::Server;
use crate::stages;
use crate::start::{NO_SLOWER, serve};

/// How often each is run.
const RUNS: usize = 150;

/// The ratios that are promised.
const TRACKING: f64 = 1.6;
const PROMPT: f64 = 2.0;
const DIRECT: f64 = 5.0;
const BRIEF: f64 = 12.0;
const AT_ONCE: f64 = 6.0;

/// Entries of the log of a busy day, and of a log that is larger than any.
const BUSY_DAY: usize = 1_600;
const LARGE: usize = 100_000;

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

/// Hooks without a server that write to logs with sections: the log of a busy day, a large log, and many processes at once.
pub(crate) fn without_others(binaries: &Binaries, floors: &Floors, table: &mut Table) -> Outcome<()> {
    let file = tempfile::tempdir()?;
    let logs = [(BUSY_DAY, with_sections(binaries, BUSY_DAY)?), (LARGE, with_sections(binaries, LARGE)?)];
    let [mut nothing, mut append] = [(); 2].map(|()| Vec::with_capacity(RUNS));
    let mut times = [(); 2].map(|()| [(); 2].map(|()| Vec::with_capacity(RUNS)));
    let texts = saves("direct", 2 * RUNS);
    for pair in texts.chunks(2) {
        nothing.push(timed(Command::new(&floors.noop), &Value::Null)?);
        append.push(timed(floors.append(&file.path().join("log")), &Value::Null)?);
        for ((_, sandbox), times) in logs.iter().zip(&mut times) {
            for (turn, (save, times)) in pair.iter().zip(times).enumerate() {
                let (command, event) = saying(sandbox, turn, save);
                times.push(timed(command, &event)?);
            }
        }
    }
    nothing.sort_unstable();
    let floor = percentile(&nothing, 50);
    table.add_times("a process that appends a line", &mut append, Some(floor), &[(50, None)]);
    let texts: Vec<&Save> = texts.iter().collect();
    for ((entries, sandbox), times) in logs.iter().zip(&mut times) {
        for (what, times) in ["prompt", "answer"].into_iter().zip(times) {
            let goals = [(50, Some(AtMost(DIRECT * floor))), (99, None)];
            table.add_times(&format!("hook of {what}, no server, log of {entries}"), times, Some(floor), &goals);
        }
        // A hook that gives up and leaves its event in the spool is fast.
        let left = texts.len() - kept(sandbox, &texts)?;
        table.add("  not saved by the hook itself", left as f64, "events", None, Some(AtMost(0.0)));
    }
    let [busy, large] = times.map(|[prompts, _]| percentile(&prompts, 50));
    table.add("  of a prompt, large log to the smaller one", large / busy, "times", None, Some(AtMost(NO_SLOWER)));
    at_once(binaries, floors, table)
}

/// Hooks of several sessions at once, in a log with sections.
fn at_once(binaries: &Binaries, floors: &Floors, table: &mut Table) -> Outcome<()> {
    let file = tempfile::tempdir()?;
    let mut workers = [(); WORKERS];
    let append = |_: &mut (), worker: usize, _| {
        timed(floors.append(&file.path().join(worker.to_string())), &Value::Null).map(drop)
    };
    let appended = crowd::at_once(&mut workers, append)?.all.as_secs_f64();
    table.add(format!("{WORKERS} x {TURNS} processes that append a line"), appended, "s", None, None);
    for served in ["without a server", "with a server"] {
        let sandbox = with_sections(binaries, BUSY_DAY)?;
        let mut server = Server::start(serve(&sandbox))?;
        server.call("memory_stats", &json!({}))?;
        let server = if served == "with a server" { Some(server) } else { server.end().map(|()| None)? };
        let texts = saves("crowd", WORKERS * TURNS);
        let mut taken = crowd::at_once(&mut workers, |_, worker, turn| {
            let (command, mut event) = saying(&sandbox, turn, &texts[worker * TURNS + turn]);
            event["session_id"] = format!("session-{worker}").into();
            timed(command, &event).map(drop)
        })?;
        server.map_or(Ok(()), Server::end)?;
        let name = format!("{WORKERS} x {TURNS} hooks at once, {served}");
        table.add(&name, taken.all.as_secs_f64(), "s", Some(appended), Some(AtMost(AT_ONCE * appended)));
        table.add_times("  a hook", &mut taken.each, None, &[(50, None), (99, None)]);
        let texts: Vec<&Save> = texts.iter().collect();
        let at_once = kept(&sandbox, &texts)?;
        // A command saves what hooks had to leave in the spool.
        sandbox.run_cli(["stats"]).success();
        let lost = texts.len() - kept(&sandbox, &texts)?;
        table.add("  not saved by the hook itself", (texts.len() - at_once) as f64, "events", None, None);
        table.add("  lost or there twice", lost as f64, "events", None, Some(AtMost(0.0)));
    }
    Ok(())
}

/// A store whose log of today has a section of each type of knowledge, and before these so many prompts and answers.
fn with_sections(binaries: &Binaries, entries: usize) -> Outcome<Sandbox> {
    let sandbox = Sandbox::new(binaries.clone());
    for save in saves("section", TYPES.len()) {
        sandbox.run_cli(["save", save.kind, &save.text]).success();
    }
    let mut names = fs::read_dir(sandbox.store())?.filter_map(|item| item.ok()?.file_name().into_string().ok());
    let name = names.find(|name| name.starts_with("20") && name.ends_with(".md")).ok_or("no log of today")?;
    let path = sandbox.store().join(name);
    let text = fs::read_to_string(&path)?;
    let (title, rest) = text.split_once("\n\n").ok_or("a log without a title")?;
    let mut log = format!("{title}\n\n");
    for (number, text) in memories(entries).iter().enumerate() {
        let label = if number % 2 == 0 { "User Prompt" } else { "Assistant Response" };
        // All in the first minute of the day, so that no entry is in the future.
        writeln!(log, "- [00:00:{:02}] **{label}**: {text}", number * 60 / entries)?;
    }
    fs::write(&path, log + "\n" + rest)?;
    stages::timed(&sandbox, "none", &["index"]);
    Ok(sandbox)
}

/// The hook of a prompt or, every other turn, of an answer with this text.
fn saying(sandbox: &Sandbox, turn: usize, save: &Save) -> (Command, Value) {
    let (hook, event, field) = match turn % 2 {
        0 => ("memory-prompt-save", "UserPromptSubmit", "prompt"),
        _ => ("memory-complete", "Stop", "last_assistant_message"),
    };
    let mut event = sandbox.event(event);
    event[field] = save.text.as_str().into();
    (sandbox.hook_command(hook), event)
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
