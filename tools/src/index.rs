//! The index: chunks of Markdown and one full-text table over chunks and memories, in a database of its own.
//!
//! Everything here can be deleted and made again. One process at a time writes, under the index lock; all may read.

mod blocks;
mod chunks;
mod documents;
mod embeddings;
mod file;
mod residue;
mod shelf;
mod vectors;

pub use chunks::ChunkRow;
use documents::MADE_IN_NO_TIME;
pub use documents::{Document, title_of};
pub use embeddings::{Coverage, Gathered, Loader, Worked};
pub use residue::Gone;
pub use shelf::Shelf;
pub use vectors::Vectors;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Transaction, params};
use schema::crash;
use schema::database::{self, Database};
use schema::layout::Layout;
use schema::lock::{FileLock, LockError};
use schema::store::{Access, Rows, Store};

use crate::error::ToolError;
use crate::fulltext::{FullText, Met};

/// Rows taken in by one transaction, and at once where the whole index is made in one: the more, the fewer segments are put together later.
const BATCH: usize = 500;
const BULK: usize = 4_000;

/// The open index.
#[derive(Debug)]
pub struct Index {
    db: Database,
    layout: Layout,
    /// Whether it is a file, which several processes share.
    place: Place,
    /// Whether opening it had to reset the file.
    was_reset: bool,
    /// The vectors as they were read last; `None` until a search needs them, and while they lie on the shelf.
    vectors: Option<Arc<Vectors>>,
    /// Where they lie for all who search in this process.
    shelf: Shelf,
    /// What was met of the full text.
    met: RefCell<Met>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    File,
    Memory,
}

/// How long to wait for the right to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// Indexing that looks in between whether somebody waits for something else.
    Glance,
    /// A search: what is not indexed yet is scanned instead.
    Now,
    /// Indexing itself.
    Patient,
}

impl Urgency {
    pub(crate) fn limit(self) -> Duration {
        match self {
            Self::Glance => Duration::from_millis(4),
            Self::Now => Duration::from_millis(20),
            Self::Patient => Duration::from_secs(30),
        }
    }
}

impl Index {
    /// Opens the index of a store, or one in memory for a store that may not be written. What cannot be used is rebuilt in place.
    pub fn open(store: &Store) -> Result<Self, ToolError> {
        match store.access() {
            Access::Full => {
                let (db, was_reset) = file::open(store.layout())?;
                Ok(Self { was_reset, ..Self::over(store, db, Place::File) })
            }
            Access::ReadOnly(_) => Self::in_memory(store),
        }
    }

    /// An index that is no file, for a store in which none can be written.
    pub fn in_memory(store: &Store) -> Result<Self, ToolError> {
        let db = database::open_in_memory(None)?;
        file::create(&db)?;
        Ok(Self::over(store, db, Place::Memory))
    }

    fn over(store: &Store, db: Database, place: Place) -> Self {
        let layout = store.layout().clone();
        Self { db, layout, place, was_reset: false, vectors: None, shelf: Shelf::default(), met: RefCell::default() }
    }

    /// Holds vectors together with the other indexes over the same file in this process.
    pub fn share(&mut self, shelf: &Shelf) {
        self.shelf = shelf.clone();
    }

    /// What [`Index::share`] takes.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Whether it is a file, which several may open.
    pub fn is_shared(&self) -> bool {
        self.place == Place::File
    }

    /// Whether opening it had to reset a damaged or foreign file.
    pub fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// Rebuilds the index if SQLite finds damage in it; whether it did. It is empty then.
    pub fn repair(&mut self) -> Result<bool, ToolError> {
        if self.place == Place::Memory || !file::repair(&self.layout, &self.db)? {
            return Ok(false);
        }
        (self.db, _) = file::open(&self.layout)?;
        self.forget_what_was_read();
        Ok(true)
    }

    /// Copies the write-ahead log into the database, as far as nobody reads it.
    pub fn tidy(&self) -> Result<(), ToolError> {
        Ok(database::tidy(&self.db)?)
    }

    /// Truncates the write-ahead log when it has grown too long; see [`database::bound`].
    pub fn bound(&self) -> Result<bool, ToolError> {
        Ok(self.place == Place::Memory || database::bound(&self.db, &self.layout.index_db())?)
    }

    /// Deletes `index.db`, for a disk that is full.
    pub(crate) fn delete(layout: &Layout) -> Result<(), ToolError> {
        file::delete(layout)
    }

    /// Whether `index.db` is still the database that was opened; see [`Database::is_current`].
    pub fn is_current(&self) -> bool {
        self.db.is_current()
    }

    /// What is read until this is dropped is read as it is now.
    pub fn snapshot(&self) -> Result<Transaction<'_>, ToolError> {
        Ok(self.db.unchecked_transaction()?)
    }

    /// The full-text table.
    pub fn fulltext(&self) -> FullText<'_> {
        FullText::met(&self.db, &self.met)
    }

    /// Takes the right to write, or `None` when another process has it.
    pub fn lock(&self, urgency: Urgency) -> Result<Option<IndexLock>, ToolError> {
        if self.place == Place::Memory {
            return Ok(Some(IndexLock { _file: None }));
        }
        match FileLock::acquire(&self.layout.index_lock(), urgency.limit()) {
            Ok(_) if !self.is_current() => {
                Err(ToolError::Unavailable("index.db was deleted or rebuilt meanwhile; try again".to_owned()))
            }
            Ok(lock) => Ok(Some(IndexLock { _file: Some(lock) })),
            Err(LockError::Busy(_)) => Ok(None),
            Err(error) => Err(ToolError::Unavailable(crate::error::chain(&error))),
        }
    }

    /// Takes in what hooks and servers wrote to `memory.db` since the last time, and answers how many memories that were.
    pub fn take_in_memories(&mut self, rows: Rows<'_>, lock: &IndexLock) -> Result<usize, ToolError> {
        self.take_in_memories_while(rows, lock, &mut |_, _| true)
    }

    /// The same for as long as `go_on` says so, which after every batch is told how many are taken in and how many there were to take
    /// in. What is taken in stays so.
    pub fn take_in_memories_while(
        &mut self,
        rows: Rows<'_>,
        _lock: &IndexLock,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<usize, ToolError> {
        let instance = rows.meta("instance")?.unwrap_or_default();
        if self.progress()?.instance != instance {
            self.forget_memories(&instance)?;
        }
        let removed = rows.removed_after(self.progress()?.last_removed)?;
        if let Some((last, _)) = removed.last() {
            let transaction = self.db.savepoint()?;
            for (_, seq) in &removed {
                documents::remove(&transaction, Document::Memory(*seq).rowid())?;
            }
            transaction.execute("UPDATE progress SET last_removed = ?1", [last])?;
            transaction.commit()?;
        }
        let (mut taken, mut total) = (0, None);
        let batch = if self.db.is_autocommit() { BATCH } else { BULK };
        loop {
            let new = rows.after(self.progress()?.last_seq, batch)?;
            let Some(last) = new.last().map(|row| row.seq) else { return Ok(taken) };
            let is_last = new.len() < batch;
            if total.is_none() && !is_last {
                total = Some(rows.count_after(self.progress()?.last_seq)? as usize);
            }
            let transaction = self.db.savepoint()?;
            let mut writer = documents::Writer::new(&transaction);
            for row in &new {
                writer.insert(Document::Memory(row.seq), &title_of(&row.memory), &row.memory.content)?;
            }
            writer.finish()?;
            transaction.execute("UPDATE progress SET last_seq = ?1", [last])?;
            transaction.commit()?;
            crash::point("index.memories");
            taken += new.len();
            if !is_last && !go_on(taken, total.unwrap_or(taken).max(taken)) {
                return Err(ToolError::Interrupted);
            }
        }
    }

    /// Does some of the work that makes searching faster; whether there is more.
    ///
    /// While a reader keeps the write-ahead log from being truncated, it only grows by this.
    pub fn tend(&self, _lock: &IndexLock) -> Result<bool, ToolError> {
        if database::is_log_long(&self.layout.index_db()) {
            return Ok(false);
        }
        let transaction = self.db.unchecked_transaction()?;
        let is_more = FullText::new(&transaction).tend()? || self.fill_block()?;
        transaction.commit()?;
        Ok(is_more)
    }

    /// The sequence number up to which memories are indexed, or -1 when the index is over another database.
    pub fn watermark(&self, rows: Rows<'_>) -> Result<i64, ToolError> {
        let progress = self.progress()?;
        Ok(if Some(progress.instance) == rows.meta("instance")? { progress.last_seq } else { -1 })
    }

    /// Empties the index and fills it in one transaction: readers see it as it was until `fill` is done, and after an error.
    pub fn refill<T>(
        &mut self,
        lock: &IndexLock,
        fill: impl FnOnce(&mut Self) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        let filled = self.clear(lock).and_then(|()| fill(self)).and_then(|filled| {
            while self.fulltext().tend()? {}
            Ok(filled)
        });
        crash::point("rebuild.filled");
        let ended = match (&filled, self.db.is_autocommit()) {
            (Ok(_), _) => self.db.execute_batch("COMMIT"),
            (Err(_), false) => self.db.execute_batch("ROLLBACK"),
            // SQLite has rolled it back by itself.
            (Err(_), true) => Ok(()),
        };
        crash::point("rebuild.done");
        self.forget_what_was_read();
        let filled = filled?;
        ended?;
        // It holds the whole index. A reader that keeps it from being truncated now leaves that to `bound`.
        database::truncate_log(&self.db)?;
        Ok(filled)
    }

    fn forget_what_was_read(&mut self) {
        self.vectors = None;
        self.met.get_mut().clear();
        self.shelf.clear();
    }

    /// Empties the index, but for vectors that were paid for or took long. Refused texts are asked for again.
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

    fn forget_memories(&mut self, instance: &str) -> Result<(), ToolError> {
        let transaction = self.db.savepoint()?;
        let memories: Vec<i64> = {
            let mut statement =
                transaction.prepare("SELECT document FROM fulltext_documents WHERE document % 2 = 0")?;
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
        };
        for document in memories {
            documents::remove(&transaction, document)?;
        }
        transaction.execute("UPDATE progress SET instance = ?1, last_seq = -1, last_removed = 0", params![instance])?;
        transaction.commit()?;
        Ok(())
    }

    fn progress(&self) -> rusqlite::Result<Progress> {
        let mut statement = self.db.prepare_cached("SELECT instance, last_seq, last_removed FROM progress")?;
        statement.query_row([], |row| {
            Ok(Progress { instance: row.get(0)?, last_seq: row.get(1)?, last_removed: row.get(2)? })
        })
    }
}

/// The right to write to the index, held until dropped.
#[derive(Debug)]
pub struct IndexLock {
    _file: Option<FileLock>,
}

struct Progress {
    instance: String,
    last_seq: i64,
    last_removed: i64,
}
