//! Lists of words and phrases that are written as one text and split when they are first used.

use std::collections::{HashMap, HashSet};
use std::ops::Deref;
use std::sync::OnceLock;

use foldhash::fast::FixedState;

/// Words or phrases in the order in which they are listed. Use it in a `static`, so that the text is split only once.
#[derive(Debug)]
pub struct WordList {
    text: &'static str,
    separator: char,
    list: OnceLock<Vec<&'static str>>,
    set: OnceLock<HashSet<&'static str, FixedState>>,
    /// In bytes.
    longest: OnceLock<usize>,
    values: OnceLock<HashMap<&'static str, &'static str, FixedState>>,
}

impl WordList {
    /// `text` has spaces or line breaks between words.
    pub const fn words(text: &'static str) -> Self {
        Self::new(text, ' ')
    }

    /// `text` has a `|` between phrases, and nothing around it that is no part of a phrase.
    pub const fn phrases(text: &'static str) -> Self {
        Self::new(text, '|')
    }

    /// One list of phrases for each text.
    pub const fn phrases_each<const N: usize>(texts: [&'static str; N]) -> [Self; N] {
        let mut lists = [const { Self::phrases("") }; N];
        let mut at = 0;
        while at < N {
            lists[at].text = texts[at];
            at += 1;
        }
        lists
    }

    const fn new(text: &'static str, separator: char) -> Self {
        Self {
            text,
            separator,
            list: OnceLock::new(),
            set: OnceLock::new(),
            longest: OnceLock::new(),
            values: OnceLock::new(),
        }
    }

    /// Whether a word or phrase is in the list.
    pub fn contains(&self, word: &str) -> bool {
        self.set().contains(word)
    }

    /// Whether a text contains one of the list.
    pub fn occurs_in(&self, text: &str) -> bool {
        self.iter().any(|word| text.contains(word))
    }

    /// Whether a text begins with one of the list.
    pub fn begins(&self, text: &str) -> bool {
        self.iter().any(|word| text.starts_with(word))
    }

    /// Whether a text ends with one of the list.
    pub fn ends(&self, text: &str) -> bool {
        self.iter().any(|word| text.ends_with(word))
    }

    /// The words of the list that a text ends with, the longest first.
    pub fn endings(&self, text: &str) -> impl Iterator<Item = &'static str> {
        let longest = *self.longest.get_or_init(|| self.iter().map(|word| word.len()).max().unwrap_or_default());
        let end = &text[text.ceil_char_boundary(text.len().saturating_sub(longest))..];
        end.char_indices().filter_map(|(at, _)| self.set().get(&end[at..]).copied())
    }

    /// Returns what follows `key`, which is one word, and a space in the first such entry of the list.
    pub fn value(&self, key: &str) -> Option<&'static str> {
        let first_values = || self.iter().rev().filter_map(|entry| entry.split_once(' ')).collect();
        self.values.get_or_init(first_values).get(key).copied()
    }

    fn set(&self) -> &HashSet<&'static str, FixedState> {
        self.set.get_or_init(|| self.iter().copied().collect())
    }
}

impl Deref for WordList {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.list.get_or_init(|| match self.separator {
            ' ' => self.text.split_whitespace().collect(),
            separator => self.text.split(separator).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_in_order() {
        static WORDS: WordList = WordList::words("\n    b a\n    c\n");
        static PHRASES: WordList = WordList::phrases(
            " of |in place of|\
                                                      two 2",
        );
        assert_eq!(*WORDS, ["b", "a", "c"]);
        assert_eq!(*PHRASES, [" of ", "in place of", "two 2"]);
        assert_eq!(PHRASES.value("two"), Some("2"));
        assert!(PHRASES.occurs_in("one of us") && !PHRASES.contains("of"));
        static ENDINGS: WordList = WordList::words("ing king g");
        assert_eq!(ENDINGS.endings("making").collect::<Vec<_>>(), ["king", "ing", "g"]);
    }
}
