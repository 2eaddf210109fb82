//! Hooks of Cursor, written from its documentation and not tested with it.
//!
//! The answer comes with `afterAgentResponse`, which may fire for each message of a turn, and `stop` ends the turn without a text.

use serde_json::Value;

use super::common::{CommandResult, replacements, text};
use crate::host::hook::HookPayload;

pub(super) fn payloads(wire: &Value) -> Vec<HookPayload> {
    let base = HookPayload {
        session_id: text(&wire["conversation_id"]).or_else(|| text(&wire["session_id"])),
        cwd: text(&wire["workspace_roots"][0]),
        model: text(&wire["model"]),
        ..HookPayload::default()
    };
    let command = wire["tool_input"]["command"].as_str();
    let is_shell = wire["tool_name"] == "Shell";
    let found = match wire["hook_event_name"].as_str() {
        // Its agents report to another conversation.
        _ if wire["is_background_agent"] == true => None,
        Some("sessionStart") => Some(base.with_event("SessionStart")),
        Some("beforeSubmitPrompt") => {
            Some(HookPayload { prompt: text(&wire["prompt"]), ..base.with_event("UserPromptSubmit") })
        }
        Some("afterFileEdit") => {
            wire["file_path"].as_str().map(|path| base.replaced(path, &replacements(&wire["edits"])))
        }
        Some("postToolUse") if is_shell => {
            command.map(|command| base.ran(command, shell_result(wire["tool_output"].as_str())))
        }
        Some("postToolUseFailure") if is_shell => command.map(|command| HookPayload {
            error: text(&wire["error_message"]),
            is_interrupt: wire["is_interrupt"].as_bool(),
            is_outcome_unknown: false,
            ..base.ran(command, CommandResult::Unknown).with_event("PostToolUseFailure")
        }),
        Some("afterAgentResponse") => {
            Some(HookPayload { last_assistant_message: text(&wire["text"]), ..base.with_event("Stop") })
        }
        Some("stop") => Some(base.with_event("Stop")),
        Some("subagentStop") => Some(HookPayload {
            agent_type: text(&wire["subagent_type"]),
            last_assistant_message: text(&wire["summary"]),
            ..base.with_event("SubagentStop")
        }),
        Some("preCompact") => Some(base.with_event("PreCompact")),
        Some("sessionEnd") => Some(HookPayload { reason: text(&wire["reason"]), ..base.with_event("SessionEnd") }),
        _ => None,
    };
    found.into_iter().collect()
}

/// Reads the output of a command, which is JSON in a text.
fn shell_result(output: Option<&str>) -> CommandResult {
    let output: Value = output.and_then(|output| serde_json::from_str(output).ok()).unwrap_or_default();
    let part = |name: &str| output[name].as_str().unwrap_or_default();
    match output["exitCode"].as_i64() {
        Some(code) => CommandResult::Exit { code, output: [part("stderr"), part("stdout")].join("\n") },
        None => CommandResult::Unknown,
    }
}
