//! Translates a query word by word, so that a model which knows words, but not sentences, can compare it with texts in another
//! script.

use std::ops::Range;

use super::builder::{QueryBuilder, QueryRun};
use super::synonyms::{MAX_WORDS, listed_key, listed_ranges};
use crate::glossary::glossary;
use crate::text::script::{CharacterClass, Script, has_kana};

/// A query in another language.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Translation {
    /// The translated words, and names, which are the same in all languages.
    pub(crate) text: String,
    translated: u32,
    named: u32,
    lost: u32,
}

impl Translation {
    /// The share of the words that the text has, from 0 to 1.
    pub(crate) fn coverage(&self) -> f32 {
        let known = self.translated + self.named;
        known as f32 / (known + self.lost).max(1) as f32
    }

    fn add(&mut self, word: &str) {
        self.text.push_str(word);
        self.text.push(' ');
    }
}

/// Translations by language: those of the glossary's first columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Translations([Option<Translation>; LANGUAGES]);

/// English, Korean, Japanese and Chinese.
pub(crate) const LANGUAGES: usize = 4;
const ENGLISH: usize = 0;
const KOREAN: usize = 1;
const JAPANESE: usize = 2;
const CHINESE: usize = 3;

impl Translations {
    /// By language.
    pub(crate) fn all(&self) -> &[Option<Translation>; LANGUAGES] {
        &self.0
    }

    /// The words of all languages of a script.
    pub(crate) fn for_script(&self, script: Script) -> Option<String> {
        let of_script = (0..LANGUAGES).filter(|language| script_of(*language) == script);
        let texts: Vec<&str> =
            of_script.filter_map(|language| Some(self.0[language].as_ref()?.text.as_str())).collect();
        (!texts.is_empty()).then(|| texts.concat())
    }
}

/// The language of a text in this script; `None` without letters.
pub(crate) fn language_of(script: Script, text: &str) -> Option<usize> {
    match script {
        Script::None => None,
        Script::Other => Some(ENGLISH),
        Script::Hangul => Some(KOREAN),
        Script::Han if has_kana(text) => Some(JAPANESE),
        Script::Han => Some(CHINESE),
    }
}

fn script_of(language: usize) -> Script {
    match language {
        ENGLISH => Script::Other,
        KOREAN => Script::Hangul,
        _ => Script::Han,
    }
}

impl QueryBuilder<'_> {
    pub(super) fn add_translations(&mut self) {
        let own = Script::detect(self.text);
        let mut found: [Translation; LANGUAGES] = Default::default();
        let mut at = 0;
        while at < self.runs.len() {
            let (keys, length) = listed_words(&self.runs[at..]);
            let names = if keys.is_empty() { self.runs[at].word.map(|_| &self.runs[at]) } else { None };
            for (language, translation) in found.iter_mut().enumerate() {
                for key in &keys {
                    match first_word(key, language) {
                        Some(word) => {
                            translation.add(word);
                            translation.translated += 1;
                        }
                        None => translation.lost += 1,
                    }
                }
                match names {
                    Some(run) if run.class == CharacterClass::Letter => {
                        translation.add(&self.text[run.range.clone()]);
                        translation.named += 1;
                    }
                    Some(_) => translation.lost += 1,
                    None => {}
                }
            }
            at += length;
        }
        for (language, translation) in found.into_iter().enumerate() {
            let is_other = script_of(language) != own && own != Script::None;
            self.query.translations.0[language] = Some(translation).filter(|known| is_other && known.translated > 0);
        }
    }
}

/// The keys of the listed words at the start of some runs, and the number of runs that they take.
fn listed_words(runs: &[QueryRun]) -> (Vec<String>, usize) {
    let phrases = (2..=MAX_WORDS.min(runs.len())).rev().map(|count| &runs[..count]);
    let mut phrases = phrases.filter(|phrase| phrase.iter().any(|run| run.word.is_some()));
    if let Some(phrase) = phrases.find_map(|phrase| Some((vec![listed_key(phrase)?], phrase.len()))) {
        return phrase;
    }
    let run = &runs[0];
    let word = |range: Range<usize>| run.key.chars().skip(range.start).take(range.len()).collect();
    let keys = match run.class {
        _ if run.word.is_none() => Vec::new(),
        CharacterClass::Letter => Some(run.key.clone()).into_iter().filter(|key| glossary().contains(key)).collect(),
        _ => listed_ranges(&run.key).into_iter().map(word).collect(),
    };
    (keys, 1)
}

/// The first word of a language that means the same as a listed word.
fn first_word(key: &str, language: usize) -> Option<&'static str> {
    let mut words = glossary().concepts(key).flatten();
    words.find(|word| word.language == language).map(|word| word.text)
}
