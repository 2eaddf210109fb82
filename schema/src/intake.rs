//! Capture, the spool, the queue, and the deletion of memories. Nothing reaches disk or socket here before its secrets are removed.

pub mod capture;
pub mod drain;
pub mod forget;
pub mod prepare;
pub mod queue;
pub mod spool;
mod wire_memory;
