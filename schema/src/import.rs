//! From what a host left behind to what capture would have kept of it, had it been there.

mod auto_memory;
mod record;
mod replay;
mod side;

pub use auto_memory::{Note, notes};
pub use replay::{Ending, READ_BEFORE, Replay, working_directory};
