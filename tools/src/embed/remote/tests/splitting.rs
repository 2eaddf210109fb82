use proptest::prelude::*;

use super::split::{DirectionSum, MIN_TOKENS, TextPart, batch_parts, estimate_tokens, split_text};
use super::*;

#[rstest]
#[case::short("a few words", 512, &["a few words"])]
#[case::paragraphs("one two three four five six\n\nseven eight nine ten eleven", 20, &["one two three four five six", "seven eight nine ten eleven"])]
#[case::sentences("Alpha beta gamma delta. Epsilon zeta eta theta.", 16, &["Alpha beta gamma delta.", "Epsilon zeta eta theta."])]
#[case::blank(" \n\t ", 512, &[])]
fn texts_are_cut_where_they_pause(#[case] text: &str, #[case] most: usize, #[case] expected: &[&str]) {
    assert_eq!(split_text(text, most).collect::<Vec<_>>(), expected);
}

#[test]
fn a_megabyte_of_one_word_is_split_without_a_place_to_cut() {
    let text = "x".repeat(1 << 20);
    let parts: Vec<&str> = split_text(&text, 7_000).collect();
    assert_eq!(parts.concat(), text);
    assert!(parts.iter().all(|part| estimate_tokens(part) <= 7_000) && parts.len() < 80, "{}", parts.len());
}

proptest! {
    #[test]
    fn nothing_is_lost_and_no_part_is_too_long(text in "(\\PC|[ \n가-힣a-z.]){0,400}", most in MIN_TOKENS..80) {
        let bare = |text: &str| text.chars().filter(|character| !character.is_whitespace()).collect::<String>();
        let parts: Vec<&str> = split_text(&text, most).collect();
        prop_assert_eq!(bare(&parts.concat()), bare(&text));
        prop_assert!(parts.iter().all(|part| !part.trim().is_empty() && estimate_tokens(part) <= most));
    }

    #[test]
    fn batches_hold_every_part_once_and_keep_their_limits(lengths in prop::collection::vec(1usize..60, 0..50)) {
        let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
        let parts: Vec<TextPart<'_>> = texts.iter().enumerate().map(|(text, words)| TextPart { text, words }).collect();
        let batches: Vec<&[TextPart<'_>]> = batch_parts(&parts, 7, 40).collect();
        prop_assert_eq!(&batches.concat(), &parts);
        for batch in batches {
            let sum: usize = batch.iter().map(|part| estimate_tokens(part.words)).sum();
            prop_assert!((1..=7).contains(&batch.len()) && sum <= 40);
        }
    }
}

#[test]
fn a_longer_part_weighs_more_and_an_empty_vector_nothing() {
    let mut sum = DirectionSum::default();
    sum.add(&TextPart { text: 0, words: "xxx" }, &[2.0, 0.0]);
    sum.add(&TextPart { text: 0, words: "xxxx" }, &[0.0, 0.5]);
    sum.add(&TextPart { text: 0, words: "xxxxxxxx" }, &[0.0, 0.0]);
    assert_eq!(sum.into_vector(), Some(vec![0.6, 0.8]));
    assert_eq!(DirectionSum::default().into_vector(), None);
}
