//! Relevance: how well a document answers a query, from 0 to 1, comparable between small and large stores.
//!
//! Computed from the text itself and not from SQLite's bm25, whose idf collapses in stores of one to three documents.

mod adjacency;
mod said;
mod together;

use adjacency::Adjacency;
use said::{Said, Synonyms};
use together::together;

use super::manner::UTTERANCE;
use super::matches::{Hit, Matches};
use super::query::{Query, Word};
use crate::fulltext::Corpus;
use crate::text::script::Script;

/// The relevance of documents for one query.
///
/// The score is `(Σ wᵢ·sᵢ · (1 + p·phrase + 0.2·together))^0.53`, cut at 1, with `p` 0.35, and 0.9 in passages of more than 80 tokens. `wᵢ` is the share of word i in the idf of
/// the query, `sᵢ` how strongly the document holds it: BM25's saturation `n / (n + 0.7·norm)`, which stays below 1, with
/// `norm = 0.65 + 0.35·length / usual length`, at most 4. For a word of several terms it is the idf-weighted share of
/// those that occur. What the glossary lists for a word counts once for it, however often and in whatever ways it is said, and for
/// less than the word itself: `worth / (1 + 0.7·norm)`, with the worth of the synonym, the share of the word's idf that it has, and
/// 0.7 to 1 by how much of the query is there at all, because a word has meanings that were not meant. `together` is the weight of the words that occur close together, `phrase` that of the neighbours that are
/// neighbours in the document too. Words are alternatives, not conditions.
///
/// Measured on development sets with 300 candidates, recall in the first five in per cent, and how many of the relevant
/// documents among them the default threshold of 0.35 loses:
///
/// | constants | LoCoMo turns | LoCoMo sessions | KorQuAD |
/// | --- | --- | --- | --- |
/// | as here | 56.9, 2.5 lost | 85.4, 0.1 lost | 99.1, 0.0 lost |
/// | saturation 1.2, length 0.75 | 53.8, 7.1 lost | 84.9, 0.4 lost | 99.2, 0.3 lost |
/// | pairs that cross into a particle at 0 or 1, not 0.4 | | | 98.8, 98.9 |
#[derive(Debug)]
pub struct Relevance<'q> {
    query: &'q Query,
    matches: Matches<'q>,
    /// idf of each term.
    idf: Vec<f32>,
    /// Weight of each word; they add up to 1.
    weights: Vec<f32>,
    /// The words that each term belongs to.
    words_of: Vec<Vec<usize>>,
    adjacency: Adjacency,
    synonyms: Synonyms<'q>,
    /// Tokens of an average document.
    usual_length: f32,
}

/// What a document holds of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// How strongly each word of the query is said, by itself or in other words, from 0 to below 1.
    pub strengths: Vec<f32>,
    /// The same of the words themselves alone.
    pub literal: Vec<f32>,
    /// The weight of the words that occur themselves or in other words, whatever those are worth, from 0 to 1.
    pub there: f32,
    /// The weight of the words that are said by themselves or in other words, as far as those are worth them, from 0 to 1; 0 where
    /// none is said in other words.
    pub otherwise: f32,
    /// The weight of the words that are neighbours in the document as in the query, from 0 to 1.
    pub phrase: f32,
    /// The weight of the words that occur close together, in the best place of the document, from 0 to 1.
    pub together: f32,
    /// Tokens of the document.
    pub length: u32,
    /// Those of its body, by their hashes.
    pub(crate) tokens: Vec<u64>,
}

const SATURATION: f32 = 0.7;
const LENGTH: f32 = 0.35;
const PHRASE: f32 = 0.35;
/// A long passage holds many words by chance, but seldom side by side.
const PHRASE_IN_LONG: f32 = 0.9;
const TOGETHER: f32 = 0.2;
const EXPONENT: f32 = 0.53;
/// The length normalisation ends here, so that one very long document can still be relevant.
const LONGEST: f32 = 4.0;
/// An occurrence in the title counts as so many in the body.
const TITLE: f32 = 2.0;
/// What the parts of a compound are worth when the compound itself does not occur.
const COMPOUND_PARTS: f32 = 0.7;
/// Words of many pairs weigh more than short ones, by their number to the power of 1 minus this.
const LONG_WORD: f32 = 0.6;

/// What a word of an idiom is worth where the idiom does not occur.
const OF_IDIOM: f32 = 0.6;
/// What a synonym is worth where nothing else of a query is said, of what it is worth where all of it is: a word has meanings that
/// were not meant, and a document that says all of a question in other words hardly does so by chance.
const ALONE: f32 = 0.7;

/// Documents without any of the terms that are imagined beside the real ones: they make idf mean the same in a store of two.
const PSEUDO_DOCUMENTS: f32 = 1000.0;
/// Documents of a usual length, in tokens, that are imagined likewise.
const PSEUDO_LENGTHS: f32 = 20.0;
const PSEUDO_LENGTH: f32 = 60.0;

impl<'q> Relevance<'q> {
    /// Prepares the scoring of documents of a store.
    pub fn new(query: &'q Query, corpus: &Corpus) -> Self {
        let documents = corpus.documents as f32;
        let frequency = |place: usize| corpus.frequencies.get(place).map_or(0.0, |found| *found as f32);
        let idf: Vec<f32> = (0..query.all_terms().len()).map(|place| idf(documents, frequency(place))).collect();
        let mut weights: Vec<f32> = query.words().iter().map(|word| weight(word, &idf)).collect();
        let sum: f32 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        let mut words_of = vec![Vec::new(); idf.len()];
        for (i, word) in query.words().iter().enumerate() {
            for term in word.whole.iter().chain(word.parts.iter().map(|(term, _)| term)) {
                words_of[*term].push(i);
            }
        }
        let tokens = documents * corpus.average_length + PSEUDO_LENGTHS * PSEUDO_LENGTH;
        Self {
            query,
            matches: Matches::new(query),
            adjacency: Adjacency::new(query.words(), &weights),
            synonyms: Synonyms::new(query, &idf),
            idf,
            weights,
            words_of,
            usual_length: tokens / (documents + PSEUDO_LENGTHS),
        }
    }

    /// The relevance of a document, from 0 to 1. A document without any of the terms has 0.
    pub fn score(&self, title: &str, body: &str) -> f32 {
        self.score_of(&self.evidence(title, body))
    }

    /// What a document holds of the query.
    pub fn evidence(&self, title: &str, body: &str) -> Evidence {
        let mut occurrences = vec![0.0; self.idf.len()];
        let mut said: Vec<usize> = Vec::new();
        let mut seen = self.adjacency.start();
        let mut places: Vec<(u32, usize)> = Vec::new();
        let mut tokens = Vec::with_capacity(body.len() / 4);
        let mut length = 0;
        for (text, times, offset) in [(title, TITLE, 0), (body, 1.0, APART)] {
            let mut reading = self.synonyms.start(text);
            let of_body = |token| {
                if offset > 0 {
                    tokens.push(token);
                }
            };
            length += self.matches.visit_all(text, of_body, |hit: Hit| {
                occurrences[hit.term] += times;
                for word in &self.words_of[hit.term] {
                    seen.word(*word, offset + hit.word);
                    places.push((offset + hit.word, *word));
                }
                reading.hit(&hit, |synonym| {
                    if !said.contains(&synonym) {
                        said.push(synonym);
                    }
                    let covers = self.query.synonyms()[synonym].covers.iter();
                    places.extend(covers.map(|cover| (offset + hit.word, cover.word)));
                });
            });
        }
        let norm = (1.0 - LENGTH + LENGTH * length as f32 / self.usual_length).min(LONGEST);
        let literal: Vec<f32> =
            self.query.words().iter().map(|word| self.strength(word, &[], &occurrences, norm)).collect();
        let said: Vec<Said> = (0..literal.len()).map(|word| self.synonyms.of_word(word, &said)).collect();
        let is_there = |(own, said): (&f32, &Said)| *own > 0.0 || said.share > 0.0;
        let there = literal.iter().zip(&said).zip(&self.weights).filter(|(found, _)| is_there(*found));
        let there = there.map(|(_, weight)| weight).sum::<f32>().min(1.0);
        let belief = ALONE + (1.0 - ALONE) * there;
        let words = self.query.words().iter().zip(&literal).zip(&said);
        let once = belief / (1.0 + SATURATION * norm);
        Evidence {
            strengths: words
                .map(|((word, own), said)| {
                    let parts: Vec<f32> = said.parts.iter().map(|worth| worth * once).collect();
                    let in_parts = if parts.is_empty() { 0.0 } else { self.strength(word, &parts, &occurrences, norm) };
                    own.max(said.whole * once).max(in_parts)
                })
                .collect(),
            there,
            otherwise: self.otherwise(&literal, &said, belief),
            literal,
            phrase: seen.phrase(),
            together: together(&places, &self.weights),
            length,
            tokens,
        }
    }

    /// The relevance that evidence amounts to.
    pub fn score_of(&self, evidence: &Evidence) -> f32 {
        self.score_in_context(evidence, &evidence.strengths)
    }

    /// The same where words count as strongly as these say. What stands together is the document's own.
    pub(crate) fn score_in_context(&self, evidence: &Evidence, strengths: &[f32]) -> f32 {
        let sum: f32 = strengths.iter().zip(&self.weights).map(|(strength, weight)| weight * strength).sum();
        let phrase = if evidence.length > UTTERANCE { PHRASE_IN_LONG } else { PHRASE };
        (sum * (1.0 + phrase * evidence.phrase + TOGETHER * evidence.together)).powf(EXPONENT).min(1.0)
    }

    /// The weight of the words that the glossary lists other words for in a script, from 0 to 1.
    pub(crate) fn listed_in(&self, script: Script) -> f32 {
        let listed = |word: &usize| self.synonyms.of_script(*word, script);
        (0..self.weights.len()).filter(listed).map(|word| self.weights[word]).sum()
    }

    /// The weight of the words that occur themselves, from 0 to 1.
    pub(crate) fn coverage(&self, evidence: &Evidence) -> f32 {
        let occurring = evidence.literal.iter().zip(&self.weights).filter(|(strength, _)| **strength > 0.0);
        occurring.map(|(_, weight)| weight).sum()
    }

    fn otherwise(&self, literal: &[f32], said: &[Said], belief: f32) -> f32 {
        if said.iter().all(|said| said.share <= 0.0) {
            return 0.0;
        }
        let words = literal.iter().zip(said).zip(&self.weights);
        words.map(|((own, said), weight)| weight * own.max(belief * said.share)).sum()
    }

    /// How strongly a word occurs, from 0 to below 1, where its parts do as strongly as `least` says, or more.
    fn strength(&self, word: &Word, least: &[f32], occurrences: &[f32], norm: f32) -> f32 {
        let saturated = |term: usize| occurrences[term] / (occurrences[term] + SATURATION * norm);
        let of_idiom = if word.of_idiom { OF_IDIOM } else { 1.0 };
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

/// Far enough from the words of the title that a body's first word is no neighbour of the title's last.
const APART: u32 = 1 << 30;

/// Robertson's idf, smoothed so that it is positive for every term of every store.
fn idf(documents: f32, occurring: f32) -> f32 {
    ((documents + PSEUDO_DOCUMENTS - occurring + 0.5) / (occurring + 0.5)).ln_1p()
}

fn weight(word: &Word, idf: &[f32]) -> f32 {
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
