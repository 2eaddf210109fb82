//! Hooks and saves that run while an editor works.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::loop_state::{DEADLINE, LoopState, MemoryFile, SentText};
use crate::mcp_client::{Era, McpClient};
use crate::polling::poll;
use crate::program_output::run_to_end;
use crate::proof::SeededRandom;

/// The time within which a server must answer the queue.
const QUEUE_DEADLINE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveRate {
    /// A few times a second, half of it to long-term memory.
    Slow,
    /// Constantly and mostly to long-term memory, because git writes for less than a millisecond.
    Fast,
}

impl SaveRate {
    fn rest(self, random: &mut SeededRandom) {
        let (least, more) = if self == Self::Fast { (0, 10) } else { (150, 400) };
        thread::sleep(Duration::from_millis(least + random.below(more) as u64));
    }
}

/// Starts a server that answers hooks.
pub(super) fn serve(shared: &LoopState) -> McpClient {
    let mut client = shared.sandbox.serve(Era::Modern);
    client.set_timeout(DEADLINE);
    if poll(QUEUE_DEADLINE, || (client.queue_answered_by() == "this_server").then_some(())).is_none() {
        shared.add_finding("server", "it does not answer the queue");
    }
    client
}

/// Sends prompts one after another.
pub(super) fn run_hooks(shared: &LoopState, mut random: SeededRandom) {
    while !shared.is_over() {
        let said = shared.begin_text("a hook", MemoryFile::Log);
        let command = shared.sandbox.hook_command("memory-prompt-save");
        let outcome = run_to_end(command, &shared.sandbox.prompt_event(&said.text).to_string(), DEADLINE);
        match outcome.status.success() && outcome.stderr.is_empty() {
            true => shared.acknowledge(&said),
            false => {
                shared
                    .add_finding("a hook failed", format!("a hook ended with {}: {}", outcome.status, outcome.stderr));
            }
        }
        // People and agents pause between events.
        thread::sleep(Duration::from_millis(100 + random.below(200) as u64));
    }
}

/// Saves with commands, without a server.
pub(super) fn run_save_commands(shared: &LoopState, pace: SaveRate, mut random: SeededRandom) {
    while !shared.is_over() {
        let said = begin_text(shared, pace, "a command", &mut random);
        let mut arguments = vec!["save", random_kind(&mut random), &said.text];
        if said.place == MemoryFile::LongTerm {
            arguments.push("--long-term");
        }
        let outcome = shared.sandbox.run_cli(arguments);
        match outcome.status.success() {
            true => shared.acknowledge(&said),
            false => {
                shared
                    .add_finding("a save failed", format!("a save ended with {}: {}", outcome.status, outcome.stderr));
            }
        }
        pace.rest(&mut random);
    }
}

pub(super) fn run_tool_calls(shared: &LoopState, client: &mut McpClient, pace: SaveRate, mut random: SeededRandom) {
    while !shared.is_over() {
        let said = begin_text(shared, pace, "a tool call", &mut random);
        let is_long_term = said.place == MemoryFile::LongTerm;
        let arguments = json!({ "type": random_kind(&mut random), "content": said.text, "longTerm": is_long_term });
        match client.call("memory_save", arguments) {
            Ok(answer) if !answer.is_error => shared.acknowledge(&said),
            Ok(answer) => shared.add_finding("a save failed", format!("memory_save failed: {}", answer.text)),
            Err(error) => shared.add_finding("a save failed", format!("memory_save failed: {error:?}")),
        }
        pace.rest(&mut random);
    }
}

fn begin_text(shared: &LoopState, pace: SaveRate, sender: &str, random: &mut SeededRandom) -> SentText {
    let is_log = random.once_in(if pace == SaveRate::Fast { 4 } else { 2 });
    shared.begin_text(sender, if is_log { MemoryFile::Log } else { MemoryFile::LongTerm })
}

fn random_kind(random: &mut SeededRandom) -> &'static str {
    random.pick(&["decision", "learning", "convention"])
}
