//! Our parts of files, and the edits that set and remove them, as functions from text to text.

use schema::host::hook::HookHost;

use super::hook_entries::HookSet;
use super::json::JsonServerList;
use super::server_entry::{ListedServer, ServerEntry};
use super::settings_text::EditError;
use super::{json, markdown, slash_commands, toml};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedPart {
    /// The entry that starts the server.
    Server(ServerListFormat, ServerEntry),
    /// The hooks of a host.
    Hooks(HookHost, HookSet),
    /// Instructions for models.
    Instructions,
    /// A file with this slash command.
    Command(String),
}

/// The format of a server list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerListFormat {
    Json(JsonServerList),
    Toml,
}

impl OwnedPart {
    /// Returns the text with this part. Returns it unchanged if the part is already there.
    pub(super) fn add_to(&self, text: &str) -> Result<String, EditError> {
        match self {
            Self::Server(ServerListFormat::Json(shape), entry) => json::set_server(text, *shape, entry),
            Self::Server(ServerListFormat::Toml, entry) => toml::set_server(text, entry),
            Self::Hooks(host, wanted) => json::set_hooks(text, *host, wanted),
            Self::Instructions => markdown::set_part(text),
            Self::Command(ours) => Ok(slash_commands::set_command(text, ours)),
        }
    }

    /// Returns the text without our parts of this kind.
    pub(super) fn remove_from(&self, text: &str) -> Result<String, EditError> {
        match self {
            Self::Server(ServerListFormat::Json(shape), entry) => json::remove_server(text, *shape, entry),
            Self::Server(ServerListFormat::Toml, entry) => toml::remove_server(text, entry),
            Self::Hooks(..) => json::remove_hooks(text),
            Self::Instructions => markdown::remove_part(text),
            Self::Command(_) => Ok(slash_commands::remove_command(text)),
        }
    }

    /// A syntax error that also prevents the host from reading the file.
    pub(super) fn syntax_error(&self, text: &str) -> Option<EditError> {
        let error = match self {
            Self::Server(format, _) => format.list_servers(text).err(),
            Self::Hooks(..) => json::own_hook_programs(text).err(),
            Self::Instructions | Self::Command(_) => None,
        };
        error.filter(|error| matches!(error, EditError::Syntax { .. }))
    }

    /// Whether the remaining text is empty, so that the file can be deleted.
    pub(super) fn is_blank(&self, text: &str) -> bool {
        match self {
            Self::Hooks(HookHost::Cursor, _) => json::is_blank(text) || json::has_only_version(text),
            Self::Server(ServerListFormat::Json(_), _) | Self::Hooks(..) => json::is_blank(text),
            Self::Server(ServerListFormat::Toml, _) | Self::Instructions | Self::Command(_) => text.trim().is_empty(),
        }
    }

    /// What the part is, for people.
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Server(..) => "the server",
            Self::Hooks(..) => "the hooks",
            Self::Instructions => "instructions for the model",
            Self::Command(_) => "slash commands",
        }
    }
}

impl ServerListFormat {
    pub(super) fn list_servers(self, text: &str) -> Result<Vec<ListedServer>, EditError> {
        match self {
            Self::Json(shape) => json::list_servers(text, shape),
            Self::Toml => toml::list_servers(text),
        }
    }
}
