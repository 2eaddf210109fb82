//! Hooks of agents in VS Code (Copilot), written from its documentation and not tested with it.
//!
//! They do not bring the agent's answer, and do not say whether a command succeeded.

use serde_json::Value;

use super::apply_patch::file_patches;
use super::common::{common_fields, items, replacement, text};
use crate::host::hook::HookPayload;

/// The fields of the old and the new text of an edit.
const TEXTS: [&str; 2] = ["oldString", "newString"];

pub(super) fn payloads(wire: &Value) -> Vec<HookPayload> {
    // Its own names, or those of Claude Code.
    let either = |name, other| text(&wire[name]).or_else(|| text(&wire[other]));
    let base = HookPayload {
        session_id: either("sessionId", "session_id"),
        hook_event_name: either("hookEventName", "hook_event_name"),
        ..common_fields(wire)
    };
    match base.hook_event_name.as_deref() {
        Some("SessionStart") => vec![HookPayload { source: text(&wire["source"]), ..base }],
        Some("PostToolUse") => {
            tool_payloads(&base, wire["tool_name"].as_str().unwrap_or_default(), &wire["tool_input"])
        }
        Some("UserPromptSubmit" | "Stop" | "SubagentStop" | "PreCompact") => vec![base],
        _ => Vec::new(),
    }
}

fn tool_payloads(base: &HookPayload, tool: &str, input: &Value) -> Vec<HookPayload> {
    let changed = |path: &str| base.clone().changed(path);
    let replaced = |edit: &Value| Some(base.clone().replaced(edit["filePath"].as_str()?, &[replacement(edit, TEXTS)]));
    let path = input["filePath"].as_str();
    match tool {
        "create_file" => {
            let content = input["content"].as_str().unwrap_or_default();
            path.map(|path| base.clone().wrote(path, content)).into_iter().collect()
        }
        "replace_string_in_file" => replaced(input).into_iter().collect(),
        "insert_edit_into_file" | "edit_notebook_file" => path.map(changed).into_iter().collect(),
        "run_in_terminal" | "runTerminalCommand" => {
            let ran = |command| base.clone().ran(command, None);
            input["command"].as_str().map(ran).into_iter().collect()
        }
        "multi_replace_string_in_file" => items(&input["replacements"]).iter().filter_map(replaced).collect(),
        "apply_patch" => {
            let patches = file_patches(input["input"].as_str().unwrap_or_default());
            patches.iter().map(|file| base.clone().patched(file)).collect()
        }
        "editFiles" | "createFile" => items(&input["files"]).iter().filter_map(Value::as_str).map(changed).collect(),
        _ => Vec::new(),
    }
}
