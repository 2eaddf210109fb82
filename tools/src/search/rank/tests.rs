use proptest::prelude::*;
use schema::memory::{Attributes, Memory, MemoryId, MemoryType};
use schema::store::{Row, Waiting};

use super::*;
use crate::search::fusion::Reasons;
use crate::text;
use crate::text::hashes::Stems;

fn now() -> Moment {
    Moment::parse_rfc3339("2026-01-28T10:00:00+09:00").unwrap()
}

fn memory(kind: MemoryType, session: &str, content: &str, days_ago: i64, relevance: f32) -> Candidate {
    let at = Moment::from_unix(now().unix() - days_ago * 86_400, Some(32_400)).unwrap();
    let memory = Memory {
        id: MemoryId::derive(session, kind, &at, content, 0),
        session_id: session.to_owned(),
        kind,
        content: content.to_owned(),
        at,
        attributes: Attributes::default(),
    };
    let path = format!("{}.md", at.date());
    let row =
        Row { seq: 1, memory, path, superseded_by: None, access_count: 0, written_at: None, waiting: Waiting::No };
    let mut tokens = Vec::new();
    let mut stems = Stems::of_thread();
    text::visit(content, |piece| tokens.push(stems.token(piece)));
    Candidate { passage: Passage::Memory(Box::new(row)), tokens, relevance, reasons: Reasons::default() }
}

fn superseded(mut candidate: Candidate) -> Candidate {
    if let Passage::Memory(row) = &mut candidate.passage {
        row.superseded_by = MemoryId::parse("newer");
    }
    candidate
}

fn order(candidates: Vec<Candidate>) -> Vec<String> {
    rank(candidates, &now()).into_iter().map(|ranked| ranked.candidate.passage.text().to_owned()).collect()
}

#[test]
fn of_equal_relevance_the_curated_and_the_newer_come_first() {
    let ranked = order(vec![
        memory(MemoryType::UserPrompt, "a", "asked long ago", 300, 0.6),
        memory(MemoryType::UserPrompt, "b", "asked today", 0, 0.6),
        memory(MemoryType::Decision, "c", "decided once", 300, 0.6),
    ]);
    assert_eq!(ranked, ["decided once", "asked today", "asked long ago"]);
}

#[test]
fn preferences_are_mild_next_to_relevance() {
    let ranked = order(vec![
        memory(MemoryType::Decision, "a", "a decision about something near", 0, 0.6),
        memory(MemoryType::ToolUsage, "b", "the very words", 900, 0.8),
    ]);
    assert_eq!(ranked[0], "the very words");
}

#[test]
fn what_was_replaced_comes_last_however_well_it_matches() {
    let ranked = order(vec![
        superseded(memory(MemoryType::Decision, "a", "use redis", 0, 0.9)),
        memory(MemoryType::UserPrompt, "b", "something else", 500, 0.36),
    ]);
    assert_eq!(ranked, ["something else", "use redis"]);
}

#[test]
fn passages_that_say_the_same_are_one_hit_and_the_best_of_them_stays() {
    let ranked = order(vec![
        memory(MemoryType::UserPrompt, "a", "please cache the tokens in redis for five minutes", 0, 0.7),
        memory(MemoryType::Decision, "b", "Please cache the tokens in Redis, for five minutes!", 0, 0.7),
        memory(MemoryType::Decision, "c", "cache the sessions in memory", 0, 0.5),
    ]);
    assert_eq!(ranked, ["Please cache the tokens in Redis, for five minutes!", "cache the sessions in memory"]);
}

#[test]
fn one_session_does_not_crowd_out_the_others() {
    let of_one = |n: u8| memory(MemoryType::UserPrompt, "loud", &format!("topic{n} of many"), 0, 0.9);
    let mut candidates: Vec<Candidate> = (0..8).map(of_one).collect();
    candidates.push(memory(MemoryType::UserPrompt, "quiet", "another voice", 0, 0.5));
    let ranked = order(candidates);
    assert_eq!(ranked[PER_ORIGIN], "another voice");
    assert_eq!(ranked.len(), 9, "nothing is lost");
}

proptest! {
    #[test]
    fn no_preference_ever_lowers_a_score(kind in 0usize..11, days in 0i64..4_000, relevance in 0.01f32..1.0) {
        for ranked in rank(vec![memory(MemoryType::ALL[kind], "s", "one thing", days, relevance)], &now()) {
            prop_assert!(ranked.score >= ranked.candidate.relevance);
        }
    }
}
