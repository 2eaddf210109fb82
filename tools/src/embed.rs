//! Embeddings: turns texts into vectors, locally or through a provider. Knows nothing of stores or ranking.
//!
//! Callers redact the text first, because an embedder sends it wherever the settings say.

mod choose_model;
mod embedder;
pub(crate) mod half_float;
mod health;
mod lazy;
mod local;
mod model_file;
mod piece_table;
mod prefetch;
pub mod remote;
mod segments;

use std::sync::Arc;

pub use choose_model::open_model;
pub use embedder::{EmbedError, Embedder, EmbeddingLocation, EmbeddingResult, ModelIdentity, Vector};
pub use health::EmbeddingHealth;
pub use local::LocalModel;
pub use model_file::ModelFileError;
pub(crate) use prefetch::QueryVector;

/// Resources of semantic search.
#[derive(Debug, Clone)]
pub struct EmbeddingModel {
    pub embedder: Arc<dyn Embedder>,
    /// The built-in model, which replaces a service that fails.
    pub local_model: Arc<LocalModel>,
    /// The embedder's current error.
    pub health: Arc<EmbeddingHealth>,
}

#[cfg(test)]
mod tests;
