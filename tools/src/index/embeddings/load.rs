//! Loads a model's vectors into memory and keeps them up to date. While a service fails, those of the built-in model are made there.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};
use schema::files::database::{self, LockTimeout};
use schema::store::Rows;

use super::super::vector_cache::CachedVectors;
use super::super::vectors::VectorWatermark;
use super::super::{Index, VectorCache, Vectors, vector_blocks};
use crate::embed::{Embedder as _, EmbeddingLocation, EmbeddingResult, LocalModel, ModelIdentity, half_float};
use crate::error::ToolError;
use crate::text::script::Script;

/// Number of blocks from which a search by words does not wait for vectors.
const LARGE_FROM_BLOCKS: i64 = 4;

/// Bytes of the index mapped into memory while loading: SQLite's maximum.
const MAPPED: i64 = 0x7fff_0000;

/// Newest documents that get a vector of the built-in model. Making them takes about a second, once.
const MAX_LOCAL_VECTORS: usize = 20_000;

/// Documents whose texts are read at once.
const READ_AT_ONCE: usize = 256;

impl Index {
    /// The current vectors of a model; `None` if another model is in use.
    pub fn vectors(&mut self, identity: &ModelIdentity) -> Result<Option<Arc<Vectors>>, ToolError> {
        if !self.is_current_model(identity)? {
            self.vectors = None;
            return Ok(None);
        }
        let model = self.current_model()?;
        let known = self.vectors.take().and_then(Arc::into_inner).filter(|vectors| vectors.watermark.model == model);
        let vectors = update_vectors(&self.db, known, identity.dims, model)?;
        Ok(Some(Arc::clone(self.vectors.insert(Arc::new(vectors)))))
    }

    /// The current vectors of a model, shared by all indexes with the same cache.
    pub fn shared_vectors(&mut self, identity: &ModelIdentity) -> Result<Option<Arc<Vectors>>, ToolError> {
        if !self.is_shared {
            return self.vectors(identity);
        }
        let cache = self.vector_cache.clone();
        let mut cached = cache.lock();
        if cached.file != self.db.identity() {
            if !self.is_current() {
                // This search uses an index that was replaced, so nobody else needs its vectors.
                drop(cached);
                return self.vectors(identity);
            }
            *cached = CachedVectors { file: self.db.identity(), vectors: None };
        }
        self.vectors = match cached.vectors.take() {
            // Vectors in use by another search must not change.
            Some(vectors) if Arc::strong_count(&vectors) > 1 => {
                if self.is_current_model(identity)? && self.is_up_to_date(&vectors)? {
                    cached.vectors = Some(Arc::clone(&vectors));
                    return Ok(Some(vectors));
                }
                Some(Arc::new(Vectors::clone(&vectors)))
            }
            taken => taken,
        };
        let outcome = self.vectors(identity);
        cached.vectors = self.vectors.take();
        outcome
    }

    /// Vectors of the newest documents by the built-in model. Later calls add new documents.
    pub fn local_vectors(&mut self, rows: Rows<'_>, model: &LocalModel) -> Result<Arc<Vectors>, ToolError> {
        let known = self.local_vectors.take().and_then(Arc::into_inner);
        let mut vectors = known.unwrap_or_else(|| Vectors::empty(model.identity().dims));
        let missing: Vec<i64> = self.newest_documents()?.into_iter().filter(|id| vectors.row(*id).is_none()).collect();
        for batch in missing.chunks(READ_AT_ONCE) {
            let mut texts = Vec::with_capacity(batch.len());
            for document in batch {
                let text = self.text_to_embed(rows, *document, EmbeddingLocation::InProcess)?;
                texts.extend(text.map(|(text, _)| (*document, text)));
            }
            let embedded = model.embed_documents(&texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>());
            let embedded = embedded.map_err(|error| ToolError::Unavailable(error.to_string()))?;
            for ((document, text), made) in texts.iter().zip(embedded) {
                if let EmbeddingResult::Vector(vector) = made {
                    vectors.set(*document, &vector, Script::detect(text));
                }
            }
        }
        Ok(Arc::clone(self.local_vectors.insert(Arc::new(vectors))))
    }

    fn newest_documents(&self) -> Result<Vec<i64>, ToolError> {
        let sql = "SELECT document FROM fulltext_documents ORDER BY number DESC LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([MAX_LOCAL_VECTORS as i64], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    fn is_up_to_date(&self, vectors: &Vectors) -> Result<bool, ToolError> {
        let sql = "SELECT model, (SELECT coalesce(max(seq), 0) FROM embeddings),
             (SELECT coalesce(max(n), 0) FROM unvectored) FROM progress";
        let mark = vectors.watermark;
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| {
            let (model, seq, removed): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(model == mark.model && seq <= mark.last_seq && removed <= mark.last_removed)
        })?)
    }

    /// A loader to run while a search by words proceeds; `None` if the vectors are in memory or few.
    pub fn loader(&self, identity: &ModelIdentity) -> Result<Option<VectorLoader>, ToolError> {
        let is_to_be_read = self.is_shared && self.is_current() && !self.vector_cache.is_for_file(self.db.identity());
        if !is_to_be_read
            || !self.is_current_model(identity)?
            || vector_blocks::count_blocks(&self.db)? < LARGE_FROM_BLOCKS
        {
            return Ok(None);
        }
        let (path, cache, file) = (self.layout.index_db(), self.vector_cache.clone(), self.db.identity());
        Ok(Some(VectorLoader { path, file, vector_cache: cache, dims: identity.dims, model: self.current_model()? }))
    }

    /// Writes a block if enough vectors have none, and returns whether it did.
    pub(in crate::index) fn fill_block(&self) -> Result<bool, ToolError> {
        let model = self.current_model()?;
        let sql = "SELECT dims FROM models WHERE id = ?1";
        let dims: Option<i64> = self.db.prepare_cached(sql)?.query_row([model], |row| row.get(0)).optional()?;
        let Some(dims) = dims.and_then(|dims| usize::try_from(dims).ok()) else { return Ok(false) };
        let last_seq = vector_blocks::last_blocked(&self.db)?;
        let sql = "SELECT count(*) FROM (SELECT 1 FROM embeddings WHERE seq > ?1 LIMIT ?2)";
        let count: i64 =
            self.db.prepare_cached(sql)?.query_row([last_seq, vector_blocks::BLOCK as i64], |row| row.get(0))?;
        if count < vector_blocks::BLOCK as i64 {
            return Ok(false);
        }
        let mut vectors =
            Vectors::new(dims, VectorWatermark { model, last_seq, last_removed: last_removed(&self.db)? });
        append_new(&self.db, &mut vectors, dims, vector_blocks::BLOCK)?;
        vector_blocks::store_block(&self.db, &vectors)?;
        Ok(true)
    }

    /// Cosine of a document's stored vector and another of length 1; `None` without a valid one.
    pub fn cosine_with(&self, document: i64, vector: &[f32]) -> Result<Option<f32>, ToolError> {
        let sql = "SELECT embedding_cache.embedding FROM embeddings
             JOIN embedding_cache ON embedding_cache.id = embeddings.embedding WHERE document = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([document])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let blob = row.get_ref(0)?.as_blob_or_null().ok().flatten().filter(|blob| blob.len() == vector.len() * 2);
        Ok(blob.map(|blob| half_float::decode(blob).zip(vector).map(|(own, asked)| own * asked).sum()))
    }
}

/// Loads an index's vectors over its own connection, so that its owner can search meanwhile.
#[derive(Debug)]
pub struct VectorLoader {
    path: PathBuf,
    /// Identity of the database file.
    file: database::DatabaseIdentity,
    vector_cache: VectorCache,
    dims: usize,
    model: i64,
}

impl VectorLoader {
    /// Loads the vectors and puts them into the shared cache.
    pub fn load(&self) -> Result<Arc<Vectors>, ToolError> {
        let unavailable = |cause: String| ToolError::Unavailable(format!("cannot read the vectors: {cause}"));
        self.vector_cache.of_file(self.file, || {
            let opened = database::open(&self.path, LockTimeout::Server);
            let db = opened.map_err(|error| unavailable(crate::error::join_causes(&error)))?;
            // Memory mapping avoids one system call per page.
            db.pragma_update(None, "mmap_size", MAPPED)?;
            let _snapshot = db.unchecked_transaction()?;
            let model: i64 = db.query_row("SELECT model FROM progress", [], |row| row.get(0))?;
            if model != self.model || self.file != db.identity() {
                return Err(unavailable("the index is being rebuilt".to_owned()));
            }
            update_vectors(&db, None, self.dims, model)
        })
    }
}

/// Vectors as they are in the tables, from those that are known on.
fn update_vectors(db: &Connection, known: Option<Vectors>, dims: usize, model: i64) -> Result<Vectors, ToolError> {
    // Starts with blocks if nothing is in memory, then reads newer vectors one by one.
    let known = known.map_or_else(|| vector_blocks::load_blocks(db, dims, model), |known| Ok(Some(known)))?;
    let known = known.map(|vectors| vector_blocks::drop_removed(db, vectors, i64::MAX)).transpose()?.flatten();
    let mut vectors = match known {
        Some(vectors) => vectors,
        None => Vectors::new(dims, VectorWatermark { model, last_seq: 0, last_removed: last_removed(db)? }),
    };
    append_new(db, &mut vectors, dims, usize::MAX)?;
    Ok(vectors)
}

fn append_new(db: &Connection, vectors: &mut Vectors, dims: usize, limit: usize) -> Result<(), ToolError> {
    let sql = "SELECT embeddings.seq, document, embedding_cache.embedding, script FROM embeddings
         JOIN embedding_cache ON embedding_cache.id = embeddings.embedding WHERE embeddings.seq > ?1
         ORDER BY embeddings.seq LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([vectors.watermark.last_seq, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    let mut vector = Vec::with_capacity(dims);
    while let Some(row) = rows.next()? {
        vectors.watermark.last_seq = row.get(0)?;
        let document: i64 = row.get(1)?;
        vector.clear();
        if let Ok(Some(blob)) = row.get_ref(2)?.as_blob_or_null() {
            vector.extend(half_float::decode(blob));
        }
        // The model has no vector for some texts. A damaged vector counts as missing until the index is rebuilt.
        if vector.len() != dims || !vector.iter().all(|value| value.is_finite()) {
            vectors.remove(document);
            continue;
        }
        let script = row.get::<_, u8>(3)?;
        vectors.set(document, &vector, Script::ALL.get(usize::from(script)).copied().unwrap_or_default());
    }
    Ok(())
}

fn last_removed(db: &Connection) -> Result<i64, ToolError> {
    Ok(db.query_row("SELECT coalesce(max(n), 0) FROM unvectored", [], |row| row.get(0))?)
}
