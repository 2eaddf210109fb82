//! Which neighbouring words of a query are neighbours in a document too.

use crate::search::query::Word;

/// The pairs of neighbours of a query.
#[derive(Debug)]
pub(super) struct Adjacency {
    pairs: Vec<Pair>,
}

/// A word of the query and the one behind it.
#[derive(Debug)]
struct Pair {
    /// How many written words apart they may be: as far as in the query, where function words may stand between them.
    gap: u32,
    /// The weights of all pairs add up to 1.
    weight: f32,
}

/// Words of the query further apart than this are no neighbours in a document that has them just as far apart.
const WIDEST_GAP: u32 = 3;
/// A pair inside quotation marks weighs as much as so many others.
const QUOTED: f32 = 4.0;

impl Adjacency {
    pub(super) fn new(words: &[Word], weights: &[f32]) -> Self {
        let pair = |(words, weights): (&[Word], &[f32])| {
            let quoted = words[0].quote.is_some() && words[0].quote == words[1].quote;
            Pair {
                gap: (words[1].position - words[0].position).clamp(1, WIDEST_GAP),
                weight: weights[0].min(weights[1]) * if quoted { QUOTED } else { 1.0 },
            }
        };
        let mut pairs: Vec<Pair> = words.windows(2).zip(weights.windows(2)).map(pair).collect();
        let sum: f32 = pairs.iter().map(|pair| pair.weight).sum();
        if sum > 0.0 {
            pairs.iter_mut().for_each(|pair| pair.weight /= sum);
        }
        Self { pairs }
    }

    /// Begins to read a document.
    pub(super) fn start(&self) -> Seen<'_> {
        Seen { pairs: &self.pairs, last: vec![None; self.pairs.len() + 1], met: vec![false; self.pairs.len()] }
    }
}

/// What was seen of a document.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    pairs: &'a [Pair],
    /// Where each word was seen last. No earlier place can be nearer to what follows.
    last: Vec<Option<u32>>,
    met: Vec<bool>,
}

impl Seen<'_> {
    /// Notes a word of the query at a written word of the document; places never go down.
    pub(super) fn word(&mut self, word: usize, place: u32) {
        self.last[word] = Some(place);
        if let Some(before) = word.checked_sub(1) {
            self.met[before] |= self.last[before].is_some_and(|at| place - at <= self.pairs[before].gap);
        }
    }

    /// The weight of the neighbours that met, from 0 to 1.
    pub(super) fn phrase(&self) -> f32 {
        self.pairs.iter().zip(&self.met).filter(|(_, met)| **met).map(|(pair, _)| pair.weight).sum()
    }
}
