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
    by_first_word: OnceLock<HashMap<&'static str, Vec<&'static str>, FixedState>>,
    /// On the heap, because a program has hundreds of lists and uses few.
    beginnings: OnceLock<Box<Beginnings>>,
}

/// The pairs of bytes with which the words of a list begin, as bits. Two pairs may share a bit.
#[derive(Debug)]
struct Beginnings([u64; 64]);

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
            by_first_word: OnceLock::new(),
            beginnings: OnceLock::new(),
        }
    }

    /// Whether a word or phrase is in the list.
    pub fn contains(&self, word: &str) -> bool {
        self.may_begin(word) && self.set().contains(word)
    }

    /// Whether a text contains one of the list.
    pub fn occurs_in(&self, text: &str) -> bool {
        let beginnings = self.beginnings();
        let bytes = text.as_bytes();
        let begins = |rest: &[u8]| self.iter().any(|word| rest.starts_with(word.as_bytes()));
        (0..bytes.len()).any(|at| beginnings.may_begin(&bytes[at..]) && begins(&bytes[at..]))
    }

    /// Whether a text begins with one of the list.
    pub fn begins(&self, text: &str) -> bool {
        self.may_begin(text) && self.iter().any(|word| text.starts_with(word))
    }

    /// Whether a text ends with one of the list.
    pub fn ends(&self, text: &str) -> bool {
        self.endings(text).next().is_some()
    }

    /// The words of the list that a text ends with, the longest first.
    pub fn endings(&self, text: &str) -> impl Iterator<Item = &'static str> {
        let longest = *self.longest.get_or_init(|| self.iter().map(|word| word.len()).max().unwrap_or_default());
        let end = &text[text.ceil_char_boundary(text.len().saturating_sub(longest))..];
        let endings = end.char_indices().map(|(at, _)| &end[at..]);
        endings.filter(|ending| self.may_begin(ending)).filter_map(|ending| self.set().get(ending).copied())
    }

    /// Returns the phrases that begin with this word, in the order of the list.
    pub fn phrases_from(&self, word: &str) -> &[&'static str] {
        let by_first_word = || {
            let mut phrases: HashMap<_, Vec<_>, FixedState> = HashMap::default();
            for phrase in self.iter() {
                let first = phrase.split_once(' ').map_or(*phrase, |(first, _)| first);
                phrases.entry(first).or_default().push(*phrase);
            }
            phrases
        };
        // The beginning of a short word does not show how the phrases continue.
        if word.len() > 1 && !self.may_begin(word) {
            return &[];
        }
        self.by_first_word.get_or_init(by_first_word).get(word).map_or(&[], Vec::as_slice)
    }

    /// Returns what follows `key`, which is one word, and a space in the first such entry of the list.
    pub fn value(&self, key: &str) -> Option<&'static str> {
        self.phrases_from(key).iter().find_map(|entry| entry.split_once(' ')).map(|(_, value)| value)
    }

    /// Whether a text may begin with one of the list. `false` is certain, and found without a hash.
    fn may_begin(&self, text: &str) -> bool {
        self.beginnings().may_begin(text.as_bytes())
    }

    fn beginnings(&self) -> &Beginnings {
        self.beginnings.get_or_init(|| Box::new(Beginnings::of(self)))
    }

    fn set(&self) -> &HashSet<&'static str, FixedState> {
        self.set.get_or_init(|| self.iter().copied().collect())
    }
}

impl Beginnings {
    fn of(words: &[&str]) -> Self {
        let mut bits = [0; 64];
        for word in words {
            match *word.as_bytes() {
                [] => {}
                [first] => (0..=u8::MAX).for_each(|second| set_bit(&mut bits, pair_number(first, second))),
                [first, second, ..] => set_bit(&mut bits, pair_number(first, second)),
            }
        }
        Self(bits)
    }

    /// Whether a word may begin like these bytes. `false` is certain.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        let number = match *bytes {
            [] => return false,
            [first] => pair_number(first, 0),
            [first, second, ..] => pair_number(first, second),
        };
        self.0[number / 64] >> (number % 64) & 1 == 1
    }
}

fn set_bit(bits: &mut [u64; 64], number: usize) {
    bits[number / 64] |= 1 << (number % 64);
}

/// Returns the number of the bit for two bytes, below 4096.
fn pair_number(first: u8, second: u8) -> usize {
    usize::from(first) ^ usize::from(second) << 4
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
        assert_eq!((PHRASES.phrases_from("in"), PHRASES.phrases_from("of")), (&["in place of"][..], &[][..]));
        static ENDINGS: WordList = WordList::words("ing king g");
        assert_eq!(ENDINGS.endings("making").collect::<Vec<_>>(), ["king", "ing", "g"]);
    }

    #[test]
    fn words_are_found_anywhere_in_a_text() {
        static SOME: WordList = WordList::words("? 이유 because");
        for (text, [occurs, begins, ends]) in [
            ("why", [false; 3]),
            ("why?", [true, false, true]),
            ("?", [true; 3]),
            ("그 이유", [true, false, true]),
            ("이유는", [true, true, false]),
            ("이우", [false; 3]),
            ("it is because of", [true, false, false]),
            ("", [false; 3]),
        ] {
            assert_eq!([SOME.occurs_in(text), SOME.begins(text), SOME.ends(text)], [occurs, begins, ends], "{text}");
        }
    }
}
