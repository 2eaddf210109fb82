//! Context: the words that a passage omits because they were said around it.
//!
//! An answer seldom repeats its question, and a turn seldom repeats its session. So a passage partly gets the score of its
//! session or file, of the question before it, and of its neighbours. It gains only for words that it lacks, so a complete
//! passage stays ahead of its neighbours.

use std::collections::HashMap;

/// Share of words anywhere in its session or file.
const ORIGIN_SHARE: f32 = 0.3;
/// Share of the question directly before it.
const QUESTION_SHARE: f32 = 0.6;
/// Share of the passages directly before and after it.
const NEIGHBOUR_SHARE: f32 = 0.15;

/// A passage's position among the others.
#[derive(Debug, Clone, Default)]
pub(super) struct ContextPosition {
    /// The session or file.
    pub(super) origin: Option<String>,
    /// Indices of the passages directly before and after it.
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
    pub(super) is_question: bool,
    /// Whether a person says it to the assistant: a prompt right after a question is not its answer.
    pub(super) is_prompt: bool,
}

/// Adds the context to the strengths of passages, one list per passage.
pub(super) fn add_context(strengths: &[Vec<f32>], places: &[ContextPosition]) -> Vec<Vec<f32>> {
    let mut around: HashMap<&str, Vec<f32>> = HashMap::new();
    for (own, place) in strengths.iter().zip(places) {
        if let Some(origin) = &place.origin {
            let most = around.entry(origin).or_insert_with(|| vec![0.0; own.len()]);
            most.iter_mut().zip(own).for_each(|(most, own)| *most = most.max(*own));
        }
    }
    let lent = |own: f32, word: usize, place: &ContextPosition| {
        let of = |other: Option<usize>| other.map_or(0.0, |other| strengths[other][word]);
        let origin = place.origin.as_deref().and_then(|origin| around.get(origin)).map_or(0.0, |most| most[word]);
        let question = place.before.map(|before| (before, &places[before]));
        let question = question.filter(|(_, asked)| asked.is_question && !(asked.is_prompt && place.is_prompt));
        let shares = [
            (ORIGIN_SHARE, origin),
            (QUESTION_SHARE, of(question.map(|(before, _)| before))),
            (NEIGHBOUR_SHARE, of(place.before)),
            (NEIGHBOUR_SHARE, of(place.after)),
        ];
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

    fn position(origin: &str, before: Option<usize>, after: Option<usize>, is_question: bool) -> ContextPosition {
        let origin = (!origin.is_empty()).then(|| origin.to_owned());
        ContextPosition { origin, before, after, is_question, is_prompt: is_question }
    }

    #[test]
    fn a_prompt_after_a_question_is_not_its_answer() {
        let strengths = [vec![0.8], vec![0.0]];
        let after = |is_prompt| {
            let answer = ContextPosition { is_prompt, ..position("s", Some(0), None, false) };
            add_context(&strengths, &[position("s", None, Some(1), true), answer])[1][0]
        };
        assert!(after(true) + 0.2 < after(false));
    }

    #[test]
    fn an_answer_counts_as_saying_what_its_question_says() {
        let places =
            [position("s", None, Some(1), true), position("s", Some(0), None, false), position("t", None, None, false)];
        let found = add_context(&[vec![0.8, 0.0], vec![0.0, 0.5], vec![0.0, 0.5]], &places);
        assert!(found[1][0] > 0.4 && found[1][0] < found[0][0], "{found:?}");
        assert_eq!(found[2][0], 0.0, "another session gains nothing");
    }

    proptest! {
        #[test]
        fn stronger_passage_weakens_no_other(
            own in prop::collection::vec(0.0f32..1.0, 3), more in 0.0f32..1.0, which in 0usize..3,
        ) {
            let places =
                [position("s", None, Some(1), true), position("s", Some(0), Some(2), false), position("s", Some(1), None, false)];
            let before: Vec<Vec<f32>> = own.iter().map(|own| vec![*own]).collect();
            let mut after = before.clone();
            after[which][0] = after[which][0].max(more);
            let (before, after) = (add_context(&before, &places), add_context(&after, &places));
            for (before, after) in before.iter().zip(&after) {
                prop_assert!(after[0] >= before[0] - 1e-6 && (0.0..=1.0).contains(&after[0]));
            }
        }
    }
}
