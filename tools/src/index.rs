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
pub use documents::{Document, title_of};
pub use embeddings::{Coverage, Gathered, Loader, Worked};
pub use residue::Gone;
pub use shelf::Shelf;
pub use vectors::Vectors;

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Transaction, params};
use schema::crash;
use schema::database::{self, Database, Patience};
use schema::layout::Layout;
use schema::lock::{FileLock, LockError};
use schema::stamp::identity;
use schema::store::{Access, Rows, Store};

use crate::error::ToolError;
use crate::fulltext::{FullText, Met};
use file::{NEW, create, is_usable, open_current, remove, remove_abandoned, start_over};

/// How often opening is tried while other processes make the index anew.
const OPENINGS: usize = 5;

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
    /// Opens the index of a store; one that is damaged or of another version is made anew, and so is one in memory for a
    /// store that may not be written.
    pub fn open(store: &Store) -> Result<Self, ToolError> {
        if *store.access() != Access::Full {
            return Self::in_memory(store);
        }
        let layout = store.layout().clone();
        let mut fault = "the index is being made again; try again".to_owned();
        for _ in 0..OPENINGS {
            let opened = match open_current(&layout) {
                Ok(Some(db)) => Ok(db),
                Ok(None) => start_over(&layout, is_usable),
                Err(error) if error.is_damage() => start_over(&layout, is_usable),
                Err(error) => Err(ToolError::Unavailable(crate::error::chain(&error))),
            };
            match opened {
                Ok(db) => {
                    remove_abandoned(&layout);
                    return Ok(Self {
                        db,
                        layout,
                        place: Place::File,
                        vectors: None,
                        shelf: Shelf::default(),
                        met: RefCell::default(),
                    });
                }
                // Somebody else may just delete or replace it.
                Err(ToolError::Unavailable(cause)) => fault = cause,
                Err(error) => return Err(error),
            }
            drop(FileLock::acquire(&layout.index_lock(), Urgency::Now.limit()));
        }
        Err(ToolError::Unavailable(fault))
    }

    /// Opens the index that took the place of this one, if one did.
    pub fn follow(&mut self, store: &Store) -> Result<(), ToolError> {
        if !self.is_current() {
            let shelf = self.shelf.clone();
            *self = Self::open(store)?;
            self.share(&shelf);
        }
        Ok(())
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

    /// Makes a damaged index anew, empty, unless another process has done so already.
    pub fn begin_anew(&mut self) -> Result<(), ToolError> {
        let damaged = self.db.identity();
        // Closed first, because not every platform deletes a file in use.
        self.db = database::open_in_memory()?;
        self.vectors = None;
        self.met.get_mut().clear();
        self.shelf.clear();
        match self.place {
            Place::Memory => create(&self.db)?,
            Place::File => {
                let is_another = |layout: &Layout| damaged.is_some() && identity(&layout.index_db()) != damaged;
                self.db = start_over(&self.layout, is_another)?;
                // Whoever still looked into the damaged one may have put its vectors back.
                self.shelf.clear();
            }
        }
        Ok(())
    }

    /// Whether every page of it is in order. Reads all of it.
    pub fn is_sound(&self) -> bool {
        database::is_sound(&self.db)
    }

    /// Copies the write-ahead log into the database, as far as nobody reads it.
    pub fn tidy(&self) -> Result<(), ToolError> {
        // The log that is there by now may be that of another database.
        if self.is_current() { Ok(database::tidy(&self.db)?) } else { Ok(()) }
    }

    /// Lets the write-ahead log begin anew when it has grown too long; see [`database::bound`].
    pub fn bound(&self) -> Result<bool, ToolError> {
        let is_ours = self.place == Place::File && self.is_current();
        Ok(!is_ours || database::bound(&self.db, &self.layout.index_db())?)
    }

    /// Deletes `index.db`, for a disk that is full.
    pub(crate) fn delete(layout: &Layout) -> Result<(), ToolError> {
        file::delete(layout)
    }

    /// An index that is no file, for a store in which none can be written.
    pub fn in_memory(store: &Store) -> Result<Self, ToolError> {
        let db = database::open_in_memory()?;
        create(&db)?;
        Ok(Self {
            db,
            layout: store.layout().clone(),
            place: Place::Memory,
            vectors: None,
            shelf: Shelf::default(),
            met: RefCell::default(),
        })
    }

    /// Whether `index.db` is still the file that was opened, not one that was deleted or replaced since.
    pub fn is_current(&self) -> bool {
        self.place == Place::Memory || self.db.identity() == identity(&self.layout.index_db())
    }

    /// Whether `index.db` is another file, when whoever is just replacing it is done, who is waited for a little.
    pub fn is_replaced_by_now(&self) -> bool {
        if self.is_current() && self.place == Place::File {
            drop(FileLock::acquire(&self.layout.index_lock(), Urgency::Now.limit()));
        }
        !self.is_current()
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
            // What was made anew meanwhile is another file, and this one is read by nobody any more.
            Ok(_) if !self.is_current() => Ok(None),
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
    pub fn tend(&self, _lock: &IndexLock) -> Result<bool, ToolError> {
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

    /// Fills an index made anew, which takes the place of this one when `fill` is done: readers see this one until then, and
    /// after a fault, and what is damaged in it stays behind.
    pub fn refill<T>(
        &mut self,
        lock: &IndexLock,
        mut fill: impl FnMut(&mut Self) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        if self.place == Place::Memory {
            let db = database::open_in_memory()?;
            create(&db)?;
            let mut fresh = self.beside(db);
            let outcome = fill(&mut fresh)?;
            *self = fresh;
            return Ok(outcome);
        }
        let unavailable =
            |error: &dyn std::fmt::Display| ToolError::Unavailable(format!("cannot make the index: {error}"));
        let path = self.layout.file(NEW);
        remove(&self.layout, NEW)?;
        let opened = database::open(&path, Patience::Server);
        let db = opened.map_err(|error| ToolError::Unavailable(crate::error::chain(&error)))?;
        create(&db)?;
        embeddings::carry_over(&self.db, &db)?;
        let mut fresh = self.beside(db);
        let outcome = fresh.in_one_step(|index| {
            let outcome = fill(index)?;
            while index.fulltext().tend()? {}
            Ok(outcome)
        });
        crash::point("rebuild.filled");
        let closed = database::close_whole(fresh.db).map_err(ToolError::from);
        let filled = outcome.and_then(|outcome| closed.map(|()| outcome));
        if filled.is_err() {
            remove(&self.layout, NEW)?;
            return filled;
        }
        crash::point("rebuild.closed");
        self.db = database::open_in_memory()?;
        self.vectors = None;
        self.met.get_mut().clear();
        let published = self.publish(&path);
        let reopened = open_current(&self.layout).map_err(|error| unavailable(&crate::error::chain(&error)))?;
        self.db = reopened.ok_or_else(|| unavailable(&"it is of another version"))?;
        self.shelf.clear();
        if published.is_ok() {
            return filled;
        }
        // Where a file in use cannot be replaced, the old one is filled again.
        remove(&self.layout, NEW)?;
        self.in_one_step(|index| {
            index.clear(lock)?;
            fill(index)
        })
    }

    /// Puts an index that is whole in the place of the one that is there, while nobody opens or closes that.
    fn publish(&self, new: &Path) -> io::Result<()> {
        let path = self.layout.index_db();
        let published = database::alone(&path, Urgency::Patient.limit(), || {
            database::remove_logs(&path)?;
            crash::point("rebuild.unlogged");
            fs::rename(new, &path)?;
            crash::point("rebuild.published");
            Ok(())
        });
        published.map_err(io::Error::other)?
    }

    /// An index in another database, which is to take the place of this one.
    fn beside(&self, db: Database) -> Self {
        let (layout, place) = (self.layout.clone(), self.place);
        Self { db, layout, place, vectors: None, shelf: self.shelf.clone(), met: RefCell::default() }
    }

    /// Does all of `work` in one step: readers see the index as it was until it is done, and after a fault.
    fn in_one_step<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, ToolError>) -> Result<T, ToolError> {
        self.db.execute_batch("BEGIN IMMEDIATE")?;
        let outcome = work(self);
        self.db.execute_batch(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        outcome
    }

    /// Empties the index.
    fn clear(&mut self, _lock: &IndexLock) -> Result<(), ToolError> {
        let transaction = self.db.savepoint()?;
        FullText::new(&transaction).clear()?;
        transaction.execute_batch(
            "DELETE FROM chunks; DELETE FROM files; DELETE FROM embeddings; DELETE FROM vector_blocks; DELETE FROM unembedded;
             INSERT INTO unvectored (document) VALUES (NULL);
             UPDATE progress SET instance = '', last_seq = -1, last_removed = 0;",
        )?;
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
