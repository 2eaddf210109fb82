use super::*;
use crate::store::StoreError;

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

/// Who deletes a database alone, as people do, leaves beside it what programs have in use that had it open.
#[cfg(unix)]
#[test]
fn a_database_that_was_deleted_alone_is_made_anew_without_what_others_still_use_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let beside = |ending| identity(&beside(&path, ending));
    let old = open(&path, Patience::Server).unwrap();
    old.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    let in_use = [beside("-wal"), beside("-shm")];
    assert!(!in_use.contains(&None));
    fs::remove_file(&path).unwrap();

    let new = open(&path, Patience::Hook).unwrap();
    assert!(new.identity().is_some() && new.identity() != old.identity());
    assert!(!new.table_exists(None, "t").unwrap());
    new.execute_batch("CREATE TABLE u (x)").unwrap();
    for ending in ["-wal", "-shm"] {
        assert!(beside(ending).is_some() && !in_use.contains(&beside(ending)), "{ending}");
    }
    // And the old one takes nothing of the new one with it.
    let (log, rows) = (beside("-wal"), old.query_row("SELECT count(*) FROM t", [], |row| row.get(0)));
    assert_eq!(rows, Ok(1));
    drop(old);
    assert_eq!(beside("-wal"), log);
    assert!(open(&path, Patience::Server).unwrap().table_exists(None, "u").unwrap());
}

/// What is opened later would be opened when others may replace it.
#[test]
fn all_that_belongs_to_a_database_is_open_when_the_door_is_free_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    for _ in 0..2 {
        let _db = open(&path, Patience::Server).unwrap();
        for ending in ["-wal", "-shm"] {
            assert!(beside(&path, ending).exists(), "{ending}");
        }
    }
}

#[test]
fn no_database_is_made_beside_somebody_who_replaces_one_and_who_waited_for_that_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let refused = alone(&path, Duration::ZERO, || {
        let at = path.clone();
        std::thread::spawn(move || open(&at, Patience::Hook)).join().unwrap().unwrap_err()
    });
    let refused = StoreError::from(refused.unwrap());
    assert!(refused.is_busy(), "{refused}");
    assert!(!path.exists());
    open(&path, Patience::Hook).unwrap();
}

#[test]
fn nobody_opens_or_tidies_up_a_database_while_another_takes_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("a.db"), dir.path().join("b.db"));
    for (path, table) in [(&path, "t"), (&other, "u")] {
        let db = open(path, Patience::Server).unwrap();
        db.execute_batch(&format!("CREATE TABLE {table} (x)")).unwrap();
        close_whole(db).unwrap();
    }
    let closing = open(&path, Patience::Server).unwrap();
    let (told, done) = std::sync::mpsc::channel();
    let waiting = |work: Box<dyn FnOnce() + Send>| {
        let told = told.clone();
        std::thread::spawn(move || {
            work();
            told.send(()).unwrap();
        })
    };
    let threads = alone(&path, Patience::Server.limit(), || {
        let at = path.clone();
        let threads = [
            waiting(Box::new(move || drop(closing))),
            waiting(Box::new(move || {
                assert!(open(&at, Patience::Server).unwrap().table_exists(None, "u").unwrap());
            })),
        ];
        assert!(done.recv_timeout(Duration::from_millis(50)).is_err(), "somebody did not wait");
        remove_logs(&path).unwrap();
        fs::rename(&other, &path).unwrap();
        threads
    });
    threads.unwrap().into_iter().for_each(|thread| thread.join().unwrap());
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
    std::fs::write(&path, "no database at all, but long enough for a header of one hundred bytes".repeat(20)).unwrap();
    assert!(open(&path, Patience::Server).unwrap_err().is_damage());
    assert!(!open(&dir.path().join("no/such.db"), Patience::Server).unwrap_err().is_damage());
}
