//! Finds the best documents of a query without reading all postings: block-max MaxScore.
//!
//! A document's score is the weighted sum of its terms' impacts. Terms are sorted by their maximum contribution. Once
//! enough documents are known, terms that together cannot reach the worst of them no longer propose candidates, and blocks
//! whose maximum is too small are skipped. The result equals full scoring; a test compares them.
//!
//! H. Turtle, J. Flood: Query evaluation: strategies and optimizations (1995); S. Ding, T. Suel: Faster top-k document
//! retrieval using block-max indexes (2011).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::postings::PostingCursor;

/// The best documents so far. Of equal scores the newer document stays.
#[derive(Debug)]
pub(super) struct TopDocuments {
    limit: usize,
    /// The worst on top, of equal scores the oldest.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
}

impl TopDocuments {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    /// The score to exceed.
    fn threshold(&self) -> u32 {
        if self.heap.len() < self.limit { 0 } else { self.heap.peek().map_or(u32::MAX, |Reverse((score, _))| *score) }
    }

    fn insert(&mut self, score: u32, document: u32) {
        if self.heap.len() >= self.limit {
            self.heap.pop();
        }
        self.heap.push(Reverse((score, document)));
    }

    /// Scores and numbers, best first, of equal scores the newest first.
    pub(super) fn into_sorted(self) -> Vec<(u32, u32)> {
        let mut found: Vec<(u32, u32)> = self.heap.into_iter().map(|Reverse(entry)| entry).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

/// A term in a segment, or several terms that a document must all have.
#[derive(Debug)]
pub(super) struct TermCursors {
    /// All cursors are at the same document, or this one is at its end.
    rarest: WeightedCursor,
    others: Vec<WeightedCursor>,
}

#[derive(Debug)]
struct WeightedCursor {
    cursor: PostingCursor,
    /// Weight of an impact of 1.
    weight: u32,
}

impl TermCursors {
    /// `None` without cursors.
    pub(super) fn from_cursors(cursors: Vec<(PostingCursor, u32)>) -> Option<Self> {
        let mut parts: Vec<WeightedCursor> =
            cursors.into_iter().map(|(cursor, weight)| WeightedCursor { cursor, weight }).collect();
        let least = (0..parts.len()).min_by_key(|i| parts[*i].cursor.blocks_left())?;
        let rarest = parts.swap_remove(least);
        let mut term = Self { rarest, others: parts };
        term.advance_to_common();
        Some(term)
    }

    fn max_impact(&self) -> u32 {
        self.parts().map(|part| part.weight * u32::from(part.cursor.max)).sum()
    }

    fn document(&self) -> Option<u32> {
        self.rarest.cursor.document()
    }

    /// The contribution to a document, if the cursor is at it.
    fn impact_at(&self, document: u32) -> Option<u32> {
        let added = || self.parts().map(|part| part.weight * u32::from(part.cursor.impact())).sum();
        (self.document() == Some(document)).then(added)
    }

    fn advance(&mut self) {
        self.rarest.cursor.advance();
        self.advance_to_common();
    }

    fn seek(&mut self, document: u32) {
        self.rarest.cursor.seek(document);
        self.advance_to_common();
    }

    /// The current blocks: their number, the last document that all may hold, and their maximum contribution. The number is the sum of
    /// block numbers; cursors only advance, so equal sums mean equal blocks.
    fn block(&self) -> (usize, u32, u32) {
        self.parts().fold((0, 0, 0), |(numbers, reach, most), part| {
            let (number, lowest, max) = part.cursor.block();
            (numbers + number, reach.max(lowest), most + part.weight * u32::from(max))
        })
    }

    fn parts(&self) -> impl Iterator<Item = &WeightedCursor> {
        std::iter::once(&self.rarest).chain(&self.others)
    }

    /// Advances to the next document with all terms.
    fn advance_to_common(&mut self) {
        let mut matched = 0;
        while matched < self.others.len() {
            let Some(document) = self.rarest.cursor.document() else { return };
            let other = &mut self.others[matched].cursor;
            other.seek(document);
            match other.document() {
                Some(found) if found == document => matched += 1,
                Some(further) => {
                    self.rarest.cursor.seek(further);
                    matched = 0;
                }
                None => return self.rarest.cursor.end(),
            }
        }
    }
}

/// Collects the best documents of a segment, which is older than those searched before. `is_gone` returns whether a
/// document is removed.
pub(super) fn search_segment(mut terms: Vec<TermCursors>, best: &mut TopDocuments, is_gone: impl Fn(u32) -> bool) {
    terms.sort_by_key(TermCursors::max_impact);
    // Maximum contribution of each term together with those before it.
    let bounds: Vec<u32> = terms
        .iter()
        .scan(0, |sum, term| {
            *sum += term.max_impact();
            Some(*sum)
        })
        .collect();
    let mut essential = 0;
    let mut checked = (usize::MAX, 0, 0);
    loop {
        let threshold = best.threshold();
        while bounds.get(essential).is_some_and(|bound| *bound <= threshold) {
            essential += 1;
        }
        let (helping, leading) = terms.split_at_mut(essential);
        let Some(document) = leading.iter().filter_map(TermCursors::document).max() else { return };
        let helped = if essential == 0 { 0 } else { bounds[essential - 1] };
        // Equal blocks and threshold give the same answer as before.
        let state = (essential, threshold, leading.iter().map(|term| term.block().0).sum::<usize>());
        if checked != state {
            checked = state;
            if let Some(further) = skippable_until(leading, helped, threshold) {
                leading.iter_mut().for_each(|term| term.seek(further));
                continue;
            }
        }
        let mut score = 0;
        for term in leading {
            if let Some(added) = term.impact_at(document) {
                score += added;
                term.advance();
            }
        }
        for (term, bound) in helping.iter_mut().zip(&bounds).rev() {
            if score + bound <= threshold {
                break;
            }
            term.seek(document);
            score += term.impact_at(document).unwrap_or(0);
        }
        if score > threshold && !is_gone(document) {
            best.insert(score, document);
        }
    }
}

/// The document after the range that the current blocks share, if none of them can exceed the threshold. `None` if one may,
/// or at the end.
fn skippable_until(terms: &[TermCursors], helped: u32, threshold: u32) -> Option<u32> {
    let open = terms.iter().filter(|term| term.document().is_some());
    let (mut most, mut lowest) = (helped, 0);
    for term in open {
        let (_, reach, added) = term.block();
        most += added;
        lowest = lowest.max(reach);
    }
    if most > threshold { None } else { lowest.checked_sub(1) }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use proptest::prelude::*;

    use super::super::postings::{Posting, encode};
    use super::*;

    const LAST: u32 = 3000;

    fn posting_list() -> impl Strategy<Value = Vec<Posting>> {
        let dense = (1..400u32, 0.0..1.0f64).prop_map(|(seed, share)| (seed, share));
        (dense, 1..255u8).prop_map(|((seed, share), strongest)| {
            let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
            let mut draw = || {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                f64::from(state) / f64::from(u32::MAX)
            };
            let share = share * share;
            (1..=LAST)
                .rev()
                .map(|document| (document, draw() < share, 1 + (draw().powi(3) * f64::from(strongest)) as u8))
                .filter_map(|(document, is_there, impact)| is_there.then_some((document, impact)))
                .collect()
        })
    }

    proptest! {
        #[test]
        fn best_documents_equal_full_scoring(
            lists in proptest::collection::vec(proptest::collection::vec((posting_list(), 1..5000u32), 1..4), 1..7),
            limit in 1..60usize,
            gone in proptest::collection::hash_set(1..LAST, 0..200),
        ) {
            let gone: HashSet<u32> = gone;
            let mut all: BTreeMap<u32, u32> = BTreeMap::new();
            for together in &lists {
                let mut of_term: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
                for (list, weight) in together {
                    for (document, impact) in list.iter().filter(|(document, _)| !gone.contains(document)) {
                        let (held, score) = of_term.entry(*document).or_default();
                        (*held, *score) = (*held + 1, *score + weight * u32::from(*impact));
                    }
                }
                for (document, (_, score)) in of_term.into_iter().filter(|(_, (held, _))| *held == together.len()) {
                    *all.entry(document).or_default() += score;
                }
            }
            let mut expected: Vec<(u32, u32)> = all.into_iter().map(|(document, score)| (score, document)).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(limit);
            let mut best = TopDocuments::new(limit);
            let cursor = |(list, weight): &(Vec<Posting>, u32)| (PostingCursor::new(LAST, list.len(), encode(LAST, list).into()), *weight);
            let terms = lists.iter().filter_map(|together| TermCursors::from_cursors(together.iter().map(cursor).collect()));
            search_segment(terms.collect(), &mut best, |document| gone.contains(&document));
            prop_assert_eq!(best.into_sorted(), expected);
        }
    }

    #[test]
    fn a_limit_of_nothing_finds_nothing() {
        let list = [(5, 9), (3, 200)];
        let mut best = TopDocuments::new(0);
        let term = TermCursors::from_cursors(vec![(PostingCursor::new(5, 2, encode(5, &list).into()), 10)]);
        search_segment(term.into_iter().collect(), &mut best, |_| false);
        assert_eq!(best.into_sorted(), []);
    }
}
