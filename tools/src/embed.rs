//! Embeddings: texts as vectors, whoever makes them. Knows nothing of stores or of ranking.
//!
//! What is embedded has been redacted by whoever calls; an embedder sends it wherever its settings say.

mod asked;
mod choice;
mod file;
pub(crate) mod half;
mod late;
mod local;
mod pieces;
pub mod remote;
mod tokens;
mod trouble;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use asked::{Asked, Question};
pub use choice::open;
pub use local::{LocalModel, ModelFault};
pub use trouble::Trouble;

use remote::RemoteError;

/// A text's vector, of length 1; `None` when the model has nothing to say about the text.
pub type Vector = Option<Vec<f32>>;

/// What came of a text that is to be found.
#[derive(Debug, Clone, PartialEq)]
pub enum Embedded {
    Vector(Vec<f32>),
    /// The model has nothing to say about it.
    Nothing,
    /// Whoever makes the vectors takes other texts, and not this one.
    Refused,
}

impl Embedded {
    /// The vector, if there is one.
    pub fn vector(self) -> Vector {
        match self {
            Self::Vector(vector) => Some(vector),
            Self::Nothing | Self::Refused => None,
        }
    }
}

impl From<Vector> for Embedded {
    fn from(vector: Vector) -> Self {
        vector.map_or(Self::Nothing, Self::Vector)
    }
}

/// Makes vectors of texts.
pub trait Embedder: fmt::Debug + Send + Sync {
    /// Whose vectors these are. Only vectors of the same identity can be compared.
    fn identity(&self) -> &Identity;

    /// Where the work is done, which decides how much of it is done at once, and on which thread.
    fn place(&self) -> WorkPlace;

    /// Whether vectors can be asked for. Until an embedder is ready its identity may be unknown in part.
    fn readiness(&self) -> Result<(), EmbedError> {
        Ok(())
    }

    /// Makes it ready, which may take long: never to be called where somebody waits for something else.
    fn prepare(&self) -> Result<(), EmbedError> {
        Ok(())
    }

    /// Vectors of texts that are to be found, in their order.
    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError>;

    /// The vector of what is asked.
    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError>;
}

/// Whether vectors are made here, in microseconds, or elsewhere: by a service that may be slow or away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkPlace {
    Here,
    Elsewhere,
}

/// What makes two vectors comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    pub provider: String,
    pub model: String,
    pub dims: usize,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.provider, self.model, self.dims)
    }
}

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model in a file cannot be used.
    #[error("cannot use the embedding model {path}")]
    Model { path: String, source: ModelFault },
    /// A service does not do what it should.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A service that takes other questions does not take this one.
    #[error("{0} refuses this question")]
    Refused(&'static str),
    /// What the settings ask for is not there.
    #[error("{0}")]
    Unavailable(String),
}

impl EmbedError {
    /// How long whoever failed is left alone.
    pub fn rest(&self) -> Duration {
        match self {
            Self::Remote(error) => error.rest(),
            Self::Model { .. } | Self::Refused(_) | Self::Unavailable(_) => REST,
        }
    }
}

/// What somebody has to mend on this machine is looked at again after this time.
const REST: Duration = Duration::from_secs(60);

/// What search by meaning needs.
#[derive(Debug, Clone)]
pub struct Meaning {
    /// Makes the vectors of documents and questions.
    pub embedder: Arc<dyn Embedder>,
    /// Knows which words mean much the same, whoever makes the vectors.
    pub words: Arc<LocalModel>,
    /// What is wrong with the embedder, if anything is.
    pub trouble: Arc<Trouble>,
}

#[cfg(test)]
mod tests;
