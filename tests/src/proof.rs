//! Proofs that nothing is lost: faults put into real programs, round by round, and what was found wrong afterwards.
//!
//! The tests run a short form of each, `prove` a long one. What a proof finds is told, not panicked about, so that a long run goes on.

pub mod concurrency;
#[cfg(unix)]
pub mod crash;
pub mod editors;
pub mod flood;
pub mod fuzz;
mod ledger;
pub mod libfuzzer;
mod pace;
mod random;
pub mod secrets;
pub mod soak;
mod state;
mod tally;

pub use ledger::Ledger;
pub use pace::Pace;
pub use random::Random;
pub use state::{age_temporary_files, at_rest, texts_in_rows};
pub use tally::{Report, Tally};
