//! Detects which kind of database `memory.db` is, and creates ours.

use std::fmt;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::files::database::{self, Database};
use crate::files::layout::Layout;

/// The version of the tables in `memory.sql`.
pub(super) const VERSION: i64 = 9;

/// Our versions, with the [`database::schema_hash`] of their tables. Earlier versions were the Go program's.
pub(super) const SCHEMAS: [(i64, &str); 6] = [
    (4, "66d474bfc24e321c2a43f5ca8f450f6467f71b0053d07bb66adc022caf1c7cc3"),
    (5, "47c5b95246b0424137ccfc39cb43bb7e6be387617da7c8036f52c6f00370af8e"),
    (6, "7966b05169f9f027c60fd27e56aa8c291b65f8b7378e128ac15e1137e67c8172"),
    (7, "b7746bb183541f5f570db4d2a0ccf5d8fb06007213ddf5d999f4f4ffa22f08b2"),
    (8, "10b94deffbd94544573e6cf217b6df2631db4a99f542e20d1a6f94a6103be03a"),
    (VERSION, "d9ed65164a2a1decb19d5f9a8c81770da1dabbf9167366eb9d5dedaee78fd39a"),
];

/// Marks a database as ours: "JMEM".
const APPLICATION_ID: i64 = 0x4a4d_454d;

/// The kind of a database, judged by its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// No file, or no table yet.
    Nothing,
    /// Our tables of this version.
    Current,
    /// Our tables of an earlier version.
    Earlier(i64),
    /// Our tables of a later version.
    Newer(i64),
    /// The tables of the Go version.
    GoVersion,
    /// Any other tables, or not a usable database.
    Foreign,
}

impl DatabaseKind {
    /// Returns the kind of `memory.db` without changing it.
    pub fn read(layout: &Layout) -> Self {
        let path = layout.memory_db();
        if !path.exists() {
            return Self::Nothing;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(path, flags).and_then(|db| detect_kind(&db)).unwrap_or(Self::Foreign)
    }
}

/// The version, for people.
impl fmt::Display for DatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::Current => write!(f, "{VERSION}"),
            Self::Earlier(version) | Self::Newer(version) => write!(f, "{version}"),
            Self::GoVersion => f.write_str("the Go version"),
            Self::Foreign => f.write_str("unknown"),
        }
    }
}

pub(super) fn detect_kind(db: &Connection) -> rusqlite::Result<DatabaseKind> {
    // Read everything in one snapshot: another process may be creating or upgrading the database.
    let _snapshot = db.is_autocommit().then(|| db.unchecked_transaction()).transpose()?;
    let number = |pragma: &str| db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    if number("application_id")? == APPLICATION_ID {
        let version = number("user_version")?;
        let is_ours = SCHEMAS.contains(&(version, &database::schema_hash(db)?));
        return Ok(match version {
            VERSION if is_ours => DatabaseKind::Current,
            _ if is_ours => DatabaseKind::Earlier(version),
            _ if version > VERSION => DatabaseKind::Newer(version),
            _ => DatabaseKind::Foreign,
        });
    }
    if is_go_database(db)? {
        return Ok(DatabaseKind::GoVersion);
    }
    let objects: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if objects == 0 { DatabaseKind::Nothing } else { DatabaseKind::Foreign })
}

/// Whether the Go version made a database. It writes its version into `meta`; only its third version has a table of chunks.
fn is_go_database(db: &Connection) -> rusqlite::Result<bool> {
    let has_table = |name: &str| db.table_exists(None, name);
    let version = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'schema_version')";
    // Another program may have a table with that name and other columns.
    let has_version =
        || has_table("meta").is_ok_and(|has| has && db.query_row(version, [], |row| row.get(0)).unwrap_or(false));
    Ok(has_table("memories")? && (has_table("chunks")? || has_version()))
}

/// Creates our tables, unless another process was faster.
pub(super) fn create_database(db: &mut Database) -> rusqlite::Result<()> {
    let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
    if detect_kind(&transaction)? == DatabaseKind::Nothing {
        create_tables(&transaction)?;
    }
    transaction.commit()?;
    db.remember_schema()
}

/// Creates our tables and marks the database as ours, within the caller's transaction.
pub(super) fn create_tables(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(include_str!("memory.sql"))?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", VERSION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_hashes_match_every_released_version() {
        let dir = tempfile::tempdir().unwrap();
        let fixture = |version: i64| {
            let path = format!("{}/../tests/fixtures/stores/v{version}/memory.db", env!("CARGO_MANIFEST_DIR"));
            let copy = dir.path().join(version.to_string());
            std::fs::copy(path, &copy).unwrap();
            Connection::open(copy).and_then(|db| database::schema_hash(&db)).unwrap()
        };
        let current = Connection::open_in_memory().unwrap();
        create_tables(&current).unwrap();
        let current = database::schema_hash(&current).unwrap();
        let found =
            SCHEMAS.map(|(version, _)| (version, if version == VERSION { current.clone() } else { fixture(version) }));
        assert_eq!(found.each_ref().map(|(version, hash)| (*version, hash.as_str())), SCHEMAS);
    }
}
