//! Evaluation sets: stores filled the way that memories come in, and questions with the documents that answer them.
//!
//! What `eval` measures and what tests hold are these. Knows the engine, and nothing of how it finds.

mod pairs;
mod set;
mod stores;

pub use pairs::{ENTRIES, Pair, Pairs, pairs};
pub use set::{Document, Group, Question, Set, Shape};
pub use stores::{Answer, Filled};

use std::path::PathBuf;

/// Where the sets lie that are part of the project.
pub fn own_sets() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "evaluation"].iter().collect()
}
