//! Stemming of English and Russian words.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Whether a folded word is stemmed: it looks English or Russian and is long enough to have an ending.
pub(crate) fn is_stemmable(word: &str) -> bool {
    word.len() >= 3 && (word.bytes().all(|b| b.is_ascii_lowercase()) || is_russian(word))
}

fn is_russian(word: &str) -> bool {
    word.as_bytes()[0] >= 0xD0 && word.chars().all(|c| ('а'..='я').contains(&c))
}

pub(crate) fn stem_word(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        Stemmer::create(Algorithm::English).stem(word)
    } else {
        Cow::Borrowed(strip_russian_ending(word))
    }
}

/// Letters of a Russian stem at least.
const RUSSIAN_STEM: usize = 3;

/// Strips the ending of a noun, an adjective or a verb. Folding has made `и` of `й`, which Snowball does not know.
fn strip_russian_ending(word: &str) -> &str {
    let word = ["ся", "сь"].iter().find_map(|ending| strip_long(word, ending)).unwrap_or(word);
    RUSSIAN_ENDINGS.split_whitespace().find_map(|ending| strip_long(word, ending)).unwrap_or(word)
}

fn strip_long<'w>(word: &'w str, ending: &str) -> Option<&'w str> {
    word.strip_suffix(ending).filter(|stem| stem.chars().count() >= RUSSIAN_STEM)
}

/// Longer ones first.
const RUSSIAN_ENDINGS: &str = "
    иями ями ами ыми ими иях ием ого его ому ему ает яет ают яют уют ует али яли или ала ила ыла ало ило
    ях ах ам ям ем ом ых их ую юю ая яя ое ее ые ие ыи ии ои еи ов ев ию ью ия ья ет ит ут ют ят ал ил ть ть
    а е и о у ы ь ю я
";

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::noun(&["сборка", "сборки", "сборку", "сборкои"], "сборк")]
    #[case::adjective(&["главная", "главнои", "главную"], "главн")]
    #[case::verb(&["блокирует", "блокируют"], "блокир")]
    #[case::short(&["код"], "код")]
    #[case::english(&["caching", "caches"], "cach")]
    fn forms_of_a_word_have_one_stem(#[case] forms: &[&str], #[case] stem: &str) {
        for form in forms {
            assert_eq!(stem_word(form), stem, "{form}");
        }
    }
}
