//! Opens a SQLite file the way every process of ours must: WAL, private, patient, and without a sync at the end of a hook.

mod door;

use std::fs;
use std::io::{self, Read as _};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::lock::{FileLock, LockError};
use crate::own_file::{self, private_file, verify};
use crate::stamp::identity;

/// How long a process waits for others, and whether it may tidy up when it closes a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// A hook: whoever waits for it waits for a prompt.
    Hook,
    /// A server or a command line.
    Server,
}

impl Patience {
    /// The longest wait for a lock of SQLite or of ours.
    pub fn limit(self) -> Duration {
        match self {
            Self::Hook => Duration::from_millis(100),
            Self::Server => Duration::from_secs(5),
        }
    }
}

/// The size of a write-ahead log from which on a hook copies it into the database, in bytes. Reading that much costs a hook half
/// a millisecond.
const LOG_LIMIT: u64 = 512 * 1024;

/// The pages of a write-ahead log from which on a server copies it into the database. It does so in idle moments as well; under load
/// every copy costs two syncs of the disk, for which all who write wait.
const LOG_PAGES: i64 = 4_000;

/// What is left of a write-ahead log that begins anew, in bytes: what a busy minute needed is not kept for good.
const LOG_KEPT: i64 = 4 * 1024 * 1024;

/// The length from which on the readers of a write-ahead log are waited for, in bytes, and for how long. A log begins anew only when
/// everything is copied while nobody reads, which may be never: it would grow for as long as somebody asks at every moment.
const LOG_BOUND: u64 = 20 * 1024 * 1024;
const READERS_END: Duration = Duration::from_millis(60);

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
    /// Whether the file is damaged, or no database at all, so that only setting it aside helps.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Sqlite { source, .. } if is_damage(source))
    }
}

/// Whether an error of SQLite says that the file itself is damaged.
///
/// Statements and tables are ours, so a table that is not there, a value of another type and a text that is no UTF-8 are damage too.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    if matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) {
        return true;
    }
    let text = error.to_string();
    matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..))
        || ["no such table", "no such column", "vtable constructor failed"].iter().any(|sign| text.contains(sign))
}

/// Whether every page of a database is in order. Reads all of it.
pub fn is_sound(db: &Connection) -> bool {
    match db.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0)) {
        Ok(found) => found == "ok",
        Err(error) => !is_damage(&error),
    }
}

/// What SQLite finds wrong in a database and its indexes, at most five things. Reads all of it, and more slowly than [`is_sound`].
pub fn faults(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare("PRAGMA integrity_check(5)")?;
    let found: rusqlite::Result<Vec<String>> = statement.query_map([], |row| row.get(0))?.collect();
    Ok(found?.into_iter().filter(|fault| fault != "ok").collect())
}

/// An open database.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
    identity: Option<(u64, u64)>,
    /// Where it is and who uses it, if to close it may delete what lies beside it.
    closing: Option<(PathBuf, Patience)>,
    /// Held while the connection closes, which is dropped before.
    passing: Option<FileLock>,
}

impl Database {
    /// Which file it is, as [`identity`] tells; `None` in memory, and when it may be another one than the path
    /// leads to.
    pub fn identity(&self) -> Option<(u64, u64)> {
        self.identity
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.passing = self.closing.as_ref().and_then(|(path, patience)| door::pass(path, patience.limit()));
    }
}

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

/// Opens the database at `path`, making an empty one where there is none.
pub fn open(path: &Path, patience: Patience) -> Result<Database, DatabaseError> {
    for ending in LOGS {
        let path = beside(path, ending);
        verify(&path).map_err(|source| DatabaseError::Create { path, source })?;
    }
    let fault = |source| DatabaseError::Create { path: path.to_owned(), source };
    let _passing = made(path, patience).map_err(fault)?;
    let before = identity(path);
    let opened = configure(path, patience).map_err(|source| DatabaseError::Sqlite { path: path.to_owned(), source });
    // Somebody who knows no door may have put another one in its place before it was opened.
    note_opened(&mut FILES.lock().unwrap_or_else(PoisonError::into_inner), path);
    let identity = before.filter(|before| identity(path) == Some(*before));
    let (connection, may_tidy) = opened?;
    let closing = may_tidy.then(|| (path.to_owned(), patience));
    Ok(Database { connection, identity, closing, passing: None })
}

/// The endings of what SQLite keeps beside a database: a journal until it goes over to a write-ahead log, and when it is killed then.
pub const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Does something while nobody opens or closes a database of this folder, so that another can take its place. It does neither itself.
pub fn alone<T>(path: &Path, limit: Duration, work: impl FnOnce() -> T) -> Result<T, LockError> {
    let _shut = door::shut(path, limit)?;
    Ok(work())
}

/// Deletes what SQLite keeps beside a database that goes, before it goes: the log of one must not be found beside another.
pub fn remove_logs(path: &Path) -> io::Result<()> {
    LOGS.iter().try_for_each(|ending| remove_file(&beside(path, ending)))
}

/// Deletes a database with what SQLite keeps beside it, if there is one.
pub fn remove(path: &Path) -> io::Result<()> {
    remove_logs(path)?;
    remove_file(path)
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes an empty file where there is none, and keeps others from putting another in its place until what is returned is dropped. SQLite
/// would make one that all may read; the files beside it take over its mode.
///
/// What lies beside one that is not there was left by somebody who deleted it alone, and is deleted before: programs that had it open may
/// use it still.
fn made(path: &Path, patience: Patience) -> io::Result<Option<FileLock>> {
    let passing = door::pass(path, patience.limit());
    if is_there(path)? {
        return Ok(passing);
    }
    drop(passing);
    let busy = |error| io::Error::new(io::ErrorKind::ResourceBusy, error);
    let shut = door::shut(path, patience.limit()).map_err(busy)?;
    // Somebody may have made one before the door was shut.
    if is_there(path)? {
        return Ok(shut);
    }
    if shut.is_some() {
        // What cannot be deleted SQLite meets again, and says so.
        let _ = remove_logs(path);
    }
    let mut opened = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    match private_file().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => drop(made?),
    }
    note_opened(&mut opened, path);
    Ok(shut)
}

/// Whether there is a database, which is left to SQLite: on Unix a process gives up all its locks on a file when it closes the file, also
/// those of other connections to it, and another process would take the database for one that nobody uses.
fn is_there(path: &Path) -> io::Result<bool> {
    let mut opened = FILES.lock().unwrap_or_else(PoisonError::into_inner);
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
    note_opened(&mut opened, path);
    Ok(true)
}

fn note_opened(opened: &mut Vec<(u64, u64)>, path: &Path) {
    if let Some(identity) = identity(path)
        && !opened.contains(&identity)
    {
        opened.push(identity);
    }
}

/// What keeps a database from being opened, by its beginning, which is read without SQLite: that would write beside it. Of one that this
/// process opened before it is `None`, since it may be open: see [`is_there`].
pub(crate) fn obstacle<T>(path: &Path, find: impl FnOnce(&[u8; BEGINNING]) -> Option<T>) -> Option<T> {
    let opened = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if identity(path).is_some_and(|identity| opened.contains(&identity)) {
        return None;
    }
    let mut beginning = [0; BEGINNING];
    own_file::open(path).ok()?.read_exact(&mut beginning).ok()?;
    find(&beginning)
}

/// As much of a database as says whose it is.
const BEGINNING: usize = 72;

/// The databases that this process may have open. Locked while one is looked at or made without SQLite.
static FILES: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// Opens it, and says whether it may be tidied up when it is closed.
fn configure(path: &Path, patience: Patience) -> rusqlite::Result<(Connection, bool)> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(patience.limit())?;
    switch_to_wal(&db, patience)?;
    // The last of them reads, and with that opens what lies beside the database, which a new one has not done yet.
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA schema_version;")?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement that depends on what is bound to it would be prepared again with every value; ours say by themselves which index.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let may_tidy = match patience {
        Patience::Hook => !spare_the_disk(&db, path)?,
        Patience::Server => {
            db.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
            db.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
            true
        }
    };
    Ok((db, may_tidy))
}

/// Leaves the copying of the write-ahead log into the database, with its syncs, to others. Answers whether the close does so too.
///
/// A hook's commit would copy, and so would its close, when no other process has the database open: five times the cost of a
/// hook. A log that has grown is copied at the close all the same, because whoever opens the database first reads all of it.
fn spare_the_disk(db: &Connection, path: &Path) -> rusqlite::Result<bool> {
    let is_small = fs::metadata(beside(path, "-wal")).map_or(true, |metadata| metadata.len() < LOG_LIMIT);
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_small)?;
    Ok(is_small)
}

/// Copies the write-ahead log into the database, as far as nobody reads it.
pub fn tidy(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Lets a write-ahead log begin anew that has grown too long, once those who read it are done. Meanwhile nobody writes, and whoever begins
/// to read does without the log. `false` when they took too long, so that it is to be tried again later.
pub fn bound(db: &Connection, path: &Path) -> rusqlite::Result<bool> {
    if fs::metadata(beside(path, "-wal")).map_or(true, |metadata| metadata.len() < LOG_BOUND) {
        return Ok(true);
    }
    db.busy_timeout(READERS_END)?;
    let busy = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    db.busy_timeout(Patience::Server.limit())?;
    busy.map(|busy| !busy)
}

/// Closes a database that nobody else has open when all of it is in its file. Closing alone copies the write-ahead log as well, and does
/// not tell when there is no room for that.
pub fn close_whole(db: Database) -> rusqlite::Result<()> {
    if db.query_row("PRAGMA main.wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))? {
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        return Err(rusqlite::Error::SqliteFailure(busy, None));
    }
    drop(db);
    Ok(())
}

/// A file of SQLite's own beside a database.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

/// The busy handler is not asked while a new database goes over to WAL, so a crowd of first hooks has to retry by itself.
///
/// Where memory cannot be shared SQLite stays with another journal and says no more than that.
fn switch_to_wal(db: &Connection, patience: Patience) -> rusqlite::Result<()> {
    let deadline = Instant::now() + patience.limit();
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

/// A database in memory, for a store whose files may not be written.
pub fn open_in_memory() -> rusqlite::Result<Database> {
    Ok(Database { connection: Connection::open_in_memory()?, identity: None, closing: None, passing: None })
}

#[cfg(test)]
mod tests;
