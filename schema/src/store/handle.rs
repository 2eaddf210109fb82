//! An open store: its access, rows, lock and transactions. `open` opens it.

use std::fmt;
use std::io;
use std::path::PathBuf;

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
    pub(super) messages: Vec<String>,
}

/// The access that a store allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAccess {
    /// Everything.
    Full,
    /// Only reading its Markdown. Nothing is written to Markdown or database; hooks still write to spool and buffer if they can.
    ReadOnly(ReadOnlyReason),
}

/// The reason why a store is read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadOnlyReason {
    /// A later version of the program made the database.
    Newer(i64),
    /// The file system or its permissions do not allow writing.
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

/// An error of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the store {path}", path = .path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error("the store is read-only: {0}")]
    ReadOnly(ReadOnlyReason),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("a server must upgrade or rebuild memory.db first")]
    NeedsServer,
    #[error("memory.db failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    LogFile(#[from] LogFileError),
    #[error("another program keeps writing {path}", path = .0.display())]
    BeingRewritten(PathBuf),
    #[error("cannot {doing} {path}", path = .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

impl StoreError {
    /// Returns a function that adds to an error what failed.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.into(), source }
    }

    /// Whether SQLite reports that `memory.db` is damaged; see [`Store::repair`].
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Sqlite(source) => database::is_damage(source),
            Self::Database(error) => error.is_damage(),
            _ => false,
        }
    }

    /// Whether another process was busy with the store for longer than this one could wait.
    pub fn is_busy(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
        let code = match self {
            Self::Lock(LockError::Busy(_)) => return true,
            Self::Database(DatabaseError::Open { source, .. }) => {
                return source.kind() == io::ErrorKind::ResourceBusy;
            }
            Self::Sqlite(source) | Self::Database(DatabaseError::Sqlite { source, .. }) => source.sqlite_error_code(),
            _ => None,
        };
        matches!(code, Some(DatabaseBusy | DatabaseLocked))
    }
}

impl Store {
    /// Rewrites `memory.db` without its deleted content; see [`Database::compact`].
    pub fn compact(&self) -> Result<bool, StoreError> {
        Ok(self.db.compact()?)
    }

    /// The paths of the store.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether `memory.db` is still the database that was opened; see [`Database::is_current`].
    pub fn is_current(&self) -> bool {
        self.db.is_current()
    }

    /// The access that the store allows.
    pub fn access(&self) -> &StoreAccess {
        &self.access
    }

    /// Messages for people about repairs and skipped parts when the store was opened.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// Takes the messages, for a caller that reports each of them once.
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// Returns a locator for the lines of memories in their files.
    pub fn locator(&self) -> Locator {
        Locator::new(&self.layout)
    }

    /// Gives access to the rows.
    pub fn rows(&self) -> Rows<'_> {
        Rows(&self.db)
    }

    /// Begins a transaction of reads: until it is dropped, all of them see the rows of one moment.
    pub fn snapshot(&self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.db.unchecked_transaction()?)
    }

    /// Fails if the store is read-only.
    pub fn require_writable(&self) -> Result<(), StoreError> {
        match &self.access {
            StoreAccess::Full => Ok(()),
            StoreAccess::ReadOnly(reason) => Err(StoreError::ReadOnly(reason.clone())),
        }
    }

    /// Copies the write-ahead log into the database, as far as no reader needs it.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        Ok(database::checkpoint(&self.db)?)
    }

    /// Truncates the write-ahead log if it is too long; see [`database::truncate_long_wal`].
    pub fn truncate_long_wal(&self) -> Result<bool, StoreError> {
        let is_ours = self.access == StoreAccess::Full && self.is_current();
        Ok(!is_ours || database::truncate_long_wal(&self.db, &self.layout.memory_db())?)
    }

    /// Acquires the lock that every change of a log needs.
    pub fn lock(&self) -> Result<FileLock, LockError> {
        FileLock::acquire(&self.layout.store_lock(), self.lock_timeout.duration())
    }

    /// Runs several statements in one transaction, which may write from its start.
    pub fn with_transaction<T>(&mut self, work: impl FnOnce(Rows<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let transaction = Transaction::new(&mut self.db, TransactionBehavior::Immediate)?;
        let outcome = work(Rows(&transaction))?;
        transaction.commit()?;
        Ok(outcome)
    }

    /// Like [`Store::with_transaction`], for work that also writes a log. The log is final once `work` is done; if the rows cannot be
    /// committed then, the next reading of the log adds them. An error undoes the changes of the rows. If another program replaces the log
    /// meanwhile, `work` runs again.
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
