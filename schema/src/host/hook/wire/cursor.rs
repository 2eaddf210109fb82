//! Hooks of Cursor, written from its documentation and not tested with it.
//!
//! The answer comes with `afterAgentResponse`, which may fire for each message of a turn, and `stop` ends the turn without a text.

use serde::Deserialize;

use super::apply_patch::Replacement;
use super::common::{CommandResult, Lenient};
use crate::host::hook::HookPayload;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CursorWire {
    conversation_id: Lenient<String>,
    session_id: Lenient<String>,
    hook_event_name: Lenient<String>,
    workspace_roots: Lenient<Vec<String>>,
    model: Lenient<String>,
    prompt: Lenient<String>,
    text: Lenient<String>,
    reason: Lenient<String>,
    file_path: Lenient<String>,
    edits: Lenient<Vec<Replacement>>,
    tool_name: Lenient<String>,
    tool_input: Lenient<ToolInput>,
    /// JSON in a text.
    tool_output: Lenient<String>,
    error_message: Lenient<String>,
    is_interrupt: Lenient<bool>,
    subagent_type: Lenient<String>,
    summary: Lenient<String>,
    is_background_agent: Lenient<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolInput {
    command: Lenient<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ShellOutput {
    #[serde(rename = "exitCode")]
    exit_code: Lenient<i64>,
    stdout: Lenient<String>,
    stderr: Lenient<String>,
}

pub(super) fn payloads(wire: CursorWire) -> Vec<HookPayload> {
    let base = HookPayload {
        session_id: wire.conversation_id.0.or(wire.session_id.0),
        cwd: wire.workspace_roots.0.unwrap_or_default().into_iter().next(),
        model: wire.model.0,
        ..HookPayload::default()
    };
    let command = || wire.tool_input.0.and_then(|input| input.command.0);
    let found = match wire.hook_event_name.0.as_deref() {
        // Its agents report to another conversation.
        _ if wire.is_background_agent.0 == Some(true) => None,
        Some("sessionStart") => Some(base.with_event("SessionStart")),
        Some("beforeSubmitPrompt") => {
            Some(HookPayload { prompt: wire.prompt.0, ..base.with_event("UserPromptSubmit") })
        }
        Some("afterFileEdit") => {
            let edits = wire.edits.0.unwrap_or_default();
            wire.file_path.0.map(|path| base.replaced(&path, &edits))
        }
        Some("postToolUse") if wire.tool_name.0.as_deref() == Some("Shell") => {
            command().map(|command| base.ran(&command, shell_result(wire.tool_output.0.as_deref())))
        }
        Some("postToolUseFailure") => {
            let error = wire.error_message.0;
            let (tool, is_interrupt) = (wire.tool_name.0.unwrap_or_default(), wire.is_interrupt.0);
            let failed = match tool.as_str() {
                "Shell" => command().map(|command| base.ran(&command, CommandResult::Unknown)),
                _ => None,
            };
            failed.map(|failed| HookPayload {
                error,
                is_interrupt,
                is_outcome_unknown: false,
                ..failed.with_event("PostToolUseFailure")
            })
        }
        Some("afterAgentResponse") => {
            Some(HookPayload { last_assistant_message: wire.text.0, ..base.with_event("Stop") })
        }
        Some("stop") => Some(base.with_event("Stop")),
        Some("subagentStop") => Some(HookPayload {
            agent_type: wire.subagent_type.0,
            last_assistant_message: wire.summary.0,
            ..base.with_event("SubagentStop")
        }),
        Some("preCompact") => Some(base.with_event("PreCompact")),
        Some("sessionEnd") => Some(HookPayload { reason: wire.reason.0, ..base.with_event("SessionEnd") }),
        _ => None,
    };
    found.into_iter().collect()
}

fn shell_result(output: Option<&str>) -> CommandResult {
    let output: Option<ShellOutput> = output.and_then(|output| serde_json::from_str(output).ok());
    match output {
        Some(ShellOutput { exit_code: Lenient(Some(code)), stdout, stderr }) => {
            let parts = [stderr.0.unwrap_or_default(), stdout.0.unwrap_or_default()];
            CommandResult::Exit { code, output: parts.join("\n") }
        }
        _ => CommandResult::Unknown,
    }
}
