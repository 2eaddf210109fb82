//! Context: what a passage leaves unsaid because it was said around it.
//!
//! An answer seldom repeats the words of its question, and a turn those of its session. So a passage counts as saying, in part,
//! what was said in its session or file, in the question right before it, and right beside it. In part, and only what it does not
//! say itself: a passage that says everything gains nothing, and what is next to it stays behind it.

use std::collections::HashMap;

/// The share that a passage has of what is said anywhere in its session or file.
const AROUND: f32 = 0.3;
/// The share of the question right before it.
const ANSWERS: f32 = 0.6;
/// The share of what was said right before and right after it.
const BESIDE: f32 = 0.15;

/// Where a passage stands among the others.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// The session or file.
    pub(super) origin: Option<String>,
    /// The passages right before and right after it, by their place in the list.
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    pub(super) is_question: bool,
}

/// The strengths of passages, one list for each, with what their context adds.
pub(super) fn in_context(strengths: &[Vec<f32>], places: &[Place]) -> Vec<Vec<f32>> {
    let mut around: HashMap<&str, Vec<f32>> = HashMap::new();
    for (own, place) in strengths.iter().zip(places) {
        if let Some(origin) = &place.origin {
            let most = around.entry(origin).or_insert_with(|| vec![0.0; own.len()]);
            most.iter_mut().zip(own).for_each(|(most, own)| *most = most.max(*own));
        }
    }
    let lent = |own: f32, word: usize, place: &Place| {
        let of = |other: Option<usize>| other.map_or(0.0, |other| strengths[other][word]);
        let origin = place.origin.as_deref().and_then(|origin| around.get(origin)).map_or(0.0, |most| most[word]);
        let question = place.before.filter(|before| places[*before].is_question);
        let shares = [(AROUND, origin), (ANSWERS, of(question)), (BESIDE, of(place.before)), (BESIDE, of(place.after))];
        let unsaid: f32 = shares.iter().map(|(share, strength)| 1.0 - share * strength).product();
        own + (1.0 - own) * (1.0 - unsaid)
    };
    strengths
        .iter()
        .zip(places)
        .map(|(own, place)| own.iter().enumerate().map(|(word, own)| lent(*own, word, place)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(origin: &str, before: Option<usize>, after: Option<usize>, is_question: bool) -> Place {
        Place { origin: (!origin.is_empty()).then(|| origin.to_owned()), before, after, is_question }
    }

    #[test]
    fn an_answer_counts_as_saying_what_its_question_says() {
        let places = [place("s", None, Some(1), true), place("s", Some(0), None, false), place("t", None, None, false)];
        let found = in_context(&[vec![0.8, 0.0], vec![0.0, 0.5], vec![0.0, 0.5]], &places);
        assert!(found[1][0] > 0.4 && found[1][0] < found[0][0], "{found:?}");
        assert_eq!(found[2][0], 0.0, "another session gains nothing");
    }

    proptest! {
        #[test]
        fn more_is_never_less_and_what_says_it_itself_stays_ahead(
            own in prop::collection::vec(0.0f32..1.0, 3), more in 0.0f32..1.0, which in 0usize..3,
        ) {
            let places =
                [place("s", None, Some(1), true), place("s", Some(0), Some(2), false), place("s", Some(1), None, false)];
            let before: Vec<Vec<f32>> = own.iter().map(|own| vec![*own]).collect();
            let mut after = before.clone();
            after[which][0] = after[which][0].max(more);
            let (before, after) = (in_context(&before, &places), in_context(&after, &places));
            for (before, after) in before.iter().zip(&after) {
                prop_assert!(after[0] >= before[0] - 1e-6 && (0.0..=1.0).contains(&after[0]));
            }
        }
    }
}
