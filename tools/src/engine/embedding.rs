//! Embeds documents in small steps, so that the caller can do other work between them.

use std::time::Duration;

use schema::files::lock::{FileLock, LockError};
use schema::model::error_chain::join_causes;
use schema::tool::{EmbeddingStats, SearchInput, StatsOutput};

use super::Engine;
use crate::control::Control;
use crate::embed::{
    EmbedError, EmbeddingLocation, EmbeddingModel, EmbeddingResult, ModelIdentity, QueryVector, Vector,
};
use crate::error::ToolError;
use crate::index::{BatchOutcome, EmbeddingBatch, EmbeddingCoverage, IndexLockWait};
use crate::search::query::{Query, truncated_query};

/// Documents per batch: a few milliseconds locally, one request remotely.
const BATCH_HERE: usize = 256;
const BATCH_ELSEWHERE: usize = 64;

/// Characters of a question that are embedded. Longer text was pasted, and its start says what it is about.
const QUESTION: usize = 2_000;

/// The text that checks whether the embedder works.
const PROBE: &str = "memory";
const NO_VECTOR: &str = "the response has no vector";

#[derive(Debug)]
pub enum EmbeddingStep {
    /// Nothing waits, or nothing can be done now.
    Done,
    More,
    /// Run this on another thread and pass its result back.
    Job(EmbeddingJob),
    /// Another process embeds; try again later.
    LockedElsewhere,
}

impl Engine {
    /// Does one step of embedding: a local batch, or the preparation of a remote one. Does nothing while another process
    /// indexes.
    pub fn embedding_step(&mut self) -> Result<EmbeddingStep, ToolError> {
        self.with_repair(|engine| match engine.embedding_location() {
            None => Ok(EmbeddingStep::Done),
            Some(EmbeddingLocation::InProcess) => {
                Ok(if engine.embed_batch()?.has_more { EmbeddingStep::More } else { EmbeddingStep::Done })
            }
            Some(EmbeddingLocation::Remote) => engine.next_job(),
        })
    }

    /// Does one step of index maintenance, which takes some milliseconds, and returns whether there is more. Does nothing
    /// while another process indexes.
    pub fn merge_step(&mut self) -> Result<bool, ToolError> {
        self.with_repair(Self::merge_once)
    }

    /// Repeats the step until nothing is left or it is stopped.
    pub(super) fn merge_segments(&mut self, control: &Control<'_>) -> Result<(), ToolError> {
        while !control.is_cancelled() && self.merge_once()? {}
        Ok(())
    }

    fn merge_once(&mut self) -> Result<bool, ToolError> {
        if !self.is_writable() {
            return Ok(false);
        }
        let Some(lock) = self.index.lock(IndexLockWait::Short)? else { return Ok(false) };
        self.index.merge_step(&lock)
    }

    /// Stores the vectors that a job made. `false` means that another process indexes: try again.
    pub fn store_vectors(&mut self, made: &EmbeddedTexts) -> Result<bool, ToolError> {
        self.with_repair(|engine| {
            let Some(lock) = engine.index.lock(IndexLockWait::Short)? else { return Ok(false) };
            engine.index.store_vectors(&made.identity, &made.vectors, &lock)?;
            Ok(true)
        })
    }

    /// Embeds one batch, locally or remotely, and returns whether more documents wait. Blocks the caller.
    pub fn embed_batch_anywhere(&mut self) -> Result<BatchOutcome, ToolError> {
        if self.embedding_location() != Some(EmbeddingLocation::Remote) {
            return self.with_repair(Self::embed_batch);
        }
        match self.embedding_step()? {
            EmbeddingStep::Done | EmbeddingStep::LockedElsewhere => Ok(BatchOutcome::default()),
            EmbeddingStep::More => Ok(BatchOutcome { embedded: 0, has_more: true }),
            EmbeddingStep::Job(job) => {
                let made = job.run().map_err(|failed| failed.error)?;
                while !self.store_vectors(&made)? {}
                Ok(BatchOutcome { embedded: made.vectors.len(), has_more: true })
            }
        }
    }

    /// Embeds all waiting documents if the embedder is local, until it is stopped, and returns their number. Idle steps do the rest. The
    /// progress counts after these `files`.
    pub(super) fn embed_locally(&mut self, files: usize, control: &mut Control<'_>) -> Result<usize, ToolError> {
        let (mut embedded, mut waiting) = (0, None);
        let mut is_more = self.embedding_location() == Some(EmbeddingLocation::InProcess);
        while is_more && !control.is_cancelled() {
            let worked = self.embed_batch()?;
            embedded += worked.embedded;
            is_more = worked.has_more;
            // Counted after the first batch, because the model may be unknown before.
            let total = match waiting {
                Some(total) => total,
                None => {
                    let left = usize::try_from(self.index.coverage()?.pending).unwrap_or(usize::MAX);
                    *waiting.insert(embedded.saturating_add(left))
                }
            };
            // Another process may embed or capture meanwhile, so the count is capped.
            control.report(files + embedded.min(total), files + total, "vectors");
        }
        Ok(embedded)
    }

    /// Makes the embedder ready, which may take long. The next search reports an error.
    pub fn prepare_embedder(&self) {
        if let Some(model) = &self.model
            && let Err(error) = model.embedder.prepare()
        {
            model.health.record_error(&error);
        }
    }

    /// Tests a remote embedder with one word. `None` if the embedder is local or off.
    pub fn probe_embedder(&self) -> Option<Result<(), String>> {
        let model = self.remote_model()?;
        let made = model.embedder.prepare().and_then(|()| model.embedder.embed_query(PROBE));
        let is_comparable = |vector: &Vector| vector.is_some().then_some(()).ok_or_else(|| NO_VECTOR.to_owned());
        Some(made.map_err(|error| join_causes(&error)).and_then(|vector| is_comparable(&vector)))
    }

    /// Requests the vectors of a question before a search, so that other searches are not blocked; `None` if no request is needed.
    pub(super) fn query_vector(&self, input: &SearchInput) -> Result<Option<QueryVector>, ToolError> {
        let Some(model) = self.remote_model() else { return Ok(None) };
        let is_comparable =
            model.embedder.readiness().is_ok() && self.index.is_current_model(model.embedder.identity())?;
        if !is_comparable || Query::parse_literal(&input.query).is_empty() {
            return Ok(None);
        }
        let phrasings = std::iter::once(&input.query).chain(&input.also).map(|text| truncated_query(text));
        let phrasings = phrasings.map(|text| {
            let beginning: String = text.chars().take(QUESTION).collect();
            (text.to_owned(), self.loaded.sanitizer.clean(&beginning).text.into_owned())
        });
        Ok(Some(model.request_vectors(phrasings)))
    }

    fn remote_model(&self) -> Option<&EmbeddingModel> {
        self.model.as_ref().filter(|model| model.embedder.location() == EmbeddingLocation::Remote)
    }

    fn embedding_location(&self) -> Option<EmbeddingLocation> {
        self.model.as_ref().map(|model| model.embedder.location())
    }

    fn embed_batch(&mut self) -> Result<BatchOutcome, ToolError> {
        let Some(model) = self.model.as_ref().filter(|_| self.is_writable()) else {
            return Ok(BatchOutcome::default());
        };
        // Another process indexes. No event announces its end, so the caller polls.
        let Some(lock) = self.index.lock(IndexLockWait::Brief)? else {
            return Ok(BatchOutcome { embedded: 0, has_more: true });
        };
        self.index.index_memories(self.store.rows(), &lock, &mut Control::default())?;
        self.index.use_model(model.embedder.identity(), &lock)?;
        self.index.embed_pending(self.store.rows(), &*model.embedder, BATCH_HERE, &lock)
    }

    fn next_job(&mut self) -> Result<EmbeddingStep, ToolError> {
        let Some(model) = self.model.clone().filter(|_| self.is_writable()) else {
            return Ok(EmbeddingStep::Done);
        };
        if model.embedder.readiness().is_err() {
            return Ok(EmbeddingStep::Job(EmbeddingJob { model, texts: Vec::new(), _lock: None }));
        }
        let own = match FileLock::acquire(&self.store.layout().embedding_lock(), Duration::ZERO) {
            Ok(own) => own,
            Err(LockError::Busy(_)) => {
                let waits =
                    !self.index.is_current_model(model.embedder.identity())? || self.index.has_pending_vectors()?;
                return Ok(if waits { EmbeddingStep::LockedElsewhere } else { EmbeddingStep::Done });
            }
            Err(error) => return Err(ToolError::Unavailable(join_causes(&error))),
        };
        let Some(EmbeddingBatch { outcome: worked, texts }) = self.gather_texts(&model)? else {
            return Ok(EmbeddingStep::Done);
        };
        Ok(match texts.is_empty() {
            false => EmbeddingStep::Job(EmbeddingJob { model, texts, _lock: Some(own) }),
            true if worked.has_more => EmbeddingStep::More,
            true => EmbeddingStep::Done,
        })
    }

    /// Waiting texts that are not cached, redacted, because they leave this process.
    fn gather_texts(&mut self, model: &EmbeddingModel) -> Result<Option<EmbeddingBatch>, ToolError> {
        let Some(lock) = self.index.lock(IndexLockWait::Short)? else { return Ok(None) };
        self.index.index_memories(self.store.rows(), &lock, &mut Control::default())?;
        self.index.use_model(model.embedder.identity(), &lock)?;
        let clean = |text: &str| self.loaded.sanitizer.clean(text).text.into_owned();
        self.index.gather_batch(self.store.rows(), &*model.embedder, &clean, BATCH_ELSEWHERE, &lock).map(Some)
    }

    pub(super) fn add_embedding_stats(&self, output: &mut StatsOutput) -> Result<(), ToolError> {
        let Some(model) = &self.model else { return Ok(()) };
        output.problems.extend(model.health.message().map(|message| format!("embedding: {message}")));
        let identity = model.embedder.identity();
        let found = self.index.coverage()?;
        // Vectors of another model are useless.
        let EmbeddingCoverage { documents, with_vector, without, refused, pending } =
            match self.index.is_current_model(identity)? {
                true => found,
                false => EmbeddingCoverage {
                    documents: found.documents,
                    pending: found.documents,
                    ..EmbeddingCoverage::default()
                },
            };
        output.problems.extend((refused > 0).then(|| {
            let (provider, s) = (&identity.provider, if refused == 1 { "" } else { "s" });
            format!("embedding: {provider} rejects {refused} passage{s}, found by words only; memory_reindex with full retries")
        }));
        let share = with_vector as f64 / documents.max(1) as f64;
        output.embedding = EmbeddingStats {
            provider: identity.provider.clone(),
            model: Some(identity.model.clone()),
            coverage: (share * 1000.0).round() / 1000.0,
            pending,
            without,
        };
        Ok(())
    }
}

/// Remote work: prepare an embedder, or embed texts. It knows nothing of the store, so any thread can run it.
#[derive(Debug)]
pub struct EmbeddingJob {
    model: EmbeddingModel,
    /// Empty if the embedder must be prepared first.
    texts: Vec<([u8; 32], String)>,
    /// Keeps other processes from requesting the same vectors.
    _lock: Option<FileLock>,
}

/// Results by the hashes of the texts.
#[derive(Debug)]
pub struct EmbeddedTexts {
    identity: ModelIdentity,
    vectors: Vec<([u8; 32], EmbeddingResult)>,
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
