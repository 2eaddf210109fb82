//! Finds neighbouring words of a query that are neighbours in a document too, and which words stand close together somewhere in it.

use crate::search::query::QueryWord;

#[derive(Debug)]
pub(super) struct Adjacency {
    pairs: Vec<WordPair>,
}

/// A word of the query and its successor.
#[derive(Debug)]
struct WordPair {
    /// Greatest distance in words: as in the query, where function words may come between.
    gap: u32,
    /// The sum of all weights is 1.
    weight: f32,
}

/// Words of the query further apart than this are not neighbours.
const WIDEST_GAP: u32 = 3;
/// Weight of a pair in quotation marks.
const QUOTED: f32 = 4.0;

impl Adjacency {
    pub(super) fn new(words: &[QueryWord], weights: &[f32]) -> Self {
        let pair = |(words, weights): (&[QueryWord], &[f32])| {
            let quoted = words[0].quote.is_some() && words[0].quote == words[1].quote;
            WordPair {
                gap: (words[1].position - words[0].position).clamp(1, WIDEST_GAP),
                weight: weights[0].min(weights[1]) * if quoted { QUOTED } else { 1.0 },
            }
        };
        let mut pairs: Vec<WordPair> = words.windows(2).zip(weights.windows(2)).map(pair).collect();
        let sum: f32 = pairs.iter().map(|pair| pair.weight).sum();
        if sum > 0.0 {
            pairs.iter_mut().for_each(|pair| pair.weight /= sum);
        }
        Self { pairs }
    }

    pub(super) fn begin(&self) -> AdjacencyReader<'_> {
        AdjacencyReader {
            pairs: &self.pairs,
            last: vec![None; self.pairs.len() + 1],
            is_met: vec![false; self.pairs.len()],
        }
    }
}

#[derive(Debug)]
pub(super) struct AdjacencyReader<'a> {
    pairs: &'a [WordPair],
    /// Last position of each word; earlier ones cannot be nearer to the next word.
    last: Vec<Option<u32>>,
    is_met: Vec<bool>,
}

impl AdjacencyReader<'_> {
    /// Records a word of the query at a word number of the document; numbers never decrease.
    pub(super) fn add_word(&mut self, word: usize, place: u32) {
        self.last[word] = Some(place);
        if let Some(before) = word.checked_sub(1) {
            self.is_met[before] |= self.last[before].is_some_and(|at| place - at <= self.pairs[before].gap);
        }
    }

    /// Weight of the neighbours found, from 0 to 1.
    pub(super) fn phrase_weight(&self) -> f32 {
        self.pairs.iter().zip(&self.is_met).filter(|(_, met)| **met).map(|(pair, _)| pair.weight).sum()
    }
}

/// Written words within which words stand together: a few sentences. In a long document, words that are far from each other seldom belong
/// to one thing.
const WINDOW_WORDS: u32 = 120;

/// Weight of the distinct words in the best window. `places` are word numbers and query words in document order.
pub(super) fn proximity_weight(places: &[(u32, usize)], weights: &[f32]) -> f32 {
    let mut counts = vec![0u32; weights.len()];
    let (mut inside, mut best, mut first) = (0.0f32, 0.0f32, 0);
    for (place, word) in places {
        if counts[*word] == 0 {
            inside += weights[*word];
        }
        counts[*word] += 1;
        while let Some((_, left)) = places.get(first).filter(|(at, _)| at + WINDOW_WORDS < *place) {
            counts[*left] -= 1;
            if counts[*left] == 0 {
                inside -= weights[*left];
            }
            first += 1;
        }
        best = best.max(inside);
    }
    best.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_far_apart_do_not_stand_together() {
        let weights = [0.5, 0.3, 0.2];
        assert_eq!(proximity_weight(&[], &weights), 0.0);
        assert_eq!(proximity_weight(&[(0, 0), (121, 1)], &weights), 0.5);
        assert_eq!(proximity_weight(&[(0, 0), (120, 1)], &weights), 0.8);
        assert_eq!(proximity_weight(&[(0, 2), (130, 0), (131, 0), (190, 1)], &weights), 0.8);
    }
}
