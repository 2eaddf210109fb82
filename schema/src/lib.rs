//! What two processes of jikime-memory must agree on: types, paths, redaction, the store, the daily log and the one
//! `capture`. Knows nothing of search, MCP or a command line.

pub mod daily_log;
pub mod memory;
pub mod moment;
