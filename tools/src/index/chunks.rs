//! The chunks of Markdown files, brought in step with the files.

use std::collections::HashMap;
use std::path::{Component, Path};

use rusqlite::{OptionalExtension, Row as SqlRow, params};
use schema::crash;
use schema::daily_log::{LogKind, adds_no_prose, parse};
use schema::log_file;
use schema::memory::content_hash;
use schema::moment::Moment;
use schema::stamp::{self, Stamp};
use schema::store::InStep;

use super::{Document, Index, IndexLock, documents};
use crate::chunk::{Chunk, chunks, chunks_of_lines};
use crate::error::{ToolError, chain};

/// A chunk as the index holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    pub id: i64,
    /// The same for the same passage after the index was made anew.
    pub uid: String,
    /// Relative to the store.
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    pub text: String,
    /// The headings above it, outermost first.
    pub heading: String,
}

impl ChunkRow {
    /// What is searched beside the text of a chunk: where it stands.
    pub fn title(&self) -> String {
        title(&self.path, &self.heading)
    }
}

/// What bringing files in step changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkReport {
    pub added: usize,
    pub removed: usize,
}

const COLUMNS: &str = "id, uid, path, start_line, end_line, text, heading";

impl Index {
    /// The files that changed since their chunks were made, those that are gone included.
    pub fn changed_files(&self) -> Result<Vec<String>, ToolError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(|error| ToolError::Unavailable(format!("cannot list the store: {error}")))?;
        let mut statement = self.db.prepare_cached("SELECT path, mtime, size FROM files")?;
        let read = |row: &SqlRow<'_>| Ok((row.get(0)?, Stamp { state: row.get(1)?, size: row.get(2)? }));
        let known: HashMap<String, Stamp> = statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
        Ok(stamp::changed(&self.layout, present, known))
    }

    /// Makes the chunks of one file anew if its text changed. Of a log it helps to know whether it is in step with its rows.
    pub fn take_in_file(
        &mut self,
        path: &str,
        in_step: Option<&InStep>,
        _lock: &IndexLock,
    ) -> Result<ChunkReport, ToolError> {
        if let Some(log) = in_step
            && self.is_noted(path, &without_prose(log))?
        {
            self.note(path, Some(log.stamp), &without_prose(log))?;
            return Ok(ChunkReport::default());
        }
        let file = self.layout.file(path);
        // Who put a database into a project may name files outside of it, which are as good as gone.
        let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let stamp = if is_inside { Stamp::of(&file) } else { None };
        let read = || log_file::read(&file).map_err(|error| ToolError::Unavailable(chain(&error)));
        let bytes = if stamp.is_some() { read()? } else { Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        let hash = content_hash(&text);
        if stamp.is_some() && self.has_chunks_of(path, &bytes, &text, &hash)? {
            self.note(path, stamp, &hash)?;
            return Ok(ChunkReport::default());
        }
        let made = if stamp.is_some() { chunks_of(path, &text) } else { Vec::new() };
        let mut report = ChunkReport { added: made.len(), removed: 0 };
        let old = self.chunk_ids(path)?;
        let transaction = self.db.savepoint()?;
        for id in &old {
            documents::remove(&transaction, Document::Chunk(*id).rowid())?;
        }
        transaction.execute("DELETE FROM chunks WHERE path = ?1", [path])?;
        let mut writer = documents::Writer::new(&transaction);
        for chunk in &made {
            let key = content_hash(&format!("{path}\0{}\0{}", chunk.start_line, chunk.text));
            let id = transaction
                .prepare_cached(
                    "INSERT INTO chunks (uid, path, start_line, end_line, text, hash, heading)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .insert(params![
                    format!("c{}", &key[..16]),
                    path,
                    chunk.start_line as i64,
                    chunk.end_line as i64,
                    chunk.text,
                    content_hash(&chunk.text),
                    chunk.heading
                ])?;
            let title = title(path, &chunk.heading);
            writer.insert(Document::Chunk(id), &title, &chunk.text)?;
        }
        writer.finish()?;
        transaction.commit()?;
        crash::point("index.file");
        report.removed = old.len();
        let log = in_step.filter(|log| made.is_empty() && Some(log.stamp) == stamp);
        self.note(path, stamp, &log.map_or(hash, without_prose))?;
        Ok(report)
    }

    /// Forgets what is known of a file's text, so that its chunks are made again whether it changed or not.
    pub fn distrust_file(&mut self, path: &str, _lock: &IndexLock) -> Result<(), ToolError> {
        Ok(self.db.execute("UPDATE files SET hash = '' WHERE path = ?1", [path]).map(drop)?)
    }

    pub fn chunk(&self, id: i64) -> Result<Option<ChunkRow>, ToolError> {
        let sql = format!("SELECT {COLUMNS} FROM chunks WHERE id = ?1");
        Ok(self.db.prepare_cached(&sql)?.query_row([id], read).optional()?)
    }

    pub fn chunk_by_uid(&self, uid: &str) -> Result<Option<ChunkRow>, ToolError> {
        let sql = format!("SELECT {COLUMNS} FROM chunks WHERE uid = ?1 LIMIT 1");
        Ok(self.db.prepare_cached(&sql)?.query_row([uid], read).optional()?)
    }

    /// Chunks, files, and when the index changed last.
    pub fn counts(&self) -> Result<(u64, u64, Option<String>), ToolError> {
        let sql = "SELECT (SELECT count(*) FROM chunks), count(*), max(indexed_at) FROM files";
        let read = |row: &SqlRow<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?));
        let (chunks, files, last) = self.db.query_row(sql, [], read)?;
        Ok((chunks.unsigned_abs(), files.unsigned_abs(), last))
    }

    fn chunk_ids(&self, path: &str) -> rusqlite::Result<Vec<i64>> {
        let mut statement = self.db.prepare_cached("SELECT id FROM chunks WHERE path = ?1")?;
        statement.query_map([path], |row| row.get(0))?.collect()
    }

    fn is_noted(&self, path: &str, hash: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM files WHERE path = ?1 AND hash = ?2)";
        self.db.prepare_cached(sql)?.query_row([path, hash], |row| row.get(0))
    }

    /// Whether the chunks of a file are those of its text. So they are when the file did not change, and also when nothing but memories came
    /// to the end of a log.
    fn has_chunks_of(&self, path: &str, bytes: &[u8], text: &str, hash: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT hash, size FROM files WHERE path = ?1";
        let read = |row: &SqlRow<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
        let Some((known, size)) = self.db.prepare_cached(sql)?.query_row([path], read).optional()? else {
            return Ok(false);
        };
        if known == hash {
            return Ok(true);
        }
        let (Some(kind), Some(before)) =
            (LogKind::of(path), usize::try_from(size).ok().and_then(|size| bytes.get(..size)))
        else {
            return Ok(false);
        };
        let before = String::from_utf8_lossy(before);
        let added = text.strip_prefix(before.as_ref());
        Ok(added.is_some_and(|added| content_hash(&before) == known && adds_no_prose(&before, added, kind)))
    }

    fn note(&self, path: &str, stamp: Option<Stamp>, hash: &str) -> rusqlite::Result<()> {
        let Some(stamp) = stamp else {
            return self.db.execute("DELETE FROM files WHERE path = ?1", [path]).map(drop);
        };
        let sql = "INSERT OR REPLACE INTO files (path, hash, mtime, size, indexed_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![path, hash, stamp.state, stamp.size, Moment::now().utc()];
        self.db.prepare_cached(sql)?.execute(values).map(drop)
    }
}

/// Stands for the hash of a log that had no prose when it was read. It has none until it is read again, so a log of megabytes need not be
/// hashed.
fn without_prose(log: &InStep) -> String {
    format!("without prose {}", log.reading)
}

/// The chunks of a file: all of it, or, where entries are memories already, what is left between them.
fn chunks_of(path: &str, text: &str) -> Vec<Chunk> {
    let made = match LogKind::of(path) {
        None => chunks(text),
        Some(kind) => {
            let prose = parse(text, kind).prose;
            let lines: Vec<&str> = text.lines().collect();
            let with_numbers = prose.iter().filter_map(|number| Some((*number, *lines.get(number - 1)?)));
            chunks_of_lines(&with_numbers.collect::<Vec<_>>())
        }
    };
    made.into_iter().filter(|chunk| says_something(&chunk.text)).collect()
}

/// Headings alone say nothing: what stands under them is a memory, or not written yet.
fn says_something(text: &str) -> bool {
    text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

fn title(path: &str, heading: &str) -> String {
    format!("{path} {heading}")
}

fn read(row: &SqlRow<'_>) -> rusqlite::Result<ChunkRow> {
    Ok(ChunkRow {
        id: row.get(0)?,
        uid: row.get(1)?,
        path: row.get(2)?,
        start_line: row.get::<_, i64>(3)?.unsigned_abs() as usize,
        end_line: row.get::<_, i64>(4)?.unsigned_abs() as usize,
        text: row.get(5)?,
        heading: row.get(6)?,
    })
}
