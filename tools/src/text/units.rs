//! The units of a text: runs of characters of one class, where they stand, and which of them are glued together.

use super::script::{Class, class, continues};

/// A run of one class. A run of letters also holds what joins identifiers and paths: `a_b`, `a-b`, `a.b`, `a/b`, `a::b`, `a'b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) class: Class,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Ordinal of the written word; units that touch share it.
    pub(crate) word: u32,
}

/// The units of a text in order.
pub(crate) fn units(text: &str) -> impl Iterator<Item = Unit> {
    let mut at = 0;
    let mut word = 0;
    let mut previous_end = 0;
    std::iter::from_fn(move || {
        let (offset, first) = text[at..].char_indices().find_map(|(i, c)| class(c).map(|found| (i, found)))?;
        let start = at + offset;
        let end = start + run_length(&text[start..], first);
        if start != previous_end {
            word += 1;
        }
        (at, previous_end) = (end, end);
        Some(Unit { class: first, start, end, word })
    })
}

/// Length in bytes of the run at the beginning of `rest`, which has class `wanted`.
fn run_length(rest: &str, wanted: Class) -> usize {
    let mut at = 0;
    loop {
        if wanted == Class::Letter {
            // Most text is this, and bytes are quicker than characters.
            at += rest.as_bytes()[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        }
        let Some(c) = rest[at..].chars().next() else { return at };
        if class(c) == Some(wanted) || (at > 0 && continues(c)) {
            at += c.len_utf8();
        } else if let Some(length) = joiner_length(&rest[at..]).filter(|_| wanted == Class::Letter)
            // Only a joiner with a letter behind it joins; the end of a sentence does not.
            && rest[at + length..].chars().next().and_then(class) == Some(Class::Letter)
        {
            at += length;
        } else {
            return at + language_sign(&rest[..at], &rest[at..]);
        }
    }
}

/// Length of the sign that makes a letter the name of a language: `C++`, `C#`, `F#`.
fn language_sign(run: &str, behind: &str) -> usize {
    let sign = if behind.starts_with("++") { 2 } else { usize::from(behind.starts_with('#')) };
    let is_one_letter = run.len() == 1 && run.as_bytes()[0].is_ascii_alphabetic();
    let ends_there = behind[sign..].chars().next().and_then(class) != Some(Class::Letter);
    if is_one_letter && ends_there { sign } else { 0 }
}

/// Length of what may join two parts of one name at the beginning of `rest`.
fn joiner_length(rest: &str) -> Option<usize> {
    match rest.as_bytes() {
        [b'_', ..] => Some(rest.bytes().take(MOST_UNDERSCORES).take_while(|b| *b == b'_').count()),
        [b':', b':', ..] => Some(2),
        [b'-' | b'.' | b'/' | b'\\' | b'\'', ..] => Some(1),
        _ => ['\u{2019}', '\u{2010}', '\u{2011}'].into_iter().find(|c| rest.starts_with(*c)).map(char::len_utf8),
    }
}

/// A line drawn with underscores joins nothing; looking at no more of them also keeps the scan linear.
const MOST_UNDERSCORES: usize = 4;
