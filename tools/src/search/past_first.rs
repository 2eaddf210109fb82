//! Answers questions about the past: what was before a hit, newest first, stands before it.

use std::collections::HashSet;

use schema::store::{MemoryRow, Store};

use super::candidate::{Candidate, Passage, ScoreReasons, passes_filter};
use super::ranked_candidate::{RankLifts, RankedCandidate};
use super::request::SearchFilter;
use super::stop_words::is_stop_word;
use crate::error::ToolError;
use crate::text::fold::fold;
use crate::text::words;

/// First hits whose predecessors are shown.
const LEADING: usize = 3;

/// Most memories that replace each other.
const MAX_CHAIN: usize = 8;

/// Puts the predecessors of the first hits before what the question names, or before what holds now.
pub(super) fn reorder(
    store: &Store,
    filter: &SearchFilter,
    ranked: &mut Vec<RankedCandidate>,
    question: &str,
) -> Result<(), ToolError> {
    let mut done: HashSet<String> = HashSet::new();
    for place in 0..LEADING.min(ranked.len()) {
        let Some(row) = ranked[place].row().filter(|row| !done.contains(row.memory.id.as_str())) else { continue };
        let chain = chain_of(store, ranked, row)?;
        let chain: Vec<MemoryRow> = chain.into_iter().filter(|row| passes_filter(filter, &passage(row))).collect();
        if chain.len() < 2 {
            continue;
        }
        done.extend(chain.iter().map(|row| row.memory.id.to_string()));
        let named = named_in(question, &chain);
        let order = (0..named).rev().chain(named..chain.len());
        let best = ranked[place].score;
        let of_chain = |ranked: &mut RankedCandidate| done.contains(ranked.candidate.passage.id());
        let mut known: Vec<RankedCandidate> = ranked.extract_if(.., of_chain).collect();
        let mut in_order = Vec::with_capacity(chain.len());
        for at in order {
            let id = chain[at].memory.id.as_str();
            let mut found = match known.iter().position(|known| known.candidate.passage.id() == id) {
                Some(known_at) => known.swap_remove(known_at),
                None => unscored(&chain[at], best),
            };
            if at < named {
                found.score = found.score.max(best);
            }
            in_order.push(found);
        }
        let place = place.min(ranked.len());
        ranked.splice(place..place, in_order);
    }
    Ok(())
}

fn passage(row: &MemoryRow) -> Passage {
    Passage::Memory(Box::new(row.clone()))
}

fn unscored(row: &MemoryRow, score: f32) -> RankedCandidate {
    let (tokens, reasons) = (Vec::new(), ScoreReasons::default());
    let candidate = Candidate { passage: passage(row), tokens, matched: 0, relevance: score, reasons, phrasing: 0 };
    RankedCandidate { candidate, score, lifts: RankLifts::default() }
}

/// The chain of memories that replace each other, with `row` among them, oldest first.
fn chain_of(store: &Store, ranked: &[RankedCandidate], row: &MemoryRow) -> Result<Vec<MemoryRow>, ToolError> {
    let mut chain = vec![row.clone()];
    let mut at = 0;
    while at < chain.len() {
        let row = chain[at].clone();
        let named = [row.memory.attributes.supersedes.clone(), row.superseded_by.clone()];
        for id in named.into_iter().flatten() {
            add(&mut chain, store.rows().by_id(&id)?);
        }
        let replaced = ranked.iter().filter_map(RankedCandidate::row);
        let replaced = replaced.filter(|other| other.superseded_by.as_ref() == Some(&row.memory.id));
        replaced.for_each(|other| add(&mut chain, Some(other.clone())));
        at += 1;
    }
    chain.sort_by_key(MemoryRow::order);
    Ok(chain)
}

fn add(chain: &mut Vec<MemoryRow>, row: Option<MemoryRow>) {
    if let Some(row) = row
        && chain.len() < MAX_CHAIN
        && chain.iter().all(|known| known.memory.id != row.memory.id)
    {
        chain.push(row);
    }
}

/// The memory of a chain that the question names by words of its own. Otherwise the question means what holds now.
fn named_in(question: &str, chain: &[MemoryRow]) -> usize {
    let texts: Vec<String> = chain.iter().map(|row| row.memory.content.to_lowercase()).collect();
    let words = words(question).filter(|word| word.chars().count() > 1 && !is_stop_word(&fold(word)));
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let own_words = |at: usize| {
        let is_own = |word: &&String| {
            let has = |text: &&String| text.contains(word.as_str());
            has(&&texts[at]) && texts.iter().filter(has).count() == 1
        };
        words.iter().filter(is_own).count()
    };
    (0..chain.len()).filter(|at| own_words(*at) > 0).max_by_key(|at| own_words(*at)).unwrap_or(chain.len() - 1)
}
