//! Hooks of Windsurf's Cascade, written from its documentation and not tested with it.
//!
//! There is no event for the start, the end or the compaction of a session, and no output reaches the model.

use serde_json::Value;

use super::command_output::CommandOutput;
use super::common::{replacements, text};
use crate::host::hook::HookPayload;

pub(super) fn payload(wire: &Value) -> Option<HookPayload> {
    let info = &wire["tool_info"];
    // A trajectory is a conversation.
    let base = HookPayload { session_id: text(&wire["trajectory_id"]), ..HookPayload::default() };
    Some(match wire["agent_action_name"].as_str()? {
        "pre_user_prompt" => HookPayload { prompt: text(&info["user_prompt"]), ..base.with_event("UserPromptSubmit") },
        "post_write_code" => base.replaced(info["file_path"].as_str()?, &replacements(&info["edits"])),
        "post_run_command" => {
            let text = info["output"].as_str().unwrap_or_default();
            let output = info["exit_code"].as_i64().map(|code| CommandOutput { code, text });
            base.ran(info["command_line"].as_str()?, output)
        }
        "post_cascade_response" => {
            HookPayload { last_assistant_message: text(&info["response"]), ..base.with_event("Stop") }
        }
        _ => return None,
    })
}
