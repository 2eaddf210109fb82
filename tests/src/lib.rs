//! What end-to-end tests stand on: a sandbox with a project and a home of its own, the real programs run in it, a client
//! that speaks MCP to the server, and the events that the real host sent.
//!
//! Knows the product only from outside: its programs, its files, its protocol. What fails here panics with what was seen.

pub mod benchmark;
mod canaries;
pub mod corpus;
pub mod evaluation;
mod file_system;
mod fixtures;
mod http_server;
mod mcp_client;
mod mcp_wire;
mod outcome;
mod poll;
pub mod proof;
mod provider;
mod sandbox;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod user;

pub use crate::canaries::{Canary, assert_labels, assert_no_traces, canaries, files_below, measured_canaries, traces};
pub use crate::file_system::Lack;
pub use crate::fixtures::{fixtures_dir, recorded_event};
pub use crate::http_server::{HttpAnswer, HttpServer};
pub use crate::mcp_client::{Closed, Era, McpClient, RequestId};
pub use crate::mcp_wire::{RpcError, ToolResult};
pub use crate::outcome::{Outcome, run_to_end, skipped};
pub use crate::poll::{eventually, eventually_some};
pub use crate::provider::{Asked, Does, ProviderStandIn};
pub use crate::sandbox::{Binaries, Sandbox};
#[cfg(unix)]
pub use crate::terminal::Terminal;
#[cfg(unix)]
pub use crate::user::{OWNER, STRANGER};
