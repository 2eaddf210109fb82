//! The store of one project: its files, `memory.db`, and the rule that Markdown is the truth.
//!
//! A server opens it whatever is in the database: a damaged or foreign one is emptied in place and rebuilt, one of an earlier version
//! is upgraded in place, and a store that may not be written is read from its Markdown into memory. Hooks leave all of that to servers.

mod claims;
mod earlier;
mod files;
mod go_version;
mod history;
mod kind;
mod locate;
mod rows;
mod sessions;
mod sync;

pub(crate) use claims::{Claims, rank};
pub use files::InStep;
pub(crate) use files::KnownLog;
pub use history::{Recalls, Session};
pub use locate::Locator;
pub(crate) use rows::Written;
pub use rows::{Filter, Row, Rows, Waiting};
pub use sync::{CaughtUp, SyncReport};

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior};

use crate::crash;
use crate::database::{self, Database, DatabaseError, Patience};
use crate::hook_log;
use crate::layout::Layout;
use crate::lock::{FileLock, LockError};
use crate::log_file::LogFileError;
use crate::moment::Moment;
use crate::own_file::{self, private_file};
use kind::{Contents, contents};

/// An open store.
#[derive(Debug)]
pub struct Store {
    layout: Layout,
    db: Database,
    access: Access,
    patience: Patience,
    notes: Vec<String>,
}

/// What may be done with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
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
                kind::VERSION
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

impl Store {
    /// Opens the store of a project, making it when there is none.
    pub fn open(project: &Path, patience: Patience) -> Result<Self, StoreError> {
        let layout = Layout::new(project);
        if let Err(source) = layout.create() {
            if is_refusal(&source) && layout.dir().is_dir() {
                return Self::in_memory(layout, patience, ReadOnlyReason::NotWritable(source.to_string()));
            }
            return Err(StoreError::Create { path: layout.dir().to_owned(), source });
        }
        // A hook finds out when it writes, and lays aside what it has. What may not be written at all is told by its database.
        if patience == Patience::Server
            && let Err(LockError::Io { path, source }) = FileLock::acquire(&layout.store_lock(), Duration::ZERO)
            && !is_refusal(&source)
        {
            let cause = format!("{} cannot be locked: {source}", path.display());
            return Self::in_memory(layout, patience, ReadOnlyReason::NotWritable(cause));
        }
        Self::open_database(layout, patience)
    }

    fn open_database(layout: Layout, patience: Patience) -> Result<Self, StoreError> {
        let is_hook = patience == Patience::Hook;
        let mut notes = Vec::new();
        let mut db = match database::open(&layout.memory_db(), patience) {
            Err(error) if error.is_damage() && !is_hook => {
                notes.push(reset(&layout, None, patience)?);
                database::open(&layout.memory_db(), patience)?
            }
            Err(error) => return Self::without_writing(layout, patience, error.into()),
            Ok(db) => db,
        };
        for _ in 0..STEPS {
            match contents(&db) {
                Ok(Contents::Current) => {
                    db.note_schema()?;
                    return Ok(Self { layout, db, access: Access::Full, patience, notes });
                }
                Ok(Contents::Newer(version)) => {
                    return Self::in_memory(layout, patience, ReadOnlyReason::Newer(version));
                }
                Ok(Contents::Nothing) => {
                    crash::point("store.created");
                    kind::create(&mut db)?;
                }
                Err(error) if is_hook || !database::is_damage(&error) => {
                    return Self::without_writing(layout, patience, error.into());
                }
                // A hook has no time for the rest. It spools.
                Ok(_) if is_hook => return Err(StoreError::NeedsServer),
                Ok(Contents::Earlier(version)) => match earlier::upgrade(&layout, &mut db, version, patience) {
                    Err(error) if error.is_damage() => notes.push(reset(&layout, Some(&db), patience)?),
                    Err(error) => return Self::without_writing(layout, patience, error),
                    Ok(()) => {}
                },
                Ok(Contents::GoVersion) => {
                    let mut store = Self { layout, db, access: Access::Full, patience, notes };
                    let note = go_version::upgrade(&mut store)?;
                    store.notes.push(note);
                    return Ok(store);
                }
                Ok(Contents::Foreign) | Err(_) => notes.push(reset(&layout, Some(&db), patience)?),
            }
        }
        Err(StoreError::NeedsServer)
    }

    /// Resets `memory.db` if SQLite finds damage in it; whether it did. A note says so, and the rows come back from Markdown.
    pub fn repair(&mut self) -> Result<bool, StoreError> {
        if self.access != Access::Full || database::faults(&self.db)?.is_empty() {
            return Ok(false);
        }
        let mut notes = std::mem::take(&mut self.notes);
        notes.push(reset(&self.layout, Some(&self.db), self.patience)?);
        *self = Self::open_database(self.layout.clone(), self.patience)?;
        notes.append(&mut self.notes);
        self.notes = notes;
        Ok(true)
    }

    /// Deletes rows whose values cannot be those of a memory, and answers how many. The logs are read again for them.
    pub fn delete_unreadable_rows(&mut self) -> Result<usize, StoreError> {
        self.require_writable()?;
        let unreadable: Vec<i64> = {
            let rows = self.rows();
            let mut statement = self.db.prepare("SELECT seq FROM memories")?;
            let all: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            all.into_iter()
                .filter(|seq| rows.by_seq(*seq).is_err_and(|error| database::is_conversion(&error)))
                .collect()
        };
        if !unreadable.is_empty() {
            self.transact(|rows| {
                let mut delete = rows.0.prepare("DELETE FROM memories WHERE seq = ?1")?;
                unreadable.iter().try_for_each(|seq| delete.execute([seq]).map(drop))?;
                rows.0.execute_batch("DELETE FROM files")
            })?;
            self.notes
                .push(format!("{} rows of memory.db could not be read and come back from Markdown", unreadable.len()));
        }
        Ok(unreadable.len())
    }

    /// A store whose database may not be written, if that is what is wrong with it.
    fn without_writing(layout: Layout, patience: Patience, error: StoreError) -> Result<Self, StoreError> {
        if !refuses_writing(&error) {
            return Err(error);
        }
        let cause = if has_less_space(layout.dir(), LEAST_SPACE) {
            // SQLite calls it an I/O error when its shared memory does not fit any more.
            "no space is left on the disk".to_owned()
        } else {
            std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
        };
        Self::in_memory(layout, patience, ReadOnlyReason::NotWritable(cause))
    }

    /// A store whose rows live in memory, made of its Markdown.
    fn in_memory(layout: Layout, patience: Patience, reason: ReadOnlyReason) -> Result<Self, StoreError> {
        let mut db = database::open_in_memory(Some(&layout.memory_db()))?;
        kind::create(&mut db)?;
        db.note_schema()?;
        let note = format!("the store is read-only: {reason}");
        Ok(Self { layout, db, access: Access::ReadOnly(reason), patience, notes: vec![note] })
    }

    /// The same store with its rows in memory and without `memory.db`, for deleting on a full disk. The next process to open the store
    /// rebuilds the file from Markdown.
    pub fn without_database(self) -> Result<Self, StoreError> {
        let lock = self.lock()?;
        let Self { layout, db, patience, notes, .. } = self;
        let path = layout.memory_db();
        drop(db);
        database::remove(&path).map_err(|source| StoreError::Io { doing: "delete", path, source })?;
        drop(lock);
        let mut db = database::open_in_memory(None)?;
        kind::create(&mut db)?;
        db.note_schema()?;
        Ok(Self { layout, db, access: Access::Full, patience, notes })
    }

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
    pub fn access(&self) -> &Access {
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

    /// Refuses when the store may only be read.
    pub fn require_writable(&self) -> Result<(), StoreError> {
        match &self.access {
            Access::Full => Ok(()),
            Access::ReadOnly(reason) => Err(StoreError::ReadOnly(reason.clone())),
        }
    }

    /// Copies the write-ahead log into the database, as far as nobody reads it.
    pub fn tidy(&self) -> Result<(), StoreError> {
        Ok(database::tidy(&self.db)?)
    }

    /// Lets the write-ahead log begin anew when it has grown too long; see [`database::bound`].
    pub fn bound(&self) -> Result<bool, StoreError> {
        let is_ours = self.access == Access::Full && self.is_current();
        Ok(!is_ours || database::bound(&self.db, &self.layout.memory_db())?)
    }

    /// Takes the lock that every change of a log needs.
    pub fn lock(&self) -> Result<FileLock, LockError> {
        FileLock::acquire(&self.layout.store_lock(), self.patience.limit())
    }

    /// Does several statements as one, in a transaction that writes from its first moment.
    pub fn transact<T>(&mut self, work: impl FnOnce(Rows<'_>) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let transaction = Transaction::new(&mut self.db, TransactionBehavior::Immediate)?;
        let outcome = work(Rows(&transaction))?;
        transaction.commit()?;
        Ok(outcome)
    }

    /// The same for work that also writes a log. When it is done the log holds what it holds, and rows that cannot be committed now come
    /// with the next reading of the log. An error undoes what it did to the rows. Another program that replaces the log at that moment makes
    /// it start over.
    pub(crate) fn transact_with_log<T>(
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
                hook_log::note_error(&self.layout, &StoreError::Sqlite(error));
            }
            return Ok(done);
        }
    }
}

/// How often a change of rows and log starts over.
const ATTEMPTS: usize = 8;

/// Steps from what is found to a store of this version: one resets, one creates, and other processes do the same at the same time.
const STEPS: usize = 8;

/// Empties `memory.db` in place, unless another process has repaired it, and says so. The rows come back from Markdown. `open` is a
/// connection to it, if it can be opened.
fn reset(layout: &Layout, open: Option<&Database>, patience: Patience) -> Result<String, StoreError> {
    let _lock = FileLock::acquire(&layout.store_lock(), patience.limit())?;
    let path = layout.memory_db();
    let opened = if open.is_none() && path.exists() { database::open(&path, patience).ok() } else { None };
    let open = open.or(opened.as_ref());
    let is_ours = |db| !matches!(contents(db), Ok(Contents::Foreign) | Err(_));
    if open.is_some_and(|db| is_ours(db) && database::faults(db).is_ok_and(|found| found.is_empty())) {
        return Ok("memory.db was damaged and has been rebuilt".to_owned());
    }
    let copied = match copy_damaged(layout) {
        Ok(name) => format!("a copy of it is {name}"),
        Err(error) => format!("it could not be copied: {error}"),
    };
    database::reset(&path, open, patience)?;
    crash::point("store.reset");
    Ok(format!("memory.db could not be used and is rebuilt from Markdown; {copied}"))
}

/// Copies a database that is about to be reset, and its write-ahead log. One copy an hour is enough, should it be damaged again and again.
fn copy_damaged(layout: &Layout) -> io::Result<String> {
    let hour = Moment::now().local_second()[..13].replace('-', "");
    let name = format!("memory.db.damaged-{hour}");
    for ending in ["-wal", ""] {
        let mut old = match own_file::open(&layout.file(&format!("memory.db{ending}"))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let copy = layout.file(&format!("{name}{ending}"));
        let copied = match private_file().create_new(true).open(&copy) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(0),
            created => created.and_then(|mut new| io::copy(&mut old, &mut new)),
        };
        database::keep_open(old);
        if let Err(error) = copied {
            // Half a copy is of no use; what matters is the error.
            let _ = fs::remove_file(&copy);
            return Err(error);
        }
    }
    Ok(name)
}

/// The space below which SQLite cannot work, in bytes: it needs 32 KiB of shared memory, and a page or more of its log.
const LEAST_SPACE: u64 = 64 * 1024;

/// Whether the disk of a directory has less space than these bytes, where the platform tells.
pub fn has_less_space(dir: &Path, bytes: u64) -> bool {
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

fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
}

fn refuses_writing(error: &StoreError) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
    match error {
        StoreError::Database(DatabaseError::Create { source, .. }) | StoreError::Io { source, .. } => {
            is_refusal(source)
        }
        StoreError::Lock(LockError::Io { source, .. }) => is_refusal(source),
        StoreError::Database(DatabaseError::Sqlite { source, .. }) | StoreError::Sqlite(source) => {
            matches!(
                source.sqlite_error_code(),
                Some(CannotOpen | DiskFull | PermissionDenied | ReadOnly | SystemIoFailure)
            )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
