//! Moves the agent's answer next to the prompt that asked for it, and what its session decided next to its first hit. Prompts and edits
//! share the words of a question but do not answer it.

use std::collections::HashSet;

use schema::model::memory::{Memory, MemoryType};
use schema::store::MemoryRow;

use super::echo::AskedText;
use super::ranked_candidate::{RankedCandidate, move_up};
use super::{questions, text_features};

/// First hits that bring their answer, or the decision of their session.
const LEADING: usize = 3;

/// The answer to a question is shown from this share of the least score on.
const WEAK: f64 = 0.5;

/// Moves the answers of the first prompts next to them, in whatever words they are: before a question, which says nothing, and behind a
/// prompt below the least score, which may be near only because it is about the same. If `question` asks what was decided, the best decision
/// of each session follows the session's first hit. A prompt that repeats the question is its echo.
pub(super) fn put_answers_first(asked: &AskedText, ranked: &mut Vec<RankedCandidate>, question: &str, min_score: f64) {
    let mut place = 0;
    while place < ranked.len().min(LEADING) {
        let asks = ranked[place].row().is_some_and(|row| asks(asked, &row.memory));
        let score = f64::from(ranked[place].score);
        let (brings_answer, least) =
            if asks { (score >= min_score, min_score * WEAK) } else { (score < min_score, 0.0) };
        if brings_answer && let Some(answer) = answer_below(ranked, place, least) {
            move_up(ranked, answer, if asks { place } else { place + 1 }, place);
            place += 1;
        }
        place += 1;
    }
    if text_features::asks_for_decision(question) {
        add_decisions(ranked, min_score);
    }
    drop_repeated(ranked, min_score);
}

/// Drops the prompts and open tasks that a shown hit of their session before them repeats: its composed summary or, for a task, the answer
/// that left it.
fn drop_repeated(ranked: &mut Vec<RankedCandidate>, min_score: f64) {
    let rows: Vec<Option<&MemoryRow>> = ranked.iter().map(RankedCandidate::row).collect();
    let is_shown = |at: &usize| f64::from(ranked[*at].score) >= min_score;
    let shown = (0..rows.len()).filter(is_shown).filter_map(|at| Some((at, &rows[at]?.memory)));
    let repeating: Vec<(usize, &Memory)> = shown
        .filter(|(_, memory)| memory.is_composed_summary() || memory.kind == MemoryType::AssistantResponse)
        .collect();
    let is_repeated = |at: &usize| {
        let Some(row) = rows[*at] else { return false };
        let Memory { kind, session_id, content, .. } = &row.memory;
        let is_task = row.is_open_task();
        let repeats = |before: &Memory| {
            (is_task || before.is_composed_summary())
                && before.session_id == *session_id
                && before.content.contains(content.trim())
        };
        (is_task || *kind == MemoryType::UserPrompt)
            && repeating.iter().take_while(|(before, _)| before < at).any(|(_, before)| repeats(before))
    };
    let dropped: Vec<usize> = (0..rows.len()).filter(is_repeated).collect();
    dropped.into_iter().rev().for_each(|at| drop(ranked.remove(at)));
}

/// The answer to the prompt at a place, if it is a weaker hit with at least this score.
fn answer_below(ranked: &[RankedCandidate], place: usize, least: f64) -> Option<usize> {
    let prompt = ranked[place].row()?;
    let session_id = &prompt.memory.session_id;
    if prompt.memory.kind != MemoryType::UserPrompt || session_id.is_empty() {
        return None;
    }
    let memories = ranked.iter().enumerate().filter_map(|(at, ranked)| Some((at, ranked.row()?)));
    let later = memories.filter(|(_, row)| {
        let is_said = matches!(row.memory.kind, MemoryType::UserPrompt | MemoryType::AssistantResponse);
        is_said && row.memory.session_id == *session_id && row.order() > prompt.order()
    });
    let (at, next) = later.min_by_key(|(_, row)| row.order())?;
    let is_answer = next.memory.kind == MemoryType::AssistantResponse;
    (is_answer && at > place && f64::from(ranked[at].score) >= least).then_some(at)
}

fn asks(asked: &AskedText, prompt: &Memory) -> bool {
    questions::is_question(&prompt.content)
        || text_features::asks_for_cause(&prompt.content)
        || asked.is_repeated_by(&prompt.content)
}

fn add_decisions(ranked: &mut [RankedCandidate], min_score: f64) {
    let mut sessions: HashSet<String> = HashSet::new();
    let mut place = 0;
    while place < ranked.len().min(LEADING) && f64::from(ranked[place].score) >= min_score {
        let memory = ranked[place].row().map(|row| &row.memory);
        let session_id = memory.filter(|memory| !memory.session_id.is_empty()).map(|memory| memory.session_id.clone());
        let is_decision = memory.is_some_and(|memory| memory.kind == MemoryType::Decision);
        if let Some(session_id) = session_id
            && sessions.insert(session_id.clone())
            && !is_decision
            && let Some(decision) = decision_below(ranked, place + 1, &session_id)
        {
            place += 1;
            move_up(ranked, decision, place, place - 1);
        }
        place += 1;
    }
}

/// The best decision of a session from a place on, in whatever words.
fn decision_below(ranked: &[RankedCandidate], from: usize, session_id: &str) -> Option<usize> {
    let is_decision = |ranked: &RankedCandidate| {
        let memory = ranked.row().map(|row| &row.memory);
        memory.is_some_and(|memory| memory.kind == MemoryType::Decision && memory.session_id == session_id)
            && ranked.candidate.passage.superseded_by().is_none()
    };
    ranked.iter().skip(from).position(is_decision).map(|at| at + from)
}
