//! What words, kindred words and the vector of a passage weigh.

use schema::settings::Weights;

use super::Means;
use crate::embed::WorkPlace;

/// What did best with a model that reads sentences, whose vectors know more than how alike words are: on turns of conversations in four
/// stores of five.
const WITH_SENTENCES: Weights = Weights { words: 65, kin: 35, vector: 25 };

/// What kindred words of a long passage weigh, of what they weigh in a short one: something like most words of a question is found in it
/// by chance.
const KIN_IN_LONG: f32 = 0.3;

/// What its vector weighs. Where words were added up it tells more than in a short one; a model that reads sentences reads them all at
/// once, and says little of each.
const VECTOR_IN_LONG: f32 = 1.5;
const VECTOR_OF_SENTENCES_IN_LONG: f32 = 0.3;

/// What each leg weighs in a passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Weighing {
    words: f32,
    kin: f32,
    vector: f32,
}

/// In a short passage, and in a long one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighings([Weighing; 2]);

impl Weighings {
    pub(super) fn new(means: Means<'_>) -> Self {
        let reads_sentences = means.meaning.is_some_and(|meaning| meaning.embedder.place() == WorkPlace::Elsewhere);
        let measured = if reads_sentences { WITH_SENTENCES } else { Weights::MEASURED };
        Self::of(means.weights.unwrap_or(measured), reads_sentences)
    }

    pub(super) fn of(weights: Weights, reads_sentences: bool) -> Self {
        let [words, kin, vector] = [weights.words, weights.kin, weights.vector].map(f32::from);
        let in_long = if reads_sentences { VECTOR_OF_SENTENCES_IN_LONG } else { VECTOR_IN_LONG };
        Self([Weighing { words, kin, vector }, Weighing { words, kin: kin * KIN_IN_LONG, vector: vector * in_long }])
    }

    pub(super) fn in_passage(&self, is_long: bool) -> Weighing {
        self.0[usize::from(is_long)]
    }
}

impl Weighing {
    /// The mean of the legs that there are, by their weights.
    pub(super) fn mean(&self, words: f32, kin: Option<f32>, vector: Option<f32>) -> f32 {
        let legs = [(Some(words), self.words), (kin, self.kin), (vector, self.vector)];
        let present = legs.iter().filter_map(|(leg, weight)| Some(((*leg)?, *weight)));
        let (sum, all) = present.fold((0.0, 0.0), |(sum, all), (leg, weight)| (sum + leg * weight, all + weight));
        if all > 0.0 { sum / all } else { words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_of_a_sentence_weighs_more_and_that_of_a_long_passage_as_much_as_any() {
        let [added_up, sentences] = [(Weights::MEASURED, false), (WITH_SENTENCES, true)]
            .map(|(weights, reads_sentences)| Weighings::of(weights, reads_sentences));
        let far_in_words = |weighing: Weighing| weighing.mean(0.2, Some(0.2), Some(1.0));
        assert!(far_in_words(sentences.in_passage(false)) > far_in_words(added_up.in_passage(false)) + 0.1);
        let in_long = [added_up, sentences].map(|weighings| far_in_words(weighings.in_passage(true)));
        assert!((in_long[0] - in_long[1]).abs() < 1e-6, "{in_long:?}");
    }
}
