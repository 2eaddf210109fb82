//! Hooks of Gemini CLI (seen with 0.61.0).
//!
//! `PreCompress` is ignored: Gemini CLI fires it before each request to the model, whether it compresses or not.

use serde_json::Value;

use super::command_output::gemini_output;
use super::common::{CommandResult, replacement, text};
use crate::host::hook::HookPayload;

pub(super) fn payloads(wire: &Value) -> Vec<HookPayload> {
    let base = HookPayload { session_id: text(&wire["session_id"]), cwd: text(&wire["cwd"]), ..HookPayload::default() };
    let found = match wire["hook_event_name"].as_str() {
        Some("SessionStart") => Some(HookPayload { source: text(&wire["source"]), ..base.with_event("SessionStart") }),
        Some("BeforeAgent") => {
            let prompt = wire["prompt"].as_str().map(|prompt| without_context(prompt).to_owned());
            Some(HookPayload { prompt, ..base.with_event("UserPromptSubmit") })
        }
        Some("AfterTool") => tool_payload(base, wire),
        Some("AfterAgent") => Some(HookPayload {
            last_assistant_message: text(&wire["prompt_response"]),
            stop_hook_active: wire["stop_hook_active"].as_bool(),
            ..base.with_event("Stop")
        }),
        Some("SessionEnd") => Some(HookPayload { reason: text(&wire["reason"]), ..base.with_event("SessionEnd") }),
        _ => None,
    };
    found.into_iter().collect()
}

fn tool_payload(base: HookPayload, wire: &Value) -> Option<HookPayload> {
    let (input, result) = (&wire["tool_input"], &wire["tool_response"]);
    let used = match wire["tool_name"].as_str()? {
        "write_file" => base.wrote(input["file_path"].as_str()?, input["content"].as_str().unwrap_or_default()),
        "replace" => base.replaced(input["file_path"].as_str()?, &[replacement(input, ["old_string", "new_string"])]),
        "run_shell_command" => {
            // The output, if it is a text.
            let output = result["returnDisplay"].as_str();
            let code = gemini_output(result["llmContent"].as_str().unwrap_or_default(), output).code;
            let output = output.unwrap_or_default().to_owned();
            base.ran(input["command"].as_str()?, CommandResult::Exit { code, output })
        }
        _ => return None,
    };
    Some(match &result["error"] {
        Value::Object(error) => {
            let message = error.get("message").and_then(text).unwrap_or_default();
            HookPayload { error: Some(message), ..used.with_event("PostToolUseFailure") }
        }
        _ => used,
    })
}

/// Removes what hooks added to the first prompt of a session without a terminal.
fn without_context(prompt: &str) -> &str {
    let rest = prompt.trim_start().strip_prefix("<hook_context>").and_then(|rest| rest.split_once("</hook_context>"));
    rest.map_or(prompt, |(_, prompt)| prompt.trim_start())
}
