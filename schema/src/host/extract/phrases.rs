//! The meanings of a sentence, and helpers for the rules of all languages.
//!
//! A table of phrases is one string, separated by "|". In a program that is loaded for every event, this takes a fraction of the space of a
//! list of strings.

use std::str::Split;

/// The meaning of a sentence according to the rules of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentenceMeaning {
    Decision,
    Learning,
    /// A fault and how it was fixed.
    Fixed,
    /// A fault. It counts only if its fix follows.
    Cause,
}

pub(super) fn phrases(table: &str) -> Split<'_, char> {
    table.split('|')
}

/// Whether a text contains any of the phrases.
pub(super) fn contains_phrase(text: &str, table: &str) -> bool {
    phrases(table).any(|phrase| text.contains(phrase))
}

pub(super) fn starts_with_phrase(text: &str, table: &str) -> bool {
    phrases(table).any(|phrase| text.starts_with(phrase))
}

pub(super) fn ends_with_phrase(text: &str, table: &str) -> bool {
    phrases(table).any(|phrase| text.ends_with(phrase))
}

/// Whether a text is one of the phrases.
pub(super) fn is_phrase(text: &str, table: &str) -> bool {
    phrases(table).any(|phrase| text == phrase)
}

/// Returns the offset of a phrase that is not part of a longer word.
pub(super) fn find_phrase(text: &str, phrase: &str) -> Option<usize> {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase).map(|(at, _)| at).find(|at| {
        let after = &text[at + phrase.len()..];
        !is_word(text[..*at].chars().next_back()) && (phrase.ends_with(' ') || !is_word(after.chars().next()))
    })
}

/// Whether a quotation or inline code is still open after a text.
pub(super) fn has_open_quote(lead: &str) -> bool {
    let odd = |mark: char| lead.matches(mark).count() % 2 == 1;
    odd('"') || odd('`') || lead.matches('“').count() > lead.matches('”').count()
}

/// Returns the text after one of the labels at the start, unless it is only a placeholder.
pub(super) fn strip_label<'a>(text: &'a str, labels: &str) -> Option<&'a str> {
    let (label, rest) = text.split_once([':', '：'])?;
    let rest = rest.trim();
    let placeholder = rest.is_empty() || rest.starts_with(['<', '[', '{', '…', '_', '.']);
    (is_phrase(label.trim(), labels) && !placeholder).then_some(rest)
}
