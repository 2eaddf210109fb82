//! Folding: one spelling for all variants of case, width, accents and normal form.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Appends the folded form of a word: compatibility-decomposed, lower-case, without accents, recomposed.
///
/// Hangul needs recomposing, because macOS decomposes file names.
pub(crate) fn fold_into(word: &str, out: &mut String) {
    if word.is_ascii() {
        out.extend(word.bytes().filter(u8::is_ascii_alphanumeric).map(|b| char::from(b.to_ascii_lowercase())));
    } else if word.chars().all(is_already_folded) {
        out.push_str(word);
    } else {
        let bare = word.nfkd().filter(|c| !is_dropped(*c)).flat_map(char::to_lowercase).flat_map(unify_letter);
        // Recomposing comes last, because it also orders the remaining marks.
        out.extend(bare.filter(|c| !is_dropped(*c) && (c.is_alphanumeric() || is_combining_mark(*c))).nfkc());
    }
}

pub(crate) fn fold(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    fold_into(word, &mut out);
    out
}

/// Fast path: Hangul syllables, kana and common Han, which folding does not change.
fn is_already_folded(c: char) -> bool {
    matches!(c, '\u{AC00}'..='\u{D7A3}' | '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | 'ー')
}

/// Accents, and marks that only change the appearance of a character.
fn is_dropped(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{20D0}'..='\u{20FF}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Merges two lower-case forms of a letter.
fn unify_letter(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        'ß' => ('s', Some('s')),
        'ς' => ('σ', None),
        'ı' => ('i', None),
        _ => (c, None),
    };
    std::iter::once(first).chain(second)
}
