//! Cost of hooks as whole processes: on a large store with and without a server, and many at once, relative to minimal
//! processes.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::benchmark::BaselinePrograms;
use harness::peer::TimedServer;
use harness::{Binaries, Sandbox};
use serde_json::{Value, json};

use crate::arguments::Outcome;
use crate::crowd::{self, TURNS, WORKERS};
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::{FigureTable, percentile};
use crate::memories::{SampleSave, TYPES, count_saved, sample_memories, sample_saves};
use crate::start::{self, NO_SLOWER, serve_command};

const RUNS: usize = 150;

/// Promised ratios.
const TRACKING: f64 = 1.6;
const PROMPT: f64 = 2.0;
const DIRECT: f64 = 5.0;
const BRIEF: f64 = 12.0;
const AT_ONCE: f64 = 6.0;

/// Entries in the log of a busy day, and in an exceptionally large log.
const BUSY_DAY: usize = 1_600;
const LARGE: usize = 100_000;

/// Added to the numbers of events that the store has before the measurement.
const BEFORE: usize = 1_000_000;

pub(crate) fn measure(sandbox: &Sandbox, floors: &BaselinePrograms, table: &mut FigureTable) -> Outcome<()> {
    let [mut nothing, mut tracking, mut prompt, mut brief] = [(); 4].map(|()| Vec::with_capacity(RUNS));
    for run in 0..RUNS {
        nothing.push(time_command(Command::new(&floors.noop), &Value::Null)?);
        let mut event = sandbox.event("PostToolUse.Edit");
        event["tool_input"]["file_path"] = sandbox.project().join(format!("src/{run}.rs")).to_string_lossy().into();
        tracking.push(time_command(sandbox.hook_command("memory-track"), &event)?);
        prompt.push(time_command(sandbox.hook_command("memory-prompt-save"), &prompt_event(sandbox, run))?);
        brief.push(time_command(sandbox.hook_command("memory-load"), &sandbox.event("SessionStart.startup"))?);
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

/// Measures hooks during a full rebuild of a large store's index, and whether their events are saved.
pub(crate) fn measure_while_indexing(sandbox: &Sandbox, table: &mut FigureTable) -> Outcome<()> {
    let mut command = sandbox.memory_command();
    command.args(["index", "--full"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut indexing = command.spawn()?;
    let mut prompt = Vec::new();
    while indexing.try_wait()?.is_none() {
        let number = BEFORE + prompt.len();
        prompt.push(time_command(sandbox.hook_command("memory-prompt-save"), &prompt_event(sandbox, number))?);
    }
    indexing.wait()?.success().then_some(()).ok_or("index --full failed")?;
    let kept = (BEFORE..BEFORE + prompt.len()).map(prompt_text);
    let logs = sandbox.logs();
    let kept = kept.filter(|text| logs.contains(text)).count() as f64 / prompt.len() as f64;
    let name = "hook memory-prompt-save, during index --full";
    table.add_times(name, &mut prompt, None, &[(50, None), (99, Some(AtMost(15.0)))]);
    table.add("  of them saved", kept, "share", None, Some(AtLeast(1.0)));
    Ok(())
}

/// Measures hooks without a server: with the log of a busy day, with a large log, and many processes at once.
pub(crate) fn measure_alone(binaries: &Binaries, floors: &BaselinePrograms, table: &mut FigureTable) -> Outcome<()> {
    let file = tempfile::tempdir()?;
    let logs =
        [(BUSY_DAY, sandbox_with_sections(binaries, BUSY_DAY)?), (LARGE, sandbox_with_sections(binaries, LARGE)?)];
    let [mut nothing, mut append] = [(); 2].map(|()| Vec::with_capacity(RUNS));
    let mut times = [(); 2].map(|()| [(); 2].map(|()| Vec::with_capacity(RUNS)));
    let texts = sample_saves("direct", 2 * RUNS);
    for pair in texts.chunks(2) {
        nothing.push(time_command(Command::new(&floors.noop), &Value::Null)?);
        append.push(time_command(floors.append(&file.path().join("log")), &Value::Null)?);
        for ((_, sandbox), times) in logs.iter().zip(&mut times) {
            for (turn, (save, times)) in pair.iter().zip(times).enumerate() {
                let (command, event) = hook_saving(sandbox, turn, save);
                times.push(time_command(command, &event)?);
            }
        }
    }
    nothing.sort_unstable();
    let floor = percentile(&nothing, 50);
    table.add_times("a process that appends a line", &mut append, Some(floor), &[(50, None)]);
    let texts: Vec<&SampleSave> = texts.iter().collect();
    for ((entries, sandbox), times) in logs.iter().zip(&mut times) {
        for (what, times) in ["prompt", "answer"].into_iter().zip(times) {
            let goals = [(50, Some(AtMost(DIRECT * floor))), (99, None)];
            table.add_times(&format!("hook of {what}, no server, log of {entries}"), times, Some(floor), &goals);
        }
        // A hook that times out and queues its event looks fast.
        let left = texts.len() - count_saved(sandbox, &texts)?;
        table.add("  not saved by the hook itself", left as f64, "events", None, Some(AtMost(0.0)));
    }
    let [busy, large] = times.map(|[prompts, _]| percentile(&prompts, 50));
    table.add("  prompt: large log relative to the smaller one", large / busy, "times", None, Some(AtMost(NO_SLOWER)));
    measure_concurrent(binaries, floors, table)
}

/// Measures hooks of several sessions at once, in a log with sections.
fn measure_concurrent(binaries: &Binaries, floors: &BaselinePrograms, table: &mut FigureTable) -> Outcome<()> {
    let file = tempfile::tempdir()?;
    let mut workers = [(); WORKERS];
    let append = |(): &mut (), worker: usize, _| {
        time_command(floors.append(&file.path().join(worker.to_string())), &Value::Null).map(drop)
    };
    let appended = crowd::run_crowd(&mut workers, append)?.total.as_secs_f64();
    table.add(format!("{WORKERS} x {TURNS} processes that append a line"), appended, "s", None, None);
    for served in ["without a server", "with a server"] {
        let sandbox = sandbox_with_sections(binaries, BUSY_DAY)?;
        let mut server = TimedServer::start(serve_command(&sandbox))?;
        server.call("memory_stats", &json!({}))?;
        let server = if served == "with a server" { Some(server) } else { server.end().map(|()| None)? };
        let texts = sample_saves("crowd", WORKERS * TURNS);
        let mut taken = crowd::run_crowd(&mut workers, |(), worker, turn| {
            let (command, mut event) = hook_saving(&sandbox, turn, &texts[worker * TURNS + turn]);
            event["session_id"] = format!("session-{worker}").into();
            time_command(command, &event).map(drop)
        })?;
        server.map_or(Ok(()), TimedServer::end)?;
        let name = format!("{WORKERS} x {TURNS} hooks at once, {served}");
        table.add(&name, taken.total.as_secs_f64(), "s", Some(appended), Some(AtMost(AT_ONCE * appended)));
        table.add_times("  a hook", &mut taken.turns, None, &[(50, None), (99, None)]);
        let texts: Vec<&SampleSave> = texts.iter().collect();
        let at_once = count_saved(&sandbox, &texts)?;
        // Saves the events that hooks queued on disk.
        sandbox.run_cli(["stats"]).assert_success();
        let lost = texts.len() - count_saved(&sandbox, &texts)?;
        table.add("  not saved by the hook itself", (texts.len() - at_once) as f64, "events", None, None);
        table.add("  lost or duplicated", lost as f64, "events", None, Some(AtMost(0.0)));
    }
    Ok(())
}

/// Returns a store whose log of today has a section per type of knowledge, after this many prompts and answers.
fn sandbox_with_sections(binaries: &Binaries, entries: usize) -> Outcome<Sandbox> {
    let sandbox = Sandbox::new(binaries.clone());
    for save in sample_saves("section", TYPES.len()) {
        sandbox.run_cli(["save", save.kind, &save.text]).assert_success();
    }
    let mut names = fs::read_dir(sandbox.store())?.filter_map(|item| item.ok()?.file_name().into_string().ok());
    let name = names.find(|name| name.starts_with("20") && name.ends_with(".md")).ok_or("no log of today")?;
    let path = sandbox.store().join(name);
    let text = fs::read_to_string(&path)?;
    let (title, rest) = text.split_once("\n\n").ok_or("a log without a title")?;
    let mut log = format!("{title}\n\n");
    for (number, text) in sample_memories(entries).iter().enumerate() {
        let label = if number % 2 == 0 { "User Prompt" } else { "Assistant Response" };
        // Dates all entries in the first minute of the day, so that none is in the future.
        writeln!(log, "- [00:00:{:02}] **{label}**: {text}", number * 60 / entries)?;
    }
    fs::write(&path, log + "\n" + rest)?;
    start::time_command(&sandbox, "none", &["index"]);
    Ok(sandbox)
}

/// Returns the hook for a prompt or, every other turn, for an answer.
fn hook_saving(sandbox: &Sandbox, turn: usize, save: &SampleSave) -> (Command, Value) {
    let (hook, event, field) = match turn % 2 {
        0 => ("memory-prompt-save", "UserPromptSubmit", "prompt"),
        _ => ("memory-complete", "Stop", "last_assistant_message"),
    };
    let mut event = sandbox.event(event);
    event[field] = save.text.as_str().into();
    (sandbox.hook_command(hook), event)
}

/// Returns a prompt with a unique text.
fn prompt_event(sandbox: &Sandbox, n: usize) -> Value {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = prompt_text(n).into();
    event
}

fn prompt_text(n: usize) -> String {
    format!("{n}: why does the watcher miss files that editors replace?")
}

fn time_command(mut command: Command, event: &Value) -> Outcome<Duration> {
    let input = event.to_string();
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A minimal program may have exited without reading.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait()?.success().then(|| started.elapsed()).ok_or_else(|| "a measured program failed".into())
}
