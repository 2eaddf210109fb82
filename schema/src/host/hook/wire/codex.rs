//! Hooks of Codex (seen with 0.169.0). They have the names and fields of Claude Code's. There is no event for a failed edit.
//!
//! The exit code of a command and the summary of a compaction are only in the session's rollout file, which Codex writes before it calls a
//! hook. Its format is internal to Codex. A line that cannot be parsed is skipped, and a missing line only means that less is known.

use std::path::Path;

use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;

use super::apply_patch::file_patches;
use super::command_output::{CommandOutput, codex_output};
use super::common::{common_fields, text};
use crate::host::hook::HookPayload;
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

pub(super) fn payloads(wire: &Value) -> Vec<HookPayload> {
    let base = HookPayload {
        hook_event_name: text(&wire["hook_event_name"]),
        model: text(&wire["model"]),
        ..common_fields(wire)
    };
    // The agent writes the prompts of a subagent.
    let is_of_subagent = wire["agent_id"].is_string();
    match wire["hook_event_name"].as_str().unwrap_or_default() {
        "UserPromptSubmit" | "PreCompact" | "PostCompact" if is_of_subagent => Vec::new(),
        "SessionStart" => vec![HookPayload { source: text(&wire["source"]), ..base }],
        "UserPromptSubmit" | "Stop" | "SubagentStop" | "PreCompact" | "SessionEnd" => vec![base],
        "PostToolUse" => tool_payloads(&base, wire),
        "PostCompact" => {
            let summary = wire["transcript_path"].as_str().and_then(compaction_summary);
            summary.map(|summary| HookPayload { compact_summary: Some(summary), ..base }).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn tool_payloads(base: &HookPayload, wire: &Value) -> Vec<HookPayload> {
    // `apply_patch` calls its patch a command, too.
    let Some(command) = wire["tool_input"]["command"].as_str() else { return Vec::new() };
    match wire["tool_name"].as_str() {
        Some("Bash") => {
            let text = wire["tool_response"].as_str().unwrap_or_default();
            let in_rollout = || exit_code(wire["transcript_path"].as_str()?, wire["tool_use_id"].as_str()?);
            // Some versions begin the response with the exit code, as `apply_patch` does.
            let output = codex_output(text).or_else(|| Some(CommandOutput { code: in_rollout()?, text }));
            vec![base.clone().ran(command, output)]
        }
        Some("apply_patch") => file_patches(command).iter().map(|file| base.clone().patched(file)).collect(),
        _ => Vec::new(),
    }
}

/// Returns the exit code of the command with this call id.
fn exit_code(rollout: &str, call: &str) -> Option<i64> {
    let line = last_line(rollout, COMMAND_REACH, "\"CommandExecution\"", |line| line.payload.item["id"] == call)?;
    line.payload.item["exit_code"].as_i64()
}

/// Returns the summary of the last compaction, if it is a text.
fn compaction_summary(rollout: &str) -> Option<String> {
    let line = last_line(rollout, COMPACTION_REACH, "\"type\":\"compacted\"", |_| true)?;
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
