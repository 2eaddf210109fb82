//! Upgrades of databases of earlier versions.

use super::*;

/// Creates a store with the database of a version, without the Markdown that it was made from.
fn store_of_version(version: i64, project: &Path) -> Layout {
    let layout = Layout::new(project);
    layout.create_dirs_and_gitignore().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/fixtures/stores/v{version}/memory.db"));
    fs::copy(fixture, layout.memory_db()).unwrap();
    let db = Connection::open(layout.memory_db()).unwrap();
    let sql = "UPDATE memories SET access_count = seq; INSERT INTO meta VALUES ('imported x', 'y');";
    db.execute_batch(sql).unwrap();
    layout
}

/// Returns the schema of a database.
fn tables(path: &Path) -> Vec<(String, Option<String>)> {
    let db = Connection::open(path).unwrap();
    let mut statement = db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

fn meta(db: &Connection) -> Vec<(String, String)> {
    // Versions 5 and 6 stored the ends of logs there.
    let sql = "SELECT key, value FROM meta WHERE key NOT LIKE '%:20%' AND key NOT LIKE '%:MEMORY.md' ORDER BY key";
    let mut statement = db.prepare(sql).unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

#[rstest]
#[case(4, 6)]
#[case(5, 6)]
#[case(6, 13)]
#[case(7, 15)]
#[case(8, 15)]
fn upgrade_keeps_every_row_in_place(#[case] version: i64, #[case] count: usize) {
    let project = tempfile::tempdir().unwrap();
    let layout = store_of_version(version, project.path());
    let old = Connection::open(layout.memory_db()).unwrap();
    let known = meta(&old);
    assert!(matches!(Store::open(project.path(), LockTimeout::Hook), Err(StoreError::NeedsServer)));
    // Several processes at once: one upgrades, and all see the same rows.
    let rows = std::thread::scope(|scope| {
        let open = || {
            let store = open(project.path());
            assert_eq!((store.access(), store.messages()), (&StoreAccess::Full, &[][..]));
            store.rows().inserted_after(0, 100).unwrap()
        };
        let all: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        let mut all = all.into_iter().map(|one| one.join().unwrap());
        let first = all.next().unwrap();
        assert!(all.all(|rows| rows == first));
        first
    });
    assert_eq!(rows.len(), count);
    assert!(rows.iter().all(|row| row.access_count == row.seq && !row.path.is_empty()));
    let new = tempfile::tempdir().unwrap();
    drop(open(new.path()));
    assert_eq!(tables(&layout.memory_db()), tables(&Layout::new(new.path()).memory_db()));
    assert_eq!(meta(&Connection::open(layout.memory_db()).unwrap()), known);
    if version < 7 {
        // A program of that version finds other tables when it next uses them.
        assert!(old.query_row("SELECT mtime FROM files", [], |row| row.get::<_, i64>(0)).is_err());
    } else {
        // Unchanged rows are taken over, because no log says when an entry was written.
        let kept = rows.iter().map(|row| (row.memory.attributes.done, matches!(row.entry, EntryState::At(_))));
        assert_eq!(kept.filter(|kept| kept.0 || kept.1).collect::<Vec<_>>(), [(false, true), (true, false)]);
    }
    let closed = rows.iter().filter(|row| row.state.phase == Phase::Closed).count();
    assert_eq!(closed, usize::from(version >= 8), "states are known before the logs are read again");
}

#[rstest]
#[case::without_a_table(4, "DROP TABLE sessions;")]
#[case::of_another_make(4, "ALTER TABLE memories DROP COLUMN end_line;")]
#[case::without_lines(5, "DROP TABLE places;")]
#[case::of_no_version_that_was(5, "PRAGMA user_version = 1;")]
fn changed_schema_is_reset_not_upgraded(#[case] version: i64, #[case] fault: &str) {
    let project = tempfile::tempdir().unwrap();
    let layout = store_of_version(version, project.path());
    Connection::open(layout.memory_db()).unwrap().execute_batch(fault).unwrap();
    fs::write(layout.store_path(LOG), "- [10:30:15] **User Prompt**: one\n").unwrap();
    let mut store = open(project.path());
    assert!(store.messages()[0].contains("a copy of it is memory.db.damaged-"), "{:?}", store.messages());
    assert_eq!(*store.access(), StoreAccess::Full);
    assert_eq!(sync(&mut store).added, 1);
}
