//! How long things took: the middle, and what all but one in a hundred stay below.

use std::time::Duration;

/// Durations of one kind of thing.
#[derive(Debug, Clone, Default)]
pub struct Pace(Vec<Duration>);

impl Pace {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The duration that a share of all stay below, from 0 to 1.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(at).copied().unwrap_or_default()
    }

    /// `12 ms at the median, 40 ms at p99, 55 ms at most`.
    pub fn in_words(&self) -> String {
        let milliseconds = |share| format!("{:.1} ms", self.quantile(share).as_secs_f64() * 1_000.0);
        format!("{} at the median, {} at p99, {} at most", milliseconds(0.5), milliseconds(0.99), milliseconds(1.0))
    }
}
