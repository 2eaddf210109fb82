//! Everything that hooks and server share: types, paths, redaction, the store, the daily log and `capture`. Knows nothing of search, MCP or
//! command lines.
//!
//! A module uses only those before it: `model`, `files`, `privacy`, `prose`, `settings`, `log`, `store`, `intake`, `host`. `tool` uses
//! `model`.

pub mod files;
pub mod host;
pub mod intake;
pub mod log;
pub mod model;
pub mod privacy;
pub mod prose;
pub mod settings;
pub mod store;
pub mod tool;
