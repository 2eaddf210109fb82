//! Shows the answer of a question before the question, and what a session found out beside its pointers: edits, commands and composed
//! summaries, which share the words of a question but do not answer it.

use std::collections::HashSet;

use schema::model::memory::{Memory, MemoryType};
use schema::store::MemoryRow;

use super::candidate::Passage;
use super::echo::EchoFilter;
use super::ranked_candidate::RankedCandidate;
use super::text_features;

/// An answer follows a question or a pointer among the hits if it reaches this share of the least score.
const WEAK: f64 = 0.5;

/// First hits whose sessions are searched for answers.
const LEADING: usize = 3;

/// Answers that follow a pointer at most.
const MAX_ANSWERS: usize = 2;

/// What a conclusion is worth beside an answer of the same score.
const CONCLUSION: f32 = 0.05;

/// Moves answers before their questions, and beside the pointers of their sessions. `echo` knows the phrasings of the question, if a
/// model asks.
pub(super) fn put_answers_first(
    echo: Option<&EchoFilter>,
    ranked: &mut Vec<RankedCandidate>,
    question: &str,
    min_score: f64,
) {
    let mut place = 0;
    while place < ranked.len() {
        if let Some(answer) = answer_below(echo, ranked, place, min_score) {
            move_up(ranked, answer, place, place);
            place += 1;
        }
        place += 1;
    }
    add_answers_of_pointers(echo, ranked, text_features::asks_for_decision(question), min_score);
}

/// Moves a candidate to a better place, with at least the score of another place.
fn move_up(ranked: &mut Vec<RankedCandidate>, from: usize, to: usize, like: usize) {
    let score = ranked[like].score;
    let mut found = ranked.remove(from);
    found.score = found.score.max(score);
    ranked.insert(to, found);
}

/// The answer of the question at a place, if it is a weaker hit.
fn answer_below(echo: Option<&EchoFilter>, ranked: &[RankedCandidate], place: usize, min_score: f64) -> Option<usize> {
    let question = memory_row(&ranked[place])?;
    let memory = &question.memory;
    if !is_question(echo, memory) || memory.session_id.is_empty() || f64::from(ranked[place].score) < min_score {
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

fn is_question(echo: Option<&EchoFilter>, memory: &Memory) -> bool {
    memory.kind == MemoryType::UserPrompt
        && (text_features::is_question(&memory.content)
            || text_features::asks_for_cause(&memory.content)
            || echo.is_some_and(|echo| echo.repeats_question(&memory.content)))
}

/// Puts the best answers of a session behind its first pointer, before its other pointers.
fn add_answers_of_pointers(
    echo: Option<&EchoFilter>,
    ranked: &mut Vec<RankedCandidate>,
    asks_decision: bool,
    min_score: f64,
) {
    let mut sessions: HashSet<String> = HashSet::new();
    let mut place = 0;
    while place < ranked.len().min(LEADING) {
        let session = pointer(echo, &ranked[place]).filter(|_| f64::from(ranked[place].score) >= min_score);
        if let Some(session) = session.map(str::to_owned)
            && sessions.insert(session.clone())
        {
            let same = |ranked: &&RankedCandidate| pointer(echo, ranked).is_some_and(|other| other == session);
            let surplus = ranked[place + 1..].iter().take_while(same).count().min(MAX_ANSWERS);
            if asks_decision && let Some(decision) = decision_below(ranked, place + 1, &session) {
                place += 1;
                move_up(ranked, decision, place, place - 1);
            }
            for _ in 0..surplus {
                let Some(answer) = best_answer(ranked, place + 1, &session, min_score) else { break };
                place += 1;
                move_up(ranked, answer, place, place);
            }
        }
        place += 1;
    }
}

/// The session of a hit that is no answer itself, but shows where one is.
fn pointer<'r>(echo: Option<&EchoFilter>, ranked: &'r RankedCandidate) -> Option<&'r str> {
    let memory = &memory_row(ranked)?.memory;
    let is_pointer = match memory.kind {
        MemoryType::ToolUsage => true,
        MemoryType::SessionSummary => memory.attributes.auto,
        _ => {
            text_features::requests(&memory.content) && memory.kind == MemoryType::UserPrompt
                || is_question(echo, memory)
        }
    };
    Some(memory.session_id.as_str()).filter(|session| is_pointer && !session.is_empty())
}

/// The best decision of a session from a place on, in whatever words.
fn decision_below(ranked: &[RankedCandidate], from: usize, session: &str) -> Option<usize> {
    let is_decision = |ranked: &RankedCandidate| {
        let memory = memory_row(ranked).map(|row| &row.memory);
        memory.is_some_and(|memory| memory.kind == MemoryType::Decision && memory.session_id == session)
    };
    ranked.iter().skip(from).position(is_decision).map(|at| at + from)
}

/// The best answer or conclusion of a session from a place on.
fn best_answer(ranked: &[RankedCandidate], from: usize, session: &str, min_score: f64) -> Option<usize> {
    let answers = ranked.iter().enumerate().skip(from).filter_map(|(at, ranked)| {
        let memory = &memory_row(ranked)?.memory;
        let is_conclusion =
            !memory.kind.is_event() && !matches!(memory.kind, MemoryType::Task | MemoryType::SessionSummary);
        let is_answer = matches!(memory.kind, MemoryType::AssistantResponse | MemoryType::SubagentResult);
        let is_hit = f64::from(ranked.score) >= min_score * WEAK && memory.session_id == session;
        let worth = ranked.score + if is_conclusion { CONCLUSION } else { 0.0 };
        (is_hit && (is_answer || is_conclusion)).then_some((at, worth))
    });
    answers.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(at, _)| at)
}

fn memory_row(ranked: &RankedCandidate) -> Option<&MemoryRow> {
    match &ranked.candidate.passage {
        Passage::Memory(row) => Some(row),
        Passage::Chunk(_) => None,
    }
}
