//! Turns a payload into the event that it reports, or into nothing if it is not worth recording.

use std::path::Path;

use super::payload::HookPayload;
use super::tool_use::{ToolContext, ToolUse};
use crate::host::host_text::{is_machine_made, strip_injected};
use crate::privacy::sanitizer::Sanitizer;
use crate::prose::small_talk::{is_acknowledgement, is_empty_answer};

/// The tag before a summary of the context.
const SUMMARY_TAG: &str = "<summary>";

/// An event in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEvent {
    pub session_id: String,
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A prompt with a request.
    Prompt(String),
    /// A prompt that means nothing by itself, such as "go on".
    Acknowledgement(String),
    /// A tool is about to read or edit this file, relative to the project.
    FileOpen(String),
    /// A tool succeeded.
    ToolUse(ToolUse),
    /// A tool failed.
    Failure(String),
    /// The agent finished a turn, with its answer if the host sent it. An answer that means nothing by itself is empty.
    TurnEnd(Option<String>),
    /// A session starts, or continues with a new context.
    SessionStart(SessionSource),
    /// A subagent finished, with its report if the host sent it.
    Report { agent_type: Option<String>, text: Option<String> },
    /// The context is about to be compacted.
    BeforeCompaction,
    /// This summary replaces the context. Claude Code sends it twice: when the subagent that writes it stops, and after the compaction.
    Summary(String),
    /// The session ends.
    SessionEnd,
}

/// The reason why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSource {
    Startup,
    Resume,
    Clear,
    Compact,
    Fork,
}

impl SessionSource {
    /// Parses the host's word. An unknown word counts as a normal start.
    pub fn parse(source: &str) -> Self {
        let others = [Self::Resume, Self::Clear, Self::Compact, Self::Fork];
        others.into_iter().find(|known| known.as_str() == source).unwrap_or(Self::Startup)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
            Self::Fork => "fork",
        }
    }
}

impl HostEvent {
    /// Returns the event in a payload, or `None` if it is not worth recording.
    ///
    /// Events about excluded files are not recorded. The texts still contain secrets, but are not cut through one; `capture` and
    /// `track_buffer` clean them.
    pub fn from_payload(payload: &HookPayload, project: &Path, sanitizer: &Sanitizer) -> Option<Self> {
        let context = ToolContext { payload, project, sanitizer };
        let event = match payload.hook_event_name.as_deref()? {
            "UserPromptSubmit" => prompt_event(payload)?,
            "PreToolUse" => EventKind::FileOpen(context.opened_file()?),
            "PostToolUse" => EventKind::ToolUse(context.tool_use()?),
            "PostToolUseFailure" => EventKind::Failure(context.failure()?),
            "Stop" => EventKind::TurnEnd(
                last_answer_text(payload).map(|text| if is_empty_answer(&text) { String::new() } else { text }),
            ),
            "SessionStart" => {
                EventKind::SessionStart(SessionSource::parse(payload.source.as_deref().unwrap_or_default()))
            }
            "SubagentStop" => subagent_event(payload)?,
            "PreCompact" => EventKind::BeforeCompaction,
            "PostCompact" => EventKind::Summary(strip_thoughts(payload.compact_summary.as_deref()?).to_owned()),
            "SessionEnd" => EventKind::SessionEnd,
            _ => return None,
        };
        // Clean the id first, because it names the session everywhere.
        let named = payload.session_id.as_deref().filter(|id| !id.trim().is_empty());
        // If the host does not name the session, use its transcript.
        let transcript = || Path::new(payload.transcript_path.as_deref()?).file_stem()?.to_str();
        let session_id = sanitizer.clean(named.or_else(transcript).unwrap_or_default()).text.into_owned();
        Some(Self { session_id, kind: event })
    }
}

fn prompt_event(payload: &HookPayload) -> Option<EventKind> {
    let written_by_hand = payload.source.as_deref().is_none_or(|source| matches!(source, "user" | "sdk"));
    let prompt = payload.prompt.as_deref()?;
    (written_by_hand && !is_machine_made(prompt)).then(|| {
        let prompt = strip_injected(prompt);
        let kind = if is_acknowledgement(&prompt) { EventKind::Acknowledgement } else { EventKind::Prompt };
        kind(prompt.into_owned())
    })
}

/// Returns the report of a subagent, or the summary of the one that compacts the context. That one has an empty type; hosts of January 2026
/// send no type at all.
fn subagent_event(payload: &HookPayload) -> Option<EventKind> {
    let agent_type = payload.agent_type.clone();
    let text = last_answer_text(payload);
    if agent_type.as_deref() == Some("") {
        let summary = text.filter(|text| text.contains(SUMMARY_TAG))?;
        return Some(EventKind::Summary(strip_thoughts(&summary).to_owned()));
    }
    Some(EventKind::Report { agent_type, text: text.filter(|text| !is_empty_answer(text)) })
}

/// Returns the agent's last message, if the host sent it.
fn last_answer_text(payload: &HookPayload) -> Option<String> {
    payload.last_assistant_message.clone().filter(|text| !text.trim().is_empty())
}

/// Removes the thoughts that the host's model writes before a summary.
fn strip_thoughts(text: &str) -> &str {
    let text = text.split_once(SUMMARY_TAG).map_or(text, |(_, summary)| summary);
    let text = text.split_once("</summary>").map_or(text, |(summary, _)| summary);
    text.split_once("</analysis>").map_or(text, |(_, rest)| rest).trim()
}

#[cfg(test)]
mod tests;
