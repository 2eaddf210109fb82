//! Who serves: the MCP server and the command line. Start reading at `cli` for what people call, at `serve` for what hosts
//! start.

mod changes;
mod cli;
mod dispatcher;
mod doctor;
mod exit;
mod guard;
mod http;
mod input;
mod log;
mod mcp;
mod message;
mod network;
mod queue;
mod readers;
mod request;
mod serve;
mod setup;
mod stdio;
mod watcher;
mod worker;

pub use cli::main;
pub use network::Http;
