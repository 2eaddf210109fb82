//! Classifies characters that form words.

use unicode_normalization::char::is_combining_mark;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharacterClass {
    Hangul,
    /// Han, Hiragana, Katakana and Bopomofo.
    Han,
    /// Scripts without spaces between words: Thai, Lao, Khmer, Myanmar, Tibetan and related ones.
    Unspaced,
    /// Letters and digits of all other scripts.
    Letter,
}

/// The class of a character, `None` for separators.
pub(crate) fn character_class(c: char) -> Option<CharacterClass> {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric().then_some(CharacterClass::Letter);
    }
    match c as u32 {
        0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97F | 0xAC00..=0xD7FF | 0xFFA0..=0xFFDC => {
            Some(CharacterClass::Hangul)
        }
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
        | 0x20000..=0x3FFFF => Some(CharacterClass::Han),
        0x0E00..=0x109F | 0x1780..=0x17FF | 0x1950..=0x19DF | 0x1A20..=0x1AAF | 0xA980..=0xA9FF | 0xAA60..=0xAADF => {
            if c.is_numeric() {
                Some(CharacterClass::Letter)
            } else {
                (c.is_alphabetic() || is_combining_mark(c)).then_some(CharacterClass::Unspaced)
            }
        }
        _ => c.is_alphanumeric().then_some(CharacterClass::Letter),
    }
}

/// Whether a character belongs to the word before it without being a letter: marks, joiners, soft hyphens.
pub(crate) fn is_continuation(c: char) -> bool {
    !c.is_ascii() && (matches!(c, '\u{AD}' | '\u{200C}' | '\u{200D}' | '\u{2060}') || is_combining_mark(c))
}

/// The script of most letters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Script {
    /// No letters.
    #[default]
    None,
    Han,
    Hangul,
    Other,
}

impl Script {
    pub(crate) const ALL: [Self; 4] = [Self::None, Self::Han, Self::Hangul, Self::Other];

    /// The script of a text, judged by its start.
    pub(crate) fn detect(text: &str) -> Self {
        let (mut hangul, mut han, mut others) = (0, 0, 0);
        for c in text.chars().take(2_000) {
            match character_class(c) {
                // A syllable equals at least two letters.
                Some(CharacterClass::Hangul) => hangul += 2,
                Some(CharacterClass::Han) => han += 2,
                Some(_) if c.is_alphabetic() => others += 1,
                _ => {}
            }
        }
        let most =
            [(others, Self::Other), (han, Self::Han), (hangul, Self::Hangul)].into_iter().max_by_key(|(n, _)| *n);
        most.filter(|(count, _)| *count > 0).map_or(Self::None, |(_, script)| script)
    }
}
