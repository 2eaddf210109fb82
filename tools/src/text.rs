//! Text analysis: the tokens that the full-text index and the search share.
//!
//! Korean, Chinese, Japanese and scripts without spaces become overlapping pairs of characters. English is stemmed.
//! Identifiers and paths are also split into parts. Knows nothing of SQLite or ranking.

pub(crate) mod bigrams;
pub(crate) mod compound;
pub(crate) mod fold;
pub mod script;
pub(crate) mod stem;
pub(crate) mod token_hashes;
pub(crate) mod units;

use script::CharacterClass;
use units::TextUnit;

/// The words of a text: what is between spaces and punctuation.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// A token before stemming, because stemming is slow and seldom needed.
///
/// `start..end` are its bytes in the original text. `word` is the ordinal of the written word. Text without space or
/// punctuation between, such as `Rust로`, is one word, so that particles do not break adjacency.
#[derive(Debug, Clone, Copy)]
pub struct TokenPiece<'a> {
    /// Folded.
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) word: u32,
}

impl<'a> TokenPiece<'a> {
    /// The token as indexed.
    pub fn token(&self) -> std::borrow::Cow<'a, str> {
        stem::token(self.text)
    }
}

/// Calls `sink` with each token of a document without storing them.
pub fn visit(text: &str, mut sink: impl FnMut(&TokenPiece<'_>)) {
    let mut folded = String::new();
    let mut counter: Option<TextUnit> = None;
    for unit in units::split_units(text) {
        let source = &text[unit.start..unit.end];
        if unit.class == CharacterClass::Letter {
            compound::visit_pieces(source, &mut folded, |piece, range, _| {
                let (start, end) = (unit.start + range.start, unit.start + range.end);
                sink(&TokenPiece { text: piece, start, end, word: unit.word });
            });
            counter = source.bytes().all(|b| b.is_ascii_digit()).then_some(unit);
        } else {
            folded.clear();
            fold::fold_into(source, &mut folded);
            let number = counter.take().filter(|number| number.word == unit.word);
            let number = number.map(|number| (number.start, &text[number.start..number.end]));
            if let Some((start, counted)) = number.and_then(|(at, n)| Some((at, bigrams::counted_token(n, &folded)?))) {
                let end = unit.start + source.chars().next().map_or(0, char::len_utf8);
                sink(&TokenPiece { text: &counted, start, end, word: unit.word });
            }
            let bounds = unit.start..unit.end;
            bigrams::visit_bigrams(&folded, source, bounds, |gram, range| {
                sink(&TokenPiece { text: gram, start: range.start, end: range.end, word: unit.word });
            });
        }
    }
}

#[cfg(test)]
mod tests;
