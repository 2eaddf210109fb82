//! Hooks and saves that go on while an editor is at work.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::shared::{DEADLINE, Place, Said, Shared, prompt};
use crate::mcp_client::{Era, McpClient};
use crate::outcome::run_to_end;
use crate::poll::poll;
use crate::proof::Random;

/// How soon a server must answer the queue.
const QUEUE_DEADLINE: Duration = Duration::from_secs(60);

/// How often something is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A few times a second, as often into long-term memory as into the log.
    Slow,
    /// Again and again, and most of it into long-term memory: git writes for a fraction of a millisecond.
    Fast,
}

impl Pace {
    fn rest(self, random: &mut Random) {
        let (least, more) = if self == Self::Fast { (0, 10) } else { (150, 400) };
        thread::sleep(Duration::from_millis(least + random.below(more) as u64));
    }
}

/// A server that answers hooks.
pub(super) fn served(shared: &Shared) -> McpClient {
    let mut client = shared.sandbox.serve(Era::Modern);
    client.set_patience(DEADLINE);
    if poll(QUEUE_DEADLINE, || (client.queue_answered_by() == "this_server").then_some(())).is_none() {
        shared.find("server", "it does not answer the queue");
    }
    client
}

/// Prompts, one after the other.
pub(super) fn hooks(shared: &Shared, mut random: Random) {
    while !shared.is_over() {
        let said = shared.begin("a hook", Place::Log);
        let command = shared.sandbox.hook_command("memory-prompt-save");
        let outcome = run_to_end(command, &prompt(&shared.sandbox, &said.text), DEADLINE);
        match outcome.status.success() && outcome.stderr.is_empty() {
            true => shared.acknowledge(&said),
            false => shared.find("a hook failed", format!("a hook ended with {}: {}", outcome.status, outcome.stderr)),
        }
        // People and agents pause between what they do.
        thread::sleep(Duration::from_millis(100 + random.below(200) as u64));
    }
}

/// Saves on the command line, where there is no server.
pub(super) fn commands(shared: &Shared, pace: Pace, mut random: Random) {
    while !shared.is_over() {
        let said = of_either_place(shared, pace, "a command", &mut random);
        let mut arguments = vec!["save", kind(&mut random), &said.text];
        if said.place == Place::LongTerm {
            arguments.push("--long-term");
        }
        let outcome = shared.sandbox.run_cli(arguments);
        match outcome.status.success() {
            true => shared.acknowledge(&said),
            false => shared.find("a save failed", format!("a save ended with {}: {}", outcome.status, outcome.stderr)),
        }
        pace.rest(&mut random);
    }
}

/// Calls of `memory_save`.
pub(super) fn tool_calls(shared: &Shared, client: &mut McpClient, pace: Pace, mut random: Random) {
    while !shared.is_over() {
        let said = of_either_place(shared, pace, "a tool call", &mut random);
        let is_long_term = said.place == Place::LongTerm;
        let arguments = json!({ "type": kind(&mut random), "content": said.text, "longTerm": is_long_term });
        match client.call("memory_save", arguments) {
            Ok(answer) if !answer.is_error => shared.acknowledge(&said),
            Ok(answer) => shared.find("a save failed", format!("memory_save failed: {}", answer.text)),
            Err(error) => shared.find("a save failed", format!("memory_save failed: {error:?}")),
        }
        pace.rest(&mut random);
    }
}

fn of_either_place(shared: &Shared, pace: Pace, sender: &str, random: &mut Random) -> Said {
    let is_log = random.once_in(if pace == Pace::Fast { 4 } else { 2 });
    shared.begin(sender, if is_log { Place::Log } else { Place::LongTerm })
}

fn kind(random: &mut Random) -> &'static str {
    random.one(&["decision", "learning", "convention"])
}
