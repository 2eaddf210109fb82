//! What two processes of jikime-memory must agree on: types, paths, redaction, the store, the daily log and the one
//! `capture`. Knows nothing of search, MCP or a command line.

pub mod brief;
pub mod capture;
pub mod causes;
pub mod daily_log;
pub mod database;
pub mod exclude;
pub mod extract;
pub mod forget;
pub mod forgotten;
pub mod hook;
pub mod hook_log;
mod host_text;
pub mod layout;
pub mod lock;
pub mod log_file;
pub mod memory;
pub mod moment;
pub mod own_file;
mod parcel;
pub mod private;
pub mod project;
pub mod queue;
pub mod redaction;
pub mod revise;
pub mod screen;
pub mod settings;
pub mod shown;
pub mod spool;
pub mod stamp;
pub mod store;
pub mod tool;
pub mod tool_usage;
pub mod track;
pub mod transcript;
