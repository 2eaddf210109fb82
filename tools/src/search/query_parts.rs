//! Cuts a long question, such as a pasted bug report, into parts. A document is scored by the part that it fits best.

use super::query::Query;
use super::request::Phrasing;
use crate::error::ToolError;
use crate::index::Index;

/// Most parts that are searched for.
const MAX_PARTS: usize = 4;

/// Most lines and sentences that are read at the start and at the end of a question.
const MAX_AT_END: usize = 40;

/// Least content words of a part. Fewer match many texts by chance.
const LEAST_WORDS: usize = 3;

/// The last and the first part, which usually say what is wanted, and those with the rarest words of the store.
pub(super) fn best_parts(index: &Index, question: &str) -> Result<Vec<Phrasing>, ToolError> {
    let mut parts = Vec::new();
    for text in ends(&split_parts(question)) {
        let query = Query::parse_literal(text);
        if query.content_words() >= LEAST_WORDS {
            parts.push((text, known_weight(index, &query)?));
        }
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| parts[*b].1.total_cmp(&parts[*a].1));
    let last = parts.len().checked_sub(1);
    let mut chosen: Vec<usize> = Vec::new();
    for at in last.into_iter().chain(order.iter().copied().take(2)).chain([0]).chain(order.iter().copied()) {
        if chosen.len() < MAX_PARTS && at < parts.len() && !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    Ok(chosen.into_iter().map(|at| Phrasing::new(parts[at].0)).collect())
}

/// Lines, and sentences of longer lines.
fn split_parts(text: &str) -> Vec<&str> {
    let sentences = text.lines().flat_map(|line| line.split_inclusive(['?', '!', '。', '？']));
    sentences.flat_map(|part| part.split(". ")).map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn ends<'t>(parts: &[&'t str]) -> Vec<&'t str> {
    let behind = parts.len().saturating_sub(MAX_AT_END);
    parts.iter().enumerate().filter(|(at, _)| *at < MAX_AT_END || *at >= behind).map(|(_, part)| *part).collect()
}

/// Weight of the terms that documents have, for the length of the part.
fn known_weight(index: &Index, query: &Query) -> Result<f32, ToolError> {
    let corpus = index.fulltext().corpus(query.terms())?;
    let documents = corpus.documents as f32;
    let weight = |found: u64| if found == 0 { 0.0 } else { (1.0 + documents / found as f32).ln() };
    let known: f32 = corpus.frequencies.iter().map(|found| weight(*found)).sum();
    Ok(known / (query.terms().len() as f32).sqrt().max(1.0))
}
