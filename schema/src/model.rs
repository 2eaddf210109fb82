//! What a memory is: its type and id, the moment it was noted, the text of a turn's changes. Touches no file.

pub mod age;
pub(crate) mod command_line;
pub mod error_chain;
pub mod failure;
pub mod memory;
pub mod moment;
pub mod state_note;
pub mod tool_usage;
