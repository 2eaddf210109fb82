//! Which synonyms of a query's words a document says, and what that is worth.

use crate::search::matches::Hit;
use crate::search::query::{Query, Step, Synonym};

/// The synonyms of a query, by their terms.
#[derive(Debug)]
pub(super) struct Synonyms<'q> {
    synonyms: &'q [Synonym],
    /// The steps that each term takes: which synonym, and which of its steps.
    steps_of: Vec<Vec<(usize, usize)>>,
}

impl<'q> Synonyms<'q> {
    pub(super) fn new(query: &'q Query) -> Self {
        let mut steps_of = vec![Vec::new(); query.all_terms().len()];
        for (i, synonym) in query.synonyms().iter().enumerate() {
            for (step, Step { term, .. }) in synonym.steps.iter().enumerate() {
                steps_of[*term].push((i, step));
            }
        }
        Self { synonyms: query.synonyms(), steps_of }
    }

    /// Begins to read a text.
    pub(super) fn start<'t>(&'t self, text: &'t str) -> Reading<'t> {
        Reading { synonyms: self, text, last: vec![None; self.synonyms.len()] }
    }
}

/// A text that is read.
#[derive(Debug)]
pub(super) struct Reading<'t> {
    synonyms: &'t Synonyms<'t>,
    text: &'t str,
    /// For each synonym the last of its steps that was seen, its written word, and its end in the text.
    last: Vec<Option<(usize, u32, usize)>>,
}

impl Reading<'_> {
    /// Takes in a term, and calls `sink` with every synonym that it completes.
    pub(super) fn hit(&mut self, hit: &Hit, mut sink: impl FnMut(usize)) {
        for (synonym, step) in &self.synonyms.steps_of[hit.term] {
            let steps = &self.synonyms.synonyms[*synonym].steps;
            let follows = *step == 0
                || self.last[*synonym].is_some_and(|(last, word, end)| {
                    last + 1 == *step && hit.start >= end && hit.word - word <= steps[*step].reach
                });
            let Some(end) = follows.then(|| steps[*step].end(self.text, hit.start, hit.end)).flatten() else {
                continue;
            };
            if *step + 1 == steps.len() {
                self.last[*synonym] = None;
                sink(*synonym);
            } else {
                self.last[*synonym] = Some((*step, hit.word, end));
            }
        }
    }
}
