//! The vectors of a question, requested before the search so that other searches are not blocked.

use std::collections::HashMap;
use std::sync::Arc;

use super::{EmbedError, Embedder, EmbeddingLocation, EmbeddingModel, EmbeddingResult, ModelIdentity, Vector};

/// The vectors of a question by phrasing, or the error that prevented them.
#[derive(Debug)]
pub(crate) struct QueryVector(Result<HashMap<String, Vector>, String>);

impl EmbeddingModel {
    /// Requests the vectors of phrasings, each with its redacted and shortened text, which may take some seconds.
    pub(crate) fn request_vectors(&self, phrasings: impl Iterator<Item = (String, String)>) -> QueryVector {
        let (phrasings, texts): (Vec<String>, Vec<String>) = phrasings.unzip();
        let vectors = self.embedder.embed_queries(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let vectors = vectors.map_err(|error| self.describe_error(&error));
        QueryVector(vectors.map(|vectors| phrasings.into_iter().zip(vectors).collect()))
    }

    /// The built-in model, which replaces a service that fails.
    pub(crate) fn built_in(&self) -> Self {
        Self { embedder: Arc::clone(&self.local_model) as Arc<dyn Embedder>, ..self.clone() }
    }

    /// Returns no vector without a request, because the embedder is not ready or no vectors are stored yet.
    pub(crate) fn without_request(&self) -> QueryVector {
        match self.health.take_notice() {
            Some(error) => QueryVector(Err(error)),
            None => QueryVector(self.embedder.readiness().map(|()| HashMap::new()).map_err(|error| error.to_string())),
        }
    }

    /// The model with this question's vectors already known.
    pub(crate) fn with_query_vector(&self, asked: QueryVector) -> Self {
        let embedder = Arc::new(PrefetchedEmbedder { embedder: Arc::clone(&self.embedder), query_vectors: asked });
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

/// An embedder that already knows the vectors of a question.
#[derive(Debug)]
struct PrefetchedEmbedder {
    embedder: Arc<dyn Embedder>,
    query_vectors: QueryVector,
}

impl PrefetchedEmbedder {
    fn result(&self) -> Result<&HashMap<String, Vector>, EmbedError> {
        self.query_vectors.0.as_ref().map_err(|error| EmbedError::Unavailable(error.clone()))
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

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        Ok(self.result()?.get(text).cloned().flatten())
    }
}
