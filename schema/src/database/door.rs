//! Who opens or closes a database goes through a door, which is shut while another file takes the place of that database.
//!
//! SQLite finds the write-ahead log of a database and the memory that its users share by their names. A program that is just opening a
//! database while that is replaced may open the log of the old one and the shared memory of the new one. It then writes into that memory
//! what it read in the old log, and whoever opens the new database looks for pages that its log does not have: an I/O error, for as long as
//! that program goes on. And who is the last to close a database deletes a log by its name, which may be that of the new one by then.
//!
//! Programs that know no door, and people who put another file in the place of a database, are not kept apart by it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::layout::OPEN_LOCK;
use crate::lock::{FileLock, LockError};

/// Lets nobody replace databases of this folder until what is returned is dropped. Whoever keeps the door shut for so long has stopped, and
/// is not waited for.
pub(super) fn pass(database: &Path, limit: Duration) -> Option<FileLock> {
    FileLock::share(&lock(database), limit).ok()
}

/// Lets nobody else open or close a database of this folder until what is returned is dropped. `None` where there can be no door, as where
/// somebody put something else in its place.
pub(super) fn shut(database: &Path, limit: Duration) -> Result<Option<FileLock>, LockError> {
    match FileLock::acquire(&lock(database), limit) {
        Err(LockError::Io { .. }) => Ok(None),
        shut => shut.map(Some),
    }
}

fn lock(database: &Path) -> PathBuf {
    database.with_file_name(OPEN_LOCK)
}
