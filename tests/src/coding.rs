//! The coding-memory benchmark: what an agent gets back from its memory, for our product and for any described server.
//!
//! Used by `coding` and by tests. docs/dev/coding.md explains the figures.

mod code_changes;
mod retrieval;
mod server;

pub use code_changes::{AlarmCounts, CodeChangeCase, measure_code_changes};
pub use retrieval::{RetrievalCounts, measure_retrieval};
pub use server::{MemoryServer, OpenServer};

use std::path::PathBuf;

use crate::evaluation::{self, EvalSet, PairSet};

/// Returns the path of a file of the benchmark's data.
pub fn coding_data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "coding", name].iter().collect()
}

/// Reads the retrieval sets of the benchmark.
pub fn retrieval_sets() -> Result<Vec<EvalSet>, String> {
    let own = EvalSet::read(&evaluation::own_sets().join("project.json"))?;
    let sde = EvalSet::read(&coding_data("sde.json"))?;
    let mut sets = vec![sde.in_one_store(), sde, EvalSet::read(&coding_data("notes.json"))?];
    for name in ["pairs.json", "pairs-held-out.json", "languages.json"] {
        sets.push(evaluation::pairs_as_set(&PairSet::read(&evaluation::own_sets().join(name))?, &own));
    }
    Ok(sets)
}
