//! What is derived from a store: its text in tokens, chunks of its Markdown, the index, search, and the six tools as plain
//! functions on an engine. Synchronous; knows nothing of MCP, hosts or sockets.

pub mod chunk;
pub mod embed;
pub mod engine;
pub mod error;
pub mod fulltext;
mod glossary;
pub mod index;
pub mod search;
pub mod text;
