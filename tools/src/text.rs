//! Text analysis: what a text is made of, as the tokens that the full-text index and the search share.
//!
//! Korean, Chinese, Japanese and the scripts written without spaces become overlapping pairs of characters, English is
//! stemmed, identifiers and paths are also split into their parts. Knows nothing of SQLite or of ranking.

pub(crate) mod compound;
pub(crate) mod fold;
pub(crate) mod grams;
pub(crate) mod hashes;
pub(crate) mod script;
pub(crate) mod stem;
pub(crate) mod units;

use script::Class;
use units::Unit;

/// Longest token in characters; what is longer (encoded data, mostly) is cut, and compounds of that length are not joined.
pub(crate) const LONGEST_TOKEN: usize = 64;

/// One token of a text.
///
/// `start..end` are the bytes of the original text that it came from. `word` counts the written words: what is glued
/// together without space or punctuation, such as `Rust로`, has one number, so that adjacency survives particles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub start: usize,
    pub end: usize,
    pub word: u32,
}

/// The tokens of a document, in the order of the text.
pub fn analyze(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    visit(text, |piece| {
        tokens.push(Token { text: piece.token().into_owned(), start: piece.start, end: piece.end, word: piece.word });
    });
    tokens
}

/// The tokens of a document joined by a space, as the full-text index stores them.
pub fn indexed(text: &str) -> String {
    let mut joined = String::with_capacity(text.len() + text.len() / 2);
    visit(text, |piece| {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(&piece.token());
    });
    joined
}

/// A token before stemming, so that a reader that looks for few words need not stem all the others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// Folded text; needs stemming when `stem` says so.
    pub(crate) text: &'a str,
    pub(crate) stem: bool,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) word: u32,
}

impl<'a> Piece<'a> {
    /// The token that goes into the index.
    pub(crate) fn token(&self) -> std::borrow::Cow<'a, str> {
        if self.stem { stem::english(self.text) } else { self.text.into() }
    }
}

/// Calls `sink` with every token of a document without keeping any of them.
pub(crate) fn visit(text: &str, mut sink: impl FnMut(&Piece<'_>)) {
    let mut folded = String::new();
    let mut counter: Option<Unit> = None;
    for unit in units::units(text) {
        let source = &text[unit.start..unit.end];
        if unit.class == Class::Letter {
            compound::visit(source, &mut folded, |piece, range, _| {
                let (start, end) = (unit.start + range.start, unit.start + range.end);
                sink(&Piece { text: piece, stem: stem::applies(piece), start, end, word: unit.word });
            });
            counter = source.bytes().all(|b| b.is_ascii_digit()).then_some(unit);
        } else {
            folded.clear();
            fold::fold_into(source, &mut folded);
            let number = counter.take().filter(|number| number.word == unit.word);
            let number = number.map(|number| (number.start, &text[number.start..number.end]));
            if let Some((start, counted)) = number.and_then(|(at, n)| Some((at, grams::counted(n, &folded)?))) {
                let end = unit.start + source.chars().next().map_or(0, char::len_utf8);
                sink(&Piece { text: &counted, stem: false, start, end, word: unit.word });
            }
            let bounds = unit.start..unit.end;
            grams::visit(&folded, source, bounds, |gram, range| {
                sink(&Piece { text: gram, stem: false, start: range.start, end: range.end, word: unit.word });
            });
        }
    }
}

#[cfg(test)]
mod tests;
