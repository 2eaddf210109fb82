//! A store that is open: what it may do, its rows, its lock and its transactions. How it is opened is in `open`.

use std::fmt;
use std::io;

use rusqlite::{Transaction, TransactionBehavior};

use super::{Locator, Rows, database_kind, hook_log};
use crate::files::database::{self, Database, DatabaseError, LockTimeout};
use crate::files::layout::Layout;
use crate::files::lock::{FileLock, LockError};
use crate::log::log_file::LogFileError;

/// An open store.
#[derive(Debug)]
pub struct Store {
    pub(super) layout: Layout,
    pub(super) db: Database,
    pub(super) access: StoreAccess,
    pub(super) lock_timeout: LockTimeout,
    pub(super) notes: Vec<String>,
}

/// What may be done with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAccess {
    /// Everything.
    Full,
    /// Its Markdown is read; neither that nor a database is written. Hooks go on to spool and to buffer, where they can.
    ReadOnly(ReadOnlyReason),
}

/// Why a store is only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOnlyReason {
    /// A later version of the program made its database.
    Newer(i64),
    /// The file system or its modes do not let us.
    NotWritable(String),
}

impl fmt::Display for ReadOnlyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer(version) => write!(
                f,
                "its database is of version {version} and this program knows up to {}; update jikime-memory",
                database_kind::VERSION
            ),
            Self::NotWritable(cause) => write!(f, "it cannot be written: {cause}"),
        }
    }
}

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the store {path}", path = .path.display())]
    Create { path: std::path::PathBuf, source: io::Error },
    #[error("the store is read-only: {0}")]
    ReadOnly(ReadOnlyReason),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("memory.db waits to be upgraded or rebuilt by a server")]
    NeedsServer,
    #[error("memory.db failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    LogFile(#[from] LogFileError),
    #[error("another program keeps writing {path}", path = .0.display())]
    BeingRewritten(std::path::PathBuf),
    #[error("cannot {doing} {path}", path = .path.display())]
    Io { doing: &'static str, path: std::path::PathBuf, source: io::Error },
}

impl StoreError {
    /// Whether SQLite reports that `memory.db` is damaged; see [`Store::repair`].
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Sqlite(source) => database::is_damage(source),
            Self::Database(error) => error.is_damage(),
            _ => false,
        }
    }

    /// Whether another process was at it for longer than this one could wait.
    pub fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        let code = match self {
            Self::Lock(LockError::Busy(_)) => return true,
            Self::Database(DatabaseError::Create { source, .. }) => {
                return source.kind() == io::ErrorKind::ResourceBusy;
            }
            Self::Sqlite(source) | Self::Database(DatabaseError::Sqlite { source, .. }) => source.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(DatabaseBusy | DatabaseLocked))
    }
}

/// What several reads need to see the rows of one moment; see [`Store::snapshot`].
#[derive(Debug)]
pub struct Snapshot<'s> {
    _transaction: Transaction<'s>,
}

impl Store {
    /// Rewrites `memory.db` without what was deleted from it; see [`Database::compact`].
    pub fn compact(&self) -> Result<bool, StoreError> {
        Ok(self.db.compact()?)
    }

    /// Where the store lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether `memory.db` is still the database that was opened; see [`Database::is_current`].
    pub fn is_current(&self) -> bool {
        self.db.is_current()
    }

    /// Whether it may be written.
    pub fn access(&self) -> &StoreAccess {
        &self.access
    }

    /// What opening it had to repair or leave out, in words for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The same for a caller that reports them and wants later ones only.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Finds the lines of memories in their files.
    pub fn locator(&self) -> Locator {
        Locator::new(&self.layout)
    }

    /// The rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows(&self.db)
    }

    /// Until it is dropped, rows are read as they are now.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, StoreError> {
        Ok(Snapshot { _transaction: self.db.unchecked_transaction()? })
    }

    /// Refuses when the store may only be read.
    pub fn require_writable(&self) -> Result<(), StoreError> {
        match &self.access {
            StoreAccess::Full => Ok(()),
            StoreAccess::ReadOnly(reason) => Err(StoreError::ReadOnly(reason.clone())),
        }
    }

    /// Copies the write-ahead log into the database, as far as nobody reads it.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(database::checkpoint(&self.db)?)
    }

    /// Lets the write-ahead log begin anew when it has grown too long; see [`database::truncate_long_wal`].
    pub fn truncate_long_wal(&self) -> Result<bool, StoreError> {
        let is_ours = self.access == StoreAccess::Full && self.is_current();
        Ok(!is_ours || database::truncate_long_wal(&self.db, &self.layout.memory_db())?)
    }

    /// Takes the lock that every change of a log needs.
    pub fn lock(&self) -> Result<FileLock, LockError> {
        FileLock::acquire(&self.layout.store_lock(), self.lock_timeout.duration())
    }

    /// Does several statements as one, in a transaction that writes from its first moment.
    pub fn with_transaction<T>(&mut self, work: impl FnOnce(Rows<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let transaction = Transaction::new(&mut self.db, TransactionBehavior::Immediate)?;
        let outcome = work(Rows(&transaction))?;
        transaction.commit()?;
        Ok(outcome)
    }

    /// The same for work that also writes a log. When it is done the log holds what it holds, and rows that cannot be committed now come
    /// with the next reading of the log. An error undoes what it did to the rows. Another program that replaces the log at that moment makes
    /// it start over.
    pub(crate) fn with_log_transaction<T>(
        &mut self,
        mut work: impl FnMut(Rows<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let transaction = Transaction::new(&mut self.db, TransactionBehavior::Immediate)?;
            let done = match work(Rows(&transaction)) {
                Err(StoreError::BeingRewritten(_)) if attempts < ATTEMPTS => continue,
                done => done?,
            };
            if let Err(error) = transaction.commit() {
                hook_log::append_error(&self.layout, &StoreError::Sqlite(error));
            }
            return Ok(done);
        }
    }
}

/// How often a change of rows and log starts over.
const ATTEMPTS: usize = 8;
