//! Opens the store of a project.
//!
//! A server can open any database. It empties a damaged or foreign one in place and rebuilds it, upgrades one of an earlier version in
//! place, and reads a store that it may not write from Markdown into memory. Hooks leave all of that to servers.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::database_kind::{DatabaseKind, detect_kind};
use super::handle::{ReadOnlyReason, Store, StoreAccess, StoreError};
use super::{database_kind, go_version, schema_upgrade};
use crate::files::crash_point;
use crate::files::database::{self, Database, DatabaseError, LockTimeout};
use crate::files::layout::Layout;
use crate::files::lock::{FileLock, LockError};
use crate::files::store_file::{self, options_for_private};
use crate::model::moment::Moment;

impl Store {
    /// Opens the store of a project, and creates it if necessary.
    pub fn open(project: &Path, timeout: LockTimeout) -> Result<Self, StoreError> {
        let layout = Layout::new(project);
        if let Err(source) = layout.create_dirs_and_gitignore() {
            if is_write_refusal(&source) && layout.store_dir().is_dir() {
                return Self::open_in_memory(layout, timeout, ReadOnlyReason::NotWritable(source.to_string()));
            }
            return Err(StoreError::Unusable { path: layout.store_dir().to_owned(), source });
        }
        // Only servers try the lock. A hook finds out when it writes, and spools. If nothing may be written, opening the database shows it.
        if timeout == LockTimeout::Server
            && let Err(LockError::Io { path, source }) = FileLock::acquire(&layout.store_lock(), Duration::ZERO)
            && !is_write_refusal(&source)
        {
            let cause = format!("{} cannot be locked: {source}", path.display());
            return Self::open_in_memory(layout, timeout, ReadOnlyReason::NotWritable(cause));
        }
        Self::open_database(layout, timeout)
    }

    fn open_database(layout: Layout, timeout: LockTimeout) -> Result<Self, StoreError> {
        let is_hook = timeout == LockTimeout::Hook;
        let mut messages = Vec::new();
        let mut db = match database::open(&layout.memory_db(), timeout) {
            Err(error) if error.is_damage() && !is_hook => {
                messages.push(reset_database(&layout, None, timeout)?);
                database::open(&layout.memory_db(), timeout)?
            }
            Err(error) => return Self::open_read_only(layout, timeout, error.into()),
            Ok(db) => db,
        };
        for _ in 0..MAX_STEPS {
            match detect_kind(&db) {
                Ok(DatabaseKind::Current) => {
                    db.remember_schema()?;
                    return Ok(Self { layout, db, access: StoreAccess::Full, lock_timeout: timeout, messages });
                }
                Ok(DatabaseKind::Newer(version)) => {
                    return Self::open_in_memory(layout, timeout, ReadOnlyReason::Newer(version));
                }
                Ok(DatabaseKind::Nothing) => {
                    crash_point::crash_if_armed("store.created");
                    database_kind::create_database(&mut db)?;
                }
                Err(error) if is_hook || !database::is_damage(&error) => {
                    return Self::open_read_only(layout, timeout, error.into());
                }
                // A hook has no time for the rest, so it spools.
                Ok(_) if is_hook => return Err(StoreError::NeedsServer),
                Ok(DatabaseKind::Earlier(version)) => {
                    match schema_upgrade::upgrade_schema(&layout, &mut db, version, timeout) {
                        Err(error) if error.is_damage() => messages.push(reset_database(&layout, Some(&db), timeout)?),
                        Err(error) => return Self::open_read_only(layout, timeout, error),
                        Ok(()) => {}
                    }
                }
                Ok(DatabaseKind::GoVersion) => {
                    let mut store = Self { layout, db, access: StoreAccess::Full, lock_timeout: timeout, messages };
                    let message = go_version::upgrade_from_go(&mut store)?;
                    store.messages.push(message);
                    return Ok(store);
                }
                Ok(DatabaseKind::Foreign) | Err(_) => messages.push(reset_database(&layout, Some(&db), timeout)?),
            }
        }
        Err(StoreError::NeedsServer)
    }

    /// Resets `memory.db` if SQLite finds damage in it, and returns whether it did. Adds a message; the rows come back from Markdown.
    pub fn repair(&mut self) -> Result<bool, StoreError> {
        if self.access != StoreAccess::Full || database::integrity_errors(&self.db)?.is_empty() {
            return Ok(false);
        }
        let mut messages = std::mem::take(&mut self.messages);
        messages.push(reset_database(&self.layout, Some(&self.db), self.lock_timeout)?);
        *self = Self::open_database(self.layout.clone(), self.lock_timeout)?;
        messages.append(&mut self.messages);
        self.messages = messages;
        Ok(true)
    }

    /// Deletes rows with values that no memory can have, and returns how many. Then all logs are read again.
    pub fn delete_unreadable_rows(&mut self) -> Result<usize, StoreError> {
        self.require_writable()?;
        let rows = self.rows();
        let mut unreadable: Vec<i64> = rows.column("SELECT seq FROM memories", [])?;
        unreadable.retain(|seq| rows.by_seq(*seq).is_err_and(|error| database::is_conversion_error(&error)));
        if !unreadable.is_empty() {
            self.with_transaction(|rows| {
                unreadable.iter().try_for_each(|seq| rows.delete(*seq))?;
                rows.0.execute_batch("DELETE FROM files")
            })?;
            self.messages
                .push(format!("{} rows of memory.db could not be read and come back from Markdown", unreadable.len()));
        }
        Ok(unreadable.len())
    }

    /// Opens the store read-only if the error means that its database cannot be written.
    fn open_read_only(layout: Layout, timeout: LockTimeout, error: StoreError) -> Result<Self, StoreError> {
        if !refuses_writing(&error) {
            return Err(error);
        }
        let cause = if has_less_space_than(layout.store_dir(), MIN_FREE_SPACE) {
            // SQLite reports an I/O error if its shared memory does not fit any more.
            "no space is left on the disk".to_owned()
        } else {
            std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
        };
        Self::open_in_memory(layout, timeout, ReadOnlyReason::NotWritable(cause))
    }

    /// Opens a store with its rows in memory, to be derived from Markdown.
    fn open_in_memory(layout: Layout, timeout: LockTimeout, reason: ReadOnlyReason) -> Result<Self, StoreError> {
        let mut db = database::open_in_memory(Some(&layout.memory_db()))?;
        database_kind::create_database(&mut db)?;
        let message = format!("the store is read-only: {reason}");
        Ok(Self { layout, db, access: StoreAccess::ReadOnly(reason), lock_timeout: timeout, messages: vec![message] })
    }

    /// Returns the same store with its rows in memory and without `memory.db`, for deleting on a full disk. The next process to open the
    /// store rebuilds the file from Markdown.
    pub fn without_database(self) -> Result<Self, StoreError> {
        let lock = self.lock()?;
        let Self { layout, db, lock_timeout: timeout, messages, .. } = self;
        let path = layout.memory_db();
        drop(db);
        database::delete_files(&path).map_err(StoreError::io("delete", path))?;
        drop(lock);
        let mut db = database::open_in_memory(None)?;
        database_kind::create_database(&mut db)?;
        Ok(Self { layout, db, access: StoreAccess::Full, lock_timeout: timeout, messages })
    }
}

/// The most steps until a store has this version: one resets, one creates, and other processes may do the same concurrently.
const MAX_STEPS: usize = 8;

/// Empties `memory.db` in place, unless another process has repaired it, and returns a message about it. The rows come back from Markdown.
/// `open` is a connection to it, if it can be opened.
fn reset_database(layout: &Layout, open: Option<&Database>, timeout: LockTimeout) -> Result<String, StoreError> {
    let _lock = FileLock::acquire(&layout.store_lock(), timeout.duration())?;
    let path = layout.memory_db();
    let opened = if open.is_none() && path.exists() { database::open(&path, timeout).ok() } else { None };
    let open = open.or(opened.as_ref());
    let is_ours = |db| !matches!(detect_kind(db), Ok(DatabaseKind::Foreign) | Err(_));
    if open.is_some_and(|db| is_ours(db) && database::integrity_errors(db).is_ok_and(|found| found.is_empty())) {
        return Ok("memory.db was damaged and has been rebuilt".to_owned());
    }
    let copied = match copy_damaged(layout) {
        Ok(name) => format!("a copy of it is {name}"),
        Err(error) => format!("it could not be copied: {error}"),
    };
    database::reset(&path, open, timeout)?;
    crash_point::crash_if_armed("store.reset");
    Ok(format!("memory.db could not be used and is rebuilt from Markdown; {copied}"))
}

/// Copies a database that is about to be reset, and its write-ahead log. At most one copy an hour, because it may be damaged repeatedly.
fn copy_damaged(layout: &Layout) -> io::Result<String> {
    let hour = Moment::now().local_second()[..13].replace('-', "");
    let name = format!("memory.db.damaged-{hour}");
    for ending in ["-wal", ""] {
        let mut old = match store_file::open(&layout.store_path(&format!("memory.db{ending}"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let copy = layout.store_path(&format!("{name}{ending}"));
        let copied = match options_for_private().create_new(true).open(&copy) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(0),
            created => created.and_then(|mut new| io::copy(&mut old, &mut new)),
        };
        database::leak_open_file(old);
        if let Err(error) = copied {
            // Half a copy is useless; report the error.
            let _ = fs::remove_file(&copy);
            return Err(error);
        }
    }
    Ok(name)
}

/// The least space in which SQLite can work, in bytes: it needs 32 KiB of shared memory and at least a page of its log.
const MIN_FREE_SPACE: u64 = 64 * 1024;

/// Whether the disk of a directory has less space than these bytes, if the platform can say.
pub fn has_less_space_than(dir: &Path, bytes: u64) -> bool {
    #[cfg(unix)]
    {
        rustix::fs::statvfs(dir).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < bytes)
    }
    #[cfg(not(unix))]
    {
        let _ = (dir, bytes);
        false
    }
}

fn is_write_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

fn refuses_writing(error: &StoreError) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
    match error {
        StoreError::Database(DatabaseError::Open { source, .. })
        | StoreError::Io { source, .. }
        | StoreError::Lock(LockError::Io { source, .. }) => is_write_refusal(source),
        StoreError::Database(DatabaseError::Sqlite { source, .. }) | StoreError::Sqlite(source) => matches!(
            source.sqlite_error_code(),
            Some(CannotOpen | DiskFull | PermissionDenied | ReadOnly | SystemIoFailure)
        ),
        _ => false,
    }
}
