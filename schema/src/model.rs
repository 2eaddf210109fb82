//! Basic types: a memory, its type and id, moments, changes of state, and the text of a turn's changes. Touches no files.

pub mod age;
pub(crate) mod command_line;
pub mod error_chain;
pub mod failure;
pub mod memory;
pub mod moment;
pub mod state_note;
pub mod tool_usage;
