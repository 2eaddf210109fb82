//! The index: chunks of Markdown and one full-text table over chunks and memories, in its own database.
//!
//! Everything in it can be rebuilt. One process at a time writes, under the index lock; all may read.

mod chunks;
mod documents;
mod embeddings;
mod index_file;
mod review_table;
mod vector_blocks;
mod vector_cache;
mod vectors;

pub use chunks::ChunkRow;
use documents::MADE_IN_NO_TIME;
pub(crate) use documents::TAGS;
pub use documents::{Document, memory_title, metadata_tags};
pub use embeddings::{BatchOutcome, EmbeddingBatch, EmbeddingCoverage, VectorLoader};
pub use index_file::IndexLockWait;
pub use review_table::{ReviewFindings, ReviewPass};
pub use vector_cache::VectorCache;
pub use vectors::{ScriptVectors, Vectors};

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Connection, Transaction};
use schema::files::crash_point;
use schema::files::database::{self, Database};
use schema::files::layout::Layout;
use schema::files::lock::{FileLock, LockError};
use schema::model::memory::Memory;
use schema::model::moment::Moment;
use schema::store::{Rows, Store, StoreAccess};

use crate::control::{Control, MEMORIES};
use crate::error::ToolError;
use crate::fulltext::{FullText, PostingsCache};

/// Rows per transaction, and per segment during a rebuild. Larger batches need fewer merges later.
const ROWS_PER_BATCH: usize = 500;
const ROWS_PER_REBUILD_BATCH: usize = 4_000;

#[derive(Debug)]
pub struct Index {
    db: Database,
    layout: Layout,
    /// Whether it is a file, which other processes can open.
    is_shared: bool,
    /// Whether opening reset the file.
    was_reset: bool,
    /// The vectors of the last read; `None` until a search needs them, and while the cache holds them.
    vectors: Option<Arc<Vectors>>,
    /// Vectors shared by all searches of this process.
    vector_cache: VectorCache,
    /// Vectors of the built-in model while a service fails.
    local_vectors: Option<Arc<Vectors>>,
    /// Cached posting lists.
    postings_cache: RefCell<PostingsCache>,
}

/// Seconds for which an unused paid vector is kept, for a renamed file or another branch.
const KEEP_UNUSED_SECONDS: i64 = 90 * 24 * 60 * 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactScope<'p> {
    /// Passages of these files.
    Sources(&'p [&'p str]),
    /// Everything, or unknown.
    All,
}

impl Index {
    /// Opens a store's index, or one in memory if the store is read-only. An unusable index is rebuilt in place.
    pub fn open(store: &Store) -> Result<Self, ToolError> {
        match store.access() {
            StoreAccess::Full => {
                let (db, was_reset) = index_file::open_file(store.layout())?;
                Ok(Self { is_shared: true, was_reset, ..Self::from_database(store, db) })
            }
            StoreAccess::ReadOnly(_) => Self::in_memory(store),
        }
    }

    /// An index in memory, for a store that cannot be written.
    pub fn in_memory(store: &Store) -> Result<Self, ToolError> {
        let db = database::open_in_memory(None)?;
        index_file::create_tables(&db)?;
        Ok(Self::from_database(store, db))
    }

    fn from_database(store: &Store, db: Database) -> Self {
        Self {
            db,
            layout: store.layout().clone(),
            is_shared: false,
            was_reset: false,
            vectors: None,
            local_vectors: None,
            vector_cache: VectorCache::default(),
            postings_cache: RefCell::default(),
        }
    }

    /// Shares vectors with the other indexes over the same file in this process.
    pub fn share_vectors(&mut self, cache: &VectorCache) {
        self.vector_cache = cache.clone();
    }

    pub fn vector_cache(&self) -> &VectorCache {
        &self.vector_cache
    }

    /// Whether other processes can open it.
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether opening reset a damaged or foreign file.
    pub fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// Rebuilds the index, empty, if SQLite finds damage. Returns whether it did.
    pub fn repair(&mut self) -> Result<bool, ToolError> {
        if !self.is_shared || !index_file::repair_file(&self.layout, &self.db)? {
            return Ok(false);
        }
        (self.db, _) = index_file::open_file(&self.layout)?;
        self.clear_caches();
        Ok(true)
    }

    /// Checkpoints the write-ahead log as far as readers allow.
    pub fn checkpoint(&self) -> Result<(), ToolError> {
        Ok(database::checkpoint(&self.db)?)
    }

    /// Truncates the write-ahead log if it is too long; see [`database::truncate_long_wal`].
    pub fn truncate_long_wal(&self) -> Result<bool, ToolError> {
        Ok(!self.is_shared || database::truncate_long_wal(&self.db, &self.layout.index_db())?)
    }

    /// Deletes `index.db` on a full disk.
    pub(crate) fn delete(layout: &Layout) -> Result<(), ToolError> {
        index_file::delete_file(layout)
    }

    /// Whether `index.db` is still the opened file; see [`Database::is_current`].
    pub fn is_current(&self) -> bool {
        self.db.is_current()
    }

    /// All reads see one state until this is dropped.
    pub fn snapshot(&self) -> Result<Transaction<'_>, ToolError> {
        Ok(self.db.unchecked_transaction()?)
    }

    pub fn fulltext(&self) -> FullText<'_> {
        FullText::with_cache(&self.db, &self.postings_cache)
    }

    /// Takes the write lock, or `None` if another process has it.
    pub fn lock(&self, urgency: IndexLockWait) -> Result<Option<IndexLock>, ToolError> {
        if !self.is_shared {
            return Ok(Some(IndexLock { _file: None }));
        }
        match FileLock::acquire(&self.layout.index_lock(), urgency.duration()) {
            Ok(_) if !self.is_current() => {
                Err(ToolError::Unavailable("index.db was deleted or rebuilt; try again".to_owned()))
            }
            Ok(lock) => Ok(Some(IndexLock { _file: Some(lock) })),
            Err(LockError::Busy(_)) => Ok(None),
            Err(error) => Err(ToolError::Unavailable(crate::error::join_causes(&error))),
        }
    }

    /// Indexes new memories of `memory.db` and returns their number. It can be stopped after each batch; finished batches stay.
    pub fn index_memories(
        &mut self,
        rows: Rows<'_>,
        _lock: &IndexLock,
        control: &mut Control<'_>,
    ) -> Result<usize, ToolError> {
        let instance = rows.meta("instance")?.unwrap_or_default();
        if self.read_progress()?.instance != instance {
            self.remove_memories(&instance)?;
        }
        let removed = rows.removed_after(self.read_progress()?.last_removed)?;
        if let Some((last, _)) = removed.last() {
            let transaction = self.db.savepoint()?;
            for (_, seq) in &removed {
                documents::remove_document(&transaction, Document::Memory(*seq).rowid())?;
            }
            transaction.execute("UPDATE progress SET last_removed = ?1", [last])?;
            transaction.commit()?;
        }
        let (mut taken, mut total) = (0, None);
        let batch = if self.db.is_autocommit() { ROWS_PER_BATCH } else { ROWS_PER_REBUILD_BATCH };
        loop {
            let new = rows.inserted_after(self.read_progress()?.last_seq, batch)?;
            let Some(last) = new.last().map(|row| row.seq) else { return Ok(taken) };
            let is_last = new.len() < batch;
            if total.is_none() && !is_last {
                total = Some(rows.count_after(self.read_progress()?.last_seq)? as usize);
            }
            let transaction = self.db.savepoint()?;
            let mut writer = documents::DocumentWriter::new(&transaction);
            for row in &new {
                let Memory { content, attributes, .. } = &row.memory;
                let body = match &attributes.also {
                    Some(also) => Cow::Owned(format!("{content}\n{also}")),
                    None => Cow::Borrowed(content.as_str()),
                };
                writer.insert(Document::Memory(row.seq), &memory_title(&row.memory), &body)?;
            }
            writer.finish()?;
            transaction.execute("UPDATE progress SET last_seq = ?1", [last])?;
            transaction.commit()?;
            crash_point::crash_if_armed("index.memories");
            taken += new.len();
            if !is_last {
                control.report(taken, total.unwrap_or(taken).max(taken), MEMORIES);
                control.check()?;
            }
        }
    }

    /// Does one step of index maintenance and returns whether there is more.
    ///
    /// It stops while a reader blocks truncation of the write-ahead log, which would only grow.
    pub fn merge_step(&self, _lock: &IndexLock) -> Result<bool, ToolError> {
        if database::is_wal_long(&self.layout.index_db()) {
            return Ok(false);
        }
        let transaction = self.db.unchecked_transaction()?;
        let is_more = FullText::new(&transaction).merge_step()? || self.fill_block()?;
        transaction.commit()?;
        Ok(is_more)
    }

    /// Deletes all leftovers of removed documents: unused vectors, tokens in segments, free pages. `false` if a reader delays the deletion
    /// in SQLite's files.
    ///
    /// Deletes unused vectors if they are cheap, old, or of a file in which something was forgotten. Other paid vectors
    /// stay.
    pub fn compact(&mut self, gone: CompactScope<'_>, _lock: &IndexLock) -> Result<bool, ToolError> {
        if !self.is_shared {
            return Ok(true);
        }
        let transaction = self.db.savepoint()?;
        remove_unused(&transaction, gone)?;
        let unused = "DELETE FROM review_keys WHERE seq * 2 NOT IN (SELECT document FROM fulltext_documents)";
        transaction.execute(unused, [])?;
        // Idle steps rebuild the blocks.
        transaction.execute("DELETE FROM vector_blocks", [])?;
        FullText::new(&transaction).purge()?;
        transaction.commit()?;
        Ok(self.db.compact()?)
    }

    /// Sequence number up to which memories are indexed, or -1 if the index belongs to another database.
    pub fn watermark(&self, rows: Rows<'_>) -> Result<i64, ToolError> {
        let progress = self.read_progress()?;
        Ok(if Some(progress.instance) == rows.meta("instance")? { progress.last_seq } else { -1 })
    }

    /// Empties the index and fills it in one transaction. Readers see the old state until `fill` is done, or after an
    /// error.
    pub fn refill<T>(
        &mut self,
        lock: &IndexLock,
        fill: impl FnOnce(&mut Self) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        let filled = self.clear(lock).and_then(|()| fill(self)).and_then(|filled| {
            while self.fulltext().merge_step()? {}
            Ok(filled)
        });
        crash_point::crash_if_armed("rebuild.filled");
        let ended = match (&filled, self.db.is_autocommit()) {
            (Ok(_), _) => self.db.execute_batch("COMMIT"),
            (Err(_), false) => self.db.execute_batch("ROLLBACK"),
            // SQLite has rolled it back already.
            (Err(_), true) => Ok(()),
        };
        crash_point::crash_if_armed("rebuild.done");
        self.clear_caches();
        let filled = filled?;
        ended?;
        // The log holds the whole index. If a reader blocks truncation, an idle step does it later.
        database::truncate_wal(&self.db)?;
        Ok(filled)
    }

    fn clear_caches(&mut self) {
        self.vectors = None;
        self.local_vectors = None;
        self.postings_cache.get_mut().clear();
        self.vector_cache.clear();
    }

    /// Empties the index except expensive vectors. Rejected texts will be sent again.
    fn clear(&mut self, _lock: &IndexLock) -> Result<(), ToolError> {
        let transaction = self.db.savepoint()?;
        FullText::new(&transaction).clear()?;
        transaction.execute_batch(&format!(
            "DELETE FROM chunks; DELETE FROM files; DELETE FROM embeddings; DELETE FROM vector_blocks; DELETE FROM unembedded;
             DELETE FROM embedding_cache WHERE embedding = x'' OR {MADE_IN_NO_TIME};
             INSERT INTO unvectored (document) VALUES (NULL);
             UPDATE progress SET instance = '', last_seq = -1, last_removed = 0;"
        ))?;
        transaction.commit()?;
        Ok(())
    }

    fn remove_memories(&mut self, instance: &str) -> Result<(), ToolError> {
        let transaction = self.db.savepoint()?;
        let memories: Vec<i64> = {
            let mut statement =
                transaction.prepare("SELECT document FROM fulltext_documents WHERE document % 2 = 0")?;
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
        };
        for document in memories {
            documents::remove_document(&transaction, document)?;
        }
        transaction.execute("UPDATE progress SET instance = ?1, last_seq = -1, last_removed = 0", [instance])?;
        transaction.commit()?;
        Ok(())
    }

    fn read_progress(&self) -> rusqlite::Result<IndexWatermark> {
        let mut statement = self.db.prepare_cached("SELECT instance, last_seq, last_removed FROM progress")?;
        statement.query_row([], |row| {
            Ok(IndexWatermark { instance: row.get(0)?, last_seq: row.get(1)?, last_removed: row.get(2)? })
        })
    }
}

fn remove_unused(db: &Connection, gone: CompactScope<'_>) -> rusqlite::Result<()> {
    const UNUSED: &str = "DELETE FROM embedding_cache WHERE id NOT IN (SELECT embedding FROM embeddings)";
    let CompactScope::Sources(paths) = gone else { return db.execute(UNUSED, []).map(drop) };
    let now = Moment::now();
    let oldest = Moment::from_unix(now.unix() - KEEP_UNUSED_SECONDS, Some(0)).unwrap_or(now).utc();
    let sql = format!("{UNUSED} AND (path IS NULL OR created_at < ?1 OR {MADE_IN_NO_TIME})");
    db.execute(&sql, [oldest])?;
    let mut of_file = db.prepare(&format!("{UNUSED} AND path = ?1"))?;
    paths.iter().try_for_each(|path| of_file.execute([path]).map(drop))
}

/// The write lock of the index, held until dropped.
#[derive(Debug)]
pub struct IndexLock {
    _file: Option<FileLock>,
}

struct IndexWatermark {
    instance: String,
    last_seq: i64,
    last_removed: i64,
}
