//! Guesses the kind of a text that a person saves without a type. Unlike the search for conclusions, it always decides if it can judge.

use super::message::{Speaker, judged};
use super::{KINDS, NETWORK, cues, plain};
use crate::model::memory::MemoryType;

/// The weight of a kind that the opening of a sentence states.
const STATED: f32 = 1.0;

/// Returns the likeliest kind of a text, or `None` if the text has no sentence.
pub fn likeliest_kind(text: &str) -> Option<MemoryType> {
    let message = judged(&*NETWORK, text, Speaker::Person);
    let mut sums = [0.0_f32; KINDS.len()];
    for (judged, probabilities) in message.iter().zip(NETWORK.judge(&message)) {
        sums.iter_mut().zip(probabilities).for_each(|(sum, probability)| *sum += probability);
        let sentence = &text[judged.sentence.range.clone()];
        if let Some(class) = cues::stated_kind(sentence).or_else(|| plain::plain_kind(sentence)) {
            sums[class] += STATED;
        }
    }
    let best = sums.iter().zip(KINDS).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(sum, _)| **sum > 0.0).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::decision("We decided to cache JWT tokens in Redis with a TTL of five minutes", Some(MemoryType::Decision))]
    #[case::decision_in_korean("토큰은 Redis에 캐시하기로 결정했다", Some(MemoryType::Decision))]
    #[case::change("We switched to pnpm because npm was slow", Some(MemoryType::Decision))]
    #[case::learning(
        "It turned out that SQLite ignores the busy handler when it switches to WAL",
        Some(MemoryType::Learning)
    )]
    #[case::fix("Fixed the double charge by acknowledging the webhook after the commit", Some(MemoryType::ErrorFix))]
    #[case::preference("I prefer short answers in Korean", Some(MemoryType::Preference))]
    #[case::convention("Always name test files after the module they test", Some(MemoryType::Convention))]
    #[case::task("TODO: rename the cron job before the release", Some(MemoryType::Task))]
    #[case::nothing("  ", None)]
    fn text_without_a_type_gets_the_likeliest(#[case] text: &str, #[case] expected: Option<MemoryType>) {
        assert_eq!(likeliest_kind(text), expected);
    }
}
