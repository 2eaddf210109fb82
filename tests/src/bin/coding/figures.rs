//! Figures of a server: counts with a name.

use harness::coding::{AlarmCounts, RetrievalCounts};
use harness::peer::PeerDescription;
use harness::stories::StoryResult;

/// How a figure is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    MoreIsBetter,
    LessIsBetter,
}

/// How many of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodingFigure {
    pub(crate) set: String,
    pub(crate) name: String,
    pub(crate) count: usize,
    /// 0 if nothing was measured.
    pub(crate) of: usize,
    pub(crate) direction: Direction,
}

impl CodingFigure {
    /// In per cent.
    pub(crate) fn percent(&self) -> Option<f64> {
        (self.of > 0).then(|| 100.0 * self.count as f64 / self.of as f64)
    }
}

/// All figures of a server.
#[derive(Debug, Default)]
pub(crate) struct ServerFigures {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) figures: Vec<CodingFigure>,
    /// Remarks for readers: the configuration, and parts that were not measured.
    pub(crate) notes: Vec<String>,
}

impl ServerFigures {
    pub(crate) fn new(description: &PeerDescription, by_tool: bool) -> Self {
        let name = Self::name_of(description, by_tool);
        let notes = description.note.iter().cloned().collect();
        Self { name, version: description.version.clone(), notes, figures: Vec::new() }
    }

    pub(crate) fn name_of(description: &PeerDescription, by_tool: bool) -> String {
        if by_tool { format!("{}, by its save tool", description.name) } else { description.name.clone() }
    }

    fn add(&mut self, set: &str, name: &str, (count, of): (usize, usize), direction: Direction) {
        self.figures.push(CodingFigure { set: set.to_owned(), name: name.to_owned(), count, of, direction });
    }

    pub(crate) fn add_retrieval(&mut self, set: &str, counts: &RetrievalCounts) {
        let of = counts.questions;
        self.add(set, "right first", (counts.right_first, of), Direction::MoreIsBetter);
        self.add(set, "right in the first five", (counts.right_in_five, of), Direction::MoreIsBetter);
        self.add(set, "empty", (counts.empty, of), Direction::LessIsBetter);
        if counts.newest_first.1 > 0 || set.starts_with(SDE) {
            self.add(set, "newest rule first", counts.newest_first, Direction::MoreIsBetter);
        }
        let (stores, all) = counts.stores;
        if stores < all {
            self.notes.push(format!("{set}: {stores} of {all} stores could be filled in time"));
        }
    }

    pub(crate) fn add_stories(&mut self, results: &[StoryResult], all: usize) {
        let sum = |of: &dyn Fn(&StoryResult) -> (usize, usize)| {
            results.iter().map(of).fold((0, 0), |sum, (count, of)| (sum.0 + count, sum.1 + of))
        };
        self.add(STORIES, "facts in the brief", sum(&|story| story.facts), Direction::MoreIsBetter);
        let violations = sum(&|story| (story.violations.len(), story.forbidden));
        self.add(STORIES, "violations in the brief", violations, Direction::LessIsBetter);
        self.add(STORIES, "searches", sum(&|story| story.searches), Direction::MoreIsBetter);
        if results.len() < all {
            self.notes.push(format!("{STORIES}: {} of {all} could be played in time", results.len()));
        }
        let characters = results.iter().map(|story| story.brief.chars().count()).sum::<usize>();
        if characters > 0 {
            self.notes.push(format!("{STORIES}: a brief has {} characters on average", characters / results.len()));
        }
    }

    /// A server that never says anything about code has no figures.
    pub(crate) fn add_code_changes(&mut self, counts: &AlarmCounts) {
        let (changed, unchanged) = (counts.changed, counts.unchanged);
        let can_say = changed.0 + unchanged.0 > 0;
        self.add(CODE, "changed code that is reported", changed, Direction::MoreIsBetter);
        let alarms = if can_say { (changed.0, changed.0 + unchanged.0) } else { (0, 0) };
        self.add(CODE, "reports that are right", alarms, Direction::MoreIsBetter);
        if counts.not_found > 0 {
            self.notes.push(format!("{CODE}: {} answers did not have the memory", counts.not_found));
        }
    }
}

/// Names of sets.
pub(crate) const SDE: &str = "sde-bench";
const STORIES: &str = "stories";
const CODE: &str = "code changes";
