//! Converts a host's files into the memories that capture would have stored.

mod auto_memory;
mod replay;
mod replay_context;
mod subagent_events;
mod tool_record;

pub use auto_memory::{HostNote, read_notes};
pub use replay::{IMPORT_MARK_PREFIX, TranscriptEnd, TranscriptReplay, session_directory};
