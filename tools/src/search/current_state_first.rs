//! Moves newer summaries and prompts before older hits, because what was said last about a subject tells its current state.

use schema::host::session_record::changed_files;
use schema::model::memory::MemoryType;
use schema::store::MemoryRow;

use super::questions;
use super::ranked_candidate::{RankedCandidate, is_current_own, move_up};

/// Among how many of the first hits a newer one can move before an older one. docs/dev/retrieval.md has the figures.
const MAX_OUTDATED: usize = 5;

/// Least share of the older hit's score.
const NEWER_SCORE_SHARE: f32 = 0.5;

/// Moves newer prompts before an older summary or answer, and newer summaries before an older one if both sessions changed the same file,
/// the newest first and with at least its score. A prompt that is a question does not move. Returns whether the first hit changed.
pub(super) fn reorder(hits: &mut [RankedCandidate]) -> bool {
    let count = hits.len().min(MAX_OUTDATED);
    let mut has_new_first = false;
    for place in 0..count {
        let newer = (place + 1..count).filter(|other| is_current_state(&hits[*other], &hits[place]));
        if let Some(newest) = newer.max_by_key(|other| hits[*other].row().map(MemoryRow::order)) {
            move_up(hits, newest, place, place);
            has_new_first |= place == 0;
        }
    }
    has_new_first
}

/// Whether one hit probably says how things are that an older one describes.
fn is_current_state(newer: &RankedCandidate, older: &RankedCandidate) -> bool {
    let (Some(new), Some(old)) = (newer.row(), older.row()) else { return false };
    let may_move = match (old.memory.kind, new.memory.kind) {
        (MemoryType::SessionSummary, MemoryType::SessionSummary) => {
            changed_files(&new.memory.content).any(|file| changed_files(&old.memory.content).any(|other| other == file))
        }
        (MemoryType::SessionSummary | MemoryType::AssistantResponse, MemoryType::UserPrompt) => {
            !questions::is_question(&new.memory.content)
        }
        _ => false,
    };
    may_move && is_current_own(new) && new.order() > old.order() && newer.score >= NEWER_SCORE_SHARE * older.score
}
