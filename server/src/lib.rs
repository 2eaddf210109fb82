//! Who serves: the MCP server and the command line. Start reading at `cli` for what people call, at `serve` for what hosts
//! start.

mod changes;
mod cli;
mod doctor;
mod exit;
mod http;
mod input;
mod mcp;
mod queue;
mod serve;
mod setup;
mod watcher;
mod worker;

pub use cli::main;
