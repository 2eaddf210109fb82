//! A query: the words to search for.
//!
//! Its terms are made like those of documents, so that full text, relevance and snippets agree on a match.

mod builder;
mod spelling;
mod synonyms;
mod translation;

pub(crate) use builder::truncated_query;

use std::collections::HashSet;
use std::ops::Range;

use crate::fulltext::QueryTerm;
use crate::text::script::Script;

/// Words, each made of index terms, and their synonyms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    /// Terms of the words first, then terms of synonyms alone.
    terms: Vec<QueryTerm>,
    literal_term_count: usize,
    pub(crate) words: Vec<QueryWord>,
    pub(crate) synonyms: Vec<Synonym>,
    /// The query word by word in other scripts.
    pub(crate) translations: Translations,
    pub(crate) is_truncated: bool,
    /// Whether it has function words only.
    has_only_stop_words: bool,
}

/// A word of the query, which a passage covers wholly or in parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryWord {
    /// Index of the term for the whole word.
    pub(crate) whole: Option<usize>,
    /// Indices of terms for parts of it, with their shares.
    pub(crate) parts: Vec<(usize, f32)>,
    /// Ordinal of the word in the query.
    pub(crate) position: u32,
    /// The quoted phrase that it belongs to.
    pub(crate) quote: Option<usize>,
    /// Whether it belongs to an idiom such as `sign in`, and alone means something else.
    pub(crate) is_idiom: bool,
}

impl Query {
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of distinct content words.
    pub fn content_words(&self) -> usize {
        let places: HashSet<u32> = self.words.iter().map(|word| word.position).collect();
        if self.has_only_stop_words { 0 } else { places.len() }
    }

    /// Distinct terms of the words, at most 64.
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms[..self.literal_term_count]
    }

    /// The terms of the words, followed by terms of synonyms alone.
    pub fn all_terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// The terms of each synonym as indices into all terms. A match has all of them.
    pub fn alternatives(&self) -> impl Iterator<Item = &[usize]> {
        self.synonyms.iter().map(|synonym| &synonym.terms[..])
    }
}

/// The scripts of the languages of the glossary's first columns: English, Korean, Japanese and Chinese.
const LANGUAGE_SCRIPTS: [Script; 4] = [Script::Other, Script::Hangul, Script::Han, Script::Han];

/// The words of a query in each of these languages, and its names, which are the same in all of them; `None` without a translated
/// word.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Translations([Option<String>; LANGUAGE_SCRIPTS.len()]);

impl Translations {
    /// The words of all languages of a script.
    pub(crate) fn for_script(&self, script: Script) -> Option<String> {
        let of_script = LANGUAGE_SCRIPTS.iter().zip(&self.0).filter(|(written, _)| **written == script);
        let texts: Vec<&str> = of_script.filter_map(|(_, text)| text.as_deref()).collect();
        (!texts.is_empty()).then(|| texts.concat())
    }
}

/// A synonym for some words of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Synonym {
    /// Terms that must follow each other.
    pub(crate) steps: Vec<SynonymStep>,
    /// Terms that every document with the synonym has.
    pub(crate) terms: Vec<usize>,
    /// The words that it replaces.
    pub(crate) covers: Vec<CoveredWord>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SynonymStep {
    pub(crate) term: usize,
    /// The full run in scripts without spaces; the term is its start.
    pub(crate) run: Option<String>,
    /// Greatest distance from the previous step in words.
    pub(crate) reach: u32,
}

/// A word that a synonym replaces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CoveredWord {
    pub(crate) word: usize,
    /// The replaced parts, if not the whole word.
    pub(crate) parts: Option<Range<usize>>,
    /// Weight relative to the word.
    pub(crate) weight: f32,
}

#[cfg(test)]
mod tests;
