//! The daily log: Markdown that people can read and that parses exactly. docs/dev/storage.md has its grammar.
//!
//! Converts text to entries and back; only `log_file` touches files. `MEMORY.md` has the same grammar, but there only entries with our
//! comment are memories. Everything else is prose of people.

mod annotate;
mod append;
mod comment;
mod edit;
mod entry;
mod escape;
pub mod log_file;
mod parse;
mod render;
mod team;

pub(crate) use annotate::annotate_entries;
pub use append::{LogEnd, LogTail, complete_interrupted, render_grouped};
pub use comment::unusable_fields;
pub use edit::{entry_replacement, find_entry, find_lines, insert_long_term, may_contain, remove_entries};
pub use entry::{LONG_TERM_FILE, LogEntry, LogKind, ParsedLog};
pub use parse::{is_without_new_prose, parse};
pub use team::{TEAM_FILE_LIMIT, TeamAction, TeamFile, TeamNote, render_shared, shared_id};

#[cfg(test)]
mod tests;
