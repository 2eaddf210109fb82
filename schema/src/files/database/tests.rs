use rstest::rstest;

use super::*;
use crate::store::StoreError;

#[test]
fn database_is_private_and_in_wal_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let db = open(&path, LockTimeout::Hook).unwrap();
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

/// A file in the place of SQLite's lock directory makes WAL impossible. SQLite keeps another journal mode without an error.
#[cfg(unix)]
#[test]
fn database_without_wal_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let db = Connection::open_with_flags_and_vfs(dir.path().join("a.db"), flags, c"unix-dotfile").unwrap();
    let refused = switch_to_wal(&db, LockTimeout::Hook).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::CannotOpen));
    assert!(refused.to_string().contains(NO_LOG), "{refused}");
}

#[test]
fn log_of_a_database_that_only_hooks_use_stays_small() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    open(&path, LockTimeout::Hook).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    for _ in 0..100 {
        let db = open(&path, LockTimeout::Hook).unwrap();
        db.execute("INSERT INTO t VALUES (randomblob(20000))", []).unwrap();
        let log = std::fs::metadata(dir.path().join("a.db-wal")).unwrap().len();
        assert!(log < WAL_LIMIT + 64 * 1024, "{log}");
    }
    assert!(std::fs::metadata(path).unwrap().len() > WAL_LIMIT);
}

#[test]
fn log_with_overlapping_readers_is_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let length = || fs::metadata(dir.path().join("a.db-wal")).unwrap().len();
    let writer = open(&path, LockTimeout::Server).unwrap();
    writer.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    // Two readers take turns, so that one of them always reads the latest write.
    let readers = [open(&path, LockTimeout::Server).unwrap(), open(&path, LockTimeout::Server).unwrap()];
    let begin = |reader: &Connection| reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
    begin(&readers[0]);
    let write = |n: usize| {
        writer.execute("INSERT INTO t VALUES (randomblob(400000))", []).unwrap();
        checkpoint(&writer).unwrap();
        begin(&readers[(n + 1) % 2]);
        readers[n % 2].execute_batch("COMMIT").unwrap();
    };
    (0..60).for_each(write);
    assert!(length() > WAL_TRUNCATE_FROM, "{}", length());
    assert!(!truncate_long_wal(&writer, &path).unwrap(), "somebody reads");
    // One reader ends, and the other one continues during the wait.
    readers[0].execute_batch("COMMIT").unwrap();
    assert!(truncate_long_wal(&writer, &path).unwrap());
    assert!(length() <= WAL_KEPT as u64, "{}", length());
    for _ in 0..60 {
        writer.execute("INSERT INTO t VALUES (randomblob(400000))", []).unwrap();
    }
    assert!(length() < WAL_TRUNCATE_FROM, "{}", length());
    assert!(truncate_long_wal(&writer, &path).unwrap());
    let rows: i64 = readers[1].query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 121);
}

#[test]
fn log_shrinks_after_a_long_reader_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    open(&path, LockTimeout::Hook).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    // Another program, which keeps its connection open after it has read.
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
    let save =
        || open(&path, LockTimeout::Hook).unwrap().execute("INSERT INTO t VALUES (randomblob(400000))", []).unwrap();
    for _ in 0..60 {
        save();
    }
    assert!(is_wal_long(&path));
    reader.execute_batch("COMMIT").unwrap();
    // The first save copies the log, and the second one starts it over.
    save();
    save();
    assert!(wal_length(&path) <= WAL_KEPT.unsigned_abs(), "{}", wal_length(&path));
}

/// A person deletes the database but not its side files, which programs still use.
#[cfg(unix)]
#[test]
fn database_deleted_while_in_use_is_recreated() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let beside = |ending| file_identity(&side_file(&path, ending));
    let old = open(&path, LockTimeout::Server).unwrap();
    old.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    let in_use = [beside("-wal"), beside("-shm")];
    assert!(!in_use.contains(&None));
    fs::remove_file(&path).unwrap();

    let new = open(&path, LockTimeout::Hook).unwrap();
    assert!(!old.is_current() && new.is_current());
    assert!(!new.table_exists(None, "t").unwrap());
    new.execute_batch("CREATE TABLE u (x)").unwrap();
    for ending in ["-wal", "-shm"] {
        assert!(beside(ending).is_some() && !in_use.contains(&beside(ending)), "{ending}");
    }
    // Closing the old database removes nothing of the new one.
    let (log, rows) = (beside("-wal"), old.query_row("SELECT count(*) FROM t", [], |row| row.get(0)));
    assert_eq!(rows, Ok(1));
    drop(old);
    assert_eq!(beside("-wal"), log);
    assert!(open(&path, LockTimeout::Server).unwrap().table_exists(None, "u").unwrap());
}

#[test]
fn creation_waits_for_the_store_lock() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let lock = FileLock::acquire(&dir.path().join(STORE_LOCK), Duration::ZERO).unwrap();
    let refused = StoreError::from(open(&path, LockTimeout::Hook).unwrap_err());
    assert!(refused.is_busy() && !path.exists(), "{refused}");
    drop(lock);
    open(&path, LockTimeout::Hook).unwrap();
}

/// Otherwise another process would consider the database unused, and delete the write-ahead log that this process reads.
#[cfg(target_os = "linux")]
#[test]
fn open_database_stays_locked_after_a_second_open() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let is_locked = || {
        let file = format!(":{} ", fs::metadata(&path).unwrap().ino());
        fs::read_to_string("/proc/locks").unwrap().lines().any(|line| line.contains(&file))
    };
    let db = open(&path, LockTimeout::Server).unwrap();
    db.execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(is_locked());
    drop(open(&path, LockTimeout::Server).unwrap());
    assert!(is_locked());
}

#[test]
fn damage_differs_from_other_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    std::fs::write(&path, "no database at all, but long enough for a header of one hundred bytes".repeat(20)).unwrap();
    assert!(open(&path, LockTimeout::Server).unwrap_err().is_damage());
    assert!(!open(&dir.path().join("no/such.db"), LockTimeout::Server).unwrap_err().is_damage());
}

#[test]
fn only_two_result_codes_are_damage() {
    use rusqlite::ffi;
    let is_damage = |code| is_damage(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    assert!(is_damage(ffi::SQLITE_CORRUPT) && is_damage(ffi::SQLITE_CORRUPT_INDEX) && is_damage(ffi::SQLITE_NOTADB));
    assert!(!is_damage(ffi::SQLITE_ERROR) && !is_damage(ffi::SQLITE_IOERR) && !is_damage(ffi::SQLITE_IOERR_SHORT_READ));
    let db = Connection::open_in_memory().unwrap();
    let missing = db.execute("DELETE FROM no_such_table", []).unwrap_err();
    assert!(missing.to_string().contains("no such table") && !super::is_damage(&missing));
}

/// Creates a closed database of a few hundred pages.
fn create_filled(path: &Path) {
    let db = open(path, LockTimeout::Server).unwrap();
    db.execute_batch(
        "CREATE TABLE t (x); CREATE INDEX i ON t (x);
         WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO t SELECT randomblob(900) FROM n;",
    )
    .unwrap();
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    use std::io::{Seek as _, Write as _};
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(io::SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

fn damage(path: &Path, kind: &str) {
    let length = fs::metadata(path).unwrap().len();
    let truncate = |length| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
    match kind {
        "header" => overwrite(path, 0, &[0x5a; 100]),
        "all" => fs::write(path, "garbage ".repeat(5_000)).unwrap(),
        "short" => truncate(1_000),
        "cut" => truncate(length / 2 + 77),
        "middle" => overwrite(path, length / 2 / 4_096 * 4_096, &[0x5a; 40_960]),
        "schema" => overwrite(path, 100, &[0x5a; 3_996]),
        "page size" => overwrite(path, 16, &[0x13, 0x37]),
        "another page size" => overwrite(path, 16, &[0x02, 0x00]),
        "rollback mode" => overwrite(path, 18, &[1, 1]),
        "unknown mode" => overwrite(path, 18, &[7, 7]),
        "log" => {
            fs::write(
                side_file(path, "-wal"),
                [0x37, 0x7f, 0x06, 0x82, 0, 0x2d, 0xe2, 0x18, 0, 0, 0x10, 0].repeat(1_000),
            )
            .unwrap();
            overwrite(path, 0, &[0x5a; 100]);
        }
        "journal" => {
            fs::write(side_file(path, "-journal"), [0x5a; 5_000]).unwrap();
            overwrite(path, 0, &[0x5a; 100]);
        }
        other => panic!("{other}"),
    }
}

/// Asserts that the database is empty, sound and usable.
#[track_caller]
fn assert_usable(path: &Path) {
    let db = open(path, LockTimeout::Server).unwrap();
    assert_eq!(db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)), Ok(0));
    db.execute_batch("CREATE TABLE u (x); INSERT INTO u VALUES (1)").unwrap();
    drop(db);
    let db = open(path, LockTimeout::Server).unwrap();
    assert_eq!(integrity_errors(&db).unwrap(), [""; 0]);
    assert_eq!(db.query_row("SELECT x FROM u", [], |row| row.get(0)), Ok(1));
}

#[rstest]
fn damaged_database_is_reset_while_open_elsewhere(
    #[values(
        "header",
        "all",
        "short",
        "cut",
        "middle",
        "schema",
        "page size",
        "another page size",
        "rollback mode",
        "unknown mode",
        "log",
        "journal"
    )]
    kind: &str,
    #[values("closed", "open", "in a transaction", "with a log")] other: &str,
) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    create_filled(&path);
    let before = file_identity(&path);
    let user = (other != "closed").then(|| open(&path, LockTimeout::Server).unwrap());
    if other == "in a transaction" {
        user.as_ref().unwrap().execute_batch("BEGIN; SELECT count(*) FROM t").unwrap();
    }
    if other == "with a log" {
        user.as_ref().unwrap().execute_batch("INSERT INTO t VALUES (1)").unwrap();
    }
    if user.is_some() && ["rollback mode", "log", "journal"].contains(&kind) {
        // In an open database these changes are not damage, or would overwrite files in use.
        return;
    }
    damage(&path, kind);
    let opened = open(&path, LockTimeout::Hook);
    assert!(opened.as_ref().err().is_none_or(DatabaseError::is_damage), "{opened:?}");
    if let Ok(db) = &opened {
        // Finds the damage inside a transaction.
        let _ = db.execute_batch("SAVEPOINT s; SELECT count(*) FROM t");
    }
    reset(&path, opened.as_ref().ok(), LockTimeout::Hook).unwrap();
    drop(opened);
    assert_eq!(file_identity(&path), before);
    drop(user);
    assert_usable(&path);
}

#[test]
fn database_is_reset_while_others_use_and_reset_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    create_filled(&path);
    let user = open(&path, LockTimeout::Server).unwrap();
    user.execute_batch("INSERT INTO t VALUES (1)").unwrap();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| reset(&path, None, LockTimeout::Server))).collect();
        all.into_iter().for_each(|one| one.join().unwrap().unwrap());
    });
    assert!(!user.is_current());
    user.execute_batch("CREATE TABLE u (x)").unwrap();
    assert_eq!(integrity_errors(&user).unwrap(), [""; 0]);
    assert!(open(&path, LockTimeout::Hook).unwrap().table_exists(None, "u").unwrap());
}

#[test]
fn only_a_regular_file_is_reset() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    fs::create_dir(&path).unwrap();
    let refused = open(&path, LockTimeout::Server).unwrap_err();
    assert!(!refused.is_damage(), "{refused}");
    assert!(reset(&path, None, LockTimeout::Hook).is_err() && path.is_dir());
}
