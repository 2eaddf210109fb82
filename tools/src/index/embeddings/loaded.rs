//! The vectors of a model as they are held in memory, brought up to date from the database.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};
use schema::database::{self, Patience};

use super::super::vectors::Mark;
use super::super::{Index, IndexLock, Shelf, Vectors, blocks};
use crate::embed::{Identity, half};
use crate::error::ToolError;
use crate::text::script::Script;

/// Blocks of vectors from which on a search by words does not wait for them to be read.
const MANY: i64 = 4;

/// Bytes of an index that are mapped into memory while its vectors are read: as many as SQLite maps at most.
const MAPPED: i64 = 0x7fff_0000;

impl Index {
    /// The vectors of a model, up to date; `None` when those in use are of another.
    pub fn vectors(&mut self, identity: &Identity) -> Result<Option<Arc<Vectors>>, ToolError> {
        if !self.uses(identity)? {
            self.vectors = None;
            return Ok(None);
        }
        let model = self.current_model()?;
        let known = self.vectors.take().and_then(Arc::into_inner).filter(|vectors| vectors.mark.model == model);
        let vectors = up_to_date(&self.db, known, identity.dims, model)?;
        Ok(Some(Arc::clone(self.vectors.insert(Arc::new(vectors)))))
    }

    /// What reads the vectors of a model while somebody searches by words; `None` when they are in memory, or so few that nobody
    /// has to wait for them.
    pub fn loader(&self, identity: &Identity) -> Result<Option<Loader>, ToolError> {
        let is_to_be_read = self.is_shared() && self.is_current() && !self.shelf.holds(self.db.identity());
        if !is_to_be_read || !self.uses(identity)? || blocks::count(&self.db)? < MANY {
            return Ok(None);
        }
        let (path, shelf, file) = (self.layout.index_db(), self.shelf.clone(), self.db.identity());
        Ok(Some(Loader { path, file, shelf, dims: identity.dims, model: self.current_model()? }))
    }

    /// Puts vectors that no block has into one, when they fill it; whether there was one to fill.
    pub(in crate::index) fn fill_block(&self) -> Result<bool, ToolError> {
        let model = self.current_model()?;
        let sql = "SELECT dims FROM models WHERE id = ?1";
        let dims: Option<i64> = self.db.prepare_cached(sql)?.query_row([model], |row| row.get(0)).optional()?;
        let Some(dims) = dims.and_then(|dims| usize::try_from(dims).ok()) else { return Ok(false) };
        let last_seq = blocks::reach(&self.db)?;
        let sql = "SELECT count(*) FROM (SELECT 1 FROM embeddings WHERE seq > ?1 LIMIT ?2)";
        let count: i64 = self.db.prepare_cached(sql)?.query_row([last_seq, blocks::BLOCK as i64], |row| row.get(0))?;
        if count < blocks::BLOCK as i64 {
            return Ok(false);
        }
        let mut vectors = Vectors::new(dims, Mark { model, last_seq, last_removed: last_removed(&self.db)? });
        add_new(&self.db, &mut vectors, dims, blocks::BLOCK)?;
        // What cannot be used is made again, and has another number then.
        if !vectors.spoiled.is_empty() {
            return Ok(false);
        }
        blocks::keep(&self.db, &vectors)?;
        Ok(true)
    }

    /// The cosine of a document's full vector with another of length 1; `None` without one of that length.
    pub fn cosine_with(&self, document: i64, vector: &[f32]) -> Result<Option<f32>, ToolError> {
        let sql = "SELECT embedding_cache.embedding FROM embeddings
             JOIN embedding_cache ON embedding_cache.id = embeddings.embedding WHERE document = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let mut rows = statement.query([document])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let blob = row.get_ref(0)?.as_blob_or_null().ok().flatten().filter(|blob| blob.len() == vector.len() * 2);
        Ok(blob.map(|blob| {
            let halves = blob.chunks_exact(2).map(|pair| half::read(u16::from_le_bytes([pair[0], pair[1]])));
            halves.zip(vector).map(|(own, asked)| own * asked).sum()
        }))
    }

    /// Makes those documents wait again whose vectors turned out to be none when they were read.
    pub fn renew_spoiled(&mut self, _lock: &IndexLock) -> Result<(), ToolError> {
        let Some(spoiled) = self.vectors.as_ref().map(|vectors| &vectors.spoiled).filter(|spoiled| !spoiled.is_empty())
        else {
            return Ok(());
        };
        let transaction = self.db.unchecked_transaction()?;
        for document in spoiled {
            let sql = "DELETE FROM embeddings WHERE document = ?1 RETURNING embedding";
            let id: Option<i64> =
                transaction.prepare_cached(sql)?.query_row([document], |row| row.get(0)).optional()?;
            // Others may have the same text; each of them is spoiled as well.
            let sql = "DELETE FROM embedding_cache
                 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM embeddings WHERE embedding = ?1)";
            transaction.prepare_cached(sql)?.execute([id])?;
            let sql = "INSERT OR IGNORE INTO unembedded SELECT document FROM fulltext_documents WHERE document = ?1";
            transaction.prepare_cached(sql)?.execute([document])?;
        }
        transaction.commit()?;
        self.vectors = None;
        Ok(())
    }
}

/// Reads the vectors of an index for the first time, by a connection of its own, so that its owner can search in it meanwhile.
#[derive(Debug)]
pub struct Loader {
    path: PathBuf,
    /// Which database the index is.
    file: database::Identity,
    shelf: Shelf,
    dims: usize,
    model: i64,
}

impl Loader {
    /// The vectors, which are on the shelf afterwards.
    pub fn load(&self) -> Result<Arc<Vectors>, ToolError> {
        let unavailable = |cause: String| ToolError::Unavailable(format!("the vectors cannot be read: {cause}"));
        self.shelf.of_file(self.file, || {
            let opened = database::open(&self.path, Patience::Server);
            let db = opened.map_err(|error| unavailable(crate::error::chain(&error)))?;
            // Pages are copied from where the system keeps them, and not asked for one by one.
            db.pragma_update(None, "mmap_size", MAPPED)?;
            let _snapshot = db.unchecked_transaction()?;
            let model: i64 = db.query_row("SELECT model FROM progress", [], |row| row.get(0))?;
            if model != self.model || self.file != db.identity() {
                return Err(unavailable("the index is being made again".to_owned()));
            }
            up_to_date(&db, None, self.dims, model)
        })
    }
}

/// Vectors as they are in the tables, from those that are known on.
fn up_to_date(db: &Connection, known: Option<Vectors>, dims: usize, model: i64) -> Result<Vectors, ToolError> {
    // What is not in memory yet is read in blocks, and one by one what came after those.
    let known = known.map_or_else(|| blocks::load(db, dims, model), |known| Ok(Some(known)))?;
    let known = match known {
        Some(vectors) => without_removed(db, vectors)?,
        None => None,
    };
    let mut vectors = match known {
        Some(vectors) => vectors,
        None => Vectors::new(dims, Mark { model, last_seq: 0, last_removed: last_removed(db)? }),
    };
    add_new(db, &mut vectors, dims, usize::MAX)?;
    Ok(vectors)
}

/// The vectors without those of removed documents, or `None` when all have to be read again.
fn without_removed(db: &Connection, mut vectors: Vectors) -> Result<Option<Vectors>, ToolError> {
    let sql = "SELECT n, document FROM unvectored WHERE n > ?1 ORDER BY n";
    let mut statement = db.prepare_cached(sql)?;
    let removed = statement.query_map([vectors.mark.last_removed], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for change in removed {
        let (n, document): (i64, Option<i64>) = change?;
        let Some(document) = document else { return Ok(None) };
        vectors.remove(document);
        vectors.mark.last_removed = n;
    }
    Ok(Some(vectors))
}

fn add_new(db: &Connection, vectors: &mut Vectors, dims: usize, limit: usize) -> Result<(), ToolError> {
    let sql = "SELECT embeddings.seq, document, embedding_cache.embedding, script FROM embeddings
         JOIN embedding_cache ON embedding_cache.id = embeddings.embedding WHERE embeddings.seq > ?1
         ORDER BY embeddings.seq LIMIT ?2";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([vectors.mark.last_seq, i64::try_from(limit).unwrap_or(i64::MAX)])?;
    let mut vector = Vec::with_capacity(dims);
    while let Some(row) = rows.next()? {
        vectors.mark.last_seq = row.get(0)?;
        let document: i64 = row.get(1)?;
        let Ok(blob) = row.get_ref(2)?.as_blob_or_null() else {
            vectors.spoil(document);
            continue;
        };
        let Some(blob) = blob.filter(|blob| !blob.is_empty()) else {
            vectors.remove(document);
            continue;
        };
        vector.clear();
        vector.extend(blob.chunks_exact(2).map(|pair| half::read(u16::from_le_bytes([pair[0], pair[1]]))));
        // A vector of another length, or of what is no number, says nothing; it is as if there were none.
        if blob.len() != dims * 2 || !vector.iter().all(|value| value.is_finite()) {
            vectors.spoil(document);
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
