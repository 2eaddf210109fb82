//! The store of one project: its files, `memory.db`, and the rule that Markdown is the truth.
//!
//! Opening never fails because of what is in the database: a damaged one is set aside and rebuilt, one of the Go version is
//! upgraded, and a store that may not be written is read from its Markdown into memory.

mod claims;
mod earlier;
mod go_version;
mod history;
mod kind;
mod places;
mod rows;
mod sessions;
mod sync;
mod tails;

pub(crate) use claims::{Claims, rank};
pub use history::{Recalls, Session};
pub use rows::{Filter, Place, Row, Rows};
pub use sync::{CaughtUp, SyncReport};
pub use tails::InStep;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior};

use crate::causes::chain;
use crate::crash;
use crate::database::{self, Database, DatabaseError, Patience};
use crate::layout::Layout;
use crate::lock::{FileLock, LockError};
use crate::log_file::LogFileError;
use crate::moment::Moment;
use crate::residue;
use crate::stamp::identity;
use kind::{Contents, contents, newer_version_in_header};

/// An open store.
#[derive(Debug)]
pub struct Store {
    layout: Layout,
    db: Database,
    /// Which file `memory.db` was when it was opened.
    identity: Option<(u64, u64)>,
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
    #[error("memory.db is of an earlier version and waits to be upgraded by the server")]
    NeedsUpgrade,
    #[error("memory.db failed")]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    LogFile(#[from] LogFileError),
    #[error("cannot {doing} {path}", path = .path.display())]
    Io { doing: &'static str, path: std::path::PathBuf, source: io::Error },
}

impl StoreError {
    /// Whether `memory.db` is damaged, so that only [`Store::begin_anew`] helps.
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
        if let Some(version) = newer_version_in_header(&layout.memory_db()) {
            return Self::in_memory(layout, patience, ReadOnlyReason::Newer(version));
        }
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
        let mut notes = Vec::new();
        let opened = match database::open(&layout.memory_db(), patience) {
            Err(error) if error.is_damage() => {
                notes.push(set_aside(&layout, patience, is_usable)?);
                database::open(&layout.memory_db(), patience)
            }
            opened => opened,
        };
        let db = match opened {
            Ok(db) => db,
            Err(error) => return Self::without_writing(layout, patience, error.into()),
        };
        let identity = db.identity();
        let mut store = Self { layout, db, identity, access: Access::Full, patience, notes };
        let found = match contents(&store.db) {
            Err(error) if database::is_damage(&error) => Contents::Foreign,
            found => found?,
        };
        match found {
            Contents::Current => {}
            Contents::Nothing => {
                crash::point("store.created");
                kind::create(&mut store.db)?;
            }
            // As with the Go version, a hook has no time for it.
            Contents::Earlier(_) if patience == Patience::Hook => return Err(StoreError::NeedsUpgrade),
            Contents::Earlier(_) => {
                // Not every platform replaces a file in use.
                drop(store.db);
                return Self::upgrade(store.layout, patience);
            }
            Contents::Newer(version) => return Self::in_memory(store.layout, patience, ReadOnlyReason::Newer(version)),
            Contents::GoVersion => {
                let note = go_version::upgrade(&mut store)?;
                store.notes.push(note);
            }
            Contents::Foreign => {
                drop(store.db);
                let note = set_aside(&store.layout, patience, is_usable)?;
                let mut again = Self::open_database(store.layout, patience)?;
                again.notes.push(note);
                return Ok(again);
            }
        }
        Ok(store)
    }

    /// Whether every page of `memory.db` is in order. Reads all of it.
    pub fn is_sound(&self) -> bool {
        database::is_sound(&self.db)
    }

    /// Sets a damaged `memory.db` aside and begins a new one without rows, unless another process has done so already.
    ///
    /// What the notes gain says so. The rows come back from Markdown.
    pub fn begin_anew(&mut self) -> Result<(), StoreError> {
        let damaged = self.identity;
        // Tables that a later program changed meanwhile are not damaged.
        let is_newer = matches!(contents(&self.db), Ok(Contents::Newer(_)));
        // Closed first, because not every platform renames a file in use.
        self.db = database::open_in_memory()?;
        let is_another = |layout: &Layout, _| damaged.is_some() && identity(&layout.memory_db()) != damaged;
        let note = if is_newer { None } else { Some(set_aside(&self.layout, self.patience, is_another)?) };
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(note);
        *self = Self::open_database(self.layout.clone(), self.patience)?;
        notes.append(&mut self.notes);
        self.notes = notes;
        Ok(())
    }

    /// Opens a store after its database of an earlier version became one of this, or was set aside because none can be made of it.
    fn upgrade(layout: Layout, patience: Patience) -> Result<Self, StoreError> {
        match earlier::upgrade(&layout, patience) {
            Ok(()) => Self::open_database(layout, patience),
            Err(error) if error.is_busy() || refuses_writing(&error) => Self::without_writing(layout, patience, error),
            // Nor can it be moved away then, as where a program that knows no other has it open.
            Err(error @ (StoreError::Io { .. } | StoreError::Lock(_))) => {
                Self::in_memory(layout, patience, ReadOnlyReason::NotWritable(chain(&error)))
            }
            Err(_) => {
                let note = set_aside(&layout, patience, is_ours)?;
                let mut store = Self::open_database(layout, patience)?;
                store.notes.push(note);
                Ok(store)
            }
        }
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
        let mut db = database::open_in_memory()?;
        kind::create(&mut db)?;
        let note = format!("the store is read-only: {reason}");
        let identity = identity(&layout.memory_db());
        Ok(Self { layout, db, identity, access: Access::ReadOnly(reason), patience, notes: vec![note] })
    }

    /// The same store with its rows in memory and without `memory.db`, for deleting on a full disk. The next process to open the store
    /// rebuilds the file from Markdown.
    pub fn without_database(self) -> Result<Self, StoreError> {
        let Self { layout, db, patience, notes, .. } = self;
        let path = layout.memory_db();
        drop(db);
        database::alone(&path, patience.limit(), || database::remove(&path))?.map_err(|source| StoreError::Io {
            doing: "delete",
            path,
            source,
        })?;
        let mut db = database::open_in_memory()?;
        kind::create(&mut db)?;
        Ok(Self { layout, db, identity: None, access: Access::Full, patience, notes })
    }

    /// Writes `memory.db` anew without what was deleted from it; see [`residue::compact`].
    pub fn compact(&self) -> Result<bool, StoreError> {
        Ok(residue::compact(&self.db)?)
    }

    /// Where the store lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether `memory.db` is still the file that was opened, not one that was deleted or replaced since.
    pub fn is_current(&self) -> bool {
        self.identity == identity(&self.layout.memory_db())
    }

    /// Whether it may be written.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What opening it had to mend or leave out, in words for people.
    pub fn notes(&self) -> &[String] {
        &self.notes
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
        // The log that is there by now may be that of another database.
        if self.is_current() { Ok(database::tidy(&self.db)?) } else { Ok(()) }
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

    /// The same for work that also changes a log, which keeps what it holds: when it is done, rows that cannot be committed now come
    /// with the next reading of the log. `None` and an error undo what it did to the rows.
    pub(crate) fn transact_with_log<T>(
        &mut self,
        work: impl FnOnce(Rows<'_>) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let transaction = Transaction::new(&mut self.db, TransactionBehavior::Immediate)?;
        let done = work(Rows(&transaction))?;
        if done.is_some() {
            let _ = transaction.commit();
        }
        Ok(done)
    }
}

/// Whether the database can be opened and is ours.
fn is_usable(layout: &Layout, patience: Patience) -> bool {
    database::open(&layout.memory_db(), patience)
        .is_ok_and(|db| !matches!(contents(&db), Ok(Contents::Foreign) | Err(_)))
}

/// Whether the database is of this version.
fn is_ours(layout: &Layout, patience: Patience) -> bool {
    database::open(&layout.memory_db(), patience).is_ok_and(|db| matches!(contents(&db), Ok(Contents::Current)))
}

/// Moves a database that cannot be used out of the way and says so. What it held comes back from Markdown.
fn set_aside(
    layout: &Layout,
    patience: Patience,
    is_mended: impl FnOnce(&Layout, Patience) -> bool,
) -> Result<String, StoreError> {
    let _lock = FileLock::acquire(&layout.store_lock(), patience.limit())?;
    let path = layout.memory_db();
    // Another process may have mended it while we waited for the lock.
    if is_mended(layout, patience) {
        return Ok("memory.db was damaged and has been rebuilt".to_owned());
    }
    let name = format!("memory.db.damaged-{}", Moment::now().local_second().replace([':', '-'], ""));
    // The database last: should this end in the middle, the one that is made next must not find this log.
    let moved = database::alone(&path, patience.limit(), || {
        database::LOGS.iter().chain([&""]).try_for_each(|ending| {
            let (from, to) = (format!("memory.db{ending}"), format!("{name}{ending}"));
            match fs::rename(layout.file(&from), layout.file(&to)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                moved => moved,
            }
        })
    })?;
    moved.map_err(|source| StoreError::Io { doing: "set aside", path, source })?;
    crash::point("store.set-aside");
    Ok(format!("memory.db could not be read; it was set aside as {name} and is rebuilt from Markdown"))
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
