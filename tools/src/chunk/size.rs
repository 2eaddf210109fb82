//! The size of text in tokens of a language model, estimated from its characters.

/// Estimated tokens: four ASCII characters, one and a half Chinese, Japanese or Korean ones, or two others make one.
pub(super) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let twelfths = if ascii == text.len() { ascii * ASCII } else { text.chars().map(twelfths).sum() };
    twelfths.div_ceil(12)
}

/// What a character takes, in twelfths of a token.
pub(super) fn twelfths(c: char) -> usize {
    match c as u32 {
        0..0x80 => ASCII,
        0x1100..=0x11FF | 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF => 8,
        _ => 6,
    }
}

const ASCII: usize = 3;
