//! Deletes leftovers of removed documents from the index: unused vectors, tokens in segments, free pages.

use rusqlite::{Connection, params};
use schema::model::moment::Moment;

use super::documents::MADE_IN_NO_TIME;
use super::{Index, IndexLock, IndexStorage};
use crate::error::ToolError;
use crate::fulltext::FullText;

/// Seconds for which an unused paid vector is kept, for a renamed file or another branch.
const KEEP_UNUSED_SECONDS: i64 = 90 * 24 * 60 * 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactScope<'p> {
    /// Passages of these files.
    Sources(&'p [&'p str]),
    /// Everything, or unknown.
    All,
}

impl Index {
    /// Deletes all leftovers of removed documents. `false` if a reader delays the deletion in SQLite's files.
    ///
    /// Deletes unused vectors if they are cheap, old, or of a file in which something was forgotten. Other paid vectors
    /// stay.
    pub fn compact(&mut self, gone: CompactScope<'_>, _lock: &IndexLock) -> Result<bool, ToolError> {
        if self.storage == IndexStorage::Memory {
            return Ok(true);
        }
        let transaction = self.db.savepoint()?;
        remove_unused(&transaction, gone)?;
        let unused = "DELETE FROM review_keys WHERE seq * 2 NOT IN (SELECT document FROM fulltext_documents)";
        transaction.execute(unused, [])?;
        // Idle steps rebuild the blocks.
        transaction.execute("DELETE FROM vector_blocks", [])?;
        FullText::new(&transaction).purge()?;
        transaction.commit()?;
        Ok(self.db.compact()?)
    }
}

fn remove_unused(db: &Connection, gone: CompactScope<'_>) -> rusqlite::Result<()> {
    const UNUSED: &str = "DELETE FROM embedding_cache WHERE id NOT IN (SELECT embedding FROM embeddings)";
    let CompactScope::Sources(paths) = gone else { return db.execute(UNUSED, []).map(drop) };
    let now = Moment::now();
    let oldest = Moment::from_unix(now.unix() - KEEP_UNUSED_SECONDS, Some(0)).unwrap_or(now).utc();
    let sql = format!("{UNUSED} AND (path IS NULL OR created_at < ?1 OR {MADE_IN_NO_TIME})");
    db.execute(&sql, [oldest])?;
    let mut of_file = db.prepare(&format!("{UNUSED} AND path = ?1"))?;
    paths.iter().try_for_each(|path| of_file.execute(params![path]).map(drop))
}
