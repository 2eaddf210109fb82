//! Takes over a database of an earlier version, which knew otherwise where memories stand: its rows are put into one of this version,
//! which takes its place. Who still has the old one open, perhaps with a program that knows no other, sees that it is gone.

use std::fs;

use super::StoreError;
use super::kind::{Contents, contents, create_tables};
use crate::crash;
use crate::database::{self, Patience};
use crate::layout::Layout;
use crate::lock::FileLock;

/// The database that takes the place of the old one, by a name that is swept up when its maker is killed.
const NEW: &str = ".memory-upgrade.tmp";

/// Where each memory stands, by the tables of a version: lines were columns of the memories, then a table of their own.
fn places(version: i64) -> &'static str {
    match version {
        4 => "old.memories",
        _ => "old.memories JOIN old.places USING (seq)",
    }
}

fn take_over(version: i64) -> String {
    let places = places(version);
    format!(
        "INSERT INTO memories SELECT seq, id, session_id, project_dir, type, content, content_hash, metadata, importance, pinned,
            origin, supersedes, path, created_at, utc_offset, accessed_at, access_count FROM old.memories;
        INSERT INTO sections (file, holds) SELECT DISTINCT path, type FROM old.memories;
        INSERT INTO places SELECT seq, section, start_line, end_line FROM {places} JOIN sections ON file = path AND holds = type;
        INSERT INTO removed SELECT n, seq FROM old.removed;
        INSERT INTO sessions
            SELECT id, started_at, ended_at, duration, title, prompts, files, tools, errors, summary FROM old.sessions;
        INSERT INTO files SELECT path, hash, mtime, size, indexed_at FROM old.files;
        DELETE FROM meta;
        INSERT INTO meta SELECT key, value FROM old.meta;
        -- Numbers do not come again.
        DELETE FROM sqlite_sequence;
        INSERT INTO sqlite_sequence SELECT name, seq FROM old.sqlite_sequence;"
    )
}

/// Puts a database of this version in the place of one of an earlier version, unless another process was faster.
pub(super) fn upgrade(layout: &Layout, patience: Patience) -> Result<(), StoreError> {
    // Nobody captures meanwhile.
    let _lock = FileLock::acquire(&layout.store_lock(), patience.limit())?;
    let old = database::open(&layout.memory_db(), patience)?;
    let Contents::Earlier(version) = contents(&old)? else { return Ok(()) };
    drop(old);
    let (new, path) = (layout.file(NEW), layout.memory_db());
    database::remove(&new).map_err(|source| StoreError::Io { doing: "delete", path: new.clone(), source })?;
    let made = make(layout, version, patience);
    crash::point("upgrade.made");
    let placed = made.and_then(|()| {
        let placed = database::alone(&path, patience.limit(), || {
            database::remove_logs(&path)?;
            crash::point("upgrade.unlogged");
            fs::rename(&new, &path)
        })?;
        placed.map_err(|source| StoreError::Io { doing: "replace", path: path.clone(), source })
    });
    if placed.is_err() {
        let _ = database::remove(&new);
    }
    placed
}

fn make(layout: &Layout, version: i64, patience: Patience) -> Result<(), StoreError> {
    let mut new = database::open(&layout.file(NEW), patience)?;
    // As bytes, because the path of a project need not be text.
    new.execute("ATTACH ?1 AS old", [layout.memory_db().as_os_str().as_encoded_bytes()])?;
    let transaction = new.transaction()?;
    create_tables(&transaction)?;
    transaction.execute_batch(&take_over(version))?;
    transaction.commit()?;
    // Should the process end in the middle of what follows, the old one is whole without its log, unless somebody reads it.
    let _ = new.query_row("PRAGMA old.wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    new.execute("DETACH old", [])?;
    Ok(database::close_whole(new)?)
}
