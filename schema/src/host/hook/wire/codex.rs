//! Hooks of Codex (seen with 0.169.0). They have the names and fields of Claude Code's.
//!
//! The exit code of a command and the summary of a compaction are only in the session's rollout file. There is no event for a failed
//! edit.

use serde::Deserialize;

use super::apply_patch::file_patches;
use super::codex_rollout::{command_result, compaction_summary};
use super::command_output::codex_output;
use super::common::{CommandResult, Lenient};
use crate::host::hook::HookPayload;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CodexWire {
    session_id: Lenient<String>,
    transcript_path: Lenient<String>,
    cwd: Lenient<String>,
    hook_event_name: Lenient<String>,
    model: Lenient<String>,
    source: Lenient<String>,
    reason: Lenient<String>,
    prompt: Lenient<String>,
    tool_name: Lenient<String>,
    tool_input: Lenient<ToolInput>,
    tool_response: Lenient<String>,
    tool_use_id: Lenient<String>,
    stop_hook_active: Lenient<bool>,
    last_assistant_message: Lenient<String>,
    agent_type: Lenient<String>,
    /// The subagent that the event belongs to. Its prompts are written by the agent.
    agent_id: Lenient<String>,
}

/// The input of `Bash` and of `apply_patch`, which calls its patch a command.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInput {
    command: Lenient<String>,
}

pub(super) fn payloads(wire: CodexWire) -> Vec<HookPayload> {
    let event = wire.hook_event_name.0.as_deref().unwrap_or_default().to_owned();
    let rollout = wire.transcript_path.0.as_deref();
    let base = HookPayload {
        session_id: wire.session_id.0,
        cwd: wire.cwd.0,
        hook_event_name: wire.hook_event_name.0,
        model: wire.model.0,
        ..HookPayload::default()
    };
    let is_of_subagent = wire.agent_id.0.is_some();
    match event.as_str() {
        "UserPromptSubmit" | "PreCompact" | "PostCompact" if is_of_subagent => Vec::new(),
        "SessionStart" => vec![HookPayload { source: wire.source.0, ..base }],
        "UserPromptSubmit" => vec![HookPayload { prompt: wire.prompt.0, ..base }],
        "PostToolUse" => {
            let Some(command) = wire.tool_input.0.and_then(|input| input.command.0) else { return Vec::new() };
            let response = wire.tool_response.0.unwrap_or_default();
            match wire.tool_name.0.as_deref() {
                Some("Bash") => {
                    // Some versions begin the response with the exit code, as `apply_patch` does.
                    let result = codex_output(&response)
                        .map(|output| CommandResult::Exit { code: output.code, output: output.text.to_owned() })
                        .or_else(|| command_result(rollout?, wire.tool_use_id.0.as_deref()?, &response));
                    vec![base.ran(&command, result.unwrap_or(CommandResult::Unknown))]
                }
                Some("apply_patch") => file_patches(&command).iter().map(|file| base.clone().patched(file)).collect(),
                _ => Vec::new(),
            }
        }
        "Stop" => vec![HookPayload {
            last_assistant_message: wire.last_assistant_message.0,
            stop_hook_active: wire.stop_hook_active.0,
            ..base
        }],
        "SubagentStop" => vec![HookPayload {
            last_assistant_message: wire.last_assistant_message.0,
            agent_type: wire.agent_type.0,
            ..base
        }],
        "PreCompact" => vec![base],
        "PostCompact" => {
            let summary = rollout.and_then(compaction_summary);
            summary.map(|summary| HookPayload { compact_summary: Some(summary), ..base }).into_iter().collect()
        }
        "SessionEnd" => vec![HookPayload { reason: wire.reason.0, ..base }],
        _ => Vec::new(),
    }
}
