//! Shared by the wire types of hosts: tolerant fields, and the payloads that a use of a tool becomes.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::apply_patch::{FilePatch, Replacement, multi_edit};
use crate::host::hook::{HookPayload, deserialize_lenient};

/// A field that counts as missing if its value has an unexpected type.
#[derive(Debug, Clone)]
pub(super) struct Lenient<T>(pub(super) Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_lenient(deserializer).map(Self)
    }
}

/// The result of a command, as far as the host sends it.
pub(super) enum CommandResult {
    Exit {
        code: i64,
        output: String,
    },
    /// The host does not say whether the command succeeded.
    Unknown,
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

    pub(super) fn ran(self, command: &str, result: CommandResult) -> Self {
        let input = json!({ "command": command });
        match result {
            CommandResult::Exit { code: 0, output } => {
                let mut ran = self.with_tool("PostToolUse", "Bash", input);
                ran.tool_response.set_output(&output);
                ran
            }
            CommandResult::Exit { code, output } => {
                let mut failed = self.with_tool("PostToolUseFailure", "Bash", input);
                failed.error = Some(format!("Exit code {code}\n{output}"));
                failed
            }
            CommandResult::Unknown => Self { is_outcome_unknown: true, ..self.with_tool("PostToolUse", "Bash", input) },
        }
    }

    /// A patch changed a file.
    pub(super) fn patched(self, file: &FilePatch) -> Self {
        let (tool, input) = file.tool_call();
        self.with_tool("PostToolUse", tool, input)
    }
}
