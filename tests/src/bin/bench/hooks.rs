//! What hooks cost the host on a large store with a server, as ratios to a process that does nothing.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::Sandbox;
use harness::benchmark::Floors;
use serde_json::Value;

use crate::Outcome;
use crate::figures::Goal::AtMost;
use crate::figures::{Table, percentile};

/// How often each is run.
const RUNS: usize = 150;

/// The ratios that are promised.
const TRACKING: f64 = 1.6;
const PROMPT: f64 = 2.0;
const BRIEF: f64 = 12.0;

pub(crate) fn measure(sandbox: &Sandbox, floors: &Floors, table: &mut Table) -> Outcome<()> {
    let [mut nothing, mut tracking, mut prompt, mut brief] = [(); 4].map(|()| Vec::with_capacity(RUNS));
    for run in 0..RUNS {
        nothing.push(timed(Command::new(&floors.noop), &Value::Null)?);
        let mut event = sandbox.event("PostToolUse.Edit");
        event["tool_input"]["file_path"] = sandbox.project().join(format!("src/{run}.rs")).to_string_lossy().into();
        tracking.push(timed(sandbox.hook_command("memory-track"), &event)?);
        let mut event = sandbox.event("UserPromptSubmit");
        event["prompt"] = format!("{run}: why does the watcher miss files that editors replace?").into();
        prompt.push(timed(sandbox.hook_command("memory-prompt-save"), &event)?);
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
