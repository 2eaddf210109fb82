//! Which kind of database `memory.db` is, and how ours begins.

use std::cmp::Ordering;
use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::database;

/// The version of the tables in `memory.sql`.
pub(super) const VERSION: i64 = 6;

/// The first version of this program. Those before were the Go program's.
const FIRST_VERSION: i64 = 4;

/// Marks a database as ours: "JMEM".
const APPLICATION_ID: i64 = 0x4a4d_454d;

/// What a database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    /// No table yet.
    Nothing,
    /// Our tables of this version.
    Current,
    /// Our tables of an earlier version.
    Earlier(i64),
    /// Our tables of a later version.
    Newer(i64),
    /// The tables of the Go version.
    GoVersion,
    /// Somebody else's tables.
    Foreign,
}

pub(super) fn contents(db: &Connection) -> rusqlite::Result<Contents> {
    let number = |pragma: &str| db.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0));
    if number("application_id")? == APPLICATION_ID {
        let version = number("user_version")?;
        return Ok(match version.cmp(&VERSION) {
            Ordering::Equal => Contents::Current,
            Ordering::Greater => Contents::Newer(version),
            Ordering::Less if version >= FIRST_VERSION => Contents::Earlier(version),
            Ordering::Less => Contents::Foreign,
        });
    }
    if is_of_go_version(db)? {
        return Ok(Contents::GoVersion);
    }
    let objects: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if objects == 0 { Contents::Nothing } else { Contents::Foreign })
}

/// The Go version writes its version into `meta`. Only the third one has chunks.
fn is_of_go_version(db: &Connection) -> rusqlite::Result<bool> {
    let has_table = |name: &str| db.table_exists(None, name);
    let version = "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'schema_version')";
    // Another program may have a table of that name, with other columns.
    let has_version =
        || has_table("meta").is_ok_and(|has| has && db.query_row(version, [], |row| row.get(0)).unwrap_or(false));
    Ok(has_table("memories")? && (has_table("chunks")? || has_version()))
}

/// Makes our tables, unless another process was faster.
pub(super) fn create(db: &mut Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
    if contents(&transaction)? == Contents::Nothing {
        create_tables(&transaction)?;
    }
    transaction.commit()
}

/// Makes our tables and marks the database as ours, inside the caller's transaction.
pub(super) fn create_tables(db: &Connection) -> rusqlite::Result<()> {
    db.execute_batch(include_str!("memory.sql"))?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", VERSION)
}

/// The version in the header of a database that a later program made.
pub(super) fn newer_version_in_header(path: &Path) -> Option<i64> {
    database::obstacle(path, |header| {
        let number = |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
        let version = i64::from(number(60)?);
        (i64::from(number(68)?) == APPLICATION_ID && version > VERSION).then_some(version)
    })
}
