//! Which characters make words, and which kind of word they make.

use unicode_normalization::char::is_combining_mark;

/// The kinds of characters that words are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Hangul,
    /// Han, Hiragana, Katakana and Bopomofo.
    Han,
    /// Scripts written without spaces between words: Thai, Lao, Khmer, Myanmar, Tibetan and their relatives.
    Unspaced,
    /// Letters and digits of every other script.
    Letter,
}

/// The class of a character, `None` for what stands between words.
pub(crate) fn class(c: char) -> Option<Class> {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric().then_some(Class::Letter);
    }
    match c as u32 {
        0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xFFA0..=0xFFDC => Some(Class::Hangul),
        0x3005..=0x3007
        | 0x3031..=0x3035
        | 0x3041..=0x3096
        | 0x309D..=0x309F
        | 0x30A1..=0x30FA
        | 0x30FC..=0x312F
        | 0x31A0..=0x31BF
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9F
        | 0x1B000..=0x1B16F
        | 0x20000..=0x3FFFF => Some(Class::Han),
        0x0E00..=0x109F | 0x1780..=0x17FF | 0x1950..=0x19DF | 0x1A20..=0x1AAF | 0xA980..=0xA9FF | 0xAA60..=0xAADF => {
            if c.is_numeric() {
                Some(Class::Letter)
            } else {
                (c.is_alphabetic() || is_combining_mark(c)).then_some(Class::Unspaced)
            }
        }
        _ => c.is_alphanumeric().then_some(Class::Letter),
    }
}

/// Whether a character belongs to the word before it without being a letter: marks, joiners, soft hyphens.
pub(crate) fn continues(c: char) -> bool {
    !c.is_ascii() && (matches!(c, '\u{AD}' | '\u{200C}' | '\u{200D}' | '\u{2060}') || is_combining_mark(c))
}

/// The script of most letters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Script {
    /// There are no letters.
    #[default]
    None,
    Han,
    Hangul,
    /// Any other.
    Other,
}

impl Script {
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Han, Self::Hangul, Self::Other];

    /// The script of a text, as far as its beginning tells.
    pub(crate) fn of(text: &str) -> Self {
        let (mut hangul, mut han, mut others) = (0, 0, 0);
        for c in text.chars().take(2_000) {
            match class(c) {
                // A syllable says as much as two letters, at least.
                Some(Class::Hangul) => hangul += 2,
                Some(Class::Han) => han += 2,
                Some(_) if c.is_alphabetic() => others += 1,
                _ => {}
            }
        }
        let most =
            [(others, Self::Other), (han, Self::Han), (hangul, Self::Hangul)].into_iter().max_by_key(|(n, _)| *n);
        most.filter(|(count, _)| *count > 0).map_or(Self::None, |(_, script)| script)
    }
}
