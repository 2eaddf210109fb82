//! Where the terms of a query occur in a text, found without keeping the text's tokens.

use std::collections::HashMap;

use super::query::{Query, Term};
use crate::text::hashes::{Hashes, Stems, hash};
use crate::text::{self, Piece};

/// The terms of a query, prepared for looking them up many times.
#[derive(Debug)]
pub(crate) struct Matches<'q> {
    /// By the hashes of their texts.
    exact: HashMap<u64, usize, Hashes>,
    /// With the character that each begins with.
    prefixes: Vec<(char, &'q str, usize)>,
    /// Which ends hashes of terms have, so that most tokens are not looked up.
    ends: [u64; FILTER / 64],
}

/// An occurrence of a term, in bytes of the text and in written words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) term: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) word: u32,
}

impl<'q> Matches<'q> {
    pub(crate) fn new(query: &'q Query) -> Self {
        let mut matches = Self { exact: HashMap::default(), prefixes: Vec::new(), ends: [0; FILTER / 64] };
        for (place, Term { text, prefix }) in query.all_terms().iter().enumerate() {
            if let Some(first) = text.chars().next().filter(|_| *prefix) {
                matches.prefixes.push((first, text, place));
            } else {
                let hash = hash(text);
                matches.exact.insert(hash, place);
                let (word, bit) = end(hash);
                matches.ends[word] |= bit;
            }
        }
        matches
    }

    /// Calls `sink` with every occurrence, and returns the number of the text's tokens.
    pub(crate) fn visit(&self, text: &str, sink: impl FnMut(Hit)) -> u32 {
        self.visit_all(text, |_| {}, sink)
    }

    /// The same, and calls `all` with the hash of every token.
    pub(crate) fn visit_all(&self, text: &str, mut all: impl FnMut(u64), mut sink: impl FnMut(Hit)) -> u32 {
        let mut stems = Stems::of_thread();
        let mut length = 0;
        text::visit(text, |piece| {
            length += 1;
            let hash = stems.token(piece);
            all(hash);
            for term in self.terms(piece, hash) {
                sink(Hit { term, start: piece.start, end: piece.end, word: piece.word });
            }
        });
        length
    }

    fn terms<'a>(&'a self, piece: &'a Piece<'_>, hash: u64) -> impl Iterator<Item = usize> + 'a {
        let (word, bit) = end(hash);
        let exact = if self.ends[word] & bit != 0 { self.exact.get(&hash).copied() } else { None };
        let first = piece.text.chars().next();
        let begins = move |(c, text, _): &&(char, &str, usize)| first == Some(*c) && piece.text.starts_with(*text);
        exact.into_iter().chain(self.prefixes.iter().filter(begins).map(|(_, _, place)| *place))
    }
}

/// Ends of hashes that are told apart: some twenty times as many as a query has terms.
const FILTER: usize = 4096;

/// The place of a hash's end among all ends.
fn end(hash: u64) -> (usize, u64) {
    let end = (hash >> 16) as usize % FILTER;
    (end / 64, 1 << (end % 64))
}
