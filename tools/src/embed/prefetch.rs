//! The vector of a question, requested before the search so that other searches are not blocked.

use std::sync::Arc;

use super::{EmbedError, Embedder, EmbeddingLocation, EmbeddingModel, EmbeddingResult, ModelIdentity, Vector};

/// A redacted and shortened question.
#[derive(Debug)]
pub struct EmbeddingQuery {
    model: EmbeddingModel,
    text: String,
}

/// A question's vector, or the reason why there is none.
#[derive(Debug, Clone)]
pub struct QueryVector(Result<Vector, String>);

impl EmbeddingQuery {
    pub(crate) fn new(meaning: &EmbeddingModel, text: String) -> Self {
        Self { model: meaning.clone(), text }
    }

    /// Requests the vector, which may take some seconds.
    pub fn embed(&self) -> QueryVector {
        QueryVector(self.model.embedder.embed_query(&self.text).map_err(|error| self.model.describe_error(&error)))
    }
}

impl EmbeddingModel {
    /// Returns no vector without a request, because the embedder is not ready or no vectors are stored yet.
    pub(crate) fn without_request(&self) -> QueryVector {
        match self.health.take_notice() {
            Some(told) => QueryVector(Err(told)),
            None => QueryVector(self.embedder.readiness().map(|()| None).map_err(|error| error.to_string())),
        }
    }

    /// The same search resources with this question's vector already known.
    pub(crate) fn with_query_vector(&self, asked: QueryVector) -> Self {
        let embedder = Arc::new(PrefetchedEmbedder { embedder: Arc::clone(&self.embedder), query_vector: asked.0 });
        Self { embedder, ..self.clone() }
    }

    fn describe_error(&self, error: &EmbedError) -> String {
        // A refused question is no lasting error.
        if matches!(error, EmbedError::Refused(_)) {
            return error.to_string();
        }
        self.health.record_error(error);
        self.health.take_notice().unwrap_or_else(|| error.to_string())
    }
}

/// An embedder that already knows one vector.
#[derive(Debug)]
struct PrefetchedEmbedder {
    embedder: Arc<dyn Embedder>,
    query_vector: Result<Vector, String>,
}

impl PrefetchedEmbedder {
    fn result(&self) -> Result<&Vector, EmbedError> {
        self.query_vector.as_ref().map_err(|told| EmbedError::Unavailable(told.clone()))
    }
}

impl Embedder for PrefetchedEmbedder {
    fn identity(&self) -> &ModelIdentity {
        self.embedder.identity()
    }

    fn location(&self) -> EmbeddingLocation {
        self.embedder.location()
    }

    fn readiness(&self) -> Result<(), EmbedError> {
        self.result().map(drop)
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<EmbeddingResult>, EmbedError> {
        self.embedder.embed_documents(texts)
    }

    fn embed_query(&self, _text: &str) -> Result<Vector, EmbedError> {
        self.result().cloned()
    }
}
