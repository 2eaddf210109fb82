//! What an index still holds of documents that were removed: vectors nobody uses, tokens in segments, free pages.

use rusqlite::{Connection, params};
use schema::moment::Moment;

use super::documents::MADE_IN_NO_TIME;
use super::{Index, IndexLock, Place};
use crate::error::ToolError;
use crate::fulltext::FullText;

/// Seconds for which a vector that somebody was paid for is kept when no passage has it: until a file comes back that was renamed, or
/// was that of another branch.
const KEPT_UNUSED: i64 = 90 * 24 * 60 * 60;

/// What was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone<'p> {
    /// Passages of these files.
    Of(&'p [&'p str]),
    /// Nobody knows what, or everything.
    Anything,
}

impl Index {
    /// Makes the index hold nothing of what was removed from it. `false` when another process read at that time, so that what
    /// SQLite keeps beside it goes later.
    ///
    /// Vectors without a passage go: those that are made here, those that were last of a file in which something was forgotten, as
    /// it may have been in them, and after a while all. Others were paid for and are kept.
    pub fn compact(&mut self, gone: Gone<'_>, _lock: &IndexLock) -> Result<bool, ToolError> {
        if self.place == Place::Memory {
            return Ok(true);
        }
        let transaction = self.db.savepoint()?;
        remove_unused(&transaction, gone)?;
        // Blocks of vectors are made again when nobody waits.
        transaction.execute("DELETE FROM vector_blocks", [])?;
        FullText::new(&transaction).purge()?;
        transaction.commit()?;
        Ok(self.db.compact()?)
    }
}

fn remove_unused(db: &Connection, gone: Gone<'_>) -> rusqlite::Result<()> {
    const UNUSED: &str = "DELETE FROM embedding_cache WHERE id NOT IN (SELECT embedding FROM embeddings)";
    let Gone::Of(paths) = gone else { return db.execute(UNUSED, []).map(drop) };
    let now = Moment::now();
    let oldest = Moment::from_unix(now.unix() - KEPT_UNUSED, Some(0)).unwrap_or(now).utc();
    let sql = format!("{UNUSED} AND (path IS NULL OR created_at < ?1 OR {MADE_IN_NO_TIME})");
    db.execute(&sql, [oldest])?;
    let mut of_file = db.prepare(&format!("{UNUSED} AND path = ?1"))?;
    paths.iter().try_for_each(|path| of_file.execute(params![path]).map(drop))
}
