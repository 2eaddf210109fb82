//! Adds our server and hooks to the files of hosts and removes them again, without touching anything else. A record of the changes allows a
//! byte-for-byte undo.
//!
//! This module does not depend on `cli`.

pub(crate) mod change;
pub(crate) mod detect;
pub(crate) mod hook_entries;
pub(crate) mod host;
pub(crate) mod host_dirs;
mod json;
mod markdown;
pub(crate) mod owned_part;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod program_copies;
pub(crate) mod programs;
pub(crate) mod server_entry;
pub(crate) mod settings_file;
mod settings_text;
pub(crate) mod setup_diff;
mod setup_record;
mod slash_commands;
mod toml;

#[cfg(test)]
mod tests;
