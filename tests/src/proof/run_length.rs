//! The length of a proof.

use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLength {
    /// The long form: as many rounds as fit into this time.
    Time(Duration),
    /// The short form for tests: the same rounds on all machines.
    Rounds(usize),
}

impl RunLength {
    /// Whether a proof that began at `start` is done.
    pub fn is_over(self, start: Instant, rounds: usize) -> bool {
        match self {
            Self::Time(time) => start.elapsed() >= time,
            Self::Rounds(wanted) => rounds >= wanted,
        }
    }
}
