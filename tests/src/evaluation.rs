//! Evaluation sets: stores filled like real ones, and questions with the documents that answer them.
//!
//! Used by `eval` and by tests. Uses only the engine's public functions.

mod pairs;
mod set;
mod stores;

pub use pairs::{ENTRIES, EvalPair, PairSet, pairs_as_set};
pub use set::{DocumentShape, EvalDocument, EvalGroup, EvalQuestion, EvalSet, read_phrasings};
pub use stores::{EvalStore, RetrievedDocuments};

use std::path::PathBuf;

/// Returns the project's own sets.
pub fn own_sets() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "evaluation"].iter().collect()
}
