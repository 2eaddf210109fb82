//! Queued documents, and the texts to embed for them.

use rusqlite::{Connection, params};
use schema::log::LogKind;
use schema::model::memory::{Memory, MemoryType};
use schema::store::Rows;
use sha2::{Digest, Sha256};

use super::super::{Document, Index};
use crate::embed::EmbeddingLocation;
use crate::error::ToolError;
use crate::text::script::Script;

#[derive(Default)]
pub(super) struct PendingDocuments {
    /// Documents with a cached vector, by its id.
    pub(super) known: Vec<(EmbeddingSource, i64)>,
    pub(super) new: Vec<PendingText>,
    removed: Vec<i64>,
    pub(super) has_more: bool,
}

/// A document whose text is not cached.
pub(super) struct PendingText {
    pub(super) source: EmbeddingSource,
    pub(super) hash: [u8; 32],
    pub(super) text: String,
}

#[derive(Clone)]
pub(super) struct EmbeddingSource {
    document: i64,
    script: Script,
    path: String,
}

impl PendingDocuments {
    /// Assigns cached vectors, and removes these and deleted documents from the queue.
    pub(super) fn assign_known(&self, db: &Connection) -> rusqlite::Result<()> {
        for (EmbeddingSource { document, script, path }, embedding) in &self.known {
            let sql = "INSERT OR REPLACE INTO embeddings (document, embedding, script) VALUES (?1, ?2, ?3)";
            db.prepare_cached(sql)?.execute(params![document, embedding, *script as i64])?;
            let sql = "UPDATE embedding_cache SET path = ?2 WHERE id = ?1 AND path IS NOT ?2";
            db.prepare_cached(sql)?.execute(params![embedding, path])?;
        }
        for document in self.known.iter().map(|(source, _)| &source.document).chain(&self.removed) {
            db.prepare_cached("DELETE FROM unembedded WHERE document = ?1")?.execute([document])?;
        }
        Ok(())
    }
}

impl Index {
    /// Sorts the queue by what each document needs.
    pub(super) fn classify_pending(
        &self,
        rows: Rows<'_>,
        model: i64,
        place: EmbeddingLocation,
        clean: &dyn Fn(&str) -> String,
        limit: usize,
    ) -> Result<PendingDocuments, ToolError> {
        let waiting = self.pending_documents(limit)?;
        let mut sorted = PendingDocuments { has_more: waiting.len() == limit, ..PendingDocuments::default() };
        for document in waiting {
            let Some((text, path)) = self.text_to_embed(rows, document, place)? else {
                sorted.removed.push(document);
                continue;
            };
            let text = clean(&text);
            let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
            let source = EmbeddingSource { document, script: Script::detect(&text), path };
            match self.find_cached(&hash, model)? {
                Some(embedding) => sorted.known.push((source, embedding)),
                None => sorted.new.push(PendingText { source, hash, text }),
            }
        }
        Ok(sorted)
    }

    fn pending_documents(&self, limit: usize) -> Result<Vec<i64>, ToolError> {
        let sql = "SELECT document FROM unembedded ORDER BY document DESC LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([limit as i64], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
    }

    /// The text to embed of a document, with the context it needs, and its file. `None` if it is gone.
    pub(in crate::index) fn text_to_embed(
        &self,
        rows: Rows<'_>,
        document: i64,
        place: EmbeddingLocation,
    ) -> Result<Option<(String, String)>, ToolError> {
        match Document::from_rowid(document) {
            Document::Memory(seq) => {
                let Some(row) = rows.by_seq(seq)? else { return Ok(None) };
                let question = prompt_before(rows, &row.memory)?;
                Ok(Some((memory_text(&row.memory, question.as_deref(), place), row.path)))
            }
            Document::Chunk(id) => Ok(self.chunk(id)?.map(|chunk| {
                let day = match (LogKind::from_path(&chunk.path), place) {
                    (Some(LogKind::Daily(day)), EmbeddingLocation::Remote) => format!("{day} "),
                    _ => String::new(),
                };
                (format!("{day}{}\n{}", chunk.heading, chunk.text), chunk.path)
            })),
        }
    }
}

/// Characters of a question that are embedded with its answer.
const QUESTION: usize = 300;

/// The prompt before an answer.
fn prompt_before(rows: Rows<'_>, memory: &Memory) -> Result<Option<String>, ToolError> {
    if memory.kind != MemoryType::AssistantResponse || memory.session_id.is_empty() {
        return Ok(None);
    }
    let before = rows.prompt_before(&memory.session_id, &memory.at)?;
    Ok(before.map(|text| text.chars().take(QUESTION).collect()))
}

/// Date and type help a model that reads sentences. For a model that sums words they are noise.
fn memory_text(memory: &Memory, question: Option<&str>, place: EmbeddingLocation) -> String {
    let question = question.map(|question| format!("{question}\n")).unwrap_or_default();
    match place {
        EmbeddingLocation::InProcess => format!("{question}{}", memory.content),
        EmbeddingLocation::Remote => {
            format!("{} {}: {question}{}", memory.at.date(), memory.kind.label(), memory.content)
        }
    }
}
