//! Translates a query word by word, so that a model which knows words, but not sentences, can compare it with texts in another
//! script.

use std::ops::Range;

use super::LANGUAGE_SCRIPTS;
use super::builder::{QueryBuilder, QueryRun};
use super::synonyms::{MAX_WORDS, listed_key, listed_ranges};
use crate::glossary::glossary;
use crate::text::script::{CharacterClass, Script};

impl QueryBuilder<'_> {
    /// A word that is not listed and written with letters: mostly a name, which is the same in all languages.
    fn name(&self, run: &QueryRun) -> Option<&str> {
        let is_name = run.word.is_some() && run.class == CharacterClass::Letter;
        is_name.then(|| &self.text[run.range.clone()])
    }

    pub(super) fn add_translations(&mut self) {
        let own = Script::detect(self.text);
        let mut texts: [String; LANGUAGE_SCRIPTS.len()] = Default::default();
        let mut is_translated = [false; LANGUAGE_SCRIPTS.len()];
        let mut at = 0;
        while at < self.runs.len() {
            let (keys, runs) = listed_words(&self.runs[at..]);
            let name = if keys.is_empty() { self.name(&self.runs[at]) } else { None };
            for (language, text) in texts.iter_mut().enumerate() {
                let words: Vec<&str> = keys.iter().filter_map(|key| first_word(key, language)).collect();
                is_translated[language] |= !words.is_empty();
                words.into_iter().chain(name).for_each(|word| text.extend([word, " "]));
            }
            at += runs;
        }
        for (language, text) in texts.into_iter().enumerate() {
            let is_other = LANGUAGE_SCRIPTS[language] != own && own != Script::None;
            self.query.translations.0[language] = Some(text).filter(|_| is_other && is_translated[language]);
        }
    }
}

/// The keys of the listed words at the start of some runs, and how many runs they are.
fn listed_words(runs: &[QueryRun]) -> (Vec<String>, usize) {
    let phrases = (2..=MAX_WORDS.min(runs.len())).rev().map(|count| &runs[..count]);
    let mut phrases = phrases.filter(|phrase| phrase.iter().any(|run| run.word.is_some()));
    if let Some((key, runs)) = phrases.find_map(|phrase| Some((listed_key(phrase)?, phrase.len()))) {
        return (vec![key], runs);
    }
    let run = &runs[0];
    let keys = match run.class {
        _ if run.word.is_none() => Vec::new(),
        CharacterClass::Letter => Some(run.key.clone()).into_iter().filter(|key| glossary().contains(key)).collect(),
        _ => {
            let word = |range: Range<usize>| run.key.chars().skip(range.start).take(range.len()).collect();
            listed_ranges(&run.key).into_iter().map(word).collect()
        }
    };
    (keys, 1)
}

/// The first word of a language that means the same as a listed word.
fn first_word(key: &str, language: usize) -> Option<&'static str> {
    let mut words = glossary().concepts(key).flatten();
    words.find(|word| word.language == language).map(|word| word.text)
}
