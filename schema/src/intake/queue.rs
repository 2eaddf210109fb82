//! The queue: how an event reaches the running server. One line of JSON each way over a local socket; the reply follows the commit.
//!
//! Memories are prepared before they are sent, so no secret leaves the process that saw it.

mod address;
mod client;
mod frame;

pub use address::{QueueAddress, QueueAddressError, SocketDirs, is_own_user};
pub use client::{capture, connect, recall};
pub use frame::{LINE_LIMIT, QueueReply, QueueRequest, RecalledMemory};
