//! A list of words that is looked up often, so that it is split only once.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Words as a set, which is built when it is first used.
#[derive(Debug)]
pub(crate) struct WordSet {
    listed: &'static str,
    words: OnceLock<HashSet<&'static str>>,
}

impl WordSet {
    /// `listed` has spaces or line breaks between words.
    pub(crate) const fn new(listed: &'static str) -> Self {
        Self { listed, words: OnceLock::new() }
    }

    pub(crate) fn contains(&self, word: &str) -> bool {
        self.words.get_or_init(|| self.listed.split_whitespace().collect()).contains(word)
    }
}
