//! Similar tokens of a question that is translated word by word, for passages in another script.

use std::cell::OnceCell;

use super::query::{LANGUAGES, Translations, language_of};
use super::token_similarity::{TokenSimilarity, match_strength};
use crate::embed::LocalModel;
use crate::text::script::Script;

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

    /// The share of the question that a passage says in its own language, from 0 to 1; `None` without a translation. `alike` is the
    /// least cosine of related pieces.
    pub(super) fn matched_share(&self, script: Script, text: &str, alike: f32) -> Option<f32> {
        let language = language_of(script, text)?;
        let translation = self.translations.all()[language].as_ref()?;
        let similarity =
            self.of_languages[language].get_or_init(|| TokenSimilarity::new(self.model, &translation.text)).as_ref()?;
        let (nearest, _) = similarity.nearest_tokens(text);
        let strengths: Vec<f32> = nearest.into_iter().map(|cosine| match_strength(cosine, alike)).collect();
        Some(similarity.matched_share(&strengths) * translation.coverage())
    }
}
