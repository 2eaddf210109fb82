//! Relevance: how well a document answers a query, from 0 to 1, comparable between small and large stores.
//!
//! Computed from the text instead of SQLite's bm25, whose idf collapses in stores of one to three documents.

mod adjacency;
mod synonym_matches;

use adjacency::{Adjacency, proximity_weight};
use synonym_matches::{SynonymMatcher, SynonymScore};

use super::query::{Query, QueryWord};
use super::term_matcher::{TermHit, TermMatcher};
use super::text_features::MAX_UTTERANCE_TOKENS;
use crate::fulltext::CorpusStats;

/// The relevance of documents for one query.
///
/// The score is `(Σ wᵢ·sᵢ · (1 + p·phrase + 0.2·together))^0.53`, at most 1. `p` is 0.35, or 0.9 in passages of more than
/// 80 tokens. `wᵢ` is word i's share of the query's idf. `sᵢ` is the strength of the word in the document: BM25's
/// saturation `n / (n + 0.7·norm)` with `norm = 0.65 + 0.35·length / usual length`, at most 4. For a word of several terms
/// it is the idf-weighted share of the terms that occur. Synonyms of a word count once and less than the word:
/// `worth / (1 + 0.7·norm)`, times a factor of 0.7 to 1 for how much of the query occurs at all, because a word has unintended
/// meanings. `together` is the weight of words that occur close together, `phrase` that of neighbours that are also
/// neighbours in the document. Words are alternatives, not conditions.
///
/// Measured on development sets with 300 candidates: recall in the top five in per cent, and the share of relevant
/// documents there that the default threshold of 0.35 loses:
///
/// | constants | LoCoMo turns | LoCoMo sessions | KorQuAD |
/// | --- | --- | --- | --- |
/// | as here | 56.9, 2.5 lost | 85.4, 0.1 lost | 99.1, 0.0 lost |
/// | saturation 1.2, length 0.75 | 53.8, 7.1 lost | 84.9, 0.4 lost | 99.2, 0.3 lost |
/// | pairs that cross into a particle at 0 or 1, not 0.4 | | | 98.8, 98.9 |
#[derive(Debug)]
pub struct RelevanceScorer<'q> {
    query: &'q Query,
    matches: TermMatcher<'q>,
    /// idf of each term.
    idf: Vec<f32>,
    /// Weights of the words; their sum is 1.
    pub(crate) weights: Vec<f32>,
    /// The words of each term.
    words_of: Vec<Vec<usize>>,
    adjacency: Adjacency,
    synonyms: SynonymMatcher<'q>,
    /// Tokens of an average document.
    average_length: f32,
    /// Number of documents in the index.
    pub(crate) documents: u64,
}

/// Matches of a query in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct TermEvidence {
    /// Strength of each word or its synonyms, from 0 to below 1.
    pub strengths: Vec<f32>,
    /// Strength of each word itself.
    pub literal: Vec<f32>,
    /// Weight of the query's neighbours that are neighbours in the document, from 0 to 1.
    pub phrase: f32,
    /// Weight of the words in the best window of the document, from 0 to 1.
    pub proximity: f32,
    /// Tokens of the document.
    pub length: u32,
    /// Tokens of the body, hashed.
    pub(crate) tokens: Vec<u64>,
}

const SATURATION: f32 = 0.7;
const LENGTH: f32 = 0.35;
const PHRASE: f32 = 0.35;
/// A long passage has many words by chance, but seldom side by side.
const PHRASE_IN_LONG: f32 = 0.9;
const PROXIMITY_BONUS: f32 = 0.2;
const EXPONENT: f32 = 0.53;
/// Limit of length normalisation, so that a very long document can still be relevant.
const MAX_LENGTH_RATIO: f32 = 4.0;
/// Weight of a compound's parts without the compound.
const COMPOUND_PARTS: f32 = 0.7;
/// A word of many pairs weighs its number of pairs to the power of 1 minus this.
const LONG_WORD: f32 = 0.6;

/// Weight of a word without the idiom that it belongs to.
const IDIOM_WEIGHT: f32 = 0.6;
/// Factor for a synonym if nothing else of the query occurs: a word has unintended meanings, but a document seldom has
/// synonyms of a whole question by chance.
const ALONE: f32 = 0.7;

/// Virtual documents without any of the terms, so that idf is meaningful in a store of two.
const PSEUDO_DOCUMENTS: f32 = 1000.0;
/// Virtual documents of usual length in tokens.
const PSEUDO_LENGTHS: f32 = 20.0;
const PSEUDO_LENGTH: f32 = 60.0;

impl<'q> RelevanceScorer<'q> {
    pub fn new(query: &'q Query, corpus: &CorpusStats) -> Self {
        let documents = corpus.documents as f32;
        let frequency = |place: usize| corpus.frequencies.get(place).map_or(0.0, |found| *found as f32);
        let idf: Vec<f32> = (0..query.all_terms().len()).map(|place| idf(documents, frequency(place))).collect();
        let mut weights: Vec<f32> = query.words.iter().map(|word| word_weight(word, &idf)).collect();
        let sum: f32 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let mut words_of = vec![Vec::new(); idf.len()];
        for (i, word) in query.words.iter().enumerate() {
            for term in word.whole.iter().chain(word.parts.iter().map(|(term, _)| term)) {
                words_of[*term].push(i);
            }
        }
        let tokens = documents * corpus.average_length + PSEUDO_LENGTHS * PSEUDO_LENGTH;
        Self {
            query,
            matches: TermMatcher::new(query),
            adjacency: Adjacency::new(&query.words, &weights),
            synonyms: SynonymMatcher::new(query, &idf),
            idf,
            weights,
            words_of,
            average_length: tokens / (documents + PSEUDO_LENGTHS),
            documents: corpus.documents,
        }
    }

    /// Finds the query in a document. `also` has the words by which the document is also asked.
    pub fn collect_evidence(&self, title: &str, body: &str, also: &str) -> TermEvidence {
        let mut occurrences = vec![0.0; self.idf.len()];
        let mut synonyms: Vec<usize> = Vec::new();
        let mut seen = self.adjacency.begin();
        let mut places: Vec<(u32, usize)> = Vec::new();
        let mut tokens = Vec::with_capacity(body.len() / 4);
        let mut length = 0;
        for (text, (field, weight, offset)) in [title, also, body].into_iter().zip(FIELDS) {
            let mut reading = self.synonyms.begin_text(text);
            let of_body = |token| {
                if field == Field::Body {
                    tokens.push(token);
                }
            };
            let read = self.matches.visit_all(text, of_body, |hit: TermHit| {
                occurrences[hit.term] += weight;
                for word in &self.words_of[hit.term] {
                    seen.add_word(*word, offset + hit.word);
                    places.push((offset + hit.word, *word));
                }
                reading.add_hit(&hit, |synonym| {
                    if !synonyms.contains(&synonym) {
                        synonyms.push(synonym);
                    }
                    let covers = self.query.synonyms[synonym].covers.iter();
                    places.extend(covers.map(|cover| (offset + hit.word, cover.word)));
                });
            });
            // Words outside the text do not count towards its length.
            length += if field == Field::Also { 0 } else { read };
        }
        let norm = (1.0 - LENGTH + LENGTH * length as f32 / self.average_length).min(MAX_LENGTH_RATIO);
        let literal: Vec<f32> =
            self.query.words.iter().map(|word| self.strength(word, &[], &occurrences, norm)).collect();
        let synonym_scores: Vec<SynonymScore> =
            (0..literal.len()).map(|word| self.synonyms.word_score(word, &synonyms)).collect();
        let is_matched =
            |(own, synonyms): (&f32, &SynonymScore)| *own > 0.0 || synonyms.whole > 0.0 || !synonyms.parts.is_empty();
        let matched = literal.iter().zip(&synonym_scores).zip(&self.weights).filter(|(found, _)| is_matched(*found));
        let matched_weight = matched.map(|(_, weight)| weight).sum::<f32>().min(1.0);
        let belief = ALONE + (1.0 - ALONE) * matched_weight;
        let words = self.query.words.iter().zip(&literal).zip(&synonym_scores);
        let once = belief / (1.0 + SATURATION * norm);
        TermEvidence {
            strengths: words
                .map(|((word, own), synonyms)| {
                    let parts: Vec<f32> = synonyms.parts.iter().map(|worth| worth * once).collect();
                    let in_parts = if parts.is_empty() { 0.0 } else { self.strength(word, &parts, &occurrences, norm) };
                    own.max(synonyms.whole * once).max(in_parts)
                })
                .collect(),
            literal,
            phrase: seen.phrase_weight(),
            proximity: proximity_weight(&places, &self.weights),
            length,
            tokens,
        }
    }

    /// The relevance of a document by itself, from 0 to 1; 0 without any of the terms.
    pub fn score_of(&self, evidence: &TermEvidence) -> f32 {
        self.score_in_context(evidence, &evidence.strengths)
    }

    /// The relevance of a document with other strengths of words; phrases and windows are its own.
    pub(crate) fn score_in_context(&self, evidence: &TermEvidence, strengths: &[f32]) -> f32 {
        let sum: f32 = strengths.iter().zip(&self.weights).map(|(strength, weight)| weight * strength).sum();
        let phrase = if evidence.length > MAX_UTTERANCE_TOKENS { PHRASE_IN_LONG } else { PHRASE };
        (sum * (1.0 + phrase * evidence.phrase + PROXIMITY_BONUS * evidence.proximity)).powf(EXPONENT).min(1.0)
    }

    /// The words of the query that occur, as bits; those after the 64th are skipped.
    pub(crate) fn matched_words(&self, evidence: &TermEvidence) -> u64 {
        let bits = evidence.strengths.iter().take(64).enumerate().filter(|(_, strength)| **strength > 0.0);
        bits.fold(0, |bits, (word, _)| bits | 1 << word)
    }

    /// Weight of the words with a strength, from 0 to 1.
    pub(crate) fn coverage(&self, strengths: &[f32]) -> f32 {
        let occurring = strengths.iter().zip(&self.weights).filter(|(strength, _)| **strength > 0.0);
        occurring.map(|(_, weight)| weight).sum()
    }

    /// Strength of a word, from 0 to below 1, whose parts have at least the strengths in `least`.
    fn strength(&self, word: &QueryWord, least: &[f32], occurrences: &[f32], norm: f32) -> f32 {
        let saturated = |term: usize| occurrences[term] / (occurrences[term] + SATURATION * norm);
        let of_idiom = if word.is_idiom { IDIOM_WEIGHT } else { 1.0 };
        let whole = word.whole.map_or(0.0, saturated);
        let all: f32 = word.parts.iter().map(|(term, share)| share * self.idf[*term]).sum();
        if all <= 0.0 {
            return of_idiom * whole;
        }
        let part = |(i, (term, share)): (usize, &(usize, f32))| {
            share * self.idf[*term] * saturated(*term).max(least.get(i).copied().unwrap_or_default())
        };
        let parts: f32 = word.parts.iter().enumerate().map(part).sum();
        let most = if word.whole.is_some() { COMPOUND_PARTS } else { 1.0 };
        of_idiom * whole.max(most * parts / all)
    }
}

/// A part of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Title,
    /// The words by which the document is also asked.
    Also,
    Body,
}

/// The fields with the weight of an occurrence, and a number that is added to the positions of words, so that the last word of one field
/// and the first of the next are no neighbours.
const FIELDS: [(Field, f32, u32); 3] =
    [(Field::Title, 2.0, 0), (Field::Also, 0.6, 1 << 29), (Field::Body, 1.0, 1 << 30)];

/// Robertson's idf, smoothed to be positive for every term and store.
fn idf(documents: f32, occurring: f32) -> f32 {
    ((documents + PSEUDO_DOCUMENTS - occurring + 0.5) / (occurring + 0.5)).ln_1p()
}

fn word_weight(word: &QueryWord, idf: &[f32]) -> f32 {
    match word.whole {
        Some(term) => idf[term],
        None => {
            let shares: f32 = word.parts.iter().map(|(_, share)| share).sum();
            let sum: f32 = word.parts.iter().map(|(term, share)| share * idf[*term]).sum();
            sum / shares.powf(LONG_WORD)
        }
    }
}

#[cfg(test)]
mod tests;
