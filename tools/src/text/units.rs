//! Splits a text into runs of one character class.

use super::script::{CharacterClass, character_class, is_continuation};

/// A run of one class. A run of letters includes the joiners of identifiers and paths: `a_b`, `a-b`, `a.b`, `a/b`, `a::b`,
/// `a'b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextUnit {
    pub(crate) class: CharacterClass,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Ordinal of the written word; adjacent units share it.
    pub(crate) word: u32,
}

pub(crate) fn split_units(text: &str) -> impl Iterator<Item = TextUnit> {
    let mut at = 0;
    let mut word = 0;
    let mut previous_end = 0;
    std::iter::from_fn(move || {
        let (offset, first) =
            text[at..].char_indices().find_map(|(i, c)| character_class(c).map(|found| (i, found)))?;
        let start = at + offset;
        let end = start + run_length(&text[start..], first);
        if start != previous_end {
            word += 1;
        }
        (at, previous_end) = (end, end);
        Some(TextUnit { class: first, start, end, word })
    })
}

/// Length in bytes of the run of class `wanted` at the start of `rest`.
fn run_length(rest: &str, wanted: CharacterClass) -> usize {
    let mut at = 0;
    loop {
        if wanted == CharacterClass::Letter {
            // Fast path: most text is ASCII, and bytes are faster than characters.
            at += rest.as_bytes()[at..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        }
        let Some(c) = rest[at..].chars().next() else { return at };
        if character_class(c) == Some(wanted) || (at > 0 && is_continuation(c)) {
            at += c.len_utf8();
        } else if let Some(length) = joiner_length(&rest[at..]).filter(|_| wanted == CharacterClass::Letter)
            // A joiner needs a letter after it; the end of a sentence has none after it.
            && rest[at + length..].chars().next().and_then(character_class) == Some(CharacterClass::Letter)
        {
            at += length;
        } else {
            return at + language_sign_length(&rest[..at], &rest[at..]);
        }
    }
}

/// Length of the sign in a language name: `C++`, `C#`, `F#`.
fn language_sign_length(run: &str, behind: &str) -> usize {
    let sign = if behind.starts_with("++") { 2 } else { usize::from(behind.starts_with('#')) };
    let is_one_letter = run.len() == 1 && run.as_bytes()[0].is_ascii_alphabetic();
    let ends_there = behind[sign..].chars().next().and_then(character_class) != Some(CharacterClass::Letter);
    if is_one_letter && ends_there { sign } else { 0 }
}

/// Length of a joiner at the start of `rest`.
fn joiner_length(rest: &str) -> Option<usize> {
    match rest.as_bytes() {
        [b'_', ..] => Some(rest.bytes().take(MAX_UNDERSCORES).take_while(|b| *b == b'_').count()),
        [b':', b':', ..] => Some(2),
        [b'-' | b'.' | b'/' | b'\\' | b'\'', ..] => Some(1),
        _ => ['\u{2019}', '\u{2010}', '\u{2011}'].into_iter().find(|c| rest.starts_with(*c)).map(char::len_utf8),
    }
}

/// A longer line of underscores joins nothing; the limit also keeps the scan linear.
const MAX_UNDERSCORES: usize = 4;
