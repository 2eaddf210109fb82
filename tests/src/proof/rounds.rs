//! How many rounds a proof has, and its random numbers, which a seed reproduces.

use std::time::{Duration, Instant};

/// How long a proof runs.
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

/// A generator of random numbers.
#[derive(Debug, Clone)]
pub struct SeededRandom(u64);

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        // SplitMix64 by Steele, Lea and Flood.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns true once in `times` on average.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
