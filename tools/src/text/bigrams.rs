//! Pairs of characters, for scripts without spaces between words.

use std::ops::Range;

/// Calls `sink` with the pairs of a folded run, and with its last character.
///
/// The last character makes each character the start of exactly one token, so that a search for one syllable is a prefix
/// search. `source` is the original run, and `bounds` are its bytes in the text.
pub(crate) fn visit_bigrams(
    folded: &str,
    source: &str,
    bounds: Range<usize>,
    mut sink: impl FnMut(&str, Range<usize>),
) {
    // If folding changed a character's length or reordered marks, a token refers to the whole run.
    let exact = folded == source || folded.chars().map(char::len_utf8).eq(source.chars().map(char::len_utf8));
    let locate = |from: usize, to: usize| if exact { bounds.start + from..bounds.start + to } else { bounds.clone() };
    let mut from = 0;
    let mut previous = None;
    for (i, c) in folded.char_indices() {
        if let Some(begin) = previous {
            let end = i + c.len_utf8();
            sink(&folded[begin..end], locate(begin, end));
        }
        previous = Some(i);
        from = i;
    }
    if previous.is_some() {
        sink(&folded[from..], locate(from, folded.len()));
    }
}

/// The pairs as in a query; a run of one character is that character.
pub(crate) fn bigrams(folded: &str) -> Vec<&str> {
    let starts: Vec<usize> = folded.char_indices().map(|(i, _)| i).chain([folded.len()]).collect();
    match starts.len() {
        0 | 1 => Vec::new(),
        2 => vec![folded],
        _ => starts.windows(3).map(|at| &folded[at[0]..at[2]]).collect(),
    }
}

/// A number with its unit, such as `6월` or `3層`, because both alone say little.
pub(crate) fn counted_token(number: &str, folded: &str) -> Option<String> {
    let first = folded.chars().next().filter(|_| number.len() <= MAX_DIGITS)?;
    Some(format!("{number}{first}"))
}

const MAX_DIGITS: usize = 12;
