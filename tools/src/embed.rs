//! Embeddings: texts as vectors, whoever makes them. Knows nothing of stores or of ranking.
//!
//! What is embedded has been redacted by whoever calls; an embedder sends it wherever its settings say.

mod file;
pub(crate) mod half;
mod local;
mod pieces;
pub mod remote;
mod tokens;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schema::settings::{Provider, Settings};

pub use local::{LocalModel, ModelFault};

/// A text's vector, of length 1; `None` when the model has nothing to say about the text.
pub type Vector = Option<Vec<f32>>;

/// Makes vectors of texts.
pub trait Embedder: fmt::Debug + Send {
    /// Whose vectors these are. Only vectors of the same identity can be compared.
    fn identity(&self) -> &Identity;

    /// Where the work is done, which decides how much of it is done at once.
    fn place(&self) -> WorkPlace;

    /// Vectors of texts that are to be found, in their order.
    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError>;

    /// The vector of what is asked.
    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError>;
}

/// Whether vectors are made here, in microseconds, or by a service that may be slow or away.
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
    Remote(#[from] remote::RemoteError),
    /// What the settings ask for is not there.
    #[error("{0}")]
    Unavailable(String),
}

impl<E: Embedder + Sync + ?Sized> Embedder for Arc<E> {
    fn identity(&self) -> &Identity {
        (**self).identity()
    }

    fn place(&self) -> WorkPlace {
        (**self).place()
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        (**self).embed_documents(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        (**self).embed_query(text)
    }
}

/// What search by meaning needs.
#[derive(Debug)]
pub struct Meaning {
    /// Makes the vectors of documents and questions.
    pub embedder: Box<dyn Embedder>,
    /// Knows which words mean much the same, whoever makes the vectors.
    pub words: Arc<LocalModel>,
}

impl Meaning {
    fn local(model: LocalModel) -> Self {
        let words = Arc::new(model);
        Self { embedder: Box::new(Arc::clone(&words)), words }
    }
}

/// What the settings name; `None` when search is to go by words alone.
pub fn open(settings: &Settings) -> Result<Option<Meaning>, EmbedError> {
    match settings.embedding_provider {
        Provider::None => Ok(None),
        Provider::Auto => Ok(Some(Meaning::local(LocalModel::built_in()))),
        Provider::Local => Ok(Some(Meaning::local(match &settings.embedding_model {
            Some(path) => LocalModel::open(Path::new(path))?,
            None => LocalModel::built_in(),
        }))),
        provider @ (Provider::OpenAi | Provider::Gemini) => {
            Err(EmbedError::Unavailable(format!("the embedding provider {provider} is not part of this build")))
        }
    }
}

#[cfg(test)]
mod tests;
