use std::fs;
use std::os::unix::fs::FileExt as _;

use rstest::rstest;
use schema::store::Store;

use super::*;

fn index(project: &std::path::Path) -> (Layout, Database) {
    let store = Store::open(project, LockTimeout::Server).unwrap();
    (store.layout().clone(), open_file(store.layout()).unwrap().0)
}

/// A paid vector of an existing passage.
fn insert_paid_vector(db: &Connection) {
    db.execute_batch(
        "INSERT INTO models VALUES (7, 'openai', 'm', 1);
         INSERT INTO embedding_cache VALUES (9, x'aa', 7, x'003c', '2026-01-28T00:00:00Z', 'note.md');
         INSERT INTO embeddings (document, embedding, script) VALUES (1, 9, 0); INSERT INTO files VALUES ('note.md', 'h', 1, 1, 'x');",
    )
    .unwrap();
}

fn counts(db: &Connection) -> (i64, i64, i64) {
    let count = |table| db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
    (count("embedding_cache"), count("embeddings"), count("files"))
}

#[test]
fn the_schema_is_that_of_the_tables() {
    let db = Connection::open_in_memory().unwrap();
    create_tables(&db).unwrap();
    assert_eq!(database::schema_hash(&db).unwrap(), SCHEMA);
}

#[rstest]
#[case::version("PRAGMA user_version = 4", 1)]
#[case::later_version("PRAGMA user_version = 99", 1)]
#[case::missing_table("DROP TABLE chunks", 1)]
#[case::column("ALTER TABLE chunks ADD COLUMN planted", 1)]
#[case::trigger("CREATE TRIGGER planted AFTER INSERT ON embedding_cache BEGIN DELETE FROM embedding_cache; END", 1)]
#[case::view(
    "DROP TABLE progress; CREATE VIEW progress AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
    1
)]
#[case::index("CREATE INDEX planted ON embedding_cache (abs(id))", 1)]
#[case::cache_of_other_columns("ALTER TABLE embedding_cache ADD COLUMN planted", 0)]
#[case::cache_as_a_view(
    "PRAGMA foreign_keys = OFF; DROP TABLE embedding_cache;
     CREATE VIEW embedding_cache AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
    0
)]
#[case::text_search("CREATE VIRTUAL TABLE planted USING fts5 (x)", 1)]
#[case::nothing_of_ours(
    "PRAGMA foreign_keys = OFF; DROP TABLE embeddings; DROP TABLE embedding_cache; DROP TABLE models",
    0
)]
fn another_schema_is_rebuilt_and_vectors_stay(#[case] change: &str, #[case] vectors: i64) {
    let project = tempfile::tempdir().unwrap();
    let (layout, db) = index(project.path());
    insert_paid_vector(&db);
    db.execute_batch(change).unwrap();
    let file = fs::metadata(layout.index_db()).unwrap();
    let (rebuilt, _) = open_file(&layout).unwrap();
    assert!(is_current(&rebuilt).unwrap() && !db.is_current());
    if change.starts_with("PRAGMA foreign_keys") || vectors == 1 {
        assert_eq!((rebuilt.table_exists(None, "planted").unwrap(), counts(&rebuilt)), (false, (vectors, 0, 0)));
    }
    assert_eq!(file.created().ok(), fs::metadata(layout.index_db()).unwrap().created().ok());
    drop(rebuilt);
    assert_eq!(
        open_file(&layout).unwrap().0.identity(),
        open_file(&layout).unwrap().0.identity(),
        "it is rebuilt once"
    );
}

#[test]
fn vectors_are_saved_from_a_damaged_index() {
    let project = tempfile::tempdir().unwrap();
    let (layout, db) = index(project.path());
    insert_paid_vector(&db);
    assert!(!repair_file(&layout, &db).unwrap());
    let root: u64 = {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'chunks'";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
    };
    database::truncate_wal(&db).unwrap();
    drop(db);
    let damage = |at: u64, bytes: &[u8]| {
        fs::OpenOptions::new().write(true).open(layout.index_db()).unwrap().write_all_at(bytes, at).unwrap();
    };
    damage((root - 1) * 4_096, &[0x5a; 4_096]);
    let (db, _) = open_file(&layout).unwrap();
    assert_eq!(counts(&db), (1, 1, 1), "nobody has met the damage");
    assert!(repair_file(&layout, &db).unwrap());
    assert_eq!(counts(&open_file(&layout).unwrap().0), (1, 0, 0));
    drop(db);
    damage(0, b"no database");
    let (db, is_reset) = open_file(&layout).unwrap();
    assert_eq!((counts(&db), is_reset), ((0, 0, 0), true));
}
