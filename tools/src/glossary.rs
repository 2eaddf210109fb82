//! The glossary: words of developers that mean the same, in English, Korean, Japanese and Chinese.
//!
//! `tools/glossary/` has the words, a concept on each line. Here they only get a table of hashes, by which a word finds the lines
//! that it stands on. Knows nothing of questions.

use crate::text::compound::{self, Role};
use crate::text::script::Class;
use crate::text::units::units;
use crate::text::{fold, stem};

const WORDS: &str = include_str!("../glossary/words.tsv");
/// Made of the words by the test that checks it, so that nobody has to wait for that.
const TABLE: &[u8] = include_bytes!("../glossary/table.bin");

/// Characters of the longest word that is looked for where words are not told apart by spaces.
pub(crate) const LONGEST: usize = 10;

/// A table of words and the concepts that they belong to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glossary<'t> {
    text: &'t str,
    /// Eight bytes for each word, in the order of hashes: the hash of its key, and where the line of a concept begins, both with the
    /// lowest byte first.
    table: &'t [u8],
}

/// The glossary of the project.
pub(crate) fn glossary() -> Glossary<'static> {
    Glossary { text: WORDS, table: TABLE }
}

impl<'t> Glossary<'t> {
    /// Whether a word with this key is listed.
    pub(crate) fn holds(self, key: &str) -> bool {
        self.starts(key).next().is_some()
    }

    /// The concepts that a word with this key belongs to, each as its words.
    pub(crate) fn concepts(self, key: &str) -> impl Iterator<Item = impl Iterator<Item = &'t str>> {
        self.starts(key).filter_map(move |start| self.text.get(start..)?.lines().next()).map(words)
    }

    /// Where the lines begin on which a word with this key stands.
    fn starts(self, key: &str) -> impl Iterator<Item = usize> {
        let hash = hash(key);
        let (rows, _) = self.table.as_chunks::<8>();
        let from = rows.partition_point(|row| first(row) < hash);
        let of_key = rows[from..].iter().take_while(move |row| first(row) == hash);
        of_key.map(|[_, _, _, _, start @ ..]| u32::from_le_bytes(*start) as usize)
    }
}

fn first([hash @ .., _, _, _, _]: &[u8; 8]) -> u32 {
    u32::from_le_bytes(*hash)
}

/// The words of a line; none of the heading.
fn words(line: &str) -> impl Iterator<Item = &str> {
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
    use std::path::Path;

    use super::*;

    const SAMPLE: &str =
        "en\tko\tja\tzh\nsign in|login\t로그인\tログイン\t登录\nrate limit\t요청 제한|속도 제한\t\t限流\n";

    /// The table of a text.
    fn table(text: &str) -> Vec<u8> {
        let mut rows = Vec::new();
        let mut start = 0u32;
        for line in text.split_inclusive('\n') {
            for word in words(line) {
                let key = key(word);
                // `sign in` is found as `signIn` as well, and all forms of a word in Japanese.
                let keys = [key.clone(), key.replace(' ', ""), unchanging(&key).to_owned()];
                rows.extend(keys.map(|key| (hash(&key), start)));
            }
            start += u32::try_from(line.len()).unwrap();
        }
        rows.sort_unstable();
        rows.dedup();
        rows.into_iter().flat_map(|(hash, start)| [hash.to_le_bytes(), start.to_le_bytes()].concat()).collect()
    }

    #[test]
    fn a_word_finds_the_others_of_its_line() {
        let table = table(SAMPLE);
        let sample = Glossary { text: SAMPLE, table: &table };
        let found = |key: &str| -> Vec<Vec<&str>> { sample.concepts(key).map(Iterator::collect).collect() };
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

    #[test]
    fn the_table_is_that_of_the_words() {
        let made = table(WORDS);
        if made != TABLE {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("glossary/table.bin");
            std::fs::write(path, made).unwrap();
            panic!("the table was not that of the words; it has been made again, so run the tests once more");
        }
    }
}
