//! The file of the index: opened, made, and deleted with what SQLite keeps beside it.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use schema::database::{self, DatabaseError, Patience};
use schema::layout::Layout;
use schema::lock::FileLock;

use super::Urgency;
use crate::error::ToolError;
use crate::fulltext::FullText;

/// Raised whenever tables, tokens or chunks change, so that an index of an earlier program is made anew.
const VERSION: i64 = 5;

/// The name of the index, and of the one that is about to take its place.
pub(super) const INDEX: &str = "index.db";
pub(super) const NEW: &str = "index.db.new";

/// The endings of what SQLite keeps beside a database: a journal until it goes over to a write-ahead log, and when it is killed then.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The index as it is on disk, or `None` when there is none of this version.
pub(super) fn open_current(layout: &Layout) -> Result<Option<Connection>, DatabaseError> {
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
pub(super) fn start_over(layout: &Layout, is_mended: impl FnOnce(&Layout) -> bool) -> Result<Connection, ToolError> {
    let lock = FileLock::acquire(&layout.index_lock(), Urgency::Patient.limit());
    let _lock = lock.map_err(|error| ToolError::Unavailable(crate::error::chain(&error)))?;
    if is_mended(layout)
        && let Ok(Some(db)) = open_current(layout)
    {
        return Ok(db);
    }
    remove(layout, INDEX)?;
    let opened = database::open(&layout.index_db(), Patience::Server);
    let db = opened.map_err(|error| ToolError::Unavailable(crate::error::chain(&error)))?;
    create(&db)?;
    Ok(db)
}

/// Deletes what is left of an index whose maker was killed. Whoever makes one holds the lock.
pub(super) fn remove_abandoned(layout: &Layout) {
    let is_left = LOGS.iter().chain([&""]).any(|ending| layout.file(&format!("{NEW}{ending}")).exists());
    if is_left && let Ok(_lock) = FileLock::acquire(&layout.index_lock(), Duration::ZERO) {
        let _ = remove(layout, NEW);
    }
}

/// Deletes a database and what SQLite keeps beside it.
pub(super) fn remove(layout: &Layout, name: &str) -> Result<(), ToolError> {
    remove_logs(layout, name)
        .and_then(|()| remove_file(&layout.file(name)))
        .map_err(|error| ToolError::Unavailable(format!("cannot delete {}: {error}", layout.file(name).display())))
}

/// Deletes what SQLite keeps beside a database, before the database goes: the log of one must not be found beside another.
pub(super) fn remove_logs(layout: &Layout, name: &str) -> io::Result<()> {
    LOGS.iter().try_for_each(|ending| remove_file(&layout.file(&format!("{name}{ending}"))))
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

pub(super) fn create(db: &Connection) -> rusqlite::Result<()> {
    let transaction = db.unchecked_transaction()?;
    transaction.execute_batch(include_str!("index.sql"))?;
    FullText::new(&transaction).create()?;
    transaction.execute("INSERT INTO progress VALUES (1, '', -1, 0, 0)", [])?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}
