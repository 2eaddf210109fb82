//! Hooks of Windsurf's Cascade, written from its documentation and not tested with it.
//!
//! There is no event for the start, the end or the compaction of a session, and no output reaches the model.

use serde_json::Value;

use super::common::{CommandResult, replacements, text};
use crate::host::hook::HookPayload;

pub(super) fn payloads(wire: &Value) -> Vec<HookPayload> {
    let info = &wire["tool_info"];
    // A trajectory is a conversation.
    let base = HookPayload { session_id: text(&wire["trajectory_id"]), ..HookPayload::default() };
    let found = match wire["agent_action_name"].as_str() {
        Some("pre_user_prompt") => {
            Some(HookPayload { prompt: text(&info["user_prompt"]), ..base.with_event("UserPromptSubmit") })
        }
        Some("post_write_code") => {
            info["file_path"].as_str().map(|path| base.replaced(path, &replacements(&info["edits"])))
        }
        Some("post_run_command") => {
            let output = text(&info["output"]).unwrap_or_default();
            let exit = info["exit_code"].as_i64().map(|code| CommandResult::Exit { code, output });
            info["command_line"].as_str().map(|command| base.ran(command, exit.unwrap_or(CommandResult::Unknown)))
        }
        Some("post_cascade_response") => {
            Some(HookPayload { last_assistant_message: text(&info["response"]), ..base.with_event("Stop") })
        }
        _ => None,
    };
    found.into_iter().collect()
}
