//! Hooks of Gemini CLI (seen with 0.61.0).
//!
//! `PreCompress` is ignored: Gemini CLI fires it before each request to the model, whether it compresses or not.

use serde_json::Value;

use super::command_output::{CommandOutput, gemini_output};
use super::common::{common_fields, replacement, text};
use crate::host::hook::HookPayload;

pub(super) fn payload(wire: &Value) -> Option<HookPayload> {
    let base = common_fields(wire);
    Some(match wire["hook_event_name"].as_str()? {
        "SessionStart" => HookPayload { source: text(&wire["source"]), ..base.with_event("SessionStart") },
        "BeforeAgent" => {
            let prompt = base.prompt.as_deref().map(|prompt| without_context(prompt).to_owned());
            HookPayload { prompt, ..base.with_event("UserPromptSubmit") }
        }
        "AfterTool" => tool_payload(base, wire)?,
        "AfterAgent" => {
            HookPayload { last_assistant_message: text(&wire["prompt_response"]), ..base.with_event("Stop") }
        }
        "SessionEnd" => base.with_event("SessionEnd"),
        _ => return None,
    })
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
            base.ran(input["command"].as_str()?, Some(CommandOutput { code, text: output.unwrap_or_default() }))
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
