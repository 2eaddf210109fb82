//! Upgrades a database of an earlier version in place, in one transaction: other processes see the old tables until it is committed.

use rusqlite::{Transaction, TransactionBehavior};

use super::StoreError;
use super::database_kind::{DatabaseKind, create_tables, detect_kind};
use crate::files::crash_point;
use crate::files::database::{self, Database, LockTimeout};
use crate::files::layout::Layout;
use crate::files::lock::FileLock;

/// Copies the old tables. `files` stays empty, so that every log is read again.
const TAKE_OVER: &str = "
    INSERT INTO memories (COLUMNS) SELECT COLUMNS FROM old_memories;
    UPDATE memories SET content_hash = substr(content_hash, 1, 32) WHERE length(content_hash) > 32;
    INSERT INTO removed (n, seq) SELECT n, seq FROM old_removed;
    INSERT INTO sessions (id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary)
    SELECT id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary FROM old_sessions;
    DELETE FROM meta;
    INSERT INTO meta (key, value) SELECT key, value FROM old_meta
    WHERE NOT (key GLOB 'tail:*' OR key GLOB 'edition:*' OR key GLOB 'generation:*');
    -- Numbers are never reused.
    DELETE FROM sqlite_sequence WHERE name IN ('memories', 'removed');
    UPDATE sqlite_sequence SET name = substr(name, 5) WHERE name IN ('old_memories', 'old_removed');";

/// The columns of memories in every version, and those since versions 7 and 8.
const COLUMNS: &str = "seq, id, session_id, project_dir, type, content, content_hash, metadata, importance, pinned, origin, supersedes, \
     path, created_at, utc_offset, accessed_at, access_count";
const SINCE_7: &str = ", done, written_at, waiting";
const SINCE_8: &str = ", auto, source, also, phase, settled_by, settled_at, repeats, repeated_at";

/// Upgrades a database, unless another process was faster.
pub(super) fn upgrade_schema(
    layout: &Layout,
    db: &mut Database,
    version: i64,
    timeout: LockTimeout,
) -> Result<(), StoreError> {
    // The lock prevents captures meanwhile.
    let _lock = FileLock::acquire(&layout.store_lock(), timeout.duration())?;
    let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
    if detect_kind(&transaction)? != DatabaseKind::Earlier(version) {
        return Ok(());
    }
    let objects: Vec<(String, String)> = {
        // Triggers and indexes first: the new ones have the same names.
        let sql = "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY type = 'table'";
        let mut statement = transaction.prepare(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?
    };
    let mut old = Vec::new();
    for (kind, name) in &objects {
        if kind == "table" {
            transaction.execute_batch(&format!("ALTER TABLE {name} RENAME TO old_{name}"))?;
            old.push(format!("DROP TABLE old_{name};"));
        } else {
            transaction.execute_batch(&format!("DROP {kind} {name}"))?;
        }
    }
    create_tables(&transaction)?;
    let later = [(7, SINCE_7), (8, SINCE_8)].into_iter().filter(|(since, _)| version >= *since);
    let columns: String = [COLUMNS].into_iter().chain(later.map(|(_, columns)| columns)).collect();
    transaction.execute_batch(&TAKE_OVER.replace("COLUMNS", &columns))?;
    transaction.execute_batch(&old.concat())?;
    crash_point::crash_if_armed("upgrade.filled");
    transaction.commit()?;
    crash_point::crash_if_armed("upgrade.done");
    // The write-ahead log now has the whole database. If a reader prevents its truncation, a server does it later.
    database::truncate_wal(db)?;
    Ok(())
}
