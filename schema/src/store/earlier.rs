//! Upgrades a database of an earlier version in place, in one transaction: other processes see the old tables until it is committed.

use rusqlite::{Transaction, TransactionBehavior};

use super::StoreError;
use super::kind::{Contents, contents, create_tables};
use crate::crash;
use crate::database::{self, Database, Patience};
use crate::layout::Layout;
use crate::lock::FileLock;

/// What is taken over. `files` stays empty, so that every log is read again.
const TAKE_OVER: &str = "
    INSERT INTO memories (seq, id, session_id, project_dir, type, content, content_hash, metadata, importance, pinned, origin, supersedes,
        path, created_at, utc_offset, accessed_at, access_count)
    SELECT seq, id, session_id, project_dir, type, content, content_hash, metadata, importance, pinned, origin, supersedes,
        path, created_at, utc_offset, accessed_at, access_count FROM old_memories;
    INSERT INTO removed (n, seq) SELECT n, seq FROM old_removed;
    INSERT INTO sessions (id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary)
    SELECT id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary FROM old_sessions;
    DELETE FROM meta;
    INSERT INTO meta (key, value) SELECT key, value FROM old_meta
    WHERE NOT (key GLOB 'tail:*' OR key GLOB 'edition:*' OR key GLOB 'generation:*');
    -- Numbers do not come again.
    DELETE FROM sqlite_sequence WHERE name IN ('memories', 'removed');
    UPDATE sqlite_sequence SET name = substr(name, 5) WHERE name IN ('old_memories', 'old_removed');";

/// Upgrades a database, unless another process was faster.
pub(super) fn upgrade(layout: &Layout, db: &mut Database, version: i64, patience: Patience) -> Result<(), StoreError> {
    // Nobody captures meanwhile.
    let _lock = FileLock::acquire(&layout.store_lock(), patience.limit())?;
    let transaction = Transaction::new(db, TransactionBehavior::Immediate)?;
    if contents(&transaction)? != Contents::Earlier(version) {
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
    transaction.execute_batch(TAKE_OVER)?;
    transaction.execute_batch(&old.concat())?;
    crash::point("upgrade.filled");
    transaction.commit()?;
    crash::point("upgrade.done");
    // The log holds the whole database. A reader that keeps it from being truncated now leaves that to a server.
    database::truncate_log(db)?;
    Ok(())
}
