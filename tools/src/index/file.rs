//! The file of the index: opened, made, and deleted with what SQLite keeps beside it.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use schema::database::{self, Database, DatabaseError, Patience};
use schema::layout::Layout;
use schema::lock::FileLock;

use super::Urgency;
use crate::error::ToolError;
use crate::fulltext::FullText;

/// Raised whenever tables, tokens or chunks change, so that an index of an earlier program is made anew.
const VERSION: i64 = 5;

/// The name of the index, and of the one that is about to take its place.
const INDEX: &str = "index.db";
pub(super) const NEW: &str = "index.db.new";

/// The index as it is on disk, or `None` when there is none of this version.
pub(super) fn open_current(layout: &Layout) -> Result<Option<Database>, DatabaseError> {
    let path = layout.index_db();
    let db = database::open(&path, Patience::Server)?;
    let version = db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).optional();
    match version.and_then(|version| Ok(version == Some(VERSION) && db.table_exists(None, "progress")?)) {
        Ok(current) => Ok(current.then_some(db)),
        Err(source) => Err(DatabaseError::Sqlite { path, source }),
    }
}

/// Whether there is an index of this version that can be opened.
pub(super) fn is_usable(layout: &Layout) -> bool {
    matches!(open_current(layout), Ok(Some(_)))
}

/// Deletes what is there and makes an empty index, unless another process did so while we waited.
pub(super) fn start_over(layout: &Layout, is_mended: impl FnOnce(&Layout) -> bool) -> Result<Database, ToolError> {
    let _lock = lock(layout)?;
    if is_mended(layout)
        && let Ok(Some(db)) = open_current(layout)
    {
        return Ok(db);
    }
    remove_alone(layout)?;
    let opened = database::open(&layout.index_db(), Patience::Server);
    let db = opened.map_err(|error| ToolError::Unavailable(crate::error::chain(&error)))?;
    create(&db)?;
    Ok(db)
}

/// Deletes the index, which the next process that has the space rebuilds.
pub(super) fn delete(layout: &Layout) -> Result<(), ToolError> {
    let _lock = lock(layout)?;
    remove_alone(layout)
}

fn lock(layout: &Layout) -> Result<FileLock, ToolError> {
    let lock = FileLock::acquire(&layout.index_lock(), Urgency::Patient.limit());
    lock.map_err(|error| ToolError::Unavailable(crate::error::chain(&error)))
}

fn remove_alone(layout: &Layout) -> Result<(), ToolError> {
    let removed = database::alone(&layout.index_db(), Patience::Server.limit(), || remove(layout, INDEX));
    removed.map_err(|error| ToolError::Unavailable(crate::error::chain(&error)))?
}

/// Deletes what is left of an index whose maker was killed. Whoever makes one holds the lock.
pub(super) fn remove_abandoned(layout: &Layout) {
    let is_left = database::LOGS.iter().chain([&""]).any(|ending| layout.file(&format!("{NEW}{ending}")).exists());
    if is_left && let Ok(_lock) = FileLock::acquire(&layout.index_lock(), Duration::ZERO) {
        let _ = remove(layout, NEW);
    }
}

/// Deletes a database of the store, which nobody opens by that name meanwhile.
pub(super) fn remove(layout: &Layout, name: &str) -> Result<(), ToolError> {
    let path = layout.file(name);
    database::remove(&path)
        .map_err(|error| ToolError::Unavailable(format!("cannot delete {}: {error}", path.display())))
}

pub(super) fn create(db: &Connection) -> rusqlite::Result<()> {
    let transaction = db.unchecked_transaction()?;
    transaction.execute_batch(include_str!("index.sql"))?;
    FullText::new(&transaction).create()?;
    transaction.execute("INSERT INTO progress VALUES (1, '', -1, 0, 0)", [])?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
