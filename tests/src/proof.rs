//! Proofs that nothing is lost: rounds of faults in the real programs, with checks after each.
//!
//! Tests run a short form of each proof, and `prove` a long one. Findings are collected instead of panicking, so that a long run continues.

pub mod concurrency;
#[cfg(unix)]
pub mod crash;
pub mod editors;
pub mod flood;
pub mod fuzz;
mod ledger;
pub mod libfuzzer;
mod rounds;
pub mod secrets;
pub mod soak;
mod state;
mod tally;

pub use ledger::ExpectedMemories;
pub use rounds::{RunLength, SeededRandom};
pub use state::{age_temporary_files, check_at_rest, texts_in_rows};
pub use tally::{Durations, ProofReport, ProofResult};
