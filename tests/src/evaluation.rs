//! Evaluation sets: stores filled like real ones, and questions with the documents that answer them.
//!
//! Used by `eval` and by tests. Uses only the engine's public functions.

mod pairs;
mod set;
mod stores;

pub use pairs::{ENTRIES, EvalPair, PairSet, add_distractors, pairs_as_set};
pub use set::{DocumentShape, EvalDocument, EvalGroup, EvalQuestion, EvalSet, read_phrasings};
pub use stores::{EvalStore, RetrievedDocuments, ShownHit};

use std::path::PathBuf;

/// Returns the directory of sets beside the checkout whose licences do not allow them inside; `None` if there is none.
pub fn sets_beside_checkout() -> Option<PathBuf> {
    let dir: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "eval"].iter().collect();
    dir.is_dir().then_some(dir)
}

/// The project's own sets.
pub fn own_sets() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "evaluation"].iter().collect()
}
