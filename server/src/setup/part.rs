//! What of ours a file holds, and the edits that put it there and take it away, as functions from text to text.

use super::server_entry::{Entry, Listed};
use super::{json, markdown, toml};

/// A part of a file that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// The entry that starts the server.
    Server(Format, Entry),
    /// The hooks of Claude Code, with the program that they call.
    Hooks(String),
    /// What models read first.
    Instructions,
}

/// How a file lists servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json(Shape),
    Toml,
}

/// A file of JSON that lists servers below a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) key: &'static str,
    /// What the host wants an entry to say of itself beside the command.
    pub(crate) kind: Option<(&'static str, &'static str)>,
}

/// Why a text cannot be edited. Lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EditError {
    Syntax { line: usize, column: usize, what: String },
    Shape { line: usize, what: String },
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax { line, column, what } => write!(f, "line {line}, column {column}: {what}"),
            Self::Shape { line, what } => write!(f, "line {line}: {what}"),
        }
    }
}

impl Part {
    /// The text with this part in it, and as it was when it is there already.
    pub(super) fn set(&self, text: &str) -> Result<String, EditError> {
        match self {
            Self::Server(Format::Json(shape), entry) => json::set_server(text, *shape, entry),
            Self::Server(Format::Toml, entry) => toml::set_server(text, entry),
            Self::Hooks(program) => json::set_hooks(text, program),
            Self::Instructions => markdown::set(text),
        }
    }

    /// The text without what is ours of this kind.
    pub(super) fn remove(&self, text: &str) -> Result<String, EditError> {
        match self {
            Self::Server(Format::Json(shape), entry) => json::remove_server(text, *shape, entry),
            Self::Server(Format::Toml, entry) => toml::remove_server(text, entry),
            Self::Hooks(_) => json::remove_hooks(text),
            Self::Instructions => markdown::remove(text),
        }
    }

    /// Where a text cannot be read by its host either.
    pub(super) fn syntax_error(&self, text: &str) -> Option<EditError> {
        let error = match self {
            Self::Server(format, _) => format.servers(text).err(),
            Self::Hooks(_) => json::hook_programs(text).err(),
            Self::Instructions => None,
        };
        error.filter(|error| matches!(error, EditError::Syntax { .. }))
    }

    /// Whether nothing is left in a text that somebody may have meant.
    pub(super) fn is_blank(&self, text: &str) -> bool {
        match self {
            Self::Server(Format::Json(_), _) | Self::Hooks(_) => json::is_blank(text),
            Self::Server(Format::Toml, _) | Self::Instructions => text.trim().is_empty(),
        }
    }

    /// Whether the text says the same with this part as without it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::Server(format, entry) => {
                format.servers(text).is_ok_and(|servers| servers.iter().any(|server| server.stands_for(entry)))
            }
            Self::Hooks(_) => json::hook_programs(text).is_ok_and(|hooks| !hooks.is_empty()),
            Self::Instructions => markdown::is_set(text),
        }
    }
}

impl Format {
    /// The servers that a text lists.
    pub(super) fn servers(self, text: &str) -> Result<Vec<Listed>, EditError> {
        match self {
            Self::Json(shape) => json::servers(text, shape),
            Self::Toml => toml::servers(text),
        }
    }
}
