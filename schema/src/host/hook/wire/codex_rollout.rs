//! Reads the end of a session's rollout file, which Codex writes before it calls a hook.
//!
//! The format is internal to Codex. A line that cannot be parsed is skipped, and a missing line only means that less is known.

use std::path::Path;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

use super::common::CommandResult;
use crate::host::transcript::line_reader::BackwardLines;

/// How far from the end a command is searched, in bytes. Its line is among the last ones.
const COMMAND_REACH: u64 = 512 * 1024;

/// How far from the end a compaction is searched, in bytes. Its line contains the shortened conversation.
const COMPACTION_REACH: u64 = 4 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RolloutLine {
    payload: RolloutPayload,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RolloutPayload {
    item: Value,
    /// The text that a compaction leaves: an introduction, and the summary on the lines after it.
    message: Value,
}

/// Returns the result of the command with this call id.
pub(super) fn command_result(rollout: &str, call: &str, output: &str) -> Option<CommandResult> {
    let line = last_line(rollout, COMMAND_REACH, "\"CommandExecution\"", |line: &RolloutLine| {
        line.payload.item["id"] == call
    })?;
    let code = line.payload.item["exit_code"].as_i64()?;
    Some(CommandResult::Exit { code, output: output.to_owned() })
}

/// Returns the summary of the last compaction, if it is a text.
pub(super) fn compaction_summary(rollout: &str) -> Option<String> {
    let line = last_line(rollout, COMPACTION_REACH, "\"type\":\"compacted\"", |_: &RolloutLine| true)?;
    let (_, summary) = line.payload.message.as_str()?.split_once('\n')?;
    Some(summary.trim().to_owned()).filter(|summary| !summary.is_empty())
}

fn last_line(path: &str, reach: u64, mark: &str, is_wanted: impl Fn(&RolloutLine) -> bool) -> Option<RolloutLine> {
    let mut lines = BackwardLines::open(Path::new(path), reach).ok()?;
    while let Some((_, bytes)) = lines.next().ok()? {
        // Skip most lines without parsing them.
        if memmem::find(&bytes, mark.as_bytes()).is_none() {
            continue;
        }
        if let Some(line) = serde_json::from_slice(&bytes).ok().filter(|line| is_wanted(line)) {
            return Some(line);
        }
    }
    None
}
