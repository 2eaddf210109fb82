//! Everything derived from a store: tokens, chunks, the index, search, and the six tools as functions of an engine.
//! Synchronous; knows nothing of MCP, hosts or sockets.

pub mod bulk_import;
pub mod chunk;
pub mod control;
pub mod curation;
pub mod embed;
pub mod engine;
pub mod error;
pub mod exchange;
pub mod fulltext;
mod glossary;
pub mod import;
pub mod index;
pub mod private_temp_dir;
pub mod registry;
pub mod search;
pub mod text;
pub mod time_expression;
