//! Vectors of the built-in model in memory, for searches while an embedding service fails.

use std::sync::Arc;

use schema::store::Rows;

use super::{Index, Vectors};
use crate::embed::{Embedder as _, EmbeddingLocation, EmbeddingResult, LocalModel};
use crate::error::ToolError;
use crate::text::script::Script;

/// Newest documents that are covered. Making their vectors takes about a second, once.
const COVERED: usize = 20_000;

/// Documents whose texts are read at once.
const BATCH: usize = 256;

impl Index {
    /// Vectors of the newest documents by the built-in model. Later calls add new documents.
    pub fn local_vectors(&mut self, rows: Rows<'_>, model: &LocalModel) -> Result<Arc<Vectors>, ToolError> {
        let known = self.local_vectors.take().and_then(Arc::into_inner);
        let mut vectors = known.unwrap_or_else(|| Vectors::empty(model.identity().dims));
        let missing: Vec<i64> = self.newest_documents()?.into_iter().filter(|id| vectors.row(*id).is_none()).collect();
        for batch in missing.chunks(BATCH) {
            let mut texts = Vec::with_capacity(batch.len());
            for document in batch {
                let text = self.text_to_embed(rows, *document, EmbeddingLocation::InProcess)?;
                texts.extend(text.map(|(text, _)| (*document, text)));
            }
            let embedded = model.embed_documents(&texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>());
            let embedded = embedded.map_err(|error| ToolError::Unavailable(error.to_string()))?;
            for ((document, text), made) in texts.iter().zip(embedded) {
                if let EmbeddingResult::Vector(vector) = made {
                    vectors.set(*document, &vector, Script::detect(text));
                }
            }
        }
        Ok(Arc::clone(self.local_vectors.insert(Arc::new(vectors))))
    }

    fn newest_documents(&self) -> Result<Vec<i64>, ToolError> {
        let sql = "SELECT document FROM fulltext_documents ORDER BY number DESC LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([COVERED as i64], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }
}
