//! Stemming of English words.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Whether a folded word is stemmed: English, as far as its letters tell, and long enough to have an ending.
pub(crate) fn applies(word: &str) -> bool {
    word.len() >= 3 && word.bytes().all(|b| b.is_ascii_lowercase())
}

/// The stem of a folded English word, by the Snowball stemmer.
pub(crate) fn english(word: &str) -> Cow<'_, str> {
    Stemmer::create(Algorithm::English).stem(word)
}
