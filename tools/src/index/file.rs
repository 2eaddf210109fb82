//! The file of the index: opened, created, and rebuilt in place. Its name never leads to another file.

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};
use schema::database::{self, Database, DatabaseError, Patience};
use schema::layout::Layout;
use schema::lock::FileLock;

use super::{Urgency, embeddings};
use crate::error::{ToolError, chain};
use crate::fulltext::FullText;

/// Raised whenever tables, tokens or chunks change, so that the index of another version is rebuilt.
const VERSION: i64 = 5;

/// The [`database::schema_hash`] of the tables of this version.
const SCHEMA: &str = "6c540491e63b64de153ccf9f1690fff63ae1ae389f9108f3e4f9b62111fcf932";

/// The tables that are kept when the others are rebuilt.
const CACHE: [&str; 2] = ["models", "embedding_cache"];

/// Opens the index, and answers whether its file had to be reset. One that is damaged, of another version or has objects of a stranger is
/// rebuilt in place, empty but for vectors.
pub(super) fn open(layout: &Layout) -> Result<(Database, bool), ToolError> {
    if let Some(db) = current(layout)? {
        return Ok((db, false));
    }
    let _lock = lock(layout)?;
    // Another process may have rebuilt it meanwhile.
    if let Some(db) = current(layout)? {
        return Ok((db, false));
    }
    let is_renewed = match database::open(&layout.index_db(), Patience::Server) {
        Ok(mut db) => match renew(&mut db).map_err(ToolError::from) {
            Err(error @ ToolError::Unavailable(_)) => return Err(error),
            Ok(true) => true,
            Ok(false) | Err(_) => reset(layout, Some(&db)).map(|()| false)?,
        },
        Err(_) => reset(layout, None).map(|()| false)?,
    };
    let db = current(layout)?.ok_or_else(|| ToolError::Unavailable("the index cannot be rebuilt".to_owned()))?;
    Ok((db, !is_renewed))
}

/// Rebuilds an index that SQLite finds damage in; whether it did. It is empty then but for the vectors that could be read.
pub(super) fn repair(layout: &Layout, db: &Database) -> Result<bool, ToolError> {
    if database::faults(db)?.is_empty() {
        return Ok(false);
    }
    let _lock = lock(layout)?;
    let is_damaged = !database::faults(db)?.is_empty();
    if is_damaged {
        reset(layout, Some(db))?;
    }
    Ok(is_damaged)
}

/// Deletes the index, which the next process that has the space rebuilds.
pub(super) fn delete(layout: &Layout) -> Result<(), ToolError> {
    let _lock = lock(layout)?;
    database::remove(&layout.index_db())
        .map_err(|error| ToolError::Unavailable(format!("cannot delete {}: {error}", layout.index_db().display())))
}

fn lock(layout: &Layout) -> Result<FileLock, ToolError> {
    let lock = FileLock::acquire(&layout.index_lock(), Urgency::Patient.limit());
    lock.map_err(|error| ToolError::Unavailable(chain(&error)))
}

/// The index on disk, or `None` when it is to be rebuilt.
fn current(layout: &Layout) -> Result<Option<Database>, ToolError> {
    let unavailable = |error: &DatabaseError| ToolError::Unavailable(chain(error));
    match database::open(&layout.index_db(), Patience::Server) {
        Err(error) if error.is_damage() => Ok(None),
        Err(error) => Err(unavailable(&error)),
        Ok(db) => match is_current(&db) {
            Err(error) if database::is_damage(&error) => Ok(None),
            Err(source) => Err(unavailable(&DatabaseError::Sqlite { path: layout.index_db(), source })),
            Ok(is_current) => Ok(is_current.then_some(db)),
        },
    }
}

fn is_current(db: &Connection) -> rusqlite::Result<bool> {
    let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(version == VERSION && database::schema_hash(db)? == SCHEMA)
}

/// Replaces all tables but those of vectors, in one transaction. `false` when something else is there that cannot be dropped.
fn renew(db: &mut Database) -> rusqlite::Result<bool> {
    let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
    let has_cache = has_cache(&transaction)?;
    let is_kept = |name: &str| has_cache && CACHE.contains(&name);
    // Views, triggers, tables, indexes; and what refers to a table before that table, for it was created later.
    let objects: Vec<(String, String)> = {
        let sql = "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'
             ORDER BY type DESC, rowid DESC";
        let mut statement = transaction.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?
    };
    for (kind, name) in objects.iter().filter(|(_, name)| !is_kept(name)) {
        transaction.execute_batch(&format!("DROP {kind} IF EXISTS \"{}\"", name.replace('"', "\"\"")))?;
    }
    fill(&transaction, has_cache)?;
    if !is_current(&transaction)? {
        return Ok(false);
    }
    transaction.commit()?;
    Ok(true)
}

/// Empties the file whatever is in it, but for vectors that can be read.
fn reset(layout: &Layout, open: Option<&Database>) -> Result<(), ToolError> {
    // On disk, and deleted by SQLite when it is closed.
    let kept = Connection::open("")?;
    kept.execute_batch(include_str!("cache.sql"))?;
    if let Some(db) = open
        && has_cache(db).is_ok_and(|has_cache| has_cache)
    {
        // What cannot be read of a damaged file is made again, which is reported with the reset.
        let _ = embeddings::carry_over(db, &kept);
    }
    database::reset(&layout.index_db(), open, Patience::Server)
        .map_err(|error| ToolError::Unavailable(chain(&error)))?;
    let mut db =
        database::open(&layout.index_db(), Patience::Server).map_err(|error| ToolError::Unavailable(chain(&error)))?;
    let transaction = Transaction::new(&mut db, TransactionBehavior::Immediate)?;
    fill(&transaction, false)?;
    embeddings::carry_over(&kept, &transaction)?;
    Ok(transaction.commit()?)
}

/// Whether the tables of vectors are there, exactly as ours.
fn has_cache(db: &Connection) -> rusqlite::Result<bool> {
    let ours = Connection::open_in_memory()?;
    ours.execute_batch(include_str!("cache.sql"))?;
    for name in CACHE {
        let sql = |db: &Connection| {
            let sql = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            db.query_row(sql, [name], |row| row.get::<_, String>(0)).optional()
        };
        if sql(db)? != sql(&ours)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Creates the tables.
pub(super) fn create(db: &Connection) -> rusqlite::Result<()> {
    let transaction = db.unchecked_transaction()?;
    fill(&transaction, false)?;
    transaction.commit()
}

fn fill(db: &Connection, has_cache: bool) -> rusqlite::Result<()> {
    if !has_cache {
        db.execute_batch(include_str!("cache.sql"))?;
    }
    db.execute_batch(include_str!("index.sql"))?;
    FullText::new(db).create()?;
    db.execute("INSERT INTO progress VALUES (1, '', -1, 0, 0)", [])?;
    db.pragma_update(None, "user_version", VERSION)
}

#[cfg(test)]
mod tests;
