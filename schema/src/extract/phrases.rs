//! Tables of phrases: each is one string, parted by "|", which takes a fraction of what a list of strings takes in a
//! program that is loaded for every event.

use std::str::Split;

pub(super) fn each(table: &str) -> Split<'_, char> {
    table.split('|')
}

/// Whether any of the phrases stands in a text.
pub(super) fn has(text: &str, table: &str) -> bool {
    each(table).any(|phrase| text.contains(phrase))
}

pub(super) fn starts(text: &str, table: &str) -> bool {
    each(table).any(|phrase| text.starts_with(phrase))
}

pub(super) fn ends(text: &str, table: &str) -> bool {
    each(table).any(|phrase| text.ends_with(phrase))
}

/// Whether a text is one of the phrases.
pub(super) fn is_one(text: &str, table: &str) -> bool {
    each(table).any(|phrase| text == phrase)
}
