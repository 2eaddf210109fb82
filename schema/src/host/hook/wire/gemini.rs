//! Hooks of Gemini CLI (seen with 0.61.0).
//!
//! `PreCompress` is no event of ours: Gemini CLI fires it before each request to the model, whether it compresses or not.

use serde::Deserialize;

use super::apply_patch::Replacement;
use super::command_output::gemini_output;
use super::common::{CommandResult, Lenient};
use crate::host::hook::HookPayload;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GeminiWire {
    session_id: Lenient<String>,
    cwd: Lenient<String>,
    hook_event_name: Lenient<String>,
    source: Lenient<String>,
    reason: Lenient<String>,
    prompt: Lenient<String>,
    prompt_response: Lenient<String>,
    stop_hook_active: Lenient<bool>,
    tool_name: Lenient<String>,
    tool_input: Lenient<ToolInput>,
    tool_response: Lenient<ToolResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInput {
    file_path: Lenient<String>,
    content: Lenient<String>,
    old_string: Lenient<String>,
    new_string: Lenient<String>,
    command: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolResult {
    #[serde(rename = "llmContent")]
    for_model: Lenient<String>,
    /// The output of a command, if it is a text.
    #[serde(rename = "returnDisplay")]
    display: Lenient<String>,
    error: Lenient<ToolError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolError {
    message: Lenient<String>,
}

pub(super) fn payloads(wire: GeminiWire) -> Vec<HookPayload> {
    let base = HookPayload { session_id: wire.session_id.0, cwd: wire.cwd.0, ..HookPayload::default() };
    let found = match wire.hook_event_name.0.as_deref() {
        Some("SessionStart") => Some(HookPayload { source: wire.source.0, ..base.with_event("SessionStart") }),
        Some("BeforeAgent") => {
            let prompt = wire.prompt.0.map(|prompt| without_context(&prompt).to_owned());
            Some(HookPayload { prompt, ..base.with_event("UserPromptSubmit") })
        }
        Some("AfterTool") => {
            let (input, result) = (wire.tool_input.0.unwrap_or_default(), wire.tool_response.0.unwrap_or_default());
            tool_payload(base, wire.tool_name.0.as_deref().unwrap_or_default(), input, result)
        }
        Some("AfterAgent") => Some(HookPayload {
            last_assistant_message: wire.prompt_response.0,
            stop_hook_active: wire.stop_hook_active.0,
            ..base.with_event("Stop")
        }),
        Some("SessionEnd") => Some(HookPayload { reason: wire.reason.0, ..base.with_event("SessionEnd") }),
        _ => None,
    };
    found.into_iter().collect()
}

fn tool_payload(base: HookPayload, tool: &str, input: ToolInput, result: ToolResult) -> Option<HookPayload> {
    let error = result.error.0.map(|error| error.message.0.unwrap_or_default());
    let used = match tool {
        "write_file" => base.wrote(&input.file_path.0?, &input.content.0.unwrap_or_default()),
        "replace" => {
            let (old_string, new_string) =
                (input.old_string.0.unwrap_or_default(), input.new_string.0.unwrap_or_default());
            base.replaced(&input.file_path.0?, &[Replacement { old_string, new_string }])
        }
        "run_shell_command" => {
            let for_model = result.for_model.0.unwrap_or_default();
            let code = gemini_output(&for_model, result.display.0.as_deref()).code;
            let output = result.display.0.unwrap_or_default();
            base.ran(&input.command.0?, CommandResult::Exit { code, output })
        }
        _ => return None,
    };
    Some(match error {
        Some(message) => HookPayload { error: Some(message), ..used.with_event("PostToolUseFailure") },
        None => used,
    })
}

/// Removes what hooks added to the first prompt of a session without a terminal.
fn without_context(prompt: &str) -> &str {
    let rest = prompt.trim_start().strip_prefix("<hook_context>").and_then(|rest| rest.split_once("</hook_context>"));
    rest.map_or(prompt, |(_, prompt)| prompt.trim_start())
}
