//! Hooks of Cursor, written from its documentation and not tested with it.
//!
//! The answer comes with `afterAgentResponse`, which may fire for each message of a turn, and `stop` ends the turn without a text.

use serde_json::Value;

use super::command_output::CommandOutput;
use super::common::{replacements, text};
use crate::host::hook::HookPayload;

pub(super) fn payload(wire: &Value) -> Option<HookPayload> {
    // Its agents report to another conversation.
    if wire["is_background_agent"] == true {
        return None;
    }
    let base = HookPayload {
        session_id: text(&wire["conversation_id"]).or_else(|| text(&wire["session_id"])),
        cwd: text(&wire["workspace_roots"][0]),
        model: text(&wire["model"]),
        ..HookPayload::default()
    };
    let command = wire["tool_input"]["command"].as_str();
    let is_shell = wire["tool_name"] == "Shell";
    Some(match wire["hook_event_name"].as_str()? {
        "sessionStart" => base.with_event("SessionStart"),
        "beforeSubmitPrompt" => HookPayload { prompt: text(&wire["prompt"]), ..base.with_event("UserPromptSubmit") },
        "afterFileEdit" => base.replaced(wire["file_path"].as_str()?, &replacements(&wire["edits"])),
        "postToolUse" if is_shell => {
            // The output is JSON in a text.
            let output = wire["tool_output"].as_str().and_then(|output| serde_json::from_str(output).ok());
            let output: Value = output.unwrap_or_default();
            let part = |name: &str| output[name].as_str().unwrap_or_default();
            let text = [part("stderr"), part("stdout")].join("\n");
            base.ran(command?, output["exitCode"].as_i64().map(|code| CommandOutput { code, text: &text }))
        }
        "postToolUseFailure" if is_shell => HookPayload {
            error: text(&wire["error_message"]),
            is_interrupt: wire["is_interrupt"].as_bool(),
            is_outcome_unknown: false,
            ..base.ran(command?, None).with_event("PostToolUseFailure")
        },
        "afterAgentResponse" => HookPayload { last_assistant_message: text(&wire["text"]), ..base.with_event("Stop") },
        "stop" => base.with_event("Stop"),
        "subagentStop" => HookPayload {
            agent_type: text(&wire["subagent_type"]),
            last_assistant_message: text(&wire["summary"]),
            ..base.with_event("SubagentStop")
        },
        "preCompact" => base.with_event("PreCompact"),
        "sessionEnd" => HookPayload { reason: text(&wire["reason"]), ..base.with_event("SessionEnd") },
        _ => return None,
    })
}
