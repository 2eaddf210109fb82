//! Shared by the hosts: values of fields, and the payloads that a use of a tool becomes.

use serde_json::{Value, json};

use super::apply_patch::{FilePatch, Replacement, multi_edit};
use super::command_output::CommandOutput;
use crate::host::hook::HookPayload;

/// Returns the text of a field.
pub(super) fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns the items of a field, or none if it is no list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns the replacement in an object with the old and the new text in the fields `names`.
pub(super) fn replacement(edit: &Value, names: [&str; 2]) -> Replacement {
    let [old_string, new_string] = names.map(|name| text(&edit[name]).unwrap_or_default());
    Replacement { old_string, new_string }
}

/// Returns the replacements of a list.
pub(super) fn replacements(edits: &Value) -> Vec<Replacement> {
    items(edits).iter().map(|edit| replacement(edit, ["old_string", "new_string"])).collect()
}

/// Returns a payload with the fields of an event that have the names of Claude Code's.
pub(super) fn common_fields(wire: &Value) -> HookPayload {
    HookPayload {
        session_id: text(&wire["session_id"]),
        cwd: text(&wire["cwd"]),
        reason: text(&wire["reason"]),
        prompt: text(&wire["prompt"]),
        stop_hook_active: wire["stop_hook_active"].as_bool(),
        last_assistant_message: text(&wire["last_assistant_message"]),
        agent_type: text(&wire["agent_type"]),
        ..HookPayload::default()
    }
}

impl HookPayload {
    pub(super) fn with_event(mut self, event: &str) -> Self {
        self.hook_event_name = Some(event.to_owned());
        self
    }

    fn with_tool(self, event: &str, tool: &str, input: Value) -> Self {
        Self { tool_name: Some(tool.to_owned()), tool_input: input, ..self.with_event(event) }
    }

    /// A file was written as a whole.
    pub(super) fn wrote(self, path: &str, content: &str) -> Self {
        self.with_tool("PostToolUse", "Write", json!({ "file_path": path, "content": content }))
    }

    /// Parts of a file were replaced.
    pub(super) fn replaced(self, path: &str, edits: &[Replacement]) -> Self {
        self.with_tool("PostToolUse", "MultiEdit", multi_edit(path, edits))
    }

    /// A file was changed in a way that the host does not show.
    pub(super) fn changed(self, path: &str) -> Self {
        self.with_tool("PostToolUse", "Edit", json!({ "file_path": path }))
    }

    /// A command ended. Without an output, the host does not say whether it succeeded.
    pub(super) fn ran(self, command: &str, output: Option<CommandOutput<'_>>) -> Self {
        let mut ran = self.with_tool("PostToolUse", "Bash", json!({ "command": command }));
        match output {
            Some(CommandOutput { code: 0, text }) => ran.tool_response.set_output(text),
            Some(CommandOutput { code, text }) => {
                ran.error = Some(format!("Exit code {code}\n{text}"));
                ran = ran.with_event("PostToolUseFailure");
            }
            None => ran.is_outcome_unknown = true,
        }
        ran
    }

    /// A patch changed a file.
    pub(super) fn patched(self, file: &FilePatch) -> Self {
        let (tool, input) = file.tool_call();
        self.with_tool("PostToolUse", tool, input)
    }
}
