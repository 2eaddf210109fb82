//! Stemming of English words.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Whether a folded word is stemmed: it looks English and is long enough to have an ending.
pub(crate) fn is_stemmable(word: &str) -> bool {
    word.len() >= 3 && word.bytes().all(|b| b.is_ascii_lowercase())
}

pub(crate) fn stem_english(word: &str) -> Cow<'_, str> {
    Stemmer::create(Algorithm::English).stem(word)
}
