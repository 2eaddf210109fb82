//! The languages that queries are translated into, and the translations.

use crate::text::script::{Script, has_kana};

/// A query in another language.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Translation {
    /// The translated words, and names, which are the same in all languages.
    pub(crate) text: String,
    /// Words that are translated or names.
    known: f32,
    lost: f32,
}

impl Translation {
    /// The share of the words that the text has, from 0 to 1.
    pub(crate) fn coverage(&self) -> f32 {
        self.known / (self.known + self.lost).max(1.0)
    }

    pub(super) fn add(&mut self, word: &str) {
        self.known += 1.0;
        self.text.push_str(word);
        self.text.push(' ');
    }

    /// Counts words that have no translation.
    pub(super) fn add_lost(&mut self, words: f32) {
        self.lost += words;
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
    pub(super) fn set(&mut self, language: usize, translation: Option<Translation>) {
        self.0[language] = translation;
    }

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

pub(super) fn script_of(language: usize) -> Script {
    match language {
        ENGLISH => Script::Other,
        KOREAN => Script::Hangul,
        _ => Script::Han,
    }
}
