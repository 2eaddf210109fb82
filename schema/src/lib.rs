//! Everything that hooks and servers share: types, paths, redaction, the store, daily logs and capture. Independent of search, MCP and
//! the command line.
//!
//! A module uses only modules before it in this order: `model`, `files`, `privacy`, `prose`, `settings`, `log`, `store`, `intake`, `host`.
//! `tool` uses only `model`.

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
