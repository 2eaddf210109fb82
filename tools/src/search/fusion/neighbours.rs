//! The neighbours of a passage in its session or in its file, which are its context.

use schema::store::Store;

use crate::error::ToolError;
use crate::index::{Document, Index};
use crate::search::candidate::{Passage, UnscoredPassage};

/// The previous and next document: in its session or in its file.
pub(super) fn neighbour_documents(
    store: &Store,
    index: &Index,
    gathered: &UnscoredPassage,
) -> Result<(Option<Document>, Option<Document>), ToolError> {
    match (&gathered.passage, gathered.document) {
        (Passage::Memory(row), _) if row.memory.kind.is_event() && !row.memory.session_id.is_empty() => {
            let (before, after) = store.rows().neighbour_seqs(row)?;
            Ok((before.map(Document::Memory), after.map(Document::Memory)))
        }
        (Passage::Chunk(chunk), Some(Document::Chunk(id))) => {
            // Chunk ids of a file are in order.
            let of_file = |id: i64| -> Result<Option<Document>, ToolError> {
                let other = index.chunk(id)?.filter(|other| other.path == chunk.path);
                Ok(other.map(|_| Document::Chunk(id)))
            };
            Ok((of_file(id - 1)?, of_file(id + 1)?))
        }
        _ => Ok((None, None)),
    }
}
