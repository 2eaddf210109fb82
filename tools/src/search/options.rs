//! How a search scores, and who asks.

use schema::settings::LegWeights;

use crate::embed::EmbeddingModel;

/// How to search, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct SearchOptions<'m> {
    /// `None` for a search by words alone.
    pub model: Option<&'m EmbeddingModel>,
    pub scoring: Scoring,
    pub asker: Asker,
    /// The session of the host, or an empty text.
    pub session_id: &'m str,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A person, to whom every memory is shown.
    Person,
    /// A model, which knows its current turn.
    Model,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scoring {
    /// All legs. `None` for the measured weights of this kind of model.
    Full(Option<LegWeights>),
    /// Only the words of the passage itself.
    Words,
    /// 0.7 of the vector score and 0.3 of the word score, and nothing else.
    Stated,
}

impl From<Option<LegWeights>> for Scoring {
    fn from(weights: Option<LegWeights>) -> Self {
        if weights == Some(LegWeights::VECTOR_HEAVY) { Self::Stated } else { Self::Full(weights) }
    }
}
