//! The best documents of a query without reading all postings: MaxScore, with the greatest impacts of blocks.
//!
//! A document's score is the sum of its terms' impacts by their weights. Terms are ordered by what they can add at most; once
//! enough documents are known, those that together cannot reach the worst of them only add to documents which others bring up,
//! and blocks of the others are passed over as well when their greatest impacts do not reach it. What is left out would not
//! have been among the best: the result is the same as that of scoring everything (a test compares them).
//!
//! H. Turtle, J. Flood: Query evaluation: strategies and optimizations (1995); S. Ding, T. Suel: Faster top-k document
//! retrieval using block-max indexes (2011).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::list::Cursor;

/// The best documents so far. Of two that score the same, the one that came first stays, which is the newer one.
#[derive(Debug)]
pub(super) struct Best {
    limit: usize,
    /// The worst on top, of the same score the oldest.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Best {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    /// What a document must exceed.
    fn threshold(&self) -> u32 {
        if self.heap.len() < self.limit { 0 } else { self.heap.peek().map_or(u32::MAX, |Reverse((score, _))| *score) }
    }

    fn insert(&mut self, score: u32, document: u32) {
        if self.heap.len() >= self.limit {
            self.heap.pop();
        }
        self.heap.push(Reverse((score, document)));
    }

    /// Score and number of the documents, the best first and of the same score the newest.
    pub(super) fn into_sorted(self) -> Vec<(u32, u32)> {
        let mut found: Vec<(u32, u32)> = self.heap.into_iter().map(|Reverse(entry)| entry).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

/// A term in a segment, or several of which a document has to hold all.
#[derive(Debug)]
pub(super) struct Leg {
    /// The rarest. All stand at the same document, or this one behind its last.
    lead: Part,
    others: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    cursor: Cursor,
    /// What an impact of 1 is worth.
    weight: u32,
}

impl Leg {
    /// Of cursors with what an impact of 1 is worth to each; of none there is none.
    pub(super) fn of_all(cursors: Vec<(Cursor, u32)>) -> Option<Self> {
        let mut parts: Vec<Part> = cursors.into_iter().map(|(cursor, weight)| Part { cursor, weight }).collect();
        let rarest = (0..parts.len()).min_by_key(|i| parts[*i].cursor.blocks_left())?;
        let lead = parts.swap_remove(rarest);
        let mut leg = Self { lead, others: parts };
        leg.meet();
        Some(leg)
    }

    fn most(&self) -> u32 {
        self.parts().map(|part| part.weight * u32::from(part.cursor.max())).sum()
    }

    fn document(&self) -> Option<u32> {
        self.lead.cursor.document()
    }

    /// What it adds to a document that it stands at.
    fn here(&self, document: u32) -> Option<u32> {
        let added = || self.parts().map(|part| part.weight * u32::from(part.cursor.impact())).sum();
        (self.document() == Some(document)).then(added)
    }

    fn advance(&mut self) {
        self.lead.cursor.advance();
        self.meet();
    }

    fn seek(&mut self, document: u32) {
        self.lead.cursor.seek(document);
        self.meet();
    }

    /// Of the blocks that are read: a number that is another one for others, the last document that all of them may hold, and the
    /// most that a document of them can add.
    fn block(&self) -> (usize, u32, u32) {
        self.parts().fold((0, 0, 0), |(numbers, reach, most), part| {
            let (number, lowest, max) = part.cursor.block();
            (numbers + number, reach.max(lowest), most + part.weight * u32::from(max))
        })
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.lead).chain(&self.others)
    }

    /// Goes on to the next document that holds all terms.
    fn meet(&mut self) {
        let mut met = 0;
        while met < self.others.len() {
            let Some(document) = self.lead.cursor.document() else { return };
            let other = &mut self.others[met].cursor;
            other.seek(document);
            match other.document() {
                Some(found) if found == document => met += 1,
                Some(further) => {
                    self.lead.cursor.seek(further);
                    met = 0;
                }
                None => return self.lead.cursor.end(),
            }
        }
    }
}

/// Takes the best documents of a segment, which holds older ones than what was searched before. `is_gone` tells which are
/// removed.
pub(super) fn search(mut legs: Vec<Leg>, best: &mut Best, is_gone: impl Fn(u32) -> bool) {
    legs.sort_by_key(Leg::most);
    // What each leg and those before it can add together.
    let bounds: Vec<u32> = legs
        .iter()
        .scan(0, |sum, leg| {
            *sum += leg.most();
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
        let (helping, leading) = legs.split_at_mut(essential);
        let Some(document) = leading.iter().filter_map(Leg::document).max() else { return };
        let helped = if essential == 0 { 0 } else { bounds[essential - 1] };
        // The same blocks and the same threshold as the last time tell nothing new.
        let state = (essential, threshold, leading.iter().map(|leg| leg.block().0).sum::<usize>());
        if checked != state {
            checked = state;
            if let Some(further) = past_blocks(leading, helped, threshold) {
                leading.iter_mut().for_each(|leg| leg.seek(further));
                continue;
            }
        }
        let mut score = 0;
        for leg in leading {
            if let Some(added) = leg.here(document) {
                score += added;
                leg.advance();
            }
        }
        for (leg, bound) in helping.iter_mut().zip(&bounds).rev() {
            if score + bound <= threshold {
                break;
            }
            leg.seek(document);
            score += leg.here(document).unwrap_or(0);
        }
        if score > threshold && !is_gone(document) {
            best.insert(score, document);
        }
    }
}

/// The document below all that the blocks which the legs stand in have in common, when none of those can exceed the threshold.
/// `None` when one may, or when there is nothing below.
fn past_blocks(legs: &[Leg], helped: u32, threshold: u32) -> Option<u32> {
    let open = legs.iter().filter(|leg| leg.document().is_some());
    let (mut most, mut lowest) = (helped, 0);
    for leg in open {
        let (_, reach, added) = leg.block();
        most += added;
        lowest = lowest.max(reach);
    }
    if most > threshold { None } else { lowest.checked_sub(1) }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use proptest::prelude::*;

    use super::super::list::{Posting, encode};
    use super::*;

    const LAST: u32 = 3000;

    fn list() -> impl Strategy<Value = Vec<Posting>> {
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
        fn nothing_is_left_out_that_is_among_the_best(
            lists in proptest::collection::vec(proptest::collection::vec((list(), 1..5000u32), 1..4), 1..7),
            limit in 1..60usize,
            gone in proptest::collection::hash_set(1..LAST, 0..200),
        ) {
            let gone: HashSet<u32> = gone;
            let mut all: BTreeMap<u32, u32> = BTreeMap::new();
            for together in &lists {
                let mut of_leg: BTreeMap<u32, (usize, u32)> = BTreeMap::new();
                for (list, weight) in together {
                    for (document, impact) in list.iter().filter(|(document, _)| !gone.contains(document)) {
                        let (held, score) = of_leg.entry(*document).or_default();
                        (*held, *score) = (*held + 1, *score + weight * u32::from(*impact));
                    }
                }
                for (document, (_, score)) in of_leg.into_iter().filter(|(_, (held, _))| *held == together.len()) {
                    *all.entry(document).or_default() += score;
                }
            }
            let mut expected: Vec<(u32, u32)> = all.into_iter().map(|(document, score)| (score, document)).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(limit);
            let mut best = Best::new(limit);
            let cursor = |(list, weight): &(Vec<Posting>, u32)| (Cursor::new(LAST, list.len(), encode(LAST, list).into()), *weight);
            let legs = lists.iter().filter_map(|together| Leg::of_all(together.iter().map(cursor).collect()));
            search(legs.collect(), &mut best, |document| gone.contains(&document));
            prop_assert_eq!(best.into_sorted(), expected);
        }
    }

    #[test]
    fn a_limit_of_nothing_finds_nothing() {
        let list = [(5, 9), (3, 200)];
        let mut best = Best::new(0);
        let leg = Leg::of_all(vec![(Cursor::new(5, 2, encode(5, &list).into()), 10)]);
        search(leg.into_iter().collect(), &mut best, |_| false);
        assert_eq!(best.into_sorted(), []);
    }
}
