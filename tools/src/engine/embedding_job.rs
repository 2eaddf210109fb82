//! Remote embedding work. A job knows nothing of the store, so any thread can run it.

use schema::files::lock::FileLock;

use crate::embed::{EmbedError, EmbeddingModel, EmbeddingResult, ModelIdentity};

/// Work for another thread: prepare an embedder, or embed texts.
#[derive(Debug)]
pub struct EmbeddingJob {
    pub(super) model: EmbeddingModel,
    /// Empty if the embedder must be prepared first.
    pub(super) texts: Vec<([u8; 32], String)>,
    /// Keeps other processes from requesting the same vectors.
    pub(super) _lock: Option<FileLock>,
}

/// Results by the hashes of the texts.
#[derive(Debug)]
pub struct EmbeddedTexts {
    pub(super) identity: ModelIdentity,
    pub(super) vectors: Vec<([u8; 32], EmbeddingResult)>,
}

impl EmbeddingJob {
    /// Runs the job, which may take a minute. Records an error, and returns whether it differs from the last one.
    pub fn run(self) -> Result<EmbeddedTexts, FailedJob> {
        let outcome = self.embed_texts();
        if outcome.is_ok() {
            self.model.health.clear();
        }
        outcome.map_err(|error| FailedJob { is_new_error: self.model.health.record_error(&error), error })
    }

    fn embed_texts(&self) -> Result<EmbeddedTexts, EmbedError> {
        let embedder = &self.model.embedder;
        embedder.prepare()?;
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = if texts.is_empty() { Vec::new() } else { embedder.embed_documents(&texts)? };
        if vectors.len() != texts.len() {
            return Err(EmbedError::Unavailable(format!(
                "received {} vectors for {} texts",
                vectors.len(),
                texts.len()
            )));
        }
        let hashes = self.texts.iter().map(|(hash, _)| *hash);
        Ok(EmbeddedTexts { identity: embedder.identity().clone(), vectors: hashes.zip(vectors).collect() })
    }
}

impl EmbeddedTexts {
    /// How many texts the provider rejected.
    pub fn count_refused(&self) -> usize {
        self.vectors.iter().filter(|(_, embedded)| *embedded == EmbeddingResult::Refused).count()
    }
}

/// A failed job.
#[derive(Debug)]
pub struct FailedJob {
    pub error: EmbedError,
    /// Whether the error differs from the last one.
    pub is_new_error: bool,
}
