//! The order of candidates: relevance first, then mild preferences that only ever lift a score, so that none falls under the
//! threshold because of what it is.

use std::collections::HashMap;

use schema::daily_log::LONG_TERM_FILE;
use schema::moment::Moment;

use super::candidate::{Candidate, Passage};

/// What people or agents curated counts for more than what was logged.
const CURATED: f32 = 0.06;

/// For each step of importance above 1.
const IMPORTANCE: f32 = 0.02;

/// What was logged today counts for more; half of it is left after [`HALF_LIFE`] days.
const RECENT: f32 = 0.04;
const HALF_LIFE: f32 = 30.0;

/// Hits of one file of notes, or of one session's course, that stand before those of others.
const PER_ORIGIN: usize = 5;

/// The share of common words from which on two passages say the same.
const SAME: f32 = 0.9;

/// Ranked passages that are compared with each other for sameness.
const COMPARED: usize = 100;

/// A candidate with its place in the order.
#[derive(Debug, Clone)]
pub(super) struct Ranked {
    pub(super) candidate: Candidate,
    pub(super) score: f32,
    pub(super) lifts: Lifts,
}

/// What lifted a score, each as a share of the relevance.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Lifts {
    pub(super) curated: f32,
    pub(super) importance: f32,
    pub(super) recent: f32,
}

/// Puts candidates in order, best first; of passages that say the same the best stays.
pub(super) fn rank(candidates: Vec<Candidate>, now: &Moment) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = candidates
        .into_iter()
        .map(|candidate| {
            let lifts = lifts(&candidate.passage, now);
            let lift = lifts.curated + lifts.importance + lifts.recent;
            Ranked { score: candidate.relevance * (1.0 + lift), lifts, candidate }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let superseded = |ranked: &Ranked| ranked.candidate.passage.superseded_by().is_some();
        let later = |ranked: &Ranked| std::cmp::Reverse(ranked.candidate.passage.at());
        // The id last: an order that does not depend on the database that the rows happen to lie in.
        superseded(a)
            .cmp(&superseded(b))
            .then(b.score.total_cmp(&a.score))
            .then(later(a).cmp(&later(b)))
            .then_with(|| a.candidate.passage.id().cmp(b.candidate.passage.id()))
    });
    spread(collapse(ranked))
}

fn lifts(passage: &Passage, now: &Moment) -> Lifts {
    let memory = passage.memory();
    let curated = match memory {
        Some(memory) => !memory.kind.is_session_data() || passage.path() == LONG_TERM_FILE,
        None => passage.at().is_none(),
    };
    let importance =
        memory.map_or(1, |memory| memory.attributes.importance.unwrap_or_else(|| memory.kind.default_importance()));
    let recent = passage.at().filter(|_| memory.is_none_or(|memory| memory.kind.is_session_data())).map_or(0.0, |at| {
        // Whole days, so that the same question has the same answer all day.
        let days = ((now.unix() - at.unix()) / 86_400).max(0) as f32;
        RECENT * 0.5_f32.powf(days / HALF_LIFE)
    });
    Lifts {
        curated: if curated { CURATED } else { 0.0 },
        importance: IMPORTANCE * (f32::from(importance) - 1.0).max(0.0),
        recent,
    }
}

/// Leaves out what a better passage says already.
fn collapse(ranked: Vec<Ranked>) -> Vec<Ranked> {
    let mut kept: Vec<Ranked> = Vec::with_capacity(ranked.len());
    let mut words: Vec<Vec<u64>> = Vec::new();
    for mut candidate in ranked {
        if words.len() < COMPARED {
            let mut own = std::mem::take(&mut candidate.candidate.tokens);
            own.sort_unstable();
            own.dedup();
            if words.iter().any(|other| same(other, &own)) {
                continue;
            }
            words.push(own);
        }
        kept.push(candidate);
    }
    kept
}

/// Whether two lists of distinct words, in order, have as good as all of them in common.
fn same(a: &[u64], b: &[u64]) -> bool {
    let (fewer, more) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if (fewer.len() as f32) < SAME * more.len() as f32 {
        return false;
    }
    // So many words may be missing; what has more of its own is not compared to the end.
    let all = fewer.len() + more.len();
    let most_missing = fewer.len() as f32 - SAME * all as f32 / (1.0 + SAME) + 1.0;
    let (mut common, mut missing, mut rest) = (0, 0.0, more);
    for word in fewer {
        let passed = rest.iter().take_while(|other| *other < word).count();
        rest = &rest[passed..];
        if rest.first() == Some(word) {
            common += 1;
        } else {
            missing += 1.0;
            if missing > most_missing {
                return false;
            }
        }
    }
    common as f32 >= SAME * (all - common) as f32
}

/// Moves hits of an origin that already has its share behind the others; nothing is lost.
fn spread(ranked: Vec<Ranked>) -> Vec<Ranked> {
    let mut shares: HashMap<String, usize> = HashMap::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for candidate in ranked {
        let passage = &candidate.candidate.passage;
        let origin = match passage.memory() {
            Some(memory) if !memory.kind.is_session_data() || memory.session_id.is_empty() => None,
            Some(memory) => Some(format!("session {}", memory.session_id)),
            None => Some(format!("file {}", passage.path())),
        };
        let share = origin.map_or(0, |origin| {
            let share = shares.entry(origin).or_default();
            *share += 1;
            *share
        });
        if share > PER_ORIGIN { later.push(candidate) } else { first.push(candidate) }
    }
    first.append(&mut later);
    first
}

#[cfg(test)]
mod tests;
