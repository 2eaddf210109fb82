//! Finds synonyms of a query's words in a document and weighs them.

use std::ops::Range;

use crate::search::query::{Query, QueryWord, SynonymStep};
use crate::search::term_matcher::TermHit;

/// Synonyms by their terms and by the words that they replace.
#[derive(Debug)]
pub(super) struct SynonymMatcher<'q> {
    query: &'q Query,
    /// For each term the synonyms and steps that need it.
    steps_of: Vec<Vec<(usize, usize)>>,
    links: Vec<Vec<SynonymLink>>,
}

/// A synonym of a word, or of some of its parts.
#[derive(Debug)]
struct SynonymLink {
    synonym: usize,
    parts: Option<Range<usize>>,
    /// Weight of an occurrence relative to the word itself.
    worth: f32,
}

/// A word's synonyms in a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SynonymScore {
    /// Weight of its best synonym.
    pub(super) whole: f32,
    /// Weight of the best synonym of each of its parts; empty without synonyms of parts.
    pub(super) parts: Vec<f32>,
}

impl<'q> SynonymMatcher<'q> {
    pub(super) fn new(query: &'q Query, idf: &[f32]) -> Self {
        let mut steps_of = vec![Vec::new(); query.all_terms().len()];
        for (i, synonym) in query.synonyms.iter().enumerate() {
            for (step, SynonymStep { term, .. }) in synonym.steps.iter().enumerate() {
                steps_of[*term].push((i, step));
            }
        }
        Self { query, steps_of, links: synonym_links(query, idf) }
    }

    pub(super) fn begin_text<'t>(&'t self, text: &'t str) -> SynonymReader<'t> {
        SynonymReader { synonyms: self, text, partial_matches: Vec::new() }
    }

    /// The synonyms of a word among those found. The best counts, however many there are.
    pub(super) fn word_score(&self, word: usize, said: &[usize]) -> SynonymScore {
        let (mut whole, mut parts) = (0.0f32, Vec::new());
        // Most texts contain none.
        if said.is_empty() {
            return SynonymScore { whole, parts };
        }
        let of_word = &self.query.words[word].parts;
        let is_said = |link: &&SynonymLink| said.contains(&link.synonym);
        for SynonymLink { parts: range, worth, .. } in self.links[word].iter().filter(is_said) {
            match range {
                None => whole = whole.max(*worth),
                Some(range) => {
                    parts.resize(of_word.len(), 0.0);
                    parts[range.clone()].iter_mut().for_each(|most| *most = worth.max(*most));
                }
            }
        }
        SynonymScore { whole, parts }
    }
}

/// Weights of synonyms per word. A synonym in many documents is worth less than the word itself.
fn synonym_links(query: &Query, idf: &[f32]) -> Vec<Vec<SynonymLink>> {
    let mut links: Vec<Vec<SynonymLink>> = query.words.iter().map(|_| Vec::new()).collect();
    for (i, synonym) in query.synonyms.iter().enumerate() {
        let of_synonym = synonym.terms.iter().map(|term| idf[*term]).fold(0.0, f32::max);
        for cover in &synonym.covers {
            let of_word = word_idf(&query.words[cover.word], idf);
            let worth = cover.weight * (of_synonym / of_word.max(f32::MIN_POSITIVE)).min(1.0);
            links[cover.word].push(SynonymLink { synonym: i, parts: cover.parts.clone(), worth });
        }
    }
    links
}

/// The idf of a word, or the average of its parts.
fn word_idf(word: &QueryWord, idf: &[f32]) -> f32 {
    let shares: f32 = word.parts.iter().map(|(_, share)| share).sum();
    word.whole.map_or_else(
        || word.parts.iter().map(|(term, share)| share * idf[*term]).sum::<f32>() / shares,
        |term| idf[term],
    )
}

#[derive(Debug)]
pub(super) struct SynonymReader<'t> {
    synonyms: &'t SynonymMatcher<'t>,
    text: &'t str,
    /// Partly matched synonyms, each with its last matched step, word number, and end in the text.
    partial_matches: Vec<(usize, usize, u32, usize)>,
}

impl SynonymReader<'_> {
    /// Processes a term and calls `sink` with every synonym that it completes.
    pub(super) fn add_hit(&mut self, hit: &TermHit, mut sink: impl FnMut(usize)) {
        for (synonym, step) in &self.synonyms.steps_of[hit.term] {
            let steps = &self.synonyms.query.synonyms[*synonym].steps;
            let begun = self.partial_matches.iter().position(|(begun, ..)| begun == synonym);
            let follows = *step == 0
                || begun.is_some_and(|at| {
                    let (_, last, word, end) = self.partial_matches[at];
                    last + 1 == *step && hit.start >= end && hit.word - word <= steps[*step].reach
                });
            let Some(end) = follows.then(|| steps[*step].match_end(self.text, hit.start, hit.end)).flatten() else {
                continue;
            };
            if let Some(at) = begun {
                self.partial_matches.swap_remove(at);
            }
            if *step + 1 == steps.len() {
                sink(*synonym);
            } else {
                self.partial_matches.push((*synonym, *step, hit.word, end));
            }
        }
    }
}
