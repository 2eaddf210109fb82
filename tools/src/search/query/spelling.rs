//! Adds the right spelling of misspelled words.

use super::builder::exact_term;
use super::{CoveredWord, Query, Synonym, SynonymStep};
use crate::error::ToolError;
use crate::fulltext::{CorpusStats, FullText};

/// Weight of a word that is spelled almost the same.
const SPELLING_WEIGHT: f32 = 0.85;

/// Most corrections of a word and of a query.
const MAX_PER_WORD: usize = 3;
const MAX_CORRECTED: usize = 4;

impl Query {
    /// Adds the nearest spellings of words that occur in no document, and returns whether there are any. `corpus` has the
    /// frequencies of this query's terms.
    pub(crate) fn add_spellings(&mut self, fulltext: FullText<'_>, corpus: &CorpusStats) -> Result<bool, ToolError> {
        let mut is_any = false;
        for word in self.unknown_words(corpus).into_iter().take(MAX_CORRECTED) {
            let Some(whole) = self.words[word].whole else { continue };
            for term in fulltext.similar_terms(&self.terms[whole].text)?.into_iter().take(MAX_PER_WORD) {
                self.add_spelling(word, &term);
                is_any = true;
            }
        }
        Ok(is_any)
    }

    /// Words of letters that occur nowhere, not even in part or as a synonym.
    fn unknown_words(&self, corpus: &CorpusStats) -> Vec<usize> {
        let occurs = |term: usize| corpus.frequencies.get(term).is_some_and(|count| *count > 0);
        let has_synonym = |word: usize| {
            self.synonyms.iter().any(|synonym| {
                synonym.covers.iter().any(|cover| cover.word == word) && synonym.terms.iter().all(|term| occurs(*term))
            })
        };
        let is_unknown = |word: &usize| {
            let (whole, parts) = (self.words[*word].whole, &self.words[*word].parts);
            let is_spelled = |term: usize| self.terms[term].text.chars().all(char::is_alphabetic);
            whole.is_some_and(|whole| is_spelled(whole) && !occurs(whole)) && parts.is_empty() && !has_synonym(*word)
        };
        (0..self.words.len()).filter(is_unknown).collect()
    }

    fn add_spelling(&mut self, word: usize, text: &str) {
        let term = exact_term(text);
        let place = self.terms.iter().position(|known| *known == term).unwrap_or_else(|| {
            self.terms.push(term);
            self.terms.len() - 1
        });
        self.synonyms.push(Synonym {
            steps: vec![SynonymStep { term: place, run: None, reach: 1 }],
            terms: vec![place],
            covers: vec![CoveredWord { word, parts: None, weight: SPELLING_WEIGHT }],
        });
    }
}
