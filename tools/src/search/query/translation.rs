//! Translates a query word by word, so that a model which knows words, but not sentences, can compare it with texts in another
//! script.

use std::ops::Range;

use super::builder::{QueryBuilder, QueryRun};
use super::language::{LANGUAGES, Translation, script_of};
use super::synonyms::{MAX_WORDS, listed_key, listed_ranges};
use crate::glossary::glossary;
use crate::search::korean_stem;
use crate::text::script::{CharacterClass, Script};

impl QueryBuilder<'_> {
    /// A word that is not listed and written with letters: mostly a name, which is the same in all languages.
    fn name(&self, run: &QueryRun) -> Option<&str> {
        let is_name = run.word.is_some() && run.class == CharacterClass::Letter;
        is_name.then(|| &self.text[run.range.clone()])
    }

    pub(super) fn add_translations(&mut self) {
        let own = Script::detect(self.text);
        let mut found: [Translation; LANGUAGES] = Default::default();
        let mut at = 0;
        let mut is_translated = [false; LANGUAGES];
        while at < self.runs.len() {
            let ListedWords { keys, rest, runs } = listed_words(&self.runs[at..]);
            let name = if keys.is_empty() { self.name(&self.runs[at]) } else { None };
            for (language, translation) in found.iter_mut().enumerate() {
                let words: Vec<&str> = keys.iter().filter_map(|key| first_word(key, language)).collect();
                is_translated[language] |= !words.is_empty();
                words.iter().copied().chain(name).for_each(|word| translation.add(word));
                translation.add_lost(rest + (keys.len() - words.len()) as f32);
            }
            at += runs;
        }
        for (language, translation) in found.into_iter().enumerate() {
            let is_other = script_of(language) != own && own != Script::None;
            let translation = Some(translation).filter(|_| is_other && is_translated[language]);
            self.query.translations.set(language, translation);
        }
    }
}

/// Listed words at the start of some runs.
struct ListedWords {
    keys: Vec<String>,
    /// Words of these runs that are not listed.
    rest: f32,
    /// Number of runs.
    runs: usize,
}

fn listed_words(runs: &[QueryRun]) -> ListedWords {
    let phrases = (2..=MAX_WORDS.min(runs.len())).rev().map(|count| &runs[..count]);
    let mut phrases = phrases.filter(|phrase| phrase.iter().any(|run| run.word.is_some()));
    if let Some((key, runs)) = phrases.find_map(|phrase| Some((listed_key(phrase)?, phrase.len()))) {
        return ListedWords { keys: vec![key], rest: 0.0, runs };
    }
    let run = &runs[0];
    match run.class {
        _ if run.word.is_none() => ListedWords { keys: Vec::new(), rest: 0.0, runs: 1 },
        CharacterClass::Letter => {
            let keys = Some(run.key.clone()).into_iter().filter(|key| glossary().contains(key)).collect();
            ListedWords { keys, rest: 0.0, runs: 1 }
        }
        _ => {
            let ranges = listed_ranges(&run.key);
            let word = |range: &Range<usize>| run.key.chars().skip(range.start).take(range.len()).collect();
            ListedWords { keys: ranges.iter().map(word).collect(), rest: unlisted(run, &ranges), runs: 1 }
        }
    }
}

/// Characters of a usual word in scripts without spaces.
const WORD_CHARACTERS: f32 = 2.0;

/// The number of words in a run without spaces that are not listed. Korean endings and Hiragana do not count.
fn unlisted(run: &QueryRun, listed: &[Range<usize>]) -> f32 {
    let stem = if run.class == CharacterClass::Hangul { korean_stem::strip_endings(&run.key) } else { &run.key };
    let says = |c: char| !matches!(c, '\u{3041}'..='\u{309F}');
    let characters =
        stem.chars().enumerate().filter(|(at, c)| says(*c) && !listed.iter().any(|range| range.contains(at)));
    characters.count() as f32 / WORD_CHARACTERS
}

/// The first word of a language that means the same as a listed word.
fn first_word(key: &str, language: usize) -> Option<&'static str> {
    let mut words = glossary().concepts(key).flatten();
    words.find(|word| word.language == language).map(|word| word.text)
}
