//! The hosts ([`HookHost`]), and the conversion of their payloads to that of Claude Code, which `event.rs` understands.
//!
//! Each host has a file of its own. Its fields are read by name; a missing field or one with an unexpected type is null. A type for each
//! host would add 160 KB to the hook. An event that is not recorded gives no payload; a patch of several files gives one
//! payload for each file.

mod apply_patch;
mod codex;
mod command_output;
mod common;
mod cursor;
mod gemini;
#[cfg(test)]
mod tests;
mod vscode;
mod windsurf;

pub use apply_patch::{FilePatch, file_patches};
pub use command_output::{CommandOutput, codex_output, gemini_output};

use serde_json::{Map, Value};

use super::payload::{HookPayload, PayloadError, complete, parse_json};

/// A host whose hooks call us, by the name that `--host` has in its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HookHost {
    #[default]
    ClaudeCode,
    Codex,
    Cursor,
    Gemini,
    Vscode,
    Windsurf,
}

impl HookHost {
    const NAMES: [(&'static str, Self); 6] = [
        ("claude-code", Self::ClaudeCode),
        ("codex", Self::Codex),
        ("cursor", Self::Cursor),
        ("gemini", Self::Gemini),
        ("vscode", Self::Vscode),
        ("windsurf", Self::Windsurf),
    ];

    pub fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, host)| *host)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, host)| *host == self).map_or("", |(name, _)| name)
    }

    /// Returns the payloads in what the host wrote.
    pub fn read(self, bytes: &[u8]) -> Result<Vec<HookPayload>, PayloadError> {
        Ok(match self {
            Self::ClaudeCode => {
                let payload = HookPayload::parse(bytes)?;
                if payload.hook_event_name.is_some() {
                    return Ok(vec![payload]);
                }
                // VS Code runs the hooks of Claude Code's settings too, with its own fields.
                event(bytes).map(|wire| vscode::payloads(&wire)).unwrap_or_default()
            }
            Self::Codex => codex::payloads(&event(bytes)?),
            Self::Cursor => Vec::from_iter(cursor::payload(&event(bytes)?)),
            Self::Gemini => Vec::from_iter(gemini::payload(&event(bytes)?)),
            Self::Vscode => vscode::payloads(&event(bytes)?),
            Self::Windsurf => Vec::from_iter(windsurf::payload(&event(bytes)?)),
        })
    }

    /// Returns the payloads in the beginning of what the host wrote. The text in which it ends loses its end.
    pub fn read_beginning(self, bytes: &[u8]) -> Result<Vec<HookPayload>, PayloadError> {
        self.read(&complete(bytes))
    }
}

/// Parses an event, which must be an object.
fn event(bytes: &[u8]) -> Result<Value, PayloadError> {
    parse_json::<Map<String, Value>>(bytes).map(Value::Object)
}
