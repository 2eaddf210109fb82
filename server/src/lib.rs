//! The MCP server and the command line. Start reading at `cli` for commands and at `serve` and `mcp` for the server.

mod change_feed;
mod cli;
mod diff;
mod dispatcher;
mod doctor;
mod exit;
mod http;
mod logging;
mod mcp;
mod message;
mod network;
mod page;
mod queue;
mod readers;
mod request;
mod serve;
mod setup;
mod stdio;
mod team_client;
#[cfg(feature = "team-server")]
mod team_server;
mod team_wire;
mod watcher;
mod worker;

pub use cli::main;
pub use network::ReqwestNetwork;
