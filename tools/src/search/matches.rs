//! Where the terms of a query occur in a text, found without keeping the text's tokens.

use std::collections::HashMap;

use super::query::{Query, Term};
use crate::text::{self, Piece};

/// The terms of a query, prepared for looking them up many times.
#[derive(Debug)]
pub(crate) struct Matches<'q> {
    exact: HashMap<&'q str, usize>,
    prefixes: Vec<(&'q str, usize)>,
    /// Beginnings that English terms have, so that other words need no stemming.
    beginnings: [bool; FILTER],
    /// Marks that terms have, so that other tokens need no hashing.
    marks: [bool; FILTER],
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
        let (mut beginnings, mut marks) = ([false; FILTER], [false; FILTER]);
        let (mut exact, mut prefixes) = (HashMap::new(), Vec::new());
        for (place, Term { text, prefix }) in query.all_terms().iter().enumerate() {
            beginnings[beginning(text)] = true;
            marks[mark(text)] = true;
            if *prefix {
                prefixes.push((text.as_str(), place));
            } else {
                exact.insert(text.as_str(), place);
            }
        }
        Self { exact, prefixes, beginnings, marks }
    }

    /// Calls `sink` with every occurrence, and returns the number of the text's tokens.
    pub(crate) fn visit(&self, text: &str, mut sink: impl FnMut(Hit)) -> u32 {
        let mut length = 0;
        text::visit(text, |piece| {
            length += 1;
            for term in self.terms(piece) {
                sink(Hit { term, start: piece.start, end: piece.end, word: piece.word });
            }
        });
        length
    }

    fn terms<'a>(&'a self, piece: &'a Piece<'_>) -> impl Iterator<Item = usize> + 'a {
        let possible = if piece.stem { self.beginnings[beginning(piece.text)] } else { self.marks[mark(piece.text)] };
        let exact = if possible { self.exact.get(&*piece.token()).copied() } else { None };
        let prefixes = self.prefixes.iter().filter(|(text, _)| piece.text.starts_with(*text)).map(|(_, place)| *place);
        exact.into_iter().chain(prefixes)
    }
}

const FILTER: usize = 1024;

/// What a word and its stem have in common: the first two letters, with `y` as `i` (`dying` has the stem `die`).
fn beginning(word: &str) -> usize {
    let letter = |i: usize| word.as_bytes().get(i).map_or(0, |b| usize::from(if *b == b'y' { b'i' } else { *b } & 31));
    letter(0) * 32 + letter(1)
}

fn mark(token: &str) -> usize {
    let bytes = token.as_bytes();
    let byte = |i: usize| bytes.get(i).map_or(0, |b| usize::from(*b));
    (byte(bytes.len() / 2) * 7 + byte(bytes.len().saturating_sub(1)) * 61 + byte(2) * 13 + bytes.len()) % FILTER
}
