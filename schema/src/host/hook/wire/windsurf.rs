//! Hooks of Windsurf's Cascade, written from its documentation and not tested with it.
//!
//! There is no event for the start, the end or the compaction of a session, and no output reaches the model.

use serde::Deserialize;

use super::apply_patch::Replacement;
use super::common::{CommandResult, Lenient};
use crate::host::hook::HookPayload;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WindsurfWire {
    agent_action_name: Lenient<String>,
    /// The conversation.
    trajectory_id: Lenient<String>,
    tool_info: Lenient<ToolInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInfo {
    user_prompt: Lenient<String>,
    response: Lenient<String>,
    file_path: Lenient<String>,
    edits: Lenient<Vec<Replacement>>,
    command_line: Lenient<String>,
    exit_code: Lenient<i64>,
    output: Lenient<String>,
}

pub(super) fn payloads(wire: WindsurfWire) -> Vec<HookPayload> {
    let info = wire.tool_info.0.unwrap_or_default();
    let base = HookPayload { session_id: wire.trajectory_id.0, ..HookPayload::default() };
    let found = match wire.agent_action_name.0.as_deref() {
        Some("pre_user_prompt") => {
            Some(HookPayload { prompt: info.user_prompt.0, ..base.with_event("UserPromptSubmit") })
        }
        Some("post_write_code") => {
            let edits = info.edits.0.unwrap_or_default();
            info.file_path.0.map(|path| base.replaced(&path, &edits))
        }
        Some("post_run_command") => {
            let output = info.output.0.unwrap_or_default();
            let exit = info.exit_code.0.map(|code| CommandResult::Exit { code, output });
            info.command_line.0.map(|command| base.ran(&command, exit.unwrap_or(CommandResult::Unknown)))
        }
        Some("post_cascade_response") => {
            Some(HookPayload { last_assistant_message: info.response.0, ..base.with_event("Stop") })
        }
        _ => None,
    };
    found.into_iter().collect()
}
