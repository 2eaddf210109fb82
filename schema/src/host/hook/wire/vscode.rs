//! Hooks of agents in VS Code (Copilot), written from its documentation and not tested with it.
//!
//! They do not bring the agent's answer, and do not say whether a command succeeded.

use serde::Deserialize;

use super::apply_patch::{Replacement, file_patches};
use super::common::{CommandResult, Lenient};
use crate::host::hook::HookPayload;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct VscodeWire {
    #[serde(rename = "sessionId")]
    session_id: Lenient<String>,
    #[serde(rename = "hookEventName")]
    hook_event_name: Lenient<String>,
    /// As Claude Code names the two fields above.
    #[serde(rename = "session_id")]
    other_session_id: Lenient<String>,
    #[serde(rename = "hook_event_name")]
    other_event_name: Lenient<String>,
    cwd: Lenient<String>,
    source: Lenient<String>,
    prompt: Lenient<String>,
    tool_name: Lenient<String>,
    tool_input: Lenient<ToolInput>,
    stop_hook_active: Lenient<bool>,
    agent_type: Lenient<String>,
    last_assistant_message: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInput {
    #[serde(rename = "filePath")]
    file_path: Lenient<String>,
    content: Lenient<String>,
    #[serde(rename = "oldString")]
    old_string: Lenient<String>,
    #[serde(rename = "newString")]
    new_string: Lenient<String>,
    replacements: Lenient<Vec<PlacedReplacement>>,
    files: Lenient<Vec<String>>,
    /// A patch.
    input: Lenient<String>,
    command: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PlacedReplacement {
    file_path: String,
    old_string: String,
    new_string: String,
}

pub(super) fn payloads(wire: VscodeWire) -> Vec<HookPayload> {
    let session_id = wire.session_id.0.or(wire.other_session_id.0);
    let base = HookPayload { session_id, cwd: wire.cwd.0, ..HookPayload::default() };
    let last_assistant_message = wire.last_assistant_message.0;
    match wire.hook_event_name.0.or(wire.other_event_name.0).as_deref() {
        Some("SessionStart") => vec![HookPayload { source: wire.source.0, ..base.with_event("SessionStart") }],
        Some("UserPromptSubmit") => vec![HookPayload { prompt: wire.prompt.0, ..base.with_event("UserPromptSubmit") }],
        Some("PostToolUse") => {
            tool_payloads(&base, wire.tool_name.0.as_deref().unwrap_or_default(), wire.tool_input.0.unwrap_or_default())
        }
        Some("Stop") => vec![HookPayload {
            last_assistant_message,
            stop_hook_active: wire.stop_hook_active.0,
            ..base.with_event("Stop")
        }],
        Some("SubagentStop") => vec![HookPayload {
            last_assistant_message,
            agent_type: wire.agent_type.0,
            ..base.with_event("SubagentStop")
        }],
        Some("PreCompact") => vec![base.with_event("PreCompact")],
        _ => Vec::new(),
    }
}

fn tool_payloads(base: &HookPayload, tool: &str, input: ToolInput) -> Vec<HookPayload> {
    let path = input.file_path.0;
    match tool {
        "create_file" => path.map(|path| base.clone().wrote(&path, &input.content.0.unwrap_or_default())),
        "replace_string_in_file" => path.map(|path| {
            let (old_string, new_string) =
                (input.old_string.0.unwrap_or_default(), input.new_string.0.unwrap_or_default());
            base.clone().replaced(&path, &[Replacement { old_string, new_string }])
        }),
        "insert_edit_into_file" | "edit_notebook_file" => path.map(|path| base.clone().changed(&path)),
        "run_in_terminal" | "runTerminalCommand" => {
            input.command.0.map(|command| base.clone().ran(&command, CommandResult::Unknown))
        }
        "multi_replace_string_in_file" => {
            let replaced = input.replacements.0.unwrap_or_default();
            let replaced = replaced.into_iter().map(|PlacedReplacement { file_path, old_string, new_string }| {
                base.clone().replaced(&file_path, &[Replacement { old_string, new_string }])
            });
            return replaced.collect();
        }
        "apply_patch" => {
            let patches = file_patches(input.input.0.as_deref().unwrap_or_default());
            return patches.iter().map(|file| base.clone().patched(file)).collect();
        }
        "editFiles" | "createFile" => {
            let files = input.files.0.unwrap_or_default();
            return files.iter().map(|path| base.clone().changed(path)).collect();
        }
        _ => None,
    }
    .into_iter()
    .collect()
}
