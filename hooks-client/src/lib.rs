//! The hooks client: one event of Claude Code on standard input, remembered, exit status 0.
//!
//! Start reading at `main`. It never fails, blocks or delays the host: what cannot be written in time goes to the spool.

mod backfill;
mod command;
mod deliver;
mod entry;

pub use entry::main;
