//! Weights of words, similar tokens and vectors.

use schema::settings::LegWeights;

use super::options::{Scoring, SearchOptions};
use crate::embed::EmbeddingLocation;

/// Best weights for a model that reads sentences, on conversation turns in four of five stores.
const WITH_SENTENCES: LegWeights = LegWeights { words: 65, tokens: 35, vector: 25 };

/// Weight of similar tokens in a long passage relative to a short one: a long text has something similar to most words by
/// chance.
const TOKENS_IN_LONG: f32 = 0.3;

/// Weight of the vector in a long passage. A sum of words tells more about a long text than about a short one; a sentence
/// model must squeeze it all into one vector.
const VECTOR_IN_LONG: f32 = 1.5;
const VECTOR_OF_SENTENCES_IN_LONG: f32 = 0.3;

/// Weights of the legs in a passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LegWeighting {
    words: f32,
    tokens: f32,
    vector: f32,
}

/// For a short passage, and for a long one.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassageWeightings([LegWeighting; 2]);

impl PassageWeightings {
    pub(super) fn new(options: SearchOptions<'_>) -> Self {
        let reads_sentences = options.model.is_some_and(|model| model.embedder.location() == EmbeddingLocation::Remote);
        let measured = if reads_sentences { WITH_SENTENCES } else { LegWeights::LOCAL_MODEL_DEFAULT };
        let weights = if let Scoring::Full(Some(weights)) = options.scoring { weights } else { measured };
        Self::from_weights(weights, reads_sentences)
    }

    pub(super) fn from_weights(weights: LegWeights, reads_sentences: bool) -> Self {
        let [words, tokens, vector] = [weights.words, weights.tokens, weights.vector].map(f32::from);
        let in_long = if reads_sentences { VECTOR_OF_SENTENCES_IN_LONG } else { VECTOR_IN_LONG };
        Self([
            LegWeighting { words, tokens, vector },
            LegWeighting { words, tokens: tokens * TOKENS_IN_LONG, vector: vector * in_long },
        ])
    }

    pub(super) fn for_passage(&self, is_long: bool) -> LegWeighting {
        self.0[usize::from(is_long)]
    }
}

impl LegWeighting {
    /// Weighted mean of the available legs.
    pub(super) fn weighted_mean(&self, words: f32, tokens: Option<f32>, vector: Option<f32>) -> f32 {
        let legs = [(Some(words), self.words), (tokens, self.tokens), (vector, self.vector)];
        let present = legs.iter().filter_map(|(leg, weight)| Some(((*leg)?, *weight)));
        let (sum, all) = present.fold((0.0, 0.0), |(sum, all), (leg, weight)| (sum + leg * weight, all + weight));
        if all > 0.0 { sum / all } else { words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_vectors_weigh_more() {
        let [added_up, sentences] = [(LegWeights::LOCAL_MODEL_DEFAULT, false), (WITH_SENTENCES, true)]
            .map(|(weights, reads_sentences)| PassageWeightings::from_weights(weights, reads_sentences));
        let far_in_words = |weighing: LegWeighting| weighing.weighted_mean(0.2, Some(0.2), Some(1.0));
        assert!(far_in_words(sentences.for_passage(false)) > far_in_words(added_up.for_passage(false)) + 0.1);
        let in_long = [added_up, sentences].map(|weighings| far_in_words(weighings.for_passage(true)));
        assert!((in_long[0] - in_long[1]).abs() < 1e-6, "{in_long:?}");
    }
}
