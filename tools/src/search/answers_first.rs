//! Shows an answer before its question, which tells a model nothing.

use schema::model::memory::MemoryType;
use schema::store::MemoryRow;

use super::candidate::Passage;
use super::echo::EchoFilter;
use super::ranked_candidate::RankedCandidate;
use super::text_features;

/// The share of the least score that suffices for the answer of a question that is a hit.
const WEAK: f64 = 0.5;

/// Moves the answer of each question directly before it.
pub(super) fn put_answers_first(echo: &EchoFilter, ranked: &mut Vec<RankedCandidate>, min_score: f64) {
    let mut place = 0;
    while place < ranked.len() {
        if let Some(answer) = answer_below(echo, ranked, place, min_score) {
            let mut found = ranked.remove(answer);
            found.score = found.score.max(ranked[place].score);
            ranked.insert(place, found);
            place += 1;
        }
        place += 1;
    }
}

/// The answer of the question at a place, if it is a weaker hit.
fn answer_below(echo: &EchoFilter, ranked: &[RankedCandidate], place: usize, min_score: f64) -> Option<usize> {
    let question = memory_row(&ranked[place])?;
    let memory = &question.memory;
    let asks = memory.kind == MemoryType::UserPrompt
        && (text_features::is_question(&memory.content)
            || text_features::asks_for_cause(&memory.content)
            || echo.repeats_question(&memory.content));
    if !asks || memory.session_id.is_empty() || f64::from(ranked[place].score) < min_score {
        return None;
    }
    let later = ranked.iter().enumerate().filter_map(|(at, ranked)| Some((at, memory_row(ranked)?)));
    let later = later.filter(|(_, row)| {
        let is_said = matches!(row.memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse);
        is_said && row.memory.session_id == memory.session_id && row.order() > question.order()
    });
    let (at, next) = later.min_by_key(|(_, row)| row.order())?;
    // An answer in other words than the question is a weak hit, but it is what the question was about.
    let is_hit = f64::from(ranked[at].score) >= min_score * WEAK;
    (next.memory.kind == MemoryType::AssistantResponse && at > place && is_hit).then_some(at)
}

fn memory_row(ranked: &RankedCandidate) -> Option<&MemoryRow> {
    match &ranked.candidate.passage {
        Passage::Memory(row) => Some(row),
        Passage::Chunk(_) => None,
    }
}
