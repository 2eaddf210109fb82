//! Finds the nearest part of a long passage, whose mean vector blurs its topics.

use pulp::{Arch, Simd, WithSimd};

use super::token_similarity::dot_product;
use crate::embed::LocalModel;

/// Pieces between the starts of two parts. A part has twice as many, so parts overlap by half.
const STEP: usize = 60;

/// A question's direction in the built-in model. Parts have no vectors of other embedders.
#[derive(Debug)]
pub(super) struct PartMatcher<'m> {
    model: &'m LocalModel,
    /// Of length 1, even dimensions before odd ones.
    question: Vec<f32>,
}

impl<'m> PartMatcher<'m> {
    /// `None` if the model does not know the question.
    pub(super) fn new(model: &'m LocalModel, question: &str) -> Option<Self> {
        let mut sum = vec![0.0; model.dims()];
        model.piece_ids(question).into_iter().for_each(|token| model.add_row(token, &mut sum));
        let length = dot_product(&sum, &sum).sqrt();
        let is_direction = length > 0.0 && length.is_finite();
        is_direction.then(|| Self { model, question: sum.into_iter().map(|value| value / length).collect() })
    }

    /// Greatest cosine of the question with a part of a text, given by its pieces.
    pub(super) fn nearest_cosine(&self, tokens: &[u32]) -> f32 {
        Arch::new().dispatch(NearestPartScan { parts: self, tokens })
    }
}

/// Uses the processor's SIMD features; see [`super::token_similarity`].
struct NearestPartScan<'p> {
    parts: &'p PartMatcher<'p>,
    tokens: &'p [u32],
}

impl WithSimd for NearestPartScan<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> f32 {
        let Self { parts, tokens } = self;
        let dims = parts.question.len();
        let (mut before, mut sum, mut part) = (vec![0.0f32; dims], vec![0.0f32; dims], vec![0.0f32; dims]);
        let mut nearest = -1.0f32;
        for (number, step) in tokens.chunks(STEP).enumerate() {
            sum.fill(0.0);
            for token in step {
                parts.model.add_row(*token, &mut sum);
            }
            // The first step alone is a part only if the text has no more.
            if number > 0 || tokens.len() <= STEP {
                for i in 0..dims {
                    part[i] = before[i] + sum[i];
                }
                let length = dot_product(&part, &part).sqrt();
                if length > 0.0 {
                    nearest = nearest.max(dot_product(&parts.question, &part) / length);
                }
            }
            std::mem::swap(&mut before, &mut sum);
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILLER: &str = "The build runs on every change and takes about nine minutes on the slow machines. ";

    fn nearest_part_cosine(question: &str, text: &str) -> f32 {
        let model = LocalModel::built_in();
        PartMatcher::new(&model, question).unwrap().nearest_cosine(&model.piece_ids(text))
    }

    fn whole_cosine(question: &str, text: &str) -> f32 {
        let model = LocalModel::built_in();
        let [question, text] = [question, text].map(|text| model.embed(text).unwrap());
        question.iter().zip(&text).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn position_of_a_part_does_not_matter() {
        let (question, said) = ("how are passwords hashed", "Passwords are hashed with argon2id. ".repeat(STEP / 10));
        let long = [format!("{said}{}", FILLER.repeat(20)), format!("{}{said}", FILLER.repeat(20))];
        for text in &long {
            assert!(nearest_part_cosine(question, text) > whole_cosine(question, text) + 0.15, "{text}");
        }
        assert!(
            (nearest_part_cosine(question, "Passwords are hashed.") - whole_cosine(question, "Passwords are hashed."))
                .abs()
                < 1e-4
        );
        assert!(
            nearest_part_cosine(question, &long[0]) > nearest_part_cosine("where do we park bicycles", &long[0]) + 0.2
        );
    }

    #[test]
    fn a_question_of_which_the_model_knows_nothing_has_no_direction() {
        let model = LocalModel::built_in();
        assert!(PartMatcher::new(&model, "🙂").is_none());
        assert!(PartMatcher::new(&model, "passwords").unwrap().nearest_cosine(&[]) <= 0.0);
    }
}
