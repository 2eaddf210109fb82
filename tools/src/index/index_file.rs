//! The index file: opens, creates and rebuilds it in place. It is never replaced by another file.

use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params_from_iter};
use schema::files::database::{self, Database, DatabaseError, LockTimeout};
use schema::files::layout::Layout;
use schema::files::lock::FileLock;

use crate::error::{ToolError, join_causes};
use crate::fulltext::FullText;

/// How long to wait for the write lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexLockWait {
    /// 4 ms, for a loop that checks for other requests in between.
    Brief,
    /// A search, which can scan what is not indexed.
    Short,
    /// Indexing.
    Long,
}

impl IndexLockWait {
    pub(crate) fn duration(self) -> Duration {
        match self {
            Self::Brief => Duration::from_millis(4),
            Self::Short => Duration::from_millis(20),
            Self::Long => Duration::from_secs(30),
        }
    }
}

/// Raised if tables, tokens or chunks change, which triggers a rebuild.
const VERSION: i64 = 9;

/// The [`database::schema_hash`] of this version's tables.
const SCHEMA: &str = "ae455184ea7c78dc18626ed6949aae9716b26b080b8b10bddb5cd317ce48f08e";

/// Tables that survive a rebuild.
const CACHE: [&str; 2] = ["models", "embedding_cache"];

/// Opens the index and returns whether it was reset. A damaged, outdated or foreign index is rebuilt in place, empty except
/// for vectors.
pub(super) fn open_file(layout: &Layout) -> Result<(Database, bool), ToolError> {
    if let Some(db) = open_current(layout)? {
        return Ok((db, false));
    }
    let _lock = lock_file(layout)?;
    // Another process may have rebuilt it meanwhile.
    if let Some(db) = open_current(layout)? {
        return Ok((db, false));
    }
    let is_renewed = match database::open(&layout.index_db(), LockTimeout::Server) {
        Ok(mut db) => match recreate_tables(&mut db).map_err(ToolError::from) {
            Err(error @ ToolError::Unavailable(_)) => return Err(error),
            Ok(true) => true,
            Ok(false) | Err(_) => reset_file(layout, Some(&db)).map(|()| false)?,
        },
        Err(_) => reset_file(layout, None).map(|()| false)?,
    };
    let db = open_current(layout)?.ok_or_else(|| ToolError::Unavailable("the index cannot be rebuilt".to_owned()))?;
    Ok((db, !is_renewed))
}

/// Rebuilds the index if SQLite finds damage, empty except for readable vectors. Returns whether it did.
pub(super) fn repair_file(layout: &Layout, db: &Database) -> Result<bool, ToolError> {
    if database::integrity_errors(db)?.is_empty() {
        return Ok(false);
    }
    let _lock = lock_file(layout)?;
    let is_damaged = !database::integrity_errors(db)?.is_empty();
    if is_damaged {
        reset_file(layout, Some(db))?;
    }
    Ok(is_damaged)
}

/// Deletes the index. The next process with enough space rebuilds it.
pub(super) fn delete_file(layout: &Layout) -> Result<(), ToolError> {
    let _lock = lock_file(layout)?;
    database::delete_files(&layout.index_db())
        .map_err(|error| ToolError::cannot(&format!("delete {}", layout.index_db().display()), &error))
}

fn lock_file(layout: &Layout) -> Result<FileLock, ToolError> {
    let lock = FileLock::acquire(&layout.index_lock(), IndexLockWait::Long.duration());
    lock.map_err(|error| ToolError::Unavailable(join_causes(&error)))
}

/// The index on disk, or `None` if it must be rebuilt.
fn open_current(layout: &Layout) -> Result<Option<Database>, ToolError> {
    let unavailable = |error: &DatabaseError| ToolError::Unavailable(join_causes(error));
    match database::open(&layout.index_db(), LockTimeout::Server) {
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

/// Replaces all tables except vectors in one transaction. `false` if a foreign object cannot be dropped.
fn recreate_tables(db: &mut Database) -> rusqlite::Result<bool> {
    let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
    let has_cache = has_cache(&transaction)?;
    let is_kept = |name: &str| has_cache && CACHE.contains(&name);
    // Views and triggers first, and newer tables before the older ones that they refer to.
    let objects: Vec<(String, String)> = {
        let sql = "SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'
             ORDER BY type DESC, rowid DESC";
        let mut statement = transaction.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?
    };
    for (kind, name) in objects.iter().filter(|(_, name)| !is_kept(name)) {
        transaction.execute_batch(&format!("DROP {kind} IF EXISTS \"{}\"", name.replace('"', "\"\"")))?;
    }
    create_missing_tables(&transaction, has_cache)?;
    if !is_current(&transaction)? {
        return Ok(false);
    }
    transaction.commit()?;
    Ok(true)
}

/// Empties the file, except for readable vectors.
fn reset_file(layout: &Layout, open: Option<&Database>) -> Result<(), ToolError> {
    // A temporary database on disk, which SQLite deletes.
    let copy = Connection::open("")?;
    copy.execute_batch(include_str!("cache.sql"))?;
    if let Some(db) = open
        && has_cache(db).is_ok_and(|has_cache| has_cache)
    {
        // Unreadable vectors of a damaged file are made again, and the reset is reported.
        let _ = copy_cache(db, &copy);
    }
    database::reset(&layout.index_db(), open, LockTimeout::Server)
        .map_err(|error| ToolError::Unavailable(join_causes(&error)))?;
    let mut db = database::open(&layout.index_db(), LockTimeout::Server)
        .map_err(|error| ToolError::Unavailable(join_causes(&error)))?;
    let transaction = Transaction::new(&mut db, TransactionBehavior::Immediate)?;
    create_missing_tables(&transaction, false)?;
    copy_cache(&copy, &transaction)?;
    Ok(transaction.commit()?)
}

/// Whether the vector tables have exactly our schema.
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

pub(super) fn create_tables(db: &Connection) -> rusqlite::Result<()> {
    let transaction = db.unchecked_transaction()?;
    create_missing_tables(&transaction, false)?;
    transaction.commit()
}

fn create_missing_tables(db: &Connection, has_cache: bool) -> rusqlite::Result<()> {
    if !has_cache {
        db.execute_batch(include_str!("cache.sql"))?;
    }
    db.execute_batch(include_str!("index.sql"))?;
    FullText::new(db).create()?;
    db.execute("INSERT INTO progress VALUES (1, '', -1, 0, 0)", [])?;
    db.pragma_update(None, "user_version", VERSION)
}

/// Copies expensive vectors. Readable ones are copied even if this returns an error.
fn copy_cache(old: &Connection, new: &Connection) -> rusqlite::Result<()> {
    let mut statement = old.prepare(
        "SELECT provider, models.model, dims, hash, embedding, created_at, path FROM embedding_cache
         JOIN models ON models.id = embedding_cache.model
         WHERE (provider <> 'local' OR models.model LIKE 'bert:%') AND ifnull(embedding <> x'', TRUE)",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = (0..7).map(|column| row.get::<_, Value>(column)).collect::<rusqlite::Result<Vec<_>>>()?;
        new.prepare_cached("INSERT OR IGNORE INTO models (provider, model, dims) VALUES (?1, ?2, ?3)")?
            .execute(params_from_iter(&values[..3]))?;
        new.prepare_cached(
            "INSERT OR IGNORE INTO embedding_cache (hash, model, embedding, created_at, path)
             SELECT ?4, id, ?5, ?6, ?7 FROM models WHERE provider = ?1 AND model = ?2 AND dims = ?3",
        )?
        .execute(params_from_iter(&values))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
