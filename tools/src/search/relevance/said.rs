//! Which synonyms of a query's words a document says, and what they are worth.

use std::ops::Range;

use crate::search::matches::Hit;
use crate::search::query::{Query, Step, Synonym, Word};
use crate::text::script::Script;

/// The synonyms of a query, by their terms and by the words that they say.
#[derive(Debug)]
pub(super) struct Synonyms<'q> {
    query: &'q Query,
    synonyms: &'q [Synonym],
    /// The steps that each term takes: which synonym, and which of its steps.
    steps_of: Vec<Vec<(usize, usize)>>,
    links: Vec<Vec<Link>>,
}

/// A synonym of a word, or of some of its parts.
#[derive(Debug)]
struct Link {
    synonym: usize,
    parts: Option<Range<usize>>,
    /// What an occurrence counts for, of one of the word itself.
    worth: f32,
}

/// What a document says of a word in other words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// What its best synonym is worth.
    pub(super) whole: f32,
    /// The same for each of its parts; none when there is no synonym of parts.
    pub(super) parts: Vec<f32>,
    /// What all of it comes to.
    pub(super) share: f32,
}

impl<'q> Synonyms<'q> {
    pub(super) fn new(query: &'q Query, idf: &[f32]) -> Self {
        let mut steps_of = vec![Vec::new(); query.all_terms().len()];
        for (i, synonym) in query.synonyms().iter().enumerate() {
            for (step, Step { term, .. }) in synonym.steps.iter().enumerate() {
                steps_of[*term].push((i, step));
            }
        }
        Self { query, synonyms: query.synonyms(), steps_of, links: links(query, idf) }
    }

    /// Begins to read a text.
    pub(super) fn start<'t>(&'t self, text: &'t str) -> Reading<'t> {
        Reading { synonyms: self, text, begun: Vec::new() }
    }

    /// What is said of a word in a document that says these synonyms. The best counts, however many there are.
    pub(super) fn of_word(&self, word: usize, said: &[usize]) -> Said {
        let (mut whole, mut parts) = (0.0f32, Vec::new());
        if said.is_empty() {
            return Said { whole, parts, share: 0.0 };
        }
        let of_word = &self.query.words()[word].parts;
        let is_said = |link: &&Link| said.contains(&link.synonym);
        for Link { parts: range, worth, .. } in self.links[word].iter().filter(is_said) {
            match range {
                None => whole = whole.max(*worth),
                Some(range) => {
                    parts.resize(of_word.len(), 0.0);
                    parts[range.clone()].iter_mut().for_each(|most| *most = worth.max(*most));
                }
            }
        }
        let shares: f32 = of_word.iter().map(|(_, share)| share).sum();
        let in_parts =
            of_word.iter().zip(&parts).map(|((_, share), worth)| share * worth).sum::<f32>() / shares.max(1.0);
        Said { whole, parts, share: whole.max(in_parts) }
    }
}

impl Synonyms<'_> {
    /// Whether there is a synonym of a word in a script.
    pub(super) fn of_script(&self, word: usize, script: Script) -> bool {
        self.links[word].iter().any(|link| self.synonyms[link.synonym].script == script)
    }
}

/// What synonyms are worth of each word. One that is in many documents tells less than the word that was asked for.
fn links(query: &Query, idf: &[f32]) -> Vec<Vec<Link>> {
    let mut links: Vec<Vec<Link>> = query.words().iter().map(|_| Vec::new()).collect();
    for (i, synonym) in query.synonyms().iter().enumerate() {
        let of_synonym = synonym.terms.iter().map(|term| idf[*term]).fold(0.0, f32::max);
        for cover in &synonym.covers {
            let of_word = of_one(&query.words()[cover.word], idf);
            let worth = cover.weight * (of_synonym / of_word.max(f32::MIN_POSITIVE)).min(1.0);
            links[cover.word].push(Link { synonym: i, parts: cover.parts.clone(), worth });
        }
    }
    links
}

/// The idf of a word, or that of a part of it on average.
fn of_one(word: &Word, idf: &[f32]) -> f32 {
    let shares: f32 = word.parts.iter().map(|(_, share)| share).sum();
    word.whole.map_or_else(
        || word.parts.iter().map(|(term, share)| share * idf[*term]).sum::<f32>() / shares,
        |term| idf[term],
    )
}

/// A text that is read.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    synonyms: &'t Synonyms<'t>,
    text: &'t str,
    /// Synonyms that were begun, each with the last of its steps that was seen, its written word, and its end in the text.
    begun: Vec<(usize, usize, u32, usize)>,
}

impl Reading<'_> {
    /// Takes in a term, and calls `sink` with every synonym that it completes.
    pub(super) fn hit(&mut self, hit: &Hit, mut sink: impl FnMut(usize)) {
        for (synonym, step) in &self.synonyms.steps_of[hit.term] {
            let steps = &self.synonyms.synonyms[*synonym].steps;
            let begun = self.begun.iter().position(|(begun, ..)| begun == synonym);
            let follows = *step == 0
                || begun.is_some_and(|at| {
                    let (_, last, word, end) = self.begun[at];
                    last + 1 == *step && hit.start >= end && hit.word - word <= steps[*step].reach
                });
            let Some(end) = follows.then(|| steps[*step].end(self.text, hit.start, hit.end)).flatten() else {
                continue;
            };
            if let Some(at) = begun {
                self.begun.swap_remove(at);
            }
            if *step + 1 == steps.len() {
                sink(*synonym);
            } else {
                self.begun.push((*synonym, *step, hit.word, end));
            }
        }
    }
}
