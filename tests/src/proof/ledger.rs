//! What has to be in a store, what may be, and what must not.

use std::collections::{BTreeMap, BTreeSet};

/// The texts of memories by what is known of them.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Somebody was told that they are kept.
    kept: BTreeSet<String>,
    /// Somebody tried to keep them, and was told nothing.
    tried: BTreeSet<String>,
    /// Somebody was told that they are forgotten.
    gone: BTreeSet<String>,
}

impl Ledger {
    pub fn try_to_keep(&mut self, text: &str) {
        self.tried.insert(text.to_owned());
    }

    pub fn keep(&mut self, text: &str) {
        self.tried.insert(text.to_owned());
        self.kept.insert(text.to_owned());
    }

    /// From now on it may be there or not.
    pub fn try_to_forget(&mut self, text: &str) {
        self.kept.remove(text);
        self.tried.insert(text.to_owned());
    }

    pub fn forget(&mut self, text: &str) {
        self.kept.remove(text);
        self.tried.remove(text);
        self.gone.insert(text.to_owned());
    }

    pub fn kept(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(String::as_str)
    }

    /// What is wrong with the texts of a store, each with how often it is there.
    pub fn findings(&self, there: &BTreeMap<String, usize>) -> Vec<String> {
        let mut findings = Vec::new();
        for text in &self.kept {
            match there.get(text) {
                None => findings.push(format!("lost: {}", short(text))),
                Some(1) => {}
                Some(times) => findings.push(format!("there {times} times: {}", short(text))),
            }
        }
        for (text, times) in there.iter().filter(|(text, _)| !self.kept.contains(*text)) {
            if self.gone.contains(text) {
                findings.push(format!("forgotten and there: {}", short(text)));
            } else if *times > 1 {
                findings.push(format!("there {times} times: {}", short(text)));
            } else if !self.tried.contains(text) && !self.is_half(text) {
                findings.push(format!("there and never said: {}", short(text)));
            }
        }
        findings
    }

    /// Whether it is the beginning of what was to be kept. Half of an entry is left when the process that writes it is killed in the
    /// middle of that, and somebody else writes below before it is done again: docs/reliability.md promises no more.
    fn is_half(&self, text: &str) -> bool {
        let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
        // What follows the text of an entry is a comment, of which there may be a part.
        let is_beginning = |tried: &String| {
            text != tried && (tried.starts_with(text) || text.strip_prefix(tried.as_str()).is_some_and(is_of_a_comment))
        };
        self.tried.iter().any(is_beginning)
    }
}

fn is_of_a_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("<!--") || "<!--".starts_with(text)
}

/// As much of a text as tells it apart.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}… of {} bytes", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_doubled_or_back_is_found() {
        let mut ledger = Ledger::default();
        ["kept", "lost", "doubled"].iter().for_each(|text| ledger.keep(text));
        ledger.try_to_keep("tried and half there");
        ledger.try_to_keep("tried with a comment");
        ledger.try_to_keep("tried and not there");
        ledger.forget("forgotten");
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
            "forgotten and there: \"forgotten\"",
            "lost: \"lost\"",
            "there 2 times: \"doubled\"",
            "there and never said: \"unheard of\"",
        ];
        assert_eq!(findings, expected);
    }
}
