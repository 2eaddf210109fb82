//! The data types of a memory: type and id, moments with their UTC offset, state notes, tool use and failures. Accesses no files.

pub mod age;
pub mod code_anchor;
pub(crate) mod command_line;
pub mod error_chain;
pub mod failure;
pub mod memory;
pub mod moment;
pub mod sharing;
pub mod state_note;
pub mod tool_usage;
pub mod word_list;
