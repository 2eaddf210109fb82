//! Candidates with their final score, and what their order depends on.

use schema::model::moment::Moment;
use schema::model::sharing::team_author;
use schema::store::MemoryRow;

use super::candidate::Candidate;
use super::dates::AskedTimes;
use super::request::Scoring;

/// Passages compared for duplicates.
pub(super) const COMPARED: usize = 100;

#[derive(Debug, Clone)]
pub(super) struct RankedCandidate {
    pub(super) candidate: Candidate,
    pub(super) score: f32,
    pub(super) lifts: RankLifts,
}

impl RankedCandidate {
    /// The row of a memory; a passage of Markdown has none.
    pub(super) fn row(&self) -> Option<&MemoryRow> {
        self.candidate.passage.row()
    }
}

/// Whether a memory is the user's own and no other one replaces it. A shared memory moves before no memory of the user.
pub(super) fn is_current_own(row: &MemoryRow) -> bool {
    row.superseded_by.is_none() && team_author(&row.path).is_none()
}

/// Moves a candidate to a better place, with at least the score of another one. Otherwise the threshold could hide it and show the other.
pub(super) fn move_up(ranked: &mut [RankedCandidate], from: usize, to: usize, other: usize) {
    ranked[from].score = ranked[from].score.max(ranked[other].score);
    ranked[to..=from].rotate_right(1);
}

/// Bonuses as shares of the relevance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct RankLifts {
    /// For what it is: a conclusion, a note, a composed summary.
    pub(super) kind: f32,
    pub(super) importance: f32,
    pub(super) recent: f32,
    pub(super) identifier: f32,
}

/// What the order depends on besides the candidates.
#[derive(Debug)]
pub(super) struct RankContext<'a> {
    pub(super) now: &'a Moment,
    pub(super) scoring: Scoring,
    /// Whether the question asks how something was before.
    pub(super) asks_past: bool,
    /// The times that it asks for, if it asks for nothing else.
    pub(super) only_times: Option<&'a AskedTimes>,
    /// Whether it asks what was decided.
    pub(super) asks_decision: bool,
    /// The identifier that the question consists of.
    pub(super) identifier: Option<&'a str>,
    /// The weights of the words of each phrasing.
    pub(super) weights: &'a [Vec<f32>],
}

impl RankContext<'_> {
    /// Weight of some words of the phrasing that a candidate matches best, given as bits.
    pub(super) fn weight(&self, candidate: &Candidate, words: u64) -> f32 {
        let weights = self.weights.get(candidate.phrasing).into_iter().flatten().take(64).enumerate();
        weights.filter(|(word, _)| words >> word & 1 == 1).map(|(_, weight)| weight).sum()
    }
}
