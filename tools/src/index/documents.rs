//! Memories and chunks as documents of the full-text table.

use rusqlite::{Connection, OptionalExtension as _, Result};
use schema::model::memory::Memory;
use serde_json::Value;

use crate::fulltext::{self, FullText};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Document {
    /// The sequence number of a memory.
    Memory(i64),
    /// The id of a chunk.
    Chunk(i64),
}

impl Document {
    /// Even row numbers are memories, odd ones chunks.
    pub fn rowid(self) -> i64 {
        match self {
            Self::Memory(seq) => seq * 2,
            Self::Chunk(id) => id * 2 + 1,
        }
    }

    pub fn from_rowid(rowid: i64) -> Self {
        if rowid % 2 == 0 { Self::Memory(rowid / 2) } else { Self::Chunk(rowid / 2) }
    }
}

/// Adds documents and queues them for a vector.
pub(super) struct DocumentWriter<'c> {
    db: &'c Connection,
    fulltext: fulltext::SegmentWriter<'c>,
}

impl<'c> DocumentWriter<'c> {
    pub(super) fn new(db: &'c Connection) -> Self {
        Self { db, fulltext: FullText::new(db).writer() }
    }

    pub(super) fn insert(&mut self, document: Document, title: &str, body: &str) -> Result<()> {
        self.fulltext.insert(document.rowid(), title, body)?;
        self.db
            .prepare_cached("INSERT OR IGNORE INTO unembedded (document) VALUES (?1)")?
            .execute([document.rowid()])
            .map(drop)
    }

    pub(super) fn finish(self) -> Result<()> {
        self.fulltext.finish()
    }
}

/// SQL condition for models that compute a vector faster than it can be read. Their unused vectors are deleted, or a note
/// edited a thousand times would leave a thousand.
pub(super) const MADE_IN_NO_TIME: &str =
    "model IN (SELECT id FROM models WHERE provider = 'local' AND model NOT LIKE 'bert:%')";

/// Removes a document and its vector; an unknown one is no error.
pub(super) fn remove_document(db: &Connection, rowid: i64) -> Result<()> {
    FullText::new(db).remove(rowid)?;
    db.prepare_cached("DELETE FROM unembedded WHERE document = ?1")?.execute([rowid])?;
    let sql = "DELETE FROM embeddings WHERE document = ?1 RETURNING embedding";
    let Some(embedding) = db.prepare_cached(sql)?.query_one([rowid], |row| row.get::<_, i64>(0)).optional()? else {
        return Ok(());
    };
    db.prepare_cached("INSERT INTO unvectored (document) VALUES (?1)")?.execute([rowid])?;
    let sql = format!(
        "DELETE FROM embedding_cache WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM embeddings WHERE embedding = ?1)
            AND {MADE_IN_NO_TIME}"
    );
    db.prepare_cached(&sql)?.execute([embedding]).map(drop)
}

/// The searchable title of a memory: its type, if informative, and its metadata.
pub fn memory_title(memory: &Memory) -> String {
    let mut title = String::new();
    if !memory.kind.is_event() {
        title.push_str(memory.kind.label());
    }
    for (name, value) in &memory.attributes.metadata {
        let texts: Vec<&str> = match value {
            Value::String(text) => vec![text],
            list if name == TAGS => metadata_tags(list).collect(),
            _ => Vec::new(),
        };
        texts.into_iter().for_each(|text| title.extend([" ", text]));
    }
    title
}

/// The field of metadata that holds tags.
pub(crate) const TAGS: &str = "tags";

/// The tags in that field: a list, or a text with commas.
pub fn metadata_tags(value: &Value) -> impl Iterator<Item = &str> {
    let listed = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let separated = value.as_str().into_iter().flat_map(|text| text.split(','));
    listed.chain(separated).map(str::trim).filter(|tag| !tag.is_empty())
}
