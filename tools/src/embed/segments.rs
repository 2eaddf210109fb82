//! Splits a text into runs of one character class, as in the static model's training. Unrelated to the tokens of full-text
//! search.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// Calls `sink` with the runs of a text in order, in lower case.
pub(super) fn visit_runs(text: &str, mut sink: impl FnMut(&str)) {
    let text = to_lower(&split_camel_case(&normalize(text)));
    let mut start = 0;
    let mut current = RunClass::Between;
    for (at, c) in text.char_indices() {
        let class = run_class(c);
        if class == current && class != RunClass::Other {
            continue;
        }
        if current != RunClass::Between {
            sink(&text[start..at]);
        }
        (start, current) = (at, class);
    }
    if current != RunClass::Between {
        sink(&text[start..]);
    }
}

fn normalize(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) || is_nfkc(text) { Cow::Borrowed(text) } else { text.nfkc().collect() }
}

/// Inserts a space at each hump of a name such as `parseHTTPResponse`.
fn split_camel_case(text: &str) -> Cow<'_, str> {
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

fn to_lower(text: &str) -> String {
    if text.chars().all(is_plain) { text.to_ascii_lowercase() } else { text.to_lowercase() }
}

/// Fast path for most texts: already normalised, and only ASCII letters have case.
fn is_plain(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{AC00}'..='\u{D7A3}')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunClass {
    Hangul,
    Han,
    Digit,
    Latin,
    Greek,
    Cyrillic,
    /// Letters of other scripts; each is its own run.
    Other,
    Between,
}

fn run_class(c: char) -> RunClass {
    match c {
        'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' => RunClass::Latin,
        '0'..='9' => RunClass::Digit,
        '\u{0}'..='\u{7F}' => RunClass::Between,
        '\u{AC00}'..='\u{D7A3}' => RunClass::Hangul,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' => RunClass::Han,
        '\u{370}'..='\u{3FF}' => RunClass::Greek,
        '\u{400}'..='\u{4FF}' => RunClass::Cyrillic,
        _ if c.is_alphabetic() => RunClass::Other,
        _ => RunClass::Between,
    }
}
