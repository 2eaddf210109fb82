//! The daily log: Markdown that reads like a log and parses like a format. Its grammar is in docs/dev/storage.md.
//!
//! Text in, entries out, and back: only `log_file` touches a file. The same grammar serves `MEMORY.md`, where only entries
//! that carry our comment are memories and all else is a person's prose.

mod annotate;
mod append;
mod comment;
mod edit;
mod entry;
mod escape;
mod locate;
pub mod log_file;
mod parse;
mod render;

pub(crate) use annotate::annotate_entries;
pub use append::{LONG_TAIL, LogEnd, LogTail, TAIL, complete_interrupted, render_grouped};
pub use comment::unusable_fields;
pub use edit::{entry_replacement, insert_long_term, remove_entries};
pub use entry::{LONG_TERM_FILE, LogEntry, LogKind, ParsedLog};
pub use locate::{find_entry, find_lines, may_contain};
pub use parse::{is_without_new_prose, parse};

#[cfg(test)]
mod tests;
