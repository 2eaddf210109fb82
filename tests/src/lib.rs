//! The harness of the end-to-end tests: a sandbox with its own project and home, the real programs, an MCP client, and recorded host
//! events.
//!
//! It uses only the programs, files and protocol of the product. Failures panic with the observed values.

pub mod benchmark;
mod canaries;
pub mod coding;
pub mod corpus;
pub mod environment;
pub mod evaluation;
mod file_system;
mod fixtures;
mod http_server;
mod mcp_client;
mod mcp_wire;
#[cfg(unix)]
mod other_user;
mod page_server;
pub mod peer;
mod polling;
#[cfg(unix)]
mod postgres;
mod program_output;
pub mod proof;
mod provider;
mod sandbox;
pub mod stories;
#[cfg(unix)]
mod team_server;
#[cfg(unix)]
mod terminal;

pub use crate::canaries::{
    Canary, assert_labels, assert_no_traces, canaries, files_below, find_traces, measured_canaries,
};
pub use crate::file_system::MissingFeature;
pub use crate::fixtures::{fixtures_dir, recorded_event, repository_root};
pub use crate::http_server::{HttpAnswer, HttpServer};
pub use crate::mcp_client::{Era, McpClient, RequestId, ServerExit};
pub use crate::mcp_wire::{RpcError, ToolResult};
#[cfg(unix)]
pub use crate::other_user::{OWNER, STRANGER};
pub use crate::page_server::PageServer;
pub use crate::polling::{eventually, eventually_some};
#[cfg(unix)]
pub use crate::postgres::Postgres;
pub use crate::program_output::{ProgramOutput, report_skip, run_to_end};
pub use crate::provider::{ProviderBehaviour, ProviderRequest, ProviderStandIn};
pub use crate::sandbox::{Binaries, Sandbox, copy_program};
#[cfg(unix)]
pub use crate::team_server::TeamServer;
#[cfg(unix)]
pub use crate::terminal::Terminal;
