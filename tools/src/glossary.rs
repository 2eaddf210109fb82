//! The glossary: words of developers that mean the same, in English, Korean, Japanese and Chinese.
//!
//! `tools/glossary/` has the words, a concept on each line. Here they only get a table of hashes, by which a word finds the lines
//! that it stands on. Knows nothing of questions.

use std::sync::OnceLock;

use crate::text::compound::{self, Role};
use crate::text::script::Class;
use crate::text::units::units;
use crate::text::{fold, stem};

const WORDS: &str = include_str!("../glossary/words.tsv");

/// Characters of the longest word that is looked for where words are not told apart by spaces.
pub(crate) const LONGEST: usize = 10;

/// A table of words and the concepts that they belong to.
#[derive(Debug)]
pub(crate) struct Glossary {
    text: &'static str,
    /// The hash of a word's key, and where the line of a concept begins; in the order of hashes.
    places: Vec<(u32, u32)>,
}

/// The glossary of the project, which is read when it is first asked for.
pub(crate) fn glossary() -> &'static Glossary {
    static GLOSSARY: OnceLock<Glossary> = OnceLock::new();
    GLOSSARY.get_or_init(|| Glossary::read(WORDS))
}

impl Glossary {
    fn read(text: &'static str) -> Self {
        let mut places = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            for word in words(line) {
                let key = key(word);
                // `sign in` is found as `signIn` as well.
                if key.contains(' ') {
                    places.push((hash(&key.replace(' ', "")), start));
                }
                if unchanging(&key) != key {
                    places.push((hash(unchanging(&key)), start));
                }
                places.push((hash(&key), start));
            }
            start += u32::try_from(line.len()).unwrap_or(u32::MAX);
        }
        places.sort_unstable();
        places.dedup();
        places.shrink_to_fit();
        Self { text, places }
    }

    /// Whether a word with this key is listed.
    pub(crate) fn holds(&self, key: &str) -> bool {
        !self.starts(key).is_empty()
    }

    /// The concepts that a word with this key belongs to, each as its words.
    pub(crate) fn concepts(&self, key: &str) -> impl Iterator<Item = impl Iterator<Item = &'static str>> {
        let lines = self.starts(key).iter().filter_map(|(_, start)| self.text[*start as usize..].lines().next());
        lines.map(words)
    }

    fn starts(&self, key: &str) -> &[(u32, u32)] {
        let hash = hash(key);
        let from = self.places.partition_point(|(of, _)| *of < hash);
        let count = self.places[from..].iter().take_while(|(of, _)| *of == hash).count();
        &self.places[from..from + count]
    }
}

/// The words of a line; none of the heading.
fn words(line: &'static str) -> impl Iterator<Item = &'static str> {
    let is_heading = line.starts_with("en\t") || line.starts_with('#');
    line.split(['\t', '|']).map(str::trim).filter(move |word| !word.is_empty() && !is_heading)
}

/// What a word is looked up by: stems of what is written in letters, with spaces between them, and other scripts as they are
/// when they are folded, without spaces.
pub(crate) fn key(word: &str) -> String {
    let mut key = String::with_capacity(word.len());
    let mut is_after_letters = false;
    for unit in units(word) {
        let source = &word[unit.start..unit.end];
        if unit.class == Class::Letter {
            if is_after_letters {
                key.push(' ');
            }
            key.push_str(&token(source));
        } else {
            fold::fold_into(source, &mut key);
        }
        is_after_letters = unit.class == Class::Letter;
    }
    key
}

/// What all forms of a word in Japanese begin with: verbs and adjectives without what changes, `隠れる` as `隠れ`.
pub(crate) fn unchanging(run: &str) -> &str {
    let stem = run.strip_suffix(['う', 'く', 'ぐ', 'す', 'つ', 'ぬ', 'ぶ', 'む', 'る', 'い', 'な']);
    stem.filter(|stem| stem.chars().nth(1).is_some()).unwrap_or(run)
}

/// The token that stands for all of a run of letters.
pub(crate) fn token(source: &str) -> String {
    let mut token = String::new();
    compound::visit(source, &mut String::new(), |piece, _, role| {
        if role == Role::Whole {
            token = if stem::applies(piece) { stem::english(piece).into_owned() } else { piece.to_owned() };
        }
    });
    token
}

/// FNV-1a. Two words seldom have one hash, and then a search finds a little more than it should.
fn hash(key: &str) -> u32 {
    key.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str =
        "en\tko\tja\tzh\nsign in|login\t로그인\tログイン\t登录\nrate limit\t요청 제한|속도 제한\t\t限流\n";

    fn found(key: &str) -> Vec<Vec<&'static str>> {
        Glossary::read(SAMPLE).concepts(key).map(Iterator::collect).collect()
    }

    #[test]
    fn a_word_finds_the_others_of_its_line() {
        let login = vec![vec!["sign in", "login", "로그인", "ログイン", "登录"]];
        for word in ["signing in", "login", "signIn", "로그인", "登录"] {
            assert_eq!(found(&key(word)), login, "{word}");
        }
        assert_eq!(found(&key("요청제한")).len(), 1, "spaces within Korean words do not matter");
        assert!(found("en").is_empty() && found("sign").is_empty());
    }

    #[test]
    fn every_line_of_the_glossary_has_four_columns_and_words_that_can_be_found() {
        for (number, line) in WORDS.lines().enumerate() {
            assert_eq!(line.split('\t').count(), 4, "line {}: {line}", number + 1);
            for word in words(line) {
                let key = key(word);
                assert!(!key.is_empty() && glossary().holds(&key), "line {}: {word}", number + 1);
            }
        }
    }
}
