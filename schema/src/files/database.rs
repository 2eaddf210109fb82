//! Opens SQLite files in the way that all our processes share: private, in WAL mode, with a limited wait, and without a sync when a hook
//! ends.
//!
//! No database is replaced under its name. SQLite finds the write-ahead log and the shared memory by that name, so a program that opens the
//! database at the same moment would mix both files. A damaged or foreign database is emptied in place instead.

use std::cell::Cell;
use std::fs;
use std::io::{self, Write as _};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::files::file_stamp::file_identity;
use crate::files::layout::STORE_LOCK;
use crate::files::lock::{FileLock, LockError};
use crate::files::store_file::{options_for_private, verify};
use crate::model::memory::content_hash;

/// How long a process waits for locks, and whether it copies the write-ahead log into the database on close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTimeout {
    /// A hook, which keeps the user's prompt waiting.
    Hook,
    /// A server or a command.
    Server,
}

impl LockTimeout {
    /// Returns the longest wait for a lock, of SQLite or of our own.
    pub fn duration(self) -> Duration {
        match self {
            Self::Hook => Duration::from_millis(100),
            Self::Server => Duration::from_secs(5),
        }
    }
}

/// The size of a write-ahead log, in bytes, from which a hook copies it into the database. Reading a log of this size costs a hook half a
/// millisecond.
const WAL_LIMIT: u64 = 512 * 1024;

/// The page size, in bytes.
const PAGE_SIZE: u64 = 4_096;

/// The size of a write-ahead log, in pages, from which a commit copies it into the database. A server also does so when it is idle. Under
/// load each copy costs two disk syncs, and all writers wait for them.
const WAL_PAGES: i64 = 4_000;

/// The size to which SQLite truncates a write-ahead log when it starts over, in bytes, so that a busy minute does not cost disk space
/// forever.
const WAL_KEPT: i64 = 4 * 1024 * 1024;

/// The size of a write-ahead log, in bytes, from which a server waits for its readers, and the longest such wait. The log starts over only
/// when all of it is copied while nobody reads. With overlapping readers that never happens, and the log would keep growing.
const WAL_TRUNCATE_FROM: u64 = 20 * 1024 * 1024;
const READER_WAIT: Duration = Duration::from_millis(60);

/// The capacity of the cache of prepared statements. Saving a memory needs more than the default of 16.
const CACHED_STATEMENTS: usize = 64;

/// The error if the file system does not support WAL. SQLite could use another journal, but then hooks would wait for every search.
const NO_LOG: &str = "the file system does not support shared memory";

/// The error when a database cannot be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("cannot open {path}", path = .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot use {path}", path = .path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl DatabaseError {
    /// Whether the file is damaged or not a database, so that only [`reset`] helps.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Sqlite { source, .. } if is_damage(source))
    }
}

/// Whether SQLite reports that the file itself is damaged.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether a value in a row has an unexpected type or format.
pub fn is_conversion_error(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
}

/// Returns at most five errors that SQLite finds in a database and its indexes. It reads the whole file, which takes a second for 84,000
/// memories.
pub fn integrity_errors(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let check = || -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare("PRAGMA integrity_check(5)")?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    match check() {
        Err(error) if is_damage(&error) => Ok(vec![error.to_string()]),
        found => Ok(found?.into_iter().filter(|line| line != "ok").collect()),
    }
}

/// Returns a hash of all tables, indexes, views and triggers. A database with any other objects is not used, because a stranger's trigger
/// could run at our next write.
pub fn schema_hash(db: &Connection) -> rusqlite::Result<String> {
    let mut statement =
        db.prepare("SELECT type, name, tbl_name, ifnull(sql, '') FROM sqlite_schema ORDER BY name, type")?;
    let mut rows = statement.query([])?;
    let mut objects = String::new();
    while let Some(row) = rows.next()? {
        for column in 0..4 {
            objects.push_str(&String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?));
            objects.push('\0');
        }
    }
    Ok(content_hash(&objects))
}

/// Identifies the database behind a connection: the file, if the platform identifies files, and SQLite's counter of schema changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseIdentity {
    file: Option<(u64, u64)>,
    schema: i64,
}

/// An open database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    /// The path that [`Database::is_current`] checks.
    path: Option<PathBuf>,
    identity: Cell<DatabaseIdentity>,
}

impl Database {
    fn new(connection: Connection, path: Option<PathBuf>, file: Option<(u64, u64)>) -> rusqlite::Result<Self> {
        let db = Self { connection, path, identity: Cell::new(DatabaseIdentity { file, schema: 0 }) };
        db.remember_schema()?;
        Ok(db)
    }

    /// Returns the identity of the database since it was opened or its schema was last remembered.
    pub fn identity(&self) -> DatabaseIdentity {
        self.identity.get()
    }

    /// Whether the path still leads to this database with the same schema. A person may have deleted it, another process may have emptied
    /// it, or a later version may have upgraded it.
    pub fn is_current(&self) -> bool {
        let Some(path) = &self.path else { return true };
        let known = self.identity.get();
        // An unreadable database still counts as this one; its next use reports the reason.
        file_identity(path) == known.file && self.schema_version().map_or(true, |schema| schema == known.schema)
    }

    /// Remembers the current schema as this connection's own. Call it after this connection changed the schema.
    pub fn remember_schema(&self) -> rusqlite::Result<()> {
        self.identity.set(DatabaseIdentity { schema: self.schema_version()?, ..self.identity.get() });
        Ok(())
    }

    fn schema_version(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached(SCHEMA_VERSION)?.query_row([], |row| row.get(0))
    }

    /// Rewrites the database without deleted content and truncates its write-ahead log. Returns `false` if another process was reading, so
    /// that the log is truncated later.
    pub fn compact(&self) -> rusqlite::Result<bool> {
        self.connection.execute_batch("PRAGMA secure_delete = ON; VACUUM; PRAGMA secure_delete = OFF;")?;
        self.remember_schema()?;
        truncate_wal(&self.connection)
    }
}

const SCHEMA_VERSION: &str = "PRAGMA schema_version";

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Database {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

/// Opens the database at `path`, and creates an empty one if necessary.
pub fn open(path: &Path, timeout: LockTimeout) -> Result<Database, DatabaseError> {
    for ending in SIDE_FILES {
        let path = side_file(path, ending);
        verify(&path).map_err(|source| DatabaseError::Open { path, source })?;
    }
    create_if_missing(path, timeout).map_err(|source| DatabaseError::Open { path: path.to_owned(), source })?;
    let file = file_identity(path);
    configure(path, timeout)
        .and_then(|connection| Database::new(connection, Some(path.to_owned()), file))
        .map_err(|source| DatabaseError::Sqlite { path: path.to_owned(), source })
}

/// Opens a database in memory, for a store whose file at `instead_of` cannot be written.
pub fn open_in_memory(instead_of: Option<&Path>) -> rusqlite::Result<Database> {
    Database::new(Connection::open_in_memory()?, instead_of.map(Path::to_owned), instead_of.and_then(file_identity))
}

/// Empties a database in place, with or without an open connection to it. The caller holds the lock for resets of this database.
pub fn reset(path: &Path, open: Option<&Database>, timeout: LockTimeout) -> Result<(), DatabaseError> {
    let reset = || {
        let db = Connection::open_with_flags(path, OPEN_FLAGS)?;
        db.busy_timeout(timeout.duration())?;
        drop_all_objects(&db)
    };
    let is_in_use = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
    let outcome = match open.map_or_else(reset, |db| drop_all_objects(db).and_then(|()| db.remember_schema())) {
        // A database that cannot be opened may still be open in processes that started before its header was damaged. They accept only the
        // header that they know.
        Err(error) if is_damage(&error) || open.is_none() && is_in_use(&error) => {
            write_empty_header(path).map_err(|source| DatabaseError::Open { path: path.to_owned(), source })?;
            reset()
        }
        outcome => outcome,
    };
    outcome.map_err(|source| DatabaseError::Sqlite { path: path.to_owned(), source })
}

/// Empties the database under SQLite's locks, so that other processes see an empty database.
fn drop_all_objects(db: &Connection) -> rusqlite::Result<()> {
    if !db.is_autocommit() {
        // The damage was found inside a transaction.
        db.execute_batch("ROLLBACK")?;
    }
    // A read keeps a database in WAL mode. Errors do not matter here.
    let _ = db.query_row(SCHEMA_VERSION, [], |_| Ok(()));
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = db.execute_batch("VACUUM");
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied
}

/// Writes the header of an empty database in WAL mode; see <https://www.sqlite.org/fileformat2.html#the_database_header>.
fn write_empty_header(path: &Path) -> io::Result<()> {
    let pages = u32::try_from(fs::metadata(path)?.len() / PAGE_SIZE).unwrap_or(u32::MAX).max(1);
    let mut header = [0; 108];
    header[..24].copy_from_slice(b"SQLite format 3\0\x10\0\x02\x02\0\x40\x20\x20");
    header[28..32].copy_from_slice(&pages.to_be_bytes());
    // Schema format 4, and UTF-8.
    (header[47], header[59]) = (4, 1);
    // A leaf page without cells, whose content starts at the end of the page.
    (header[100], header[105]) = (13, 0x10);
    let mut file = options_for_private().open(path)?;
    let written = file.write_all(&header);
    leak_open_file(file);
    written
}

/// Leaks an open file. On Unix, closing any descriptor of a file drops all locks of the process on it, including those of open databases.
pub(crate) fn leak_open_file(file: fs::File) {
    std::mem::forget(file);
}

const OPEN_FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The suffixes of the files that SQLite keeps next to a database.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Creates an empty file if necessary, because SQLite would create one that everybody may read. Side files get the mode of the
/// database.
///
/// A person may have deleted only the database while programs use it. Its old side files are removed first, because SQLite would use the
/// old shared memory for the new database. The lock keeps another process from removing the new side files.
fn create_if_missing(path: &Path, timeout: LockTimeout) -> io::Result<()> {
    if exists(path)? {
        return Ok(());
    }
    let _lock =
        FileLock::acquire(&path.with_file_name(STORE_LOCK), timeout.duration()).map_err(|error| match error {
            LockError::Busy(_) => io::Error::new(io::ErrorKind::ResourceBusy, error),
            LockError::Io { source, .. } => source,
        })?;
    if exists(path)? {
        return Ok(());
    }
    delete_files(path)?;
    // Closed before the rename; see `leak_open_file`.
    let new = path.with_file_name(TEMPORARY_NAME);
    options_for_private().create(true).truncate(true).open(&new)?;
    fs::rename(new, path)
}

/// Deletes a database and its side files to make room on a full disk. The caller holds the lock under which the database is created.
pub fn delete_files(path: &Path) -> io::Result<()> {
    [path.to_owned()].into_iter().chain(SIDE_FILES.map(|ending| side_file(path, ending))).try_for_each(|file| {
        match fs::remove_file(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    })
}

/// The name of a new database before it is renamed. It is deleted like other temporary files if its writer is killed.
const TEMPORARY_NAME: &str = ".database.tmp";

/// Whether the database exists. Does not open the file; see [`leak_open_file`].
fn exists(path: &Path) -> io::Result<bool> {
    verify(path)?;
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // SQLite would report only that it cannot open the file.
    #[cfg(unix)]
    rustix::fs::access(path, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK)?;
    Ok(true)
}

fn configure(path: &Path, timeout: LockTimeout) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OPEN_FLAGS)?;
    db.busy_timeout(timeout.duration())?;
    // A cloned project may contain a stranger's database, whose triggers and views must not run.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    switch_to_wal(&db, timeout)?;
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
    db.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // Otherwise SQLite would prepare some statements again for each bound value. Our statements name their indexes themselves.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
    db.pragma_update(None, "journal_size_limit", WAL_KEPT)?;
    if timeout == LockTimeout::Hook {
        // Copying the log on close, with its syncs, costs five times as much as the hook itself, so it is left to servers. A hook copies
        // only a long log, because the next process that opens the database reads all of it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, wal_length(path) < WAL_LIMIT)?;
    }
    Ok(db)
}

/// Whether the write-ahead log of a database is too long, which happens when readers keep it from starting over.
pub fn is_wal_long(path: &Path) -> bool {
    wal_length(path) >= WAL_TRUNCATE_FROM
}

/// Returns the length of a database's write-ahead log, in bytes.
pub fn wal_length(path: &Path) -> u64 {
    fs::metadata(side_file(path, "-wal")).map_or(0, |metadata| metadata.len())
}

/// Copies the write-ahead log into the database, as far as no reader needs the log.
pub fn checkpoint(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Truncates a write-ahead log that is too long, waiting for its readers. Writers are blocked meanwhile, and new readers do not use the
/// log. Returns `false` if a reader took too long, so that it has to be tried again later.
pub fn truncate_long_wal(db: &Connection, path: &Path) -> rusqlite::Result<bool> {
    if !is_wal_long(path) {
        return Ok(true);
    }
    db.busy_timeout(READER_WAIT)?;
    let is_truncated = truncate_wal(db);
    db.busy_timeout(LockTimeout::Server.duration())?;
    is_truncated
}

/// Copies the write-ahead log into the database and truncates the log. Returns `false` if another process was reading.
pub fn truncate_wal(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0)).map(|is_busy| !is_busy)
}

/// Returns the path of one of SQLite's side files, such as `-wal`.
pub fn side_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

/// Switches a database to WAL mode. SQLite does not call the busy handler during this switch, so hooks that open a new database together
/// have to retry.
///
/// Where memory cannot be shared, SQLite keeps another journal mode without an error.
fn switch_to_wal(db: &Connection, timeout: LockTimeout) -> rusqlite::Result<()> {
    let deadline = Instant::now() + timeout.duration();
    loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(mode) if mode != "wal" => {
                let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
                return Err(rusqlite::Error::SqliteFailure(error, Some(NO_LOG.to_owned())));
            }
            outcome => return outcome.map(drop),
        }
    }
}

#[cfg(test)]
mod tests;
