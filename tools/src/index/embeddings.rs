//! Vectors of documents: which wait for one, making them in batches, and bringing those in memory up to date.
//!
//! Every batch is a step of its own: what is done stays done when the process ends in between.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use schema::daily_log::LogKind;
use schema::memory::{Memory, MemoryType};
use schema::moment::Moment;
use schema::store::Rows;
use sha2::{Digest, Sha256};

use super::vectors::Mark;
use super::{Document, Index, IndexLock, Vectors, blocks};
use crate::embed::{Embedded, Embedder, Identity, WorkPlace, half};
use crate::error::ToolError;
use crate::text::script::Script;

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

/// Documents that wait.
#[derive(Default)]
struct Sorted {
    /// Those whose vector is there, with its id.
    known: Vec<(Source, i64)>,
    new: Vec<New>,
    gone: Vec<i64>,
    is_more: bool,
}

/// A document whose text has no vector.
struct New {
    source: Source,
    hash: [u8; 32],
    text: String,
}

/// Whose text is embedded.
#[derive(Clone)]
struct Source {
    document: i64,
    script: Script,
    path: String,
}

impl Sorted {
    /// Gives vectors to those that are known; they and those that are gone wait no longer.
    fn settle(&self, db: &Connection) -> rusqlite::Result<()> {
        for (Source { document, script, path }, embedding) in &self.known {
            let sql = "INSERT OR REPLACE INTO embeddings (document, embedding, script) VALUES (?1, ?2, ?3)";
            db.prepare_cached(sql)?.execute(params![document, embedding, *script as i64])?;
            let sql = "UPDATE embedding_cache SET path = ?2 WHERE id = ?1 AND path IS NOT ?2";
            db.prepare_cached(sql)?.execute(params![embedding, path])?;
        }
        for document in self.known.iter().map(|(source, _)| &source.document).chain(&self.gone) {
            db.prepare_cached("DELETE FROM unembedded WHERE document = ?1")?.execute([document])?;
        }
        Ok(())
    }
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

    /// What waits, by what has to be done with it.
    fn sorted(
        &self,
        rows: Rows<'_>,
        model: i64,
        place: WorkPlace,
        clean: &dyn Fn(&str) -> String,
        limit: usize,
    ) -> Result<Sorted, ToolError> {
        let waiting = self.waiting(limit)?;
        let mut sorted = Sorted { is_more: waiting.len() == limit, ..Sorted::default() };
        for document in waiting {
            let Some((text, path)) = self.text_to_embed(rows, document, place)? else {
                sorted.gone.push(document);
                continue;
            };
            let text = clean(&text);
            let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
            let source = Source { document, script: Script::of(&text), path };
            match self.cached(&hash, model)? {
                Some(embedding) => sorted.known.push((source, embedding)),
                None => sorted.new.push(New { source, hash, text }),
            }
        }
        Ok(sorted)
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

    /// The vectors of a model, up to date; `None` when those in use are of another.
    pub fn vectors(&mut self, identity: &Identity) -> Result<Option<Arc<Vectors>>, ToolError> {
        if !self.uses(identity)? {
            self.vectors = None;
            return Ok(None);
        }
        let model = self.current_model()?;
        let current = self.vectors.take().and_then(Arc::into_inner).filter(|vectors| vectors.mark.model == model);
        // What is not in memory yet is read in blocks, and one by one what came after those.
        let current =
            current.map_or_else(|| blocks::load(&self.db, identity.dims, model), |current| Ok(Some(current)))?;
        let known = match current {
            Some(vectors) => self.without_removed(vectors)?,
            None => None,
        };
        let mut vectors = match known {
            Some(vectors) => vectors,
            None => {
                let last_removed = self.last_removed()?;
                Vectors::new(identity.dims, Mark { model, last_seq: 0, last_removed })
            }
        };
        self.add_new(&mut vectors, identity.dims, usize::MAX)?;
        Ok(Some(Arc::clone(self.vectors.insert(Arc::new(vectors)))))
    }

    /// The vectors without those of removed documents, or `None` when all have to be read again.
    fn without_removed(&self, mut vectors: Vectors) -> Result<Option<Vectors>, ToolError> {
        let sql = "SELECT n, document FROM unvectored WHERE n > ?1 ORDER BY n";
        let mut statement = self.db.prepare_cached(sql)?;
        let removed = statement.query_map([vectors.mark.last_removed], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for change in removed {
            let (n, document): (i64, Option<i64>) = change?;
            let Some(document) = document else { return Ok(None) };
            vectors.remove(document);
            vectors.mark.last_removed = n;
        }
        Ok(Some(vectors))
    }

    /// Puts vectors that no block has into one, when they fill it; whether there was one to fill.
    pub(super) fn fill_block(&self) -> Result<bool, ToolError> {
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
        let mut vectors = Vectors::new(dims, Mark { model, last_seq, last_removed: self.last_removed()? });
        self.add_new(&mut vectors, dims, blocks::BLOCK)?;
        // What cannot be used is made again, and has another number then.
        if !vectors.spoiled.is_empty() {
            return Ok(false);
        }
        blocks::keep(&self.db, &vectors)?;
        Ok(true)
    }

    fn add_new(&self, vectors: &mut Vectors, dims: usize, limit: usize) -> Result<(), ToolError> {
        let sql = "SELECT embeddings.seq, document, embedding_cache.embedding, script FROM embeddings
             JOIN embedding_cache ON embedding_cache.id = embeddings.embedding WHERE embeddings.seq > ?1
             ORDER BY embeddings.seq LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
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

    fn last_removed(&self) -> Result<i64, ToolError> {
        Ok(self.db.query_row("SELECT coalesce(max(n), 0) FROM unvectored", [], |row| row.get(0))?)
    }

    fn waiting(&self, limit: usize) -> Result<Vec<i64>, ToolError> {
        let sql = "SELECT document FROM unembedded ORDER BY document DESC LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([limit as i64], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
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

    /// What is embedded of a document, its text and what it needs to be understood alone, and its file. `None` when it is gone.
    fn text_to_embed(
        &self,
        rows: Rows<'_>,
        document: i64,
        place: WorkPlace,
    ) -> Result<Option<(String, String)>, ToolError> {
        Ok(match Document::of_rowid(document) {
            Document::Memory(seq) => match rows.by_seq(seq)? {
                Some(row) => {
                    let question = question(rows, &row.memory)?;
                    Some((of_memory(&row.memory, question.as_deref(), place), row.place.path))
                }
                None => None,
            },
            Document::Chunk(id) => self.chunk(id)?.map(|chunk| {
                let day = match (LogKind::of(&chunk.path), place) {
                    (Some(LogKind::Daily(day)), WorkPlace::Elsewhere) => format!("{day} "),
                    _ => String::new(),
                };
                (format!("{day}{}\n{}", chunk.heading, chunk.text), chunk.path)
            }),
        })
    }
}

/// Characters of a question that go with its answer.
const QUESTION: usize = 300;

/// What an answer answers: the prompt before it.
fn question(rows: Rows<'_>, memory: &Memory) -> Result<Option<String>, ToolError> {
    if memory.kind != MemoryType::AssistantResponse || memory.session_id.is_empty() {
        return Ok(None);
    }
    let before = rows.prompt_before(&memory.session_id, &memory.at)?;
    Ok(before.map(|text| text.chars().take(QUESTION).collect()))
}

/// Date and type say something to a model that reads sentences; one that adds up words would only add them to everything.
fn of_memory(memory: &Memory, question: Option<&str>, place: WorkPlace) -> String {
    let question = question.map(|question| format!("{question}\n")).unwrap_or_default();
    match place {
        WorkPlace::Here => format!("{question}{}", memory.content),
        WorkPlace::Elsewhere => {
            format!("{} {}: {question}{}", memory.at.date(), memory.kind.label(), memory.content)
        }
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

/// Takes what somebody was paid for into an index made anew, and what took long; what the static models make is quicker made again,
/// and what was refused may be taken by now.
pub(super) fn carry_over(old: &Connection, new: &Connection) -> rusqlite::Result<()> {
    let transaction = new.unchecked_transaction()?;
    let mut statement = old.prepare(
        "SELECT provider, models.model, dims, hash, embedding, created_at, path FROM embedding_cache
         JOIN models ON models.id = embedding_cache.model
         WHERE (provider <> 'local' OR models.model LIKE 'bert:%') AND ifnull(embedding <> x'', TRUE)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let model = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?);
        transaction
            .prepare_cached("INSERT OR IGNORE INTO models (provider, model, dims) VALUES (?1, ?2, ?3)")?
            .execute(params![model.0, model.1, model.2])?;
        transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO embedding_cache (hash, model, embedding, created_at, path)
                 SELECT ?4, id, ?5, ?6, ?7 FROM models WHERE provider = ?1 AND model = ?2 AND dims = ?3",
            )?
            .execute(params![
                model.0,
                model.1,
                model.2,
                row.get::<_, Vec<u8>>(3)?,
                row.get::<_, Option<Vec<u8>>>(4)?,
                row.get::<_, String>(5)?,
                row.get::<_, Option<String>>(6)?
            ])?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests;
