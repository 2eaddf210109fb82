//! The code that memories are about: finds it when a memory is made, and says whether it changed when the memory is shown.
//!
//! Reads files of the project, never those that are excluded or that git ignores. Starts no git.

pub mod anchored;
mod block;
pub mod changes;
mod named;
pub mod renamed;
