//! What a sentence may say, and what the rules of all languages ask of a text.
//!
//! Tables of phrases: each is one string, parted by "|", which takes a fraction of what a list of strings takes in a
//! program that is loaded for every event.

use std::str::Split;

/// What a sentence says by the rules of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentenceMeaning {
    Decision,
    Learning,
    /// What was wrong and how it was mended.
    Fixed,
    /// What was wrong; counts only when the mending follows.
    Cause,
}

pub(super) fn phrases(table: &str) -> Split<'_, char> {
    table.split('|')
}

/// Whether any of the phrases stands in a text.
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

/// Where a phrase stands as words of its own.
pub(super) fn find_phrase(text: &str, phrase: &str) -> Option<usize> {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase).map(|(at, _)| at).find(|at| {
        let after = &text[at + phrase.len()..];
        !is_word(text[..*at].chars().next_back()) && (phrase.ends_with(' ') || !is_word(after.chars().next()))
    })
}

/// Whether what precedes leaves a quotation or inline code open.
pub(super) fn has_open_quote(lead: &str) -> bool {
    let odd = |mark: char| lead.matches(mark).count() % 2 == 1;
    odd('"') || odd('`') || lead.matches('“').count() > lead.matches('”').count()
}

/// What follows one of the labels at the start, when it is more than a placeholder.
pub(super) fn strip_label<'a>(text: &'a str, labels: &str) -> Option<&'a str> {
    let (label, rest) = text.split_once([':', '：'])?;
    let rest = rest.trim();
    let placeholder = rest.is_empty() || rest.starts_with(['<', '[', '{', '…', '_', '.']);
    (is_phrase(label.trim(), labels) && !placeholder).then_some(rest)
}
