//! Passages in another script than the question's: similar tokens of a question that is translated word by word, and what
//! nearness adds.

use std::cell::OnceCell;

use super::query::{LANGUAGES, Translations, language_of};
use super::token_similarity::{TokenSimilarity, match_strength};
use super::vector_leg::MAX_DEVIATIONS;
use crate::embed::LocalModel;
use crate::text::script::Script;

/// Worth of a translated word relative to the word, as in the glossary: a text in the question's language ranks first.
const TRANSLATED: f32 = 0.9;

/// Bonus of the nearest passage that says most of the question in words or synonyms, as a share of what its relevance lacks to 1. A bonus
/// that is simply added puts translations of a word before the word itself.
const BONUS: f32 = 0.55;
/// The share of the question's weight from which a passage says most of it. Below, the bonus falls with the share: what is near
/// because of a single word is seldom the answer.
const MOST: f32 = 0.7;
/// The highest bonus of a passage that says nothing of the question, and how many standard deviations above the usual nearness it needs
/// for that.
const ALONE: f32 = 0.15;
const ALONE_DEVIATIONS: f32 = 4.0;

/// Compares with translations, each prepared at first use.
#[derive(Debug)]
pub(super) struct TranslatedTokens<'m> {
    model: &'m LocalModel,
    translations: &'m Translations,
    of_languages: [OnceCell<Option<TokenSimilarity<'m>>>; LANGUAGES],
}

impl<'m> TranslatedTokens<'m> {
    pub(super) fn new(model: &'m LocalModel, translations: &'m Translations) -> Self {
        Self { model, translations, of_languages: Default::default() }
    }

    /// The share of the question in similar words of a passage in another language, from 0 to 1; `None` without a translation. `alike`
    /// is the least cosine of related pieces.
    pub(super) fn matched_share(&self, script: Script, text: &str, alike: f32) -> Option<f32> {
        let language = language_of(script, text)?;
        let translation = self.translations.all()[language].as_ref()?;
        let similarity =
            self.of_languages[language].get_or_init(|| TokenSimilarity::new(self.model, &translation.text)).as_ref()?;
        let (nearest, _) = similarity.nearest_tokens(text);
        let strengths: Vec<f32> = nearest.into_iter().map(|cosine| match_strength(cosine, alike)).collect();
        Some(similarity.matched_share(&strengths) * translation.coverage() * TRANSLATED)
    }
}

/// Relevance with the nearness of a passage in another script, in standard deviations above usual. `said` is the share of the
/// question that the passage says in words, synonyms, names or numbers. Nearness only helps such passages; others rank behind
/// all of them.
pub(super) fn relevance_by_nearness(relevance: f32, said: f32, deviations: f32) -> f32 {
    let nearness = |most: f32| (deviations / most).clamp(0.0, 1.0);
    if said > 0.0 {
        relevance + (1.0 - relevance).max(0.0) * BONUS * (said / MOST).min(1.0) * nearness(MAX_DEVIATIONS)
    } else {
        relevance.max(ALONE * nearness(ALONE_DEVIATIONS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearness_helps_by_what_is_said_and_never_alone() {
        let relevance = |said| relevance_by_nearness(0.1, said, 9.0);
        let [nothing, word, half, most, all] = [0.0, 0.05, 0.35, 0.7, 1.0].map(relevance);
        assert!(nothing < relevance_by_nearness(ALONE, 0.01, 0.0) + 1e-6);
        assert!(word < half && half < most && (most - all).abs() < 1e-6, "{word} {half} {most} {all}");
        assert!((relevance_by_nearness(0.1, 1.0, -1.0) - 0.1).abs() < 1e-6);
        assert!(relevance_by_nearness(0.75, 1.0, 9.0) < 0.9, "a text with the word itself ranks first");
    }
}
