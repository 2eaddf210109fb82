//! Pairs of neighbouring characters, for scripts whose words cannot be told apart by spaces.

use std::ops::Range;

/// Calls `sink` with the pairs of a folded run and, at its end, the last character alone.
///
/// The last character makes every character of the run the beginning of exactly one token, so that a search for one
/// syllable is a search by prefix. `source` is the run as written and `bounds` are its bytes in the text.
pub(crate) fn visit(folded: &str, source: &str, bounds: Range<usize>, mut sink: impl FnMut(&str, Range<usize>)) {
    // Where folding changed the length of a character or put marks in order, a token points to the whole run.
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

/// The pairs alone, as a query has them; a run of one character is that character.
pub(crate) fn pairs(folded: &str) -> Vec<&str> {
    let starts: Vec<usize> = folded.char_indices().map(|(i, _)| i).chain([folded.len()]).collect();
    match starts.len() {
        0 | 1 => Vec::new(),
        2 => vec![folded],
        _ => starts.windows(3).map(|at| &folded[at[0]..at[2]]).collect(),
    }
}

/// A number together with what it counts, such as `6월` or `3層`: the number alone and the syllable alone say little.
pub(crate) fn counted(number: &str, folded: &str) -> Option<String> {
    let first = folded.chars().next().filter(|_| number.len() <= MOST_DIGITS)?;
    Some(format!("{number}{first}"))
}

const MOST_DIGITS: usize = 12;
