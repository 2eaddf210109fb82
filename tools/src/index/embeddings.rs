//! Vectors of documents: which wait for one, made in batches and kept by the hashes of their texts, and those in memory.
//!
//! Every batch is a step of its own: what is done stays done when the process ends in between.

mod loaded;
mod waiting;

pub use loaded::Loader;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use schema::moment::Moment;
use schema::store::Rows;

use super::{Index, IndexLock};
use crate::embed::{Embedded, Embedder, Identity, half};
use crate::error::ToolError;

/// How many documents have a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    pub documents: u64,
    pub with_vector: u64,
    /// Those that the model has nothing to say about, and those that whoever makes the vectors refuses.
    pub without: u64,
    pub refused: u64,
    pub waiting: u64,
}

/// What a batch did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Worked {
    pub embedded: usize,
    /// Whether documents still wait.
    pub is_more: bool,
}

/// What a batch still needs.
#[derive(Debug, Default)]
pub struct Gathered {
    /// What was done without anybody's help.
    pub worked: Worked,
    /// Texts without a vector, by their hashes.
    pub texts: Vec<([u8; 32], String)>,
}

impl Index {
    /// Makes the vectors of this model those that are used. When others were, every document waits for a new one.
    pub fn use_model(&mut self, identity: Option<&Identity>, _lock: &IndexLock) -> Result<(), ToolError> {
        let wanted = identity.map(|identity| self.model_id(identity)).transpose()?.unwrap_or_default();
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

    /// Whether the vectors in use are those of this model.
    pub fn uses(&self, identity: &Identity) -> Result<bool, ToolError> {
        Ok(self.current_model()? != 0 && self.known_model(identity)? == Some(self.current_model()?))
    }

    /// Gives vectors to at most `limit` of the documents that wait, the newest first. `clean` takes out what must not be told.
    pub fn embed_waiting(
        &mut self,
        rows: Rows<'_>,
        embedder: &dyn Embedder,
        clean: &dyn Fn(&str) -> String,
        limit: usize,
        _lock: &IndexLock,
    ) -> Result<Worked, ToolError> {
        let model = self.model_id(embedder.identity())?;
        let mut sorted = self.sorted(rows, model, embedder.place(), clean, limit)?;
        let texts: Vec<&str> = sorted.new.iter().map(|new| new.text.as_str()).collect();
        let made = if texts.is_empty() { Vec::new() } else { embedder.embed_documents(&texts)? };
        if made.len() != texts.len() {
            let (made, asked) = (made.len(), texts.len());
            return Err(ToolError::Unavailable(format!("{made} vectors came for {asked} texts")));
        }
        let dims = embedder.identity().dims;
        let transaction = self.db.savepoint()?;
        for (new, embedded) in sorted.new.iter().zip(&made) {
            let id = keep(&transaction, &new.hash, model, &stored(embedded, dims))?;
            sorted.known.push((new.source.clone(), id));
        }
        sorted.settle(&transaction)?;
        transaction.commit()?;
        Ok(Worked { embedded: sorted.known.len(), is_more: sorted.is_more })
    }

    /// Gives those of at most `limit` waiting documents their vectors whose texts are known already, and answers the texts of the
    /// others, for somebody who makes their vectors elsewhere and brings them to [`Index::keep_vectors`].
    pub fn gather(
        &mut self,
        rows: Rows<'_>,
        embedder: &dyn Embedder,
        clean: &dyn Fn(&str) -> String,
        limit: usize,
        _lock: &IndexLock,
    ) -> Result<Gathered, ToolError> {
        let model = self.model_id(embedder.identity())?;
        let sorted = self.sorted(rows, model, embedder.place(), clean, limit)?;
        let transaction = self.db.savepoint()?;
        sorted.settle(&transaction)?;
        transaction.commit()?;
        let worked = Worked { embedded: sorted.known.len(), is_more: sorted.is_more };
        Ok(Gathered { worked, texts: sorted.new.into_iter().map(|new| (new.hash, new.text)).collect() })
    }

    /// Keeps vectors by the hashes of their texts. The documents get them when they are gathered next: what changed meanwhile has
    /// another hash by then.
    pub fn keep_vectors(
        &mut self,
        identity: &Identity,
        made: &[([u8; 32], Embedded)],
        _lock: &IndexLock,
    ) -> Result<(), ToolError> {
        let model = self.model_id(identity)?;
        let transaction = self.db.savepoint()?;
        for (hash, embedded) in made {
            keep(&transaction, hash, model, &stored(embedded, identity.dims))?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// How many documents have a vector, and how many wait for one.
    pub fn coverage(&self) -> Result<Coverage, ToolError> {
        let count = |sql: &str| self.db.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
        let none = "SELECT count(*) FROM embedding_cache JOIN embeddings ON embeddings.embedding = embedding_cache.id
             WHERE ifnull(length(embedding_cache.embedding), 0) = 0";
        let refused =
            "SELECT count(*) FROM embedding_cache JOIN embeddings ON embeddings.embedding = embedding_cache.id
             WHERE embedding_cache.embedding = x''";
        let without = count(none)?;
        Ok(Coverage {
            documents: count("SELECT documents FROM fulltext_totals")?,
            with_vector: count("SELECT count(*) FROM embeddings")?.saturating_sub(without),
            without,
            refused: count(refused)?,
            waiting: count("SELECT count(*) FROM unembedded")?,
        })
    }

    /// Whether any document waits for a vector.
    pub fn is_anything_waiting(&self) -> Result<bool, ToolError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM unembedded)";
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn current_model(&self) -> Result<i64, ToolError> {
        Ok(self.db.prepare_cached("SELECT model FROM progress")?.query_row([], |row| row.get(0))?)
    }

    fn known_model(&self, identity: &Identity) -> Result<Option<i64>, ToolError> {
        let sql = "SELECT id FROM models WHERE provider = ?1 AND model = ?2 AND dims = ?3";
        let values = params![identity.provider, identity.model, identity.dims as i64];
        Ok(self.db.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()?)
    }

    fn model_id(&self, identity: &Identity) -> Result<i64, ToolError> {
        if let Some(id) = self.known_model(identity)? {
            return Ok(id);
        }
        let sql = "INSERT INTO models (provider, model, dims) VALUES (?1, ?2, ?3)";
        let values = params![identity.provider, identity.model, identity.dims as i64];
        Ok(self.db.prepare_cached(sql)?.insert(values)?)
    }

    fn cached(&self, hash: &[u8; 32], model: i64) -> Result<Option<i64>, ToolError> {
        let sql = "SELECT id FROM embedding_cache WHERE hash = ?1 AND model = ?2";
        Ok(self.db.prepare_cached(sql)?.query_row(params![hash, model], |row| row.get(0)).optional()?)
    }
}

/// The bytes of a vector, which may be kept when it is as long as promised and of numbers; none of a text that is refused.
fn stored(embedded: &Embedded, dims: usize) -> Option<Vec<u8>> {
    match embedded {
        Embedded::Vector(vector) if vector.len() == dims && vector.iter().all(|value| value.is_finite()) => {
            Some(vector.iter().flat_map(|value| half::write(*value).to_le_bytes()).collect())
        }
        Embedded::Vector(_) | Embedded::Nothing => None,
        Embedded::Refused => Some(Vec::new()),
    }
}

fn keep(db: &Connection, hash: &[u8; 32], model: i64, blob: &Option<Vec<u8>>) -> rusqlite::Result<i64> {
    // Two documents of one batch may say the same.
    let sql = "INSERT INTO embedding_cache (hash, model, embedding, created_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (hash, model) DO UPDATE SET embedding = excluded.embedding RETURNING id";
    db.prepare_cached(sql)?.query_row(params![hash, model, blob, Moment::now().utc()], |row| row.get(0))
}

/// Copies what was paid for and what took long. What can be read of a damaged cache is copied even if this ends in an error.
pub(super) fn carry_over(old: &Connection, new: &Connection) -> rusqlite::Result<()> {
    let mut statement = old.prepare(
        "SELECT provider, models.model, dims, hash, embedding, created_at, path FROM embedding_cache
         JOIN models ON models.id = embedding_cache.model
         WHERE (provider <> 'local' OR models.model LIKE 'bert:%') AND ifnull(embedding <> x'', TRUE)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..7).map(|column| row.get::<_, Value>(column)).collect::<rusqlite::Result<Vec<_>>>()?;
        new.prepare_cached("INSERT OR IGNORE INTO models (provider, model, dims) VALUES (?1, ?2, ?3)")?
            .execute(params_from_iter(&values[..3]))?;
        new.prepare_cached(
            "INSERT OR IGNORE INTO embedding_cache (hash, model, embedding, created_at, path)
             SELECT ?4, id, ?5, ?6, ?7 FROM models WHERE provider = ?1 AND model = ?2 AND dims = ?3",
        )?
        .execute(params_from_iter(&values))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
