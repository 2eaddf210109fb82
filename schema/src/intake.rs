//! The way in and the way out: a text becomes a memory, waits in the spool, travels over the queue, or is deleted.
//! Nothing reaches disk or socket here before secrets are out.

pub mod capture;
pub mod forget;
pub mod queue;
pub mod spool;
mod wire_memory;
