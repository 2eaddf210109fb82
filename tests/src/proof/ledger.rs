//! Texts that must, may and must not be in a store.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Default)]
pub struct ExpectedMemories {
    /// Saves that were confirmed.
    expected: BTreeSet<String>,
    /// Saves without a confirmation.
    allowed: BTreeSet<String>,
    /// Deletions that were confirmed.
    gone: BTreeSet<String>,
}

impl ExpectedMemories {
    pub fn allow(&mut self, text: &str) {
        self.allowed.insert(text.to_owned());
    }

    pub fn expect(&mut self, text: &str) {
        self.allowed.insert(text.to_owned());
        self.expected.insert(text.to_owned());
    }

    /// Records that a text may have been deleted.
    pub fn allow_gone(&mut self, text: &str) {
        self.expected.remove(text);
        self.allowed.insert(text.to_owned());
    }

    pub fn expect_gone(&mut self, text: &str) {
        self.expected.remove(text);
        self.allowed.remove(text);
        self.gone.insert(text.to_owned());
    }

    pub fn expected(&self) -> impl Iterator<Item = &str> {
        self.expected.iter().map(String::as_str)
    }

    /// Returns findings about the texts of a store, given how often each exists.
    pub fn findings(&self, there: &BTreeMap<String, usize>) -> Vec<String> {
        let mut findings = Vec::new();
        for text in &self.expected {
            match there.get(text) {
                None => findings.push(format!("lost: {}", shorten(text))),
                Some(1) => {}
                Some(times) => findings.push(format!("exists {times} times: {}", shorten(text))),
            }
        }
        for (text, times) in there.iter().filter(|(text, _)| !self.expected.contains(*text)) {
            if self.gone.contains(text) {
                findings.push(format!("forgotten but exists: {}", shorten(text)));
            } else if *times > 1 {
                findings.push(format!("exists {times} times: {}", shorten(text)));
            } else if !self.allowed.contains(text) && !self.is_partial(text) {
                findings.push(format!("exists but was never sent: {}", shorten(text)));
            }
        }
        findings
    }

    /// Whether this is the beginning of an expected text. A writer killed inside an entry leaves half of it if another process appends
    /// before the repair; docs/dev/reliability.md allows that.
    fn is_partial(&self, text: &str) -> bool {
        let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        // A comment follows an entry's text, and may be incomplete.
        let is_beginning = |tried: &String| {
            text != tried && (tried.starts_with(text) || text.strip_prefix(tried.as_str()).is_some_and(is_of_a_comment))
        };
        self.allowed.iter().any(is_beginning)
    }
}

fn is_of_a_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("<!--") || "<!--".starts_with(text)
}

/// Returns a short form that still identifies the text.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}… of {} bytes", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_finds_lost_duplicate_and_returned_memories() {
        let mut ledger = ExpectedMemories::default();
        ["kept", "lost", "doubled"].iter().for_each(|text| ledger.expect(text));
        ledger.allow("tried and half there");
        ledger.allow("tried with a comment");
        ledger.allow("tried and not there");
        ledger.expect_gone("forgotten");
        let there = [
            ("kept", 1),
            ("doubled", 2),
            ("tried and ha", 1),
            ("tried with a comment\n<!-", 1),
            ("forgotten", 1),
            ("unheard of", 1),
        ];
        let there = there.iter().map(|(text, times)| ((*text).to_owned(), *times)).collect();
        let mut findings = ledger.findings(&there);
        findings.sort();
        let expected = [
            "exists 2 times: \"doubled\"",
            "exists but was never sent: \"unheard of\"",
            "forgotten but exists: \"forgotten\"",
            "lost: \"lost\"",
        ];
        assert_eq!(findings, expected);
    }
}
