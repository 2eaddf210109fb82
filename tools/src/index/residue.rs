//! What an index still holds of documents that were removed: vectors nobody uses, tokens in segments, free pages.

use schema::residue;

use super::{Index, IndexLock, NEW, Place, remove};
use crate::error::ToolError;
use crate::fulltext::FullText;

impl Index {
    /// Makes the index hold nothing of what was removed from it. `false` when another process read at that time, so that what
    /// SQLite keeps beside it goes later.
    pub fn compact(&mut self, _lock: &IndexLock) -> Result<bool, ToolError> {
        if self.place == Place::Memory {
            return Ok(true);
        }
        // What a rebuild that was killed left.
        remove(&self.layout, NEW)?;
        // Blocks of vectors are made again when nobody waits.
        self.db.execute_batch(
            "DELETE FROM embedding_cache WHERE id NOT IN (SELECT embedding FROM embeddings); DELETE FROM vector_blocks;",
        )?;
        let transaction = self.db.savepoint()?;
        FullText::new(&transaction).purge()?;
        transaction.commit()?;
        Ok(residue::compact(&self.db)?)
    }
}
