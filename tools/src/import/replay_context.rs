//! Matches tool calls with their results, as hooks see them.

use std::collections::HashMap;
use std::path::Path;

use schema::host::hook::{EventKind, HookPayload, HostEvent, ToolResponse, ToolUse, is_edit_tool};
use schema::settings::{Edits, LoadedSettings};
use serde_json::Value;

use super::tool_record::{FinishedTool, StartedTool, ToolFailure};

/// Most tool calls that wait for a result.
const MAX_PENDING_TOOLS: usize = 1_000;

/// An event of a session or of one of its subagents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReplayEvent {
    ToolUse(ToolUse),
    Failed(String),
    Reported { agent_type: Option<String>, text: String },
}

/// Context of the transcript.
#[derive(Debug)]
pub(super) struct ReplayContext<'s> {
    pub(super) project: &'s Path,
    pub(super) loaded: &'s LoadedSettings,
    pub(super) session_id: String,
    pending: HashMap<String, (String, Value)>,
}

impl<'s> ReplayContext<'s> {
    pub(super) fn new(project: &'s Path, loaded: &'s LoadedSettings, session_id: String) -> Self {
        Self { project, loaded, session_id, pending: HashMap::new() }
    }

    pub(super) fn start_tools(&mut self, begun: Vec<StartedTool>) {
        for StartedTool { id, name, input } in begun {
            if self.pending.len() >= MAX_PENDING_TOOLS {
                self.pending.clear();
            }
            self.pending.insert(id, (name, input));
        }
    }

    /// Converts a result as hooks convert its payload.
    pub(super) fn finish_tool(&mut self, done: FinishedTool, cwd: Option<&str>) -> Option<ReplayEvent> {
        let (name, input) = self.pending.remove(&done.id)?;
        // Failed edits name their files.
        if self.loaded.settings.edits == Edits::Off && is_edit_tool(&name) {
            return None;
        }
        let (event, error, tool_response) = match done.result {
            Ok(response) => ("PostToolUse", None, response),
            Err(ToolFailure::Failed(text)) => ("PostToolUseFailure", Some(text), ToolResponse::default()),
            Err(ToolFailure::NeverStarted) => return None,
        };
        let payload = HookPayload {
            hook_event_name: Some(event.to_owned()),
            cwd: cwd.map(str::to_owned),
            tool_name: Some(name),
            tool_input: input,
            tool_response,
            error,
            ..HookPayload::default()
        };
        match HostEvent::from_payload(&payload, self.project, &self.loaded.sanitizer)?.kind {
            EventKind::ToolUse(used) => Some(ReplayEvent::ToolUse(used)),
            EventKind::Failure(text) => Some(ReplayEvent::Failed(text)),
            _ => None,
        }
    }
}
