//! Opens a SQLite file the way every process of ours must: WAL, private, patient, and without a sync at the end of a hook.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::own_file::{self, private_file, refuse_links};
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

/// Opens the database at `path`, making an empty one where there is none.
pub fn open(path: &Path, patience: Patience) -> Result<Connection, DatabaseError> {
    for ending in ["-wal", "-shm"] {
        let path = beside(path, ending);
        refuse_links(&path).map_err(|source| DatabaseError::Create { path, source })?;
    }
    make(path).map_err(|source| DatabaseError::Create { path: path.to_owned(), source })?;
    let opened = configure(path, patience).map_err(|source| DatabaseError::Sqlite { path: path.to_owned(), source });
    // Another one may have taken its place before it was opened.
    note_opened(&mut FILES.lock().unwrap_or_else(PoisonError::into_inner), path);
    opened
}

/// Makes an empty file where there is none. SQLite would make one that all may read; the files beside it take over its mode.
///
/// One that is there is left to SQLite: on Unix a process gives up all its locks on a file when it closes the file, also those of other
/// connections to it, and another process would take the database for one that nobody uses.
fn make(path: &Path) -> io::Result<()> {
    let mut opened = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    match private_file().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !fs::symlink_metadata(path)?.is_file() {
                return Err(io::Error::other("it is no file"));
            }
            // SQLite would only say that it cannot open it.
            #[cfg(unix)]
            rustix::fs::access(path, rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK)?;
        }
        made => drop(made?),
    }
    note_opened(&mut opened, path);
    Ok(())
}

fn note_opened(opened: &mut Vec<(u64, u64)>, path: &Path) {
    if let Some(identity) = identity(path)
        && !opened.contains(&identity)
    {
        opened.push(identity);
    }
}

/// What keeps a database from being opened, by its beginning, which is read without SQLite: that would write beside it. Of one that this
/// process opened before it is `None`, since it may be open: see [`make`].
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

fn configure(path: &Path, patience: Patience) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(patience.limit())?;
    switch_to_wal(&db, patience)?;
    db.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;")?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    // A statement that depends on what is bound to it would be prepared again with every value; ours say by themselves which index.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    match patience {
        Patience::Hook => spare_the_disk(&db, path)?,
        Patience::Server => {
            db.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
            db.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
        }
    }
    Ok(db)
}

/// Leaves the copying of the write-ahead log into the database, with its syncs, to others.
///
/// A hook's commit would copy, and so would its close, when no other process has the database open: five times the cost of a
/// hook. A log that has grown is copied at the close all the same, because whoever opens the database first reads all of it.
fn spare_the_disk(db: &Connection, path: &Path) -> rusqlite::Result<()> {
    let is_small = fs::metadata(beside(path, "-wal")).map_or(true, |metadata| metadata.len() < LOG_LIMIT);
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_small)?;
    Ok(())
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
pub fn close_whole(db: Connection) -> rusqlite::Result<()> {
    if db.query_row("PRAGMA main.wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))? {
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        return Err(rusqlite::Error::SqliteFailure(busy, None));
    }
    db.close().map_err(|(_, error)| error)
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
pub fn open_in_memory() -> rusqlite::Result<Connection> {
    Connection::open_in_memory()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_private_and_in_wal_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let db = open(&path, Patience::Hook).unwrap();
        db.execute_batch("CREATE TABLE t (x)").unwrap();
        let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
        #[cfg(unix)]
        for name in ["a.db", "a.db-wal"] {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    /// Where a file beside the database stands for a lock, SQLite shares no memory and stays with another journal, without an error.
    #[cfg(unix)]
    #[test]
    fn a_database_that_stays_with_another_journal_is_refused_and_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let db = Connection::open_with_flags_and_vfs(dir.path().join("a.db"), flags, c"unix-dotfile").unwrap();
        let refused = switch_to_wal(&db, Patience::Hook).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::CannotOpen));
        assert!(refused.to_string().contains(NO_LOG), "{refused}");
    }

    #[test]
    fn the_log_of_a_database_that_only_hooks_use_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        open(&path, Patience::Hook).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        for _ in 0..100 {
            let db = open(&path, Patience::Hook).unwrap();
            db.execute("INSERT INTO t VALUES (randomblob(20000))", []).unwrap();
            let log = std::fs::metadata(dir.path().join("a.db-wal")).unwrap().len();
            assert!(log < LOG_LIMIT + 64 * 1024, "{log}");
        }
        assert!(std::fs::metadata(path).unwrap().len() > LOG_LIMIT);
    }

    #[test]
    fn a_log_that_somebody_reads_at_every_moment_is_bound_and_cut_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let length = || fs::metadata(dir.path().join("a.db-wal")).unwrap().len();
        let writer = open(&path, Patience::Server).unwrap();
        writer.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
        // Two take turns, so that there is always one who reads what was last written.
        let readers = [open(&path, Patience::Server).unwrap(), open(&path, Patience::Server).unwrap()];
        let begin = |reader: &Connection| reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
        begin(&readers[0]);
        let write = |n: usize| {
            writer.execute("INSERT INTO t VALUES (randomblob(400000))", []).unwrap();
            tidy(&writer).unwrap();
            begin(&readers[(n + 1) % 2]);
            readers[n % 2].execute_batch("COMMIT").unwrap();
        };
        (0..60).for_each(write);
        assert!(length() > LOG_BOUND, "{}", length());
        assert!(!bound(&writer, &path).unwrap(), "somebody reads");
        // The one who reads is done, and another one begins while it is waited for.
        readers[0].execute_batch("COMMIT").unwrap();
        assert!(bound(&writer, &path).unwrap());
        assert!(length() <= LOG_KEPT as u64, "{}", length());
        for _ in 0..60 {
            writer.execute("INSERT INTO t VALUES (randomblob(400000))", []).unwrap();
        }
        assert!(length() < LOG_BOUND, "{}", length());
        assert!(bound(&writer, &path).unwrap());
        let rows: i64 = readers[1].query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 121);
    }

    /// Else another process takes the database for unused, and deletes the write-ahead log that this one reads.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_database_that_is_open_stays_locked_when_it_is_opened_once_more() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let is_locked = || {
            let file = format!(":{} ", fs::metadata(&path).unwrap().ino());
            fs::read_to_string("/proc/locks").unwrap().lines().any(|line| line.contains(&file))
        };
        let db = open(&path, Patience::Server).unwrap();
        db.execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(is_locked());
        drop(open(&path, Patience::Server).unwrap());
        assert!(is_locked());
        assert_eq!(obstacle(&path, |_| Some(())), None, "it is not looked at while it may be open");
        assert!(is_locked());
    }

    #[test]
    fn garbage_is_told_from_other_faults() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        std::fs::write(&path, "no database at all, but long enough for a header of one hundred bytes".repeat(20))
            .unwrap();
        assert!(open(&path, Patience::Server).unwrap_err().is_damage());
        assert!(!open(&dir.path().join("no/such.db"), Patience::Server).unwrap_err().is_damage());
    }
}
