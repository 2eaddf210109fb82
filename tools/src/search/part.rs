//! The nearest part of a long passage: its vector is the mean of all that it says, and says little of each thing.

use pulp::{Arch, Simd, WithSimd};

use super::kin::product;
use crate::embed::LocalModel;

/// After how many pieces of a text the next part begins. One has twice as many, and so half of the one before.
const STEP: usize = 60;

/// The direction of a question in the model inside the binary, whoever makes the vectors: parts have none of their own.
#[derive(Debug)]
pub(super) struct Parts<'m> {
    model: &'m LocalModel,
    /// Of length 1, even dimensions before odd ones.
    question: Vec<f32>,
}

impl<'m> Parts<'m> {
    /// `None` when the model knows nothing of the question.
    pub(super) fn new(model: &'m LocalModel, question: &str) -> Option<Self> {
        let mut sum = vec![0.0; model.dims()];
        model.tokens(question).into_iter().for_each(|token| model.add_row(token, &mut sum));
        let length = product(&sum, &sum).sqrt();
        let is_direction = length > 0.0 && length.is_finite();
        is_direction.then(|| Self { model, question: sum.into_iter().map(|value| value / length).collect() })
    }

    /// The cosine of the question and the part of a text, given by its pieces, that is nearest to it.
    pub(super) fn nearest(&self, tokens: &[u32]) -> f32 {
        Arch::new().dispatch(Nearest { parts: self, tokens })
    }
}

/// With what this processor has; see [`super::kin`].
struct Nearest<'p> {
    parts: &'p Parts<'p>,
    tokens: &'p [u32],
}

impl WithSimd for Nearest<'_> {
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
            // The first step is a part by itself only where there is no other.
            if number > 0 || tokens.len() <= STEP {
                for i in 0..dims {
                    part[i] = before[i] + sum[i];
                }
                let length = product(&part, &part).sqrt();
                if length > 0.0 {
                    nearest = nearest.max(product(&parts.question, &part) / length);
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

    fn nearest(question: &str, text: &str) -> f32 {
        let model = LocalModel::built_in();
        Parts::new(&model, question).unwrap().nearest(&model.tokens(text))
    }

    fn whole(question: &str, text: &str) -> f32 {
        let model = LocalModel::built_in();
        let [question, text] = [question, text].map(|text| model.embed(text).unwrap());
        question.iter().zip(&text).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn a_part_is_as_near_wherever_it_stands_in_a_long_text_and_a_short_text_is_one_part() {
        let (question, said) = ("how are passwords hashed", "Passwords are hashed with argon2id. ".repeat(STEP / 10));
        let long = [format!("{said}{}", FILLER.repeat(20)), format!("{}{said}", FILLER.repeat(20))];
        for text in &long {
            assert!(nearest(question, text) > whole(question, text) + 0.15, "{text}");
        }
        assert!((nearest(question, "Passwords are hashed.") - whole(question, "Passwords are hashed.")).abs() < 1e-4);
        assert!(nearest(question, &long[0]) > nearest("where do we park bicycles", &long[0]) + 0.2);
    }

    #[test]
    fn a_question_of_which_the_model_knows_nothing_has_no_direction() {
        let model = LocalModel::built_in();
        assert!(Parts::new(&model, "🙂").is_none());
        assert!(Parts::new(&model, "passwords").unwrap().nearest(&[]) <= 0.0);
    }
}
