//! Weights of words and vectors in a passage, and the bonus of a near passage in another script.

use schema::settings::LegWeights;

use super::request::{Scoring, SearchOptions};
use crate::embed::EmbeddingLocation;

/// Weights for a model that reads sentences. See docs/dev/retrieval.md.
const WITH_SENTENCES: LegWeights = LegWeights { words: 65, vector: 25 };

/// Factor of the vector's weight in a long passage, which has many words of the question by chance.
const VECTOR_IN_LONG: f32 = 4.0;
/// The same for a model that reads sentences: one vector holds little of a long text.
const VECTOR_OF_SENTENCES_IN_LONG: f32 = 0.3;
/// Factor of the vector's weight in another script, where most words match through the glossary only.
const VECTOR_IN_OTHER_SCRIPT: f32 = 6.0;

/// Bonus of a near passage in another script that has all of the question, as a share of what its relevance lacks to 1. A bonus that is
/// simply added would put translations before the word itself.
const BONUS: f32 = 0.55;
/// Standard deviations above the usual nearness from which the bonus is full.
const FULL_BONUS_FROM: f32 = 3.7;

/// Passages from which, and up to which, nearness becomes chance for the local model: among 100,000 unrelated passages, the nearest one is
/// as near as an answer.
const CROWDED: (f32, f32) = (3_000.0, 100_000.0);

/// Returns how much of the nearness in a store of so many passages is chance, from 0 to 1.
pub(super) fn crowding(passages: u64) -> f32 {
    let (from, to) = CROWDED;
    ((passages as f32 / from).ln() / (to / from).ln()).clamp(0.0, 1.0)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LegWeighting {
    weights: LegWeights,
    /// The share of its weight that the vector keeps in a large store.
    of_vector: f32,
    reads_sentences: bool,
}

/// The features of a passage on which the weight of its vector depends.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassageForm {
    pub(super) is_long: bool,
    pub(super) is_in_other_script: bool,
}

impl LegWeighting {
    pub(super) fn new(options: SearchOptions<'_>, passages: u64) -> Self {
        let reads_sentences = options.model.is_some_and(|model| model.embedder.location() == EmbeddingLocation::Remote);
        let measured = if reads_sentences { WITH_SENTENCES } else { LegWeights::LOCAL_MODEL_DEFAULT };
        let weights = if let Scoring::Full(Some(weights)) = options.scoring { weights } else { measured };
        let of_vector = if reads_sentences { 1.0 } else { 1.0 - crowding(passages) };
        Self { weights, of_vector, reads_sentences }
    }

    /// Weighted mean of the available legs.
    pub(super) fn weighted_mean(&self, form: PassageForm, words: f32, vector: Option<f32>) -> f32 {
        let factor = match (self.reads_sentences, form) {
            (true, PassageForm { is_long: true, .. }) => VECTOR_OF_SENTENCES_IN_LONG,
            (false, PassageForm { is_in_other_script: true, .. }) => VECTOR_IN_OTHER_SCRIPT,
            (false, PassageForm { is_long: true, .. }) => VECTOR_IN_LONG,
            _ => 1.0,
        };
        let of_words = f32::from(self.weights.words);
        let of_vector = f32::from(self.weights.vector) * factor * self.of_vector;
        match vector {
            Some(vector) if of_words + of_vector > 0.0 => {
                (words * of_words + vector * of_vector) / (of_words + of_vector)
            }
            _ => words,
        }
    }
}

/// Relevance of a passage in another script with its nearness, in standard deviations above usual. `coverage` is the share of the question
/// that it has in words, synonyms, names or numbers: a passage that is near by a single word is seldom the answer.
pub(super) fn relevance_by_nearness(relevance: f32, coverage: f32, deviations: f32) -> f32 {
    let nearness = (deviations / FULL_BONUS_FROM).clamp(0.0, 1.0);
    relevance + (1.0 - relevance).max(0.0) * BONUS * coverage * nearness
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sentence_vectors_weigh_more_in_short_passages() {
        let added_up =
            LegWeighting { weights: LegWeights::LOCAL_MODEL_DEFAULT, of_vector: 1.0, reads_sentences: false };
        let sentences = LegWeighting { weights: WITH_SENTENCES, of_vector: 1.0, reads_sentences: true };
        let far_in_words = |weighting: LegWeighting, is_long| {
            weighting.weighted_mean(PassageForm { is_long, is_in_other_script: false }, 0.2, Some(1.0))
        };
        assert!(far_in_words(sentences, false) > far_in_words(added_up, false) + 0.1);
        assert!(far_in_words(added_up, true) > far_in_words(sentences, true) + 0.05);
    }

    #[test]
    fn nearness_becomes_chance_in_large_stores() {
        let [small, usual, large, huge] = [0, 3_000, 20_000, 1_000_000].map(crowding);
        assert_eq!((small, usual, huge), (0.0, 0.0, 1.0));
        assert!((0.4..0.7).contains(&large), "{large}");
    }

    #[test]
    fn nearness_helps_by_coverage_and_never_alone() {
        let relevance = |coverage| relevance_by_nearness(0.1, coverage, 9.0);
        let [nothing, word, half, all] = [0.0, 0.05, 0.5, 1.0].map(relevance);
        assert!((nothing - 0.1).abs() < 1e-6);
        assert!(nothing < word && word < half && half < all, "{word} {half} {all}");
        assert!((relevance_by_nearness(0.1, 1.0, -1.0) - 0.1).abs() < 1e-6);
        assert!(relevance_by_nearness(0.75, 1.0, 9.0) < 0.9, "a text with the word itself ranks first");
    }

    proptest! {
        #[test]
        fn a_better_leg_never_lowers_the_score(
            words in 0.0f32..1.0, vector in prop::option::of(0.0f32..1.0), better in 0.0f32..1.0,
            weights in (0u16..=100, 0u16..=100), is_long in any::<bool>(), is_in_other_script in any::<bool>(),
            reads_sentences in any::<bool>(),
        ) {
            let weights = LegWeights { words: weights.0, vector: weights.1 };
            let weighting = LegWeighting { weights, of_vector: 1.0, reads_sentences };
            let score = |words, vector| weighting.weighted_mean(PassageForm { is_long, is_in_other_script }, words, vector);
            let before = score(words, vector);
            prop_assert!(score(words.max(better), vector) >= before - 1e-6);
            prop_assert!(score(words, vector.map(|leg| leg.max(better))) >= before - 1e-6);
        }
    }
}
