//! A text as runs of one class of characters, as the static model was made with. Not the tokens of the full-text index.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// Calls `sink` with the runs of a text in their order, in lower case.
pub(super) fn runs(text: &str, mut sink: impl FnMut(&str)) {
    let text = lower(&humps(&normal(text)));
    let mut start = 0;
    let mut current = Class::Between;
    for (at, c) in text.char_indices() {
        let class = class(c);
        if class == current && class != Class::Other {
            continue;
        }
        if current != Class::Between {
            sink(&text[start..at]);
        }
        (start, current) = (at, class);
    }
    if current != Class::Between {
        sink(&text[start..]);
    }
}

fn normal(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) || is_nfkc(text) { Cow::Borrowed(text) } else { text.nfkc().collect() }
}

/// The text with a space where a name such as `parseHTTPResponse` has a hump.
fn humps(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let byte = |i: usize| bytes.get(i).copied().unwrap_or(b' ');
    let is_hump = |i: usize| {
        let (before, here, after) = (byte(i - 1), byte(i), byte(i + 1));
        here.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()))
    };
    let mut split = String::new();
    let mut from = 0;
    for at in (1..bytes.len()).filter(|i| is_hump(*i)) {
        split.push_str(&text[from..at]);
        split.push(' ');
        from = at;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    split.push_str(&text[from..]);
    Cow::Owned(split)
}

fn lower(text: &str) -> String {
    if text.chars().all(is_plain) { text.to_ascii_lowercase() } else { text.to_lowercase() }
}

/// What most texts are made of: it is in its normal form, and of the letters only those of ASCII have two cases.
fn is_plain(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{AC00}'..='\u{D7A3}')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Hangul,
    Han,
    Digit,
    Latin,
    Greek,
    Cyrillic,
    /// Letters of other scripts; each is a run of its own.
    Other,
    /// What separates.
    Between,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' => Class::Latin,
        '0'..='9' => Class::Digit,
        '\u{0}'..='\u{7F}' => Class::Between,
        '\u{AC00}'..='\u{D7A3}' => Class::Hangul,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' => Class::Han,
        '\u{370}'..='\u{3FF}' => Class::Greek,
        '\u{400}'..='\u{4FF}' => Class::Cyrillic,
        _ if c.is_alphabetic() => Class::Other,
        _ => Class::Between,
    }
}
