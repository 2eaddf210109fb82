//! The hooks client: records one event of a host from standard input, and exits with status 0.
//!
//! Start reading at `dispatch`; `entry` is the process around it. It never fails, blocks or delays the host: events that cannot be written
//! in time go to the spool.

mod backfill;
mod command;
mod context;
mod dispatch;
mod entry;
mod hook_session;
mod session_bounds;
mod turn;

pub use entry::main;
