//! Results of proofs as a table, and the durations measured in them.

use std::fmt::Write as _;
use std::time::Duration;

/// Result of one proof.
#[derive(Debug, Clone, Default)]
pub struct ProofResult {
    /// The suite and its part.
    pub suite: &'static str,
    pub part: String,
    pub rounds: usize,
    /// Injected faults: killed processes, full disks, refused connections.
    pub faults: usize,
    /// Additional measurements, as text.
    pub measured: String,
    /// A table of repeated measurements, usually empty.
    pub table: String,
    /// The findings, each with the data to reproduce it.
    pub findings: Vec<String>,
}

impl ProofResult {
    pub fn new(suite: &'static str, part: impl Into<String>) -> Self {
        Self { suite, part: part.into(), ..Self::default() }
    }

    /// Panics with the findings, if any.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(
            self.findings.is_empty(),
            "{} findings in {} rounds of {} {}:\n{}",
            self.findings.len(),
            self.rounds,
            self.suite,
            self.part,
            self.findings.join("\n")
        );
    }
}

#[derive(Debug, Clone, Default)]
pub struct ProofReport(pub Vec<ProofResult>);

impl ProofReport {
    pub fn is_clean(&self) -> bool {
        self.0.iter().all(|tally| tally.findings.is_empty())
    }

    /// Returns the table in Markdown, followed by the findings.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| suite | part | rounds | faults | findings | measured |\n| --- | --- | ---: | ---: | ---: | --- |\n",
        );
        for ProofResult { suite, part, rounds, faults, measured, findings, .. } in &self.0 {
            let _ = writeln!(text, "| {suite} | {part} | {rounds} | {faults} | {} | {measured} |", findings.len());
        }
        for tally in self.0.iter().filter(|tally| !tally.table.is_empty()) {
            let _ = writeln!(text, "\n{} {}:\n\n{}", tally.suite, tally.part, tally.table.trim_end());
        }
        for tally in self.0.iter().filter(|tally| !tally.findings.is_empty()) {
            let _ = writeln!(text, "\n{} {}:\n", tally.suite, tally.part);
            for finding in &tally.findings {
                let _ = writeln!(text, "- {}", finding.replace('\n', "\n  "));
            }
        }
        text
    }
}

/// Measured durations of one operation.
#[derive(Debug, Clone, Default)]
pub struct Durations(Vec<Duration>);

impl Durations {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the duration at a quantile from 0 to 1.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
        sorted.get(at).copied().unwrap_or_default()
    }

    /// Formats the durations as `12 ms at the median, 40 ms at p99, 55 ms at most`.
    pub fn summary(&self) -> String {
        let milliseconds = |share| format!("{:.1} ms", self.quantile(share).as_secs_f64() * 1_000.0);
        format!("{} at the median, {} at p99, {} at most", milliseconds(0.5), milliseconds(0.99), milliseconds(1.0))
    }
}
