//! Who serves: the MCP server and the command line. Start reading at `cli` for what people call, at `serve` for what hosts
//! start.

mod changes;
mod cli;
mod desk;
mod exit;
mod guard;
mod http;
mod input;
mod log;
mod mcp;
mod queue;
mod readers;
mod serve;
mod watcher;
mod worker;

pub use cli::main;
