//! What proofs came to, as a table.

use std::fmt::Write as _;

/// What one proof came to.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The suite and the part of it.
    pub suite: &'static str,
    pub part: String,
    /// Rounds that were done.
    pub rounds: usize,
    /// Faults that were met: processes killed, disks filled, connections refused.
    pub faults: usize,
    /// What was measured beside, in words.
    pub measured: String,
    /// What was looked at again and again, as a table of its own; empty for most.
    pub table: String,
    /// What was wrong, each with what it takes to see it again.
    pub findings: Vec<String>,
}

impl Tally {
    pub fn new(suite: &'static str, part: impl Into<String>) -> Self {
        Self { suite, part: part.into(), ..Self::default() }
    }

    /// Panics with what was found, if anything was; for tests.
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

/// What several proofs came to.
#[derive(Debug, Clone, Default)]
pub struct Report(pub Vec<Tally>);

impl Report {
    pub fn is_clean(&self) -> bool {
        self.0.iter().all(|tally| tally.findings.is_empty())
    }

    /// The table in Markdown, and the findings below it.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| suite | part | rounds | faults | findings | measured |\n| --- | --- | ---: | ---: | ---: | --- |\n",
        );
        for Tally { suite, part, rounds, faults, measured, findings, .. } in &self.0 {
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
