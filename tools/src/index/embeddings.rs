//! Vectors of documents: queued, made in batches, cached by text hash, and loaded into memory.
//!
//! Each batch is committed on its own, so a crash loses no finished work.

mod load;
mod pending;

pub use load::VectorLoader;

use rusqlite::{Connection, OptionalExtension, params};
use schema::model::moment::Moment;
use schema::store::Rows;

use super::{Index, IndexLock};
use crate::embed::{Embedder, EmbeddingResult, ModelIdentity, half_float};
use crate::error::ToolError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EmbeddingCoverage {
    pub documents: u64,
    pub with_vector: u64,
    /// Documents unknown to the model, and documents that the provider rejects.
    pub without: u64,
    pub refused: u64,
    pub pending: u64,
}

/// Result of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchOutcome {
    pub embedded: usize,
    pub has_more: bool,
}

/// Texts that a batch still needs.
#[derive(Debug, Default)]
pub struct EmbeddingBatch {
    /// Documents that needed no new vector.
    pub outcome: BatchOutcome,
    /// Texts without a vector, by hash.
    pub texts: Vec<([u8; 32], String)>,
}

impl Index {
    /// Makes this model the current one. If it changes, all documents are queued again.
    pub fn use_model(&mut self, identity: &ModelIdentity, _lock: &IndexLock) -> Result<(), ToolError> {
        let wanted = self.model_id(identity)?;
        if self.current_model()? == wanted {
            return Ok(());
        }
        let transaction = self.db.savepoint()?;
        transaction.execute_batch(
            "DELETE FROM embeddings; DELETE FROM vector_blocks; DELETE FROM unvectored; INSERT INTO unvectored (document) VALUES (NULL);
             INSERT OR IGNORE INTO unembedded SELECT document FROM fulltext_documents;",
        )?;
        transaction.execute("UPDATE progress SET model = ?1", [wanted])?;
        transaction.commit()?;
        Ok(())
    }

    /// Whether this model is current.
    pub fn is_current_model(&self, identity: &ModelIdentity) -> Result<bool, ToolError> {
        Ok(self.find_model(identity)? == Some(self.current_model()?))
    }

    /// Embeds at most `limit` queued documents, newest first.
    pub fn embed_pending(
        &mut self,
        rows: Rows<'_>,
        embedder: &dyn Embedder,
        limit: usize,
        _lock: &IndexLock,
    ) -> Result<BatchOutcome, ToolError> {
        let model = self.model_id(embedder.identity())?;
        let mut sorted = self.classify_pending(rows, model, embedder.location(), &str::to_owned, limit)?;
        let texts: Vec<&str> = sorted.new.iter().map(|new| new.text.as_str()).collect();
        let made = if texts.is_empty() { Vec::new() } else { embedder.embed_documents(&texts)? };
        if made.len() != texts.len() {
            let (made, asked) = (made.len(), texts.len());
            return Err(ToolError::Unavailable(format!("received {made} vectors for {asked} texts")));
        }
        let dims = embedder.identity().dims;
        let transaction = self.db.savepoint()?;
        for (new, embedded) in sorted.new.iter().zip(&made) {
            let id = store_vector(&transaction, &new.hash, model, vector_blob(embedded, dims).as_deref())?;
            sorted.known.push((new.source.clone(), id));
        }
        sorted.assign_known(&transaction)?;
        transaction.commit()?;
        Ok(BatchOutcome { embedded: sorted.known.len(), has_more: sorted.has_more })
    }

    /// Assigns cached vectors to at most `limit` queued documents, and returns the texts of the others for a remote
    /// embedder, redacted by `clean`. The caller passes its vectors to [`Index::store_vectors`].
    pub fn gather_batch(
        &mut self,
        rows: Rows<'_>,
        embedder: &dyn Embedder,
        clean: &dyn Fn(&str) -> String,
        limit: usize,
        _lock: &IndexLock,
    ) -> Result<EmbeddingBatch, ToolError> {
        let model = self.model_id(embedder.identity())?;
        let sorted = self.classify_pending(rows, model, embedder.location(), clean, limit)?;
        let transaction = self.db.savepoint()?;
        sorted.assign_known(&transaction)?;
        transaction.commit()?;
        let worked = BatchOutcome { embedded: sorted.known.len(), has_more: sorted.has_more };
        Ok(EmbeddingBatch { outcome: worked, texts: sorted.new.into_iter().map(|new| (new.hash, new.text)).collect() })
    }

    /// Caches vectors by text hash. The next [`Index::gather_batch`] assigns them; a text that changed meanwhile has another hash.
    pub fn store_vectors(
        &mut self,
        identity: &ModelIdentity,
        made: &[([u8; 32], EmbeddingResult)],
        _lock: &IndexLock,
    ) -> Result<(), ToolError> {
        let model = self.model_id(identity)?;
        let transaction = self.db.savepoint()?;
        for (hash, embedded) in made {
            store_vector(&transaction, hash, model, vector_blob(embedded, identity.dims).as_deref())?;
        }
        transaction.commit()?;
        Ok(())
    }

    pub fn coverage(&self) -> Result<EmbeddingCoverage, ToolError> {
        let count = |sql: &str| self.db.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
        let cached =
            "SELECT count(*) FROM embedding_cache JOIN embeddings ON embeddings.embedding = embedding_cache.id";
        let without = count(&format!("{cached} WHERE ifnull(length(embedding_cache.embedding), 0) = 0"))?;
        Ok(EmbeddingCoverage {
            documents: count("SELECT documents FROM fulltext_totals")?,
            with_vector: count("SELECT count(*) FROM embeddings")?.saturating_sub(without),
            without,
            refused: count(&format!("{cached} WHERE embedding_cache.embedding = x''"))?,
            pending: count("SELECT count(*) FROM unembedded")?,
        })
    }

    pub fn has_pending_vectors(&self) -> Result<bool, ToolError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM unembedded)";
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn current_model(&self) -> Result<i64, ToolError> {
        Ok(self.db.prepare_cached("SELECT model FROM progress")?.query_row([], |row| row.get(0))?)
    }

    fn find_model(&self, identity: &ModelIdentity) -> Result<Option<i64>, ToolError> {
        let sql = "SELECT id FROM models WHERE provider = ?1 AND model = ?2 AND dims = ?3";
        let values = params![identity.provider, identity.model, identity.dims as i64];
        Ok(self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?)
    }

    fn model_id(&self, identity: &ModelIdentity) -> Result<i64, ToolError> {
        if let Some(id) = self.find_model(identity)? {
            return Ok(id);
        }
        let sql = "INSERT INTO models (provider, model, dims) VALUES (?1, ?2, ?3)";
        let values = params![identity.provider, identity.model, identity.dims as i64];
        Ok(self.db.prepare_cached(sql)?.insert(values)?)
    }

    fn find_cached(&self, hash: &[u8; 32], model: i64) -> Result<Option<i64>, ToolError> {
        let sql = "SELECT id FROM embedding_cache WHERE hash = ?1 AND model = ?2";
        Ok(self.db.prepare_cached(sql)?.query_row(params![hash, model], |row| row.get(0)).optional()?)
    }
}

/// The bytes of a valid vector with the right length; `None` for a rejected text.
fn vector_blob(embedded: &EmbeddingResult, dims: usize) -> Option<Vec<u8>> {
    match embedded {
        EmbeddingResult::Vector(vector) if vector.len() == dims && vector.iter().all(|value| value.is_finite()) => {
            Some(vector.iter().flat_map(|value| half_float::to_bits(*value).to_le_bytes()).collect())
        }
        EmbeddingResult::Vector(_) | EmbeddingResult::Nothing => None,
        EmbeddingResult::Refused => Some(Vec::new()),
    }
}

fn store_vector(db: &Connection, hash: &[u8; 32], model: i64, blob: Option<&[u8]>) -> rusqlite::Result<i64> {
    // Two documents of a batch may have the same text.
    let sql = "INSERT INTO embedding_cache (hash, model, embedding, created_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (hash, model) DO UPDATE SET embedding = excluded.embedding RETURNING id";
    db.prepare_cached(sql)?.query_one(params![hash, model, blob, Moment::now().utc()], |row| row.get(0))
}

#[cfg(test)]
mod tests;
