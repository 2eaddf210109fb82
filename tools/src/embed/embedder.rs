//! The interface of embedders, and their errors.

use std::fmt;
use std::time::Duration;

use super::model_file::ModelFileError;
use super::remote::RemoteError;

/// A vector of length 1, or `None` if the model knows no word of the text.
pub type Vector = Option<Vec<f32>>;

/// The result for one document.
#[derive(Debug, Clone, PartialEq)]
pub enum EmbeddingResult {
    Vector(Vec<f32>),
    /// The model knows no word of the text.
    Nothing,
    /// The provider rejects this text but accepts others.
    Refused,
}

impl EmbeddingResult {
    pub fn into_vector(self) -> Vector {
        match self {
            Self::Vector(vector) => Some(vector),
            Self::Nothing | Self::Refused => None,
        }
    }
}

impl From<Vector> for EmbeddingResult {
    fn from(vector: Vector) -> Self {
        vector.map_or(Self::Nothing, Self::Vector)
    }
}

pub trait Embedder: fmt::Debug + Send + Sync {
    /// Provider and model. Only vectors of the same identity are comparable.
    fn identity(&self) -> &ModelIdentity;

    /// Local or remote, which decides batch size and thread.
    fn location(&self) -> EmbeddingLocation;

    /// Whether it can embed now. Until then its identity may be incomplete.
    fn readiness(&self) -> Result<(), EmbedError> {
        Ok(())
    }

    /// Makes it ready. This may take long: never call it on a thread that others wait for.
    fn prepare(&self) -> Result<(), EmbedError> {
        Ok(())
    }

    /// Embeds documents, in order.
    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<EmbeddingResult>, EmbedError>;

    /// Embeds a question.
    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError>;

    /// Embeds the phrasings of a question, in order.
    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        texts.iter().map(|text| self.embed_query(text)).collect()
    }
}

/// Vectors are made here in microseconds, or by a service that may be slow or unreachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingLocation {
    InProcess,
    Remote,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelIdentity {
    pub provider: String,
    pub model: String,
    pub dims: usize,
}

impl fmt::Display for ModelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.provider, self.model, self.dims)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    #[error("cannot use the embedding model {path}")]
    Model { path: String, source: ModelFileError },
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The provider rejects this question but accepts others.
    #[error("{0} rejects this question")]
    Refused(&'static str),
    /// The configured embedder is unavailable.
    #[error("{0}")]
    Unavailable(String),
}

impl EmbedError {
    /// Time until the next attempt.
    pub fn cooldown(&self) -> Duration {
        match self {
            Self::Remote(error) => error.cooldown(),
            Self::Model { .. } | Self::Refused(_) | Self::Unavailable(_) => COOLDOWN,
        }
    }
}

/// Time until a local error, which a person has to fix, is checked again.
const COOLDOWN: Duration = Duration::from_mins(1);
