//! Hooks of Codex (seen with 0.169.0). They have the names and fields of Claude Code's.
//!
//! The exit code of a command and the summary of a compaction are only in the session's rollout file. There is no event for a failed
//! edit.

use serde_json::Value;

use super::apply_patch::file_patches;
use super::codex_rollout::{command_result, compaction_summary};
use super::command_output::codex_output;
use super::common::{CommandResult, text};
use crate::host::hook::HookPayload;

pub(super) fn payloads(wire: &Value) -> Vec<HookPayload> {
    let base = HookPayload {
        session_id: text(&wire["session_id"]),
        cwd: text(&wire["cwd"]),
        hook_event_name: text(&wire["hook_event_name"]),
        model: text(&wire["model"]),
        ..HookPayload::default()
    };
    // The agent writes the prompts of a subagent.
    let is_of_subagent = wire["agent_id"].is_string();
    match wire["hook_event_name"].as_str().unwrap_or_default() {
        "UserPromptSubmit" | "PreCompact" | "PostCompact" if is_of_subagent => Vec::new(),
        "SessionStart" => vec![HookPayload { source: text(&wire["source"]), ..base }],
        "UserPromptSubmit" => vec![HookPayload { prompt: text(&wire["prompt"]), ..base }],
        "PostToolUse" => tool_payloads(&base, wire),
        "Stop" => vec![HookPayload {
            last_assistant_message: text(&wire["last_assistant_message"]),
            stop_hook_active: wire["stop_hook_active"].as_bool(),
            ..base
        }],
        "SubagentStop" => vec![HookPayload {
            last_assistant_message: text(&wire["last_assistant_message"]),
            agent_type: text(&wire["agent_type"]),
            ..base
        }],
        "PreCompact" => vec![base],
        "PostCompact" => {
            let summary = wire["transcript_path"].as_str().and_then(compaction_summary);
            summary.map(|summary| HookPayload { compact_summary: Some(summary), ..base }).into_iter().collect()
        }
        "SessionEnd" => vec![HookPayload { reason: text(&wire["reason"]), ..base }],
        _ => Vec::new(),
    }
}

fn tool_payloads(base: &HookPayload, wire: &Value) -> Vec<HookPayload> {
    // `apply_patch` calls its patch a command, too.
    let Some(command) = wire["tool_input"]["command"].as_str() else { return Vec::new() };
    match wire["tool_name"].as_str() {
        Some("Bash") => {
            let response = wire["tool_response"].as_str().unwrap_or_default();
            let in_rollout =
                || command_result(wire["transcript_path"].as_str()?, wire["tool_use_id"].as_str()?, response);
            // Some versions begin the response with the exit code, as `apply_patch` does.
            let in_response = codex_output(response)
                .map(|output| CommandResult::Exit { code: output.code, output: output.text.to_owned() });
            let result = in_response.or_else(in_rollout);
            vec![base.clone().ran(command, result.unwrap_or(CommandResult::Unknown))]
        }
        Some("apply_patch") => file_patches(command).iter().map(|file| base.clone().patched(file)).collect(),
        _ => Vec::new(),
    }
}
