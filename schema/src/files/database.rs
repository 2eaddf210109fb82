//! Opens SQLite files as every process of ours must: private, in WAL mode, with a bounded wait, and without a sync when a hook ends.
//!
//! No database is replaced under its name: SQLite finds the write-ahead log and the shared memory of a database by that name, so a program
//! that opens it at the same moment would mix both files. A damaged or foreign database is emptied in place instead.

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

/// How long a process waits for others, and whether it may tidy up when it closes a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockTimeout {
    /// A hook: whoever waits for it waits for a prompt.
    Hook,
    /// A server or a command line.
    Server,
}

impl LockTimeout {
    /// The longest wait for a lock of SQLite or of ours.
    pub fn duration(self) -> Duration {
        match self {
            Self::Hook => Duration::from_millis(100),
            Self::Server => Duration::from_secs(5),
        }
    }
}

/// The size of a write-ahead log from which on a hook copies it into the database, in bytes. Reading that much costs a hook half
/// a millisecond.
const WAL_LIMIT: u64 = 512 * 1024;

/// The size of a page, in bytes.
const PAGE: u64 = 4_096;

/// The pages of a write-ahead log from which on a commit copies it into the database. A server does so in idle moments as well; under load
/// every copy costs two syncs of the disk, for which all writers wait.
const WAL_PAGES: i64 = 4_000;

/// What is left of a write-ahead log that begins anew, in bytes: what a busy minute needed is not kept for good.
const WAL_KEPT: i64 = 4 * 1024 * 1024;

/// The length from which on the readers of a write-ahead log are waited for, in bytes, and for how long. A log begins anew only when
/// everything is copied while nobody reads, which may be never: it would grow for as long as somebody asks at every moment.
const WAL_TRUNCATE_FROM: u64 = 20 * 1024 * 1024;
const READER_WAIT: Duration = Duration::from_millis(60);

/// Prepared statements that are kept: a memory that is saved takes more than the sixteen that are usual.
const STATEMENTS: usize = 64;

/// Why a database is not written that SQLite could write by other means, with which a hook would wait for every search.
const NO_LOG: &str = "the file system has no memory that programs can share";

/// A database that could not be opened or used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("cannot open {path}", path = .path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot use {path}", path = .path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl DatabaseError {
    /// Whether the file is damaged, or no database at all, so that only [`reset`] helps.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Sqlite { source, .. } if is_damage(source))
    }
}

/// Whether SQLite reports that the file itself is damaged.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether a value in a row is of another type or form than ours.
pub fn is_conversion_error(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
}

/// What SQLite finds wrong in a database and its indexes, at most five things. Reads all of it: 84,000 memories take a second.
pub fn integrity_errors(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let check = || -> rusqlite::Result<Vec<String>> {
        let mut statement = db.prepare("PRAGMA integrity_check(5)")?;
        statement.query_map([], |row| row.get(0))?.collect()
    };
    match check() {
        Err(error) if is_damage(&error) => Ok(vec![error.to_string()]),
        found => Ok(found?.into_iter().filter(|fault| fault != "ok").collect()),
    }
}

/// A hash of every table, index, view and trigger of a database. Only a database with exactly our objects is ours: others could run a
/// trigger of a stranger at our next write.
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

/// Which database a connection reads: the file, where the platform tells, and SQLite's counter of schema changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseIdentity {
    file: Option<(u64, u64)>,
    schema: i64,
}

/// An open database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    /// The file that [`Database::is_current`] watches.
    path: Option<PathBuf>,
    identity: Cell<DatabaseIdentity>,
}

impl Database {
    fn new(connection: Connection, path: Option<PathBuf>, file: Option<(u64, u64)>) -> rusqlite::Result<Self> {
        let db = Self { connection, path, identity: Cell::new(DatabaseIdentity { file, schema: 0 }) };
        db.note_schema()?;
        Ok(db)
    }

    /// Which database it was when it was opened.
    pub fn identity(&self) -> DatabaseIdentity {
        self.identity.get()
    }

    /// Whether the path still leads to this database, with the tables that it had: a person may have deleted it, another process may have
    /// emptied it, and a later version may have upgraded it.
    pub fn is_current(&self) -> bool {
        let Some(path) = &self.path else { return true };
        let known = self.identity.get();
        // A database that cannot be read is still this one; its next use reports why.
        file_identity(path) == known.file && self.schema_version().is_none_or(|schema| schema == known.schema)
    }

    /// To be called after a change of the tables by this connection.
    pub fn note_schema(&self) -> rusqlite::Result<()> {
        let schema = self.connection.query_row(SCHEMA_VERSION, [], |row| row.get(0))?;
        self.identity.set(DatabaseIdentity { schema, ..self.identity.get() });
        Ok(())
    }

    fn schema_version(&self) -> Option<i64> {
        self.connection.prepare_cached(SCHEMA_VERSION).ok()?.query_row([], |row| row.get(0)).ok()
    }

    /// Rewrites the database without what was deleted from it, and truncates its write-ahead log. `false` when another process read at
    /// that time, so that the log is truncated later.
    pub fn compact(&self) -> rusqlite::Result<bool> {
        self.connection.execute_batch("PRAGMA secure_delete = ON; VACUUM; PRAGMA secure_delete = OFF;")?;
        self.note_schema()?;
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

/// Opens the database at `path`, creating an empty one if there is none.
pub fn open(path: &Path, patience: LockTimeout) -> Result<Database, DatabaseError> {
    for ending in SIDE_FILES {
        let path = side_file(path, ending);
        verify(&path).map_err(|source| DatabaseError::Create { path, source })?;
    }
    create_if_missing(path, patience).map_err(|source| DatabaseError::Create { path: path.to_owned(), source })?;
    let file = file_identity(path);
    configure(path, patience)
        .and_then(|connection| Database::new(connection, Some(path.to_owned()), file))
        .map_err(|source| DatabaseError::Sqlite { path: path.to_owned(), source })
}

/// Opens a database in memory, for a store whose file at `instead_of` cannot be written.
pub fn open_in_memory(instead_of: Option<&Path>) -> rusqlite::Result<Database> {
    Database::new(Connection::open_in_memory()?, instead_of.map(Path::to_owned), instead_of.and_then(file_identity))
}

/// Empties a database in place, by a connection to it or without one. To be called under the lock that every process takes for that.
pub fn reset(path: &Path, open: Option<&Database>, patience: LockTimeout) -> Result<(), DatabaseError> {
    let reset = || {
        let db = Connection::open_with_flags(path, OPEN)?;
        db.busy_timeout(patience.duration())?;
        drop_all_objects(&db)
    };
    let is_in_use = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
    let outcome = match open.map_or_else(reset, |db| drop_all_objects(db).and_then(|()| db.note_schema())) {
        // One that cannot be opened may be in use since before its header was damaged. Its users can only be joined by the header that they
        // know.
        Err(error) if is_damage(&error) || open.is_none() && is_in_use(&error) => {
            write_empty_header(path).map_err(|source| DatabaseError::Create { path: path.to_owned(), source })?;
            reset()
        }
        outcome => outcome,
    };
    outcome.map_err(|source| DatabaseError::Sqlite { path: path.to_owned(), source })
}

/// It goes through the locks of SQLite, so other processes see an empty database.
fn drop_all_objects(db: &Connection) -> rusqlite::Result<()> {
    if !db.is_autocommit() {
        // The damage was met in a transaction.
        db.execute_batch("ROLLBACK")?;
    }
    // A database in WAL mode stays in it if it was read before. What is wrong with it does not matter here.
    let _ = db.query_row(SCHEMA_VERSION, [], |_| Ok(()));
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = db.execute_batch("VACUUM");
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied
}

/// Gives a database the header of an empty one in WAL mode; see <https://www.sqlite.org/fileformat2.html#the_database_header>.
fn write_empty_header(path: &Path) -> io::Result<()> {
    let pages = u32::try_from(fs::metadata(path)?.len() / PAGE).unwrap_or(u32::MAX).max(1);
    let mut header = [0; 108];
    header[..24].copy_from_slice(b"SQLite format 3\0\x10\0\x02\x02\0\x40\x20\x20");
    header[28..32].copy_from_slice(&pages.to_be_bytes());
    // The schema's format, and UTF-8.
    (header[47], header[59]) = (4, 1);
    // A leaf without cells, whose content begins at the end of the page.
    (header[100], header[105]) = (13, 0x10);
    let mut file = options_for_private().open(path)?;
    let written = file.write_all(&header);
    leak_open_file(file);
    written
}

/// Never closes a file: on Unix a process loses its locks on a file when it closes any descriptor of that file, those of open databases
/// included.
pub(crate) fn leak_open_file(file: fs::File) {
    std::mem::forget(file);
}

const OPEN: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// The endings of the files that SQLite keeps next to a database.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Creates an empty file if there is none. SQLite would create one that everybody may read; its side files get the same mode.
///
/// A person may have deleted the database alone while programs use it. Its side files are removed first, because SQLite would take the old
/// shared memory for that of the new database. The lock keeps another process from removing those of the new one.
fn create_if_missing(path: &Path, patience: LockTimeout) -> io::Result<()> {
    if exists(path)? {
        return Ok(());
    }
    let _lock =
        FileLock::acquire(&path.with_file_name(STORE_LOCK), patience.duration()).map_err(|error| match error {
            LockError::Busy(_) => io::Error::new(io::ErrorKind::ResourceBusy, error),
            LockError::Io { source, .. } => source,
        })?;
    if exists(path)? {
        return Ok(());
    }
    delete_files(path)?;
    // Closed before it gets its name; see `leak_open_file`.
    let new = path.with_file_name(NEW);
    options_for_private().create(true).truncate(true).open(&new)?;
    fs::rename(new, path)
}

/// Deletes a database and its side files to make room on a full disk. The caller holds the lock under which it is created.
pub fn delete_files(path: &Path) -> io::Result<()> {
    [path.to_owned()].into_iter().chain(SIDE_FILES.map(|ending| side_file(path, ending))).try_for_each(|file| {
        match fs::remove_file(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    })
}

/// A new database until it has its name. Like other temporary files it is deleted when its writer was killed.
const NEW: &str = ".database.tmp";

/// Whether there is a database. The file is not opened; see [`leak_open_file`].
fn exists(path: &Path) -> io::Result<bool> {
    verify(path)?;
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    // SQLite would only say that it cannot open it.
    #[cfg(unix)]
    rustix::fs::access(path, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK)?;
    Ok(true)
}

fn configure(path: &Path, patience: LockTimeout) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OPEN)?;
    db.busy_timeout(patience.duration())?;
    // A project may bring a database of a stranger, whose objects must not act.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    switch_to_wal(&db, patience)?;
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement that depends on what is bound to it would be prepared again with every value; ours say by themselves which index.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
    db.pragma_update(None, "journal_size_limit", WAL_KEPT)?;
    if patience == LockTimeout::Hook {
        // Copying the log into the database at the close, with its syncs, is five times the cost of a hook, and is left to servers. One that
        // has grown is copied all the same, because the next process that opens the database reads all of it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, wal_length(path) < WAL_LIMIT)?;
    }
    Ok(db)
}

/// Whether the write-ahead log of a database is longer than it should be: a reader keeps it from beginning anew.
pub fn is_wal_long(path: &Path) -> bool {
    wal_length(path) >= WAL_TRUNCATE_FROM
}

/// The length of a database's write-ahead log, in bytes.
fn wal_length(path: &Path) -> u64 {
    fs::metadata(side_file(path, "-wal")).map_or(0, |metadata| metadata.len())
}

/// Copies the write-ahead log into the database, as far as nobody reads it.
pub fn checkpoint(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Truncates a write-ahead log that has grown too long, once its readers are done. Meanwhile nobody writes, and new readers do without
/// the log. `false` when a reader took too long, so that it is to be tried again later.
pub fn truncate_long_wal(db: &Connection, path: &Path) -> rusqlite::Result<bool> {
    if !is_wal_long(path) {
        return Ok(true);
    }
    db.busy_timeout(READER_WAIT)?;
    let is_truncated = truncate_wal(db);
    db.busy_timeout(LockTimeout::Server.duration())?;
    is_truncated
}

/// Copies the write-ahead log into the database and truncates it. `false` when another process read at that time.
pub fn truncate_wal(db: &Connection) -> rusqlite::Result<bool> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0)).map(|is_busy| !is_busy)
}

/// A file of SQLite's own beside a database.
fn side_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

/// The busy handler is not asked while a new database goes over to WAL, so a crowd of first hooks has to retry by itself.
///
/// Where memory cannot be shared SQLite stays with another journal and says no more than that.
fn switch_to_wal(db: &Connection, patience: LockTimeout) -> rusqlite::Result<()> {
    let deadline = Instant::now() + patience.duration();
    loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(mode) if mode != "wal" => {
                let fault = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
                return Err(rusqlite::Error::SqliteFailure(fault, Some(NO_LOG.to_owned())));
            }
            outcome => return outcome.map(drop),
        }
    }
}

#[cfg(test)]
mod tests;
