//! Puts what was said last before older hits: of several sessions about one subject, the newest one knows how things are.

use schema::model::memory::{Memory, MemoryType};
use schema::model::sharing::team_author;

use super::questions;
use super::ranked_candidate::RankedCandidate;

/// Among how many of the first hits a newer one can move before an older one.
const MAX_REORDERED: usize = 5;

/// Least share of the older hit's score.
const SCORE_SHARE: f32 = 0.5;

/// Moves the newest summary or prompt before an older summary, and the newest prompt before an older answer, with at least its score. A
/// prompt that only asks says nothing. Returns whether another hit is the first one now.
pub(super) fn reorder(hits: &mut [RankedCandidate]) -> bool {
    let count = hits.len().min(MAX_REORDERED);
    let mut is_first_moved = false;
    for place in 0..count {
        let newer = (place + 1..count).filter(|other| overtakes(&hits[*other], &hits[place]));
        if let Some(newest) = newer.max_by_key(|other| order(&hits[*other])) {
            hits[newest].score = hits[newest].score.max(hits[place].score);
            hits[place..=newest].rotate_right(1);
            is_first_moved |= place == 0;
        }
    }
    is_first_moved
}

fn order(hit: &RankedCandidate) -> Option<(i64, i64)> {
    hit.row().map(schema::store::MemoryRow::order)
}

fn overtakes(newer: &RankedCandidate, older: &RankedCandidate) -> bool {
    let (Some(new), Some(old)) = (newer.row(), older.row()) else { return false };
    let states = |memory: &Memory| !questions::is_question(&memory.content);
    let may_overtake = match (old.memory.kind, new.memory.kind) {
        (MemoryType::SessionSummary, MemoryType::SessionSummary) => true,
        (MemoryType::SessionSummary | MemoryType::AssistantResponse, MemoryType::UserPrompt) => states(&new.memory),
        _ => false,
    };
    // A shared memory overtakes no memory of the user.
    let is_own = team_author(&new.path).is_none();
    may_overtake && is_own && new.order() > old.order() && newer.score >= SCORE_SHARE * older.score
}
