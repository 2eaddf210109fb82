//! Stemming of English and Russian words.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};

/// Characters of the shortest word that has an ending.
const SHORTEST: usize = 3;

/// Whether a folded word is stemmed: it looks English or Russian and is long enough to have an ending.
pub(crate) fn is_stemmable(word: &str) -> bool {
    if word.is_ascii() {
        return word.len() >= SHORTEST && word.bytes().all(|b| b.is_ascii_lowercase());
    }
    word.chars().all(is_russian) && word.chars().nth(SHORTEST - 1).is_some()
}

/// The token of a folded word: its stem, if it is stemmed.
pub(crate) fn token(word: &str) -> Cow<'_, str> {
    if is_stemmable(word) { stem(word) } else { word.into() }
}

pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    if word.is_ascii() { Stemmer::create(Algorithm::English).stem(word) } else { stem_russian(word).into() }
}

fn is_russian(c: char) -> bool {
    matches!(c, 'а'..='я')
}

/// Folding removes the breve of `й`, by which the stemmer recognises endings.
fn stem_russian(word: &str) -> String {
    let ending = [("ыи", "ый"), ("ои", "ой"), ("еи", "ей")].into_iter().find(|(folded, _)| word.ends_with(folded));
    let written = ending.map_or(word.to_owned(), |(folded, ending)| {
        let stem = word.strip_suffix(folded).unwrap_or(word);
        format!("{stem}{ending}")
    });
    Stemmer::create(Algorithm::Russian).stem(&written).replace('й', "и")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::text::fold::fold;

    #[rstest]
    #[case::english(&["caching", "caches", "cached"])]
    #[case::russian_noun(&["пользователь", "пользователя", "пользователей"])]
    #[case::russian_plural(&["миграция", "миграции"])]
    #[case::russian_adjective(&["новый", "новая", "новой", "новые"])]
    fn forms_of_a_word_have_one_stem(#[case] forms: &[&str]) {
        let stems: Vec<String> = forms.iter().map(|form| stem(&fold(form)).into_owned()).collect();
        assert!(stems.iter().all(|other| *other == stems[0]), "{stems:?}");
        assert!(stems[0].chars().count() >= SHORTEST, "{stems:?}");
    }

    #[rstest]
    #[case("ab", false)]
    #[case("v12", false)]
    #[case("straße", false)]
    #[case("но", false)]
    #[case("нода", true)]
    #[case("node", true)]
    fn short_and_other_words_have_none(#[case] word: &str, #[case] expected: bool) {
        assert_eq!(is_stemmable(word), expected);
    }
}
