//! Finds occurrences of query terms in a text without storing the text's tokens.

use std::collections::HashMap;

use super::query::Query;
use crate::fulltext::QueryTerm;
use crate::text::token_hashes::{StemCache, TokenHasher, token_hash};
use crate::text::{self, TokenPiece};

/// Query terms, prepared for repeated lookups.
#[derive(Debug)]
pub(crate) struct TermMatcher<'q> {
    /// By hash.
    exact: HashMap<u64, usize, TokenHasher>,
    /// With the first character of each.
    prefixes: Vec<(char, &'q str, usize)>,
    /// A bit set of hash suffixes, which avoids most lookups.
    ends: [u64; FILTER / 64],
}

/// An occurrence of a term: bytes of the text, and word number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TermHit {
    pub(crate) term: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) word: u32,
}

impl<'q> TermMatcher<'q> {
    pub(crate) fn new(query: &'q Query) -> Self {
        let mut matches = Self { exact: HashMap::default(), prefixes: Vec::new(), ends: [0; FILTER / 64] };
        for (place, QueryTerm { text, prefix }) in query.all_terms().iter().enumerate() {
            if let Some(first) = text.chars().next().filter(|_| *prefix) {
                matches.prefixes.push((first, text, place));
            } else {
                let hash = token_hash(text);
                matches.exact.insert(hash, place);
                let (word, bit) = hash_slot(hash);
                matches.ends[word] |= bit;
            }
        }
        matches
    }

    /// Calls `sink` with each occurrence and returns the text's number of tokens.
    pub(crate) fn visit(&self, text: &str, sink: impl FnMut(TermHit)) -> u32 {
        self.visit_all(text, |_| {}, sink)
    }

    /// Calls `sink` with each occurrence and `all` with the hash of each token. Returns the number of tokens.
    pub(crate) fn visit_all(&self, text: &str, mut all: impl FnMut(u64), mut sink: impl FnMut(TermHit)) -> u32 {
        let mut stems = StemCache::for_thread();
        let mut length = 0;
        text::visit(text, |piece| {
            length += 1;
            let hash = stems.token_hash(piece);
            all(hash);
            for term in self.terms(piece, hash) {
                sink(TermHit { term, start: piece.start, end: piece.end, word: piece.word });
            }
        });
        length
    }

    fn terms<'a>(&'a self, piece: &'a TokenPiece<'_>, hash: u64) -> impl Iterator<Item = usize> + 'a {
        let (word, bit) = hash_slot(hash);
        let exact = if self.ends[word] & bit != 0 { self.exact.get(&hash).copied() } else { None };
        let first = piece.text.chars().next();
        let begins = move |(c, text, _): &&(char, &str, usize)| first == Some(*c) && piece.text.starts_with(*text);
        exact.into_iter().chain(self.prefixes.iter().filter(begins).map(|(_, _, place)| *place))
    }
}

/// Bits of the set: some twenty times the terms of a query.
const FILTER: usize = 4096;

/// Position of a hash's suffix in the bit set.
fn hash_slot(hash: u64) -> (usize, u64) {
    let end = (hash >> 16) as usize % FILTER;
    (end / 64, 1 << (end % 64))
}
