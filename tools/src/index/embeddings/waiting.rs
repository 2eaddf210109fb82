//! Documents that wait for a vector, and the texts that theirs are of.

use rusqlite::{Connection, params};
use schema::daily_log::LogKind;
use schema::memory::{Memory, MemoryType};
use schema::store::Rows;
use sha2::{Digest, Sha256};

use super::super::{Document, Index};
use crate::embed::WorkPlace;
use crate::error::ToolError;
use crate::text::script::Script;

/// Documents that wait.
#[derive(Default)]
pub(super) struct Sorted {
    /// Those whose vector is there, with its id.
    pub(super) known: Vec<(Source, i64)>,
    pub(super) new: Vec<New>,
    gone: Vec<i64>,
    pub(super) is_more: bool,
}

/// A document whose text has no vector.
pub(super) struct New {
    pub(super) source: Source,
    pub(super) hash: [u8; 32],
    pub(super) text: String,
}

/// Whose text is embedded.
#[derive(Clone)]
pub(super) struct Source {
    document: i64,
    script: Script,
    path: String,
}

impl Sorted {
    /// Gives vectors to those that are known; they and those that are gone wait no longer.
    pub(super) fn settle(&self, db: &Connection) -> rusqlite::Result<()> {
        for (Source { document, script, path }, embedding) in &self.known {
            let sql = "INSERT OR REPLACE INTO embeddings (document, embedding, script) VALUES (?1, ?2, ?3)";
            db.prepare_cached(sql)?.execute(params![document, embedding, *script as i64])?;
            let sql = "UPDATE embedding_cache SET path = ?2 WHERE id = ?1 AND path IS NOT ?2";
            db.prepare_cached(sql)?.execute(params![embedding, path])?;
        }
        for document in self.known.iter().map(|(source, _)| &source.document).chain(&self.gone) {
            db.prepare_cached("DELETE FROM unembedded WHERE document = ?1")?.execute([document])?;
        }
        Ok(())
    }
}

impl Index {
    /// What waits, by what has to be done with it.
    pub(super) fn sorted(
        &self,
        rows: Rows<'_>,
        model: i64,
        place: WorkPlace,
        clean: &dyn Fn(&str) -> String,
        limit: usize,
    ) -> Result<Sorted, ToolError> {
        let waiting = self.waiting(limit)?;
        let mut sorted = Sorted { is_more: waiting.len() == limit, ..Sorted::default() };
        for document in waiting {
            let Some((text, path)) = self.text_to_embed(rows, document, place)? else {
                sorted.gone.push(document);
                continue;
            };
            let text = clean(&text);
            let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
            let source = Source { document, script: Script::of(&text), path };
            match self.cached(&hash, model)? {
                Some(embedding) => sorted.known.push((source, embedding)),
                None => sorted.new.push(New { source, hash, text }),
            }
        }
        Ok(sorted)
    }

    fn waiting(&self, limit: usize) -> Result<Vec<i64>, ToolError> {
        let sql = "SELECT document FROM unembedded ORDER BY document DESC LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([limit as i64], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
    }

    /// What is embedded of a document, its text and what it needs to be understood alone, and its file. `None` when it is gone.
    fn text_to_embed(
        &self,
        rows: Rows<'_>,
        document: i64,
        place: WorkPlace,
    ) -> Result<Option<(String, String)>, ToolError> {
        Ok(match Document::of_rowid(document) {
            Document::Memory(seq) => match rows.by_seq(seq)? {
                Some(row) => {
                    let question = question(rows, &row.memory)?;
                    Some((of_memory(&row.memory, question.as_deref(), place), row.path))
                }
                None => None,
            },
            Document::Chunk(id) => self.chunk(id)?.map(|chunk| {
                let day = match (LogKind::of(&chunk.path), place) {
                    (Some(LogKind::Daily(day)), WorkPlace::Elsewhere) => format!("{day} "),
                    _ => String::new(),
                };
                (format!("{day}{}\n{}", chunk.heading, chunk.text), chunk.path)
            }),
        })
    }
}

/// Characters of a question that go with its answer.
const QUESTION: usize = 300;

/// What an answer answers: the prompt before it.
fn question(rows: Rows<'_>, memory: &Memory) -> Result<Option<String>, ToolError> {
    if memory.kind != MemoryType::AssistantResponse || memory.session_id.is_empty() {
        return Ok(None);
    }
    let before = rows.prompt_before(&memory.session_id, &memory.at)?;
    Ok(before.map(|text| text.chars().take(QUESTION).collect()))
}

/// Date and type say something to a model that reads sentences; one that adds up words would only add them to everything.
fn of_memory(memory: &Memory, question: Option<&str>, place: WorkPlace) -> String {
    let question = question.map(|question| format!("{question}\n")).unwrap_or_default();
    match place {
        WorkPlace::Here => format!("{question}{}", memory.content),
        WorkPlace::Elsewhere => {
            format!("{} {}: {question}{}", memory.at.date(), memory.kind.label(), memory.content)
        }
    }
}
