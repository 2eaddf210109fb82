//! The chunks of Markdown files, synchronised with the files.

use std::collections::HashMap;
use std::path::{Component, Path};

use rusqlite::{OptionalExtension, Row as SqlRow, params};
use schema::files::crash_point;
use schema::files::file_stamp::{self, FileStamp};
use schema::log::log_file;
use schema::log::{LogKind, is_without_new_prose, parse};
use schema::model::memory::content_hash;
use schema::model::moment::Moment;
use schema::store::SyncedLog;

use super::{Document, Index, IndexLock, documents};
use crate::chunk::{Chunk, chunk_lines, chunk_text};
use crate::error::{ToolError, join_causes};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRow {
    pub id: i64,
    /// Stable for the same passage across rebuilds.
    pub uid: String,
    /// Relative to the store.
    pub path: String,
    pub start_line: usize,
    pub end_line: usize,
    pub text: String,
    /// Headings above it, outermost first.
    pub heading: String,
}

impl ChunkRow {
    /// The searchable title of a chunk: its path and headings.
    pub fn title(&self) -> String {
        chunk_title(&self.path, &self.heading)
    }
}

/// Changes of a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChunkReport {
    pub added: usize,
    pub removed: usize,
}

const COLUMNS: &str = "id, uid, path, start_line, end_line, text, heading";

impl Index {
    /// Files that changed since they were indexed, including deleted ones.
    pub fn changed_files(&self) -> Result<Vec<String>, ToolError> {
        let listing = self.layout.markdown_files();
        let present = listing.map_err(|error| ToolError::cannot("list the store", &error))?;
        let mut statement = self.db.prepare_cached("SELECT path, mtime, size FROM files")?;
        let read = |row: &SqlRow<'_>| Ok((row.get(0)?, FileStamp { state: row.get(1)?, size: row.get(2)? }));
        let known: HashMap<String, FileStamp> = statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
        Ok(file_stamp::changed_paths(&self.layout, present, known))
    }

    /// Recreates the chunks of a file if its text changed. For a log, `Some` means that it is in sync with its rows.
    pub fn index_file(
        &mut self,
        path: &str,
        synced_log: Option<&SyncedLog>,
        _lock: &IndexLock,
    ) -> Result<ChunkReport, ToolError> {
        if let Some(log) = synced_log
            && self.is_file_unchanged(path, &no_prose_marker(log))?
        {
            self.record_file(path, Some(log.stamp), &no_prose_marker(log))?;
            return Ok(ChunkReport::default());
        }
        let file = self.layout.store_path(path);
        // A planted database may name files outside the store; they count as deleted.
        let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let stamp = if is_inside { FileStamp::read(&file) } else { None };
        let read = || log_file::read(&file).map_err(|error| ToolError::Unavailable(join_causes(&error)));
        let bytes = if stamp.is_some() { read()? } else { Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        let hash = content_hash(&text);
        if stamp.is_some() && self.has_chunks_of(path, &bytes, &text, &hash)? {
            self.record_file(path, stamp, &hash)?;
            return Ok(ChunkReport::default());
        }
        let made = file_chunks(path, &text);
        let old = self.chunk_ids(path)?;
        let transaction = self.db.savepoint()?;
        for id in &old {
            documents::remove_document(&transaction, Document::Chunk(*id).rowid())?;
        }
        transaction.execute("DELETE FROM chunks WHERE path = ?1", [path])?;
        let mut writer = documents::DocumentWriter::new(&transaction);
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
            let title = chunk_title(path, &chunk.heading);
            writer.insert(Document::Chunk(id), &title, &chunk.text)?;
        }
        writer.finish()?;
        transaction.commit()?;
        crash_point::crash_if_armed("index.file");
        let log = synced_log.filter(|log| made.is_empty() && Some(log.stamp) == stamp);
        self.record_file(path, stamp, &log.map_or(hash, no_prose_marker))?;
        Ok(ChunkReport { added: made.len(), removed: old.len() })
    }

    /// Forces a file's chunks to be recreated.
    pub fn invalidate_file(&mut self, path: &str, _lock: &IndexLock) -> Result<(), ToolError> {
        Ok(self.db.execute("UPDATE files SET hash = '' WHERE path = ?1", [path]).map(drop)?)
    }

    pub fn chunk(&self, id: i64) -> Result<Option<ChunkRow>, ToolError> {
        let sql = format!("SELECT {COLUMNS} FROM chunks WHERE id = ?1");
        Ok(self.db.prepare_cached(&sql)?.query_row([id], read_chunk).optional()?)
    }

    /// At most two ids of passages that begin so.
    pub fn chunk_uids_beginning_with(&self, beginning: &str) -> Result<Vec<String>, ToolError> {
        let sql = "SELECT DISTINCT uid FROM chunks WHERE uid >= ?1 AND uid < ?1 || char(1114111) LIMIT 2";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([beginning], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    pub fn chunk_by_uid(&self, uid: &str) -> Result<Option<ChunkRow>, ToolError> {
        let sql = format!("SELECT {COLUMNS} FROM chunks WHERE uid = ?1 LIMIT 1");
        Ok(self.db.prepare_cached(&sql)?.query_row([uid], read_chunk).optional()?)
    }

    /// Number of chunks and files, and the last change of the index.
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

    fn is_file_unchanged(&self, path: &str, hash: &str) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM files WHERE path = ?1 AND hash = ?2)";
        self.db.prepare_cached(sql)?.query_row([path, hash], |row| row.get(0))
    }

    /// Whether the chunks of a file are current: the file did not change, or a log only had memories appended.
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
            (LogKind::from_path(path), usize::try_from(size).ok().and_then(|size| bytes.get(..size)))
        else {
            return Ok(false);
        };
        let before = String::from_utf8_lossy(before);
        let added = text.strip_prefix(before.as_ref());
        Ok(added.is_some_and(|added| content_hash(&before) == known && is_without_new_prose(&before, added, kind)))
    }

    fn record_file(&self, path: &str, stamp: Option<FileStamp>, hash: &str) -> rusqlite::Result<()> {
        let Some(stamp) = stamp else {
            return self.db.execute("DELETE FROM files WHERE path = ?1", [path]).map(drop);
        };
        let sql = "INSERT OR REPLACE INTO files (path, hash, mtime, size, indexed_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![path, hash, stamp.state, stamp.size, Moment::now().utc()];
        self.db.prepare_cached(sql)?.execute(values).map(drop)
    }
}

/// Replaces the hash of a log without prose. It stays valid until the log is read again, so large logs need no hashing.
fn no_prose_marker(log: &SyncedLog) -> String {
    format!("without prose {}", log.read_mark)
}

/// The chunks of a file. In a log, only the text between memories.
fn file_chunks(path: &str, text: &str) -> Vec<Chunk> {
    let made = match LogKind::from_path(path) {
        None => chunk_text(text),
        Some(kind) => {
            let prose = parse(text, kind).prose;
            let lines: Vec<&str> = text.lines().collect();
            let with_numbers = with_blank_lines(&prose, &lines).into_iter();
            let with_numbers = with_numbers.filter_map(|number| Some((number, *lines.get(number - 1)?)));
            chunk_lines(&with_numbers.collect::<Vec<_>>())
        }
    };
    made.into_iter().filter(|chunk| has_content(&chunk.text)).collect()
}

/// The numbers of lines of prose, with the blank lines between them: paragraphs under a heading belong together, and only a
/// memory between them separates them.
fn with_blank_lines(prose: &[usize], lines: &[&str]) -> Vec<usize> {
    let is_blank = |number: &usize| lines.get(number - 1).is_some_and(|line| line.trim().is_empty());
    let mut numbers: Vec<usize> = Vec::with_capacity(prose.len());
    for number in prose {
        if let Some(last) = numbers.last().copied() {
            let between = last + 1..*number;
            if between.clone().all(|number| is_blank(&number)) {
                numbers.extend(between);
            }
        }
        numbers.push(*number);
    }
    numbers
}

/// Headings alone are not worth a chunk: the text below is a memory or not written yet.
fn has_content(text: &str) -> bool {
    text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

fn chunk_title(path: &str, heading: &str) -> String {
    format!("{path} {heading}")
}

fn read_chunk(row: &SqlRow<'_>) -> rusqlite::Result<ChunkRow> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_under_a_heading_are_one_chunk() {
        let text = "# Memory\n\n## Deploys\n\nDeploys run on Tuesdays, after the smoke tests passed.\n\nA rollback \
                    needs two people and a ticket with the reason.\n";
        let chunks = file_chunks("MEMORY.md", text);
        assert_eq!(chunks.len(), 1, "{chunks:?}");
        assert!(chunks[0].text.contains("Tuesdays") && chunks[0].text.contains("rollback"));
    }

    #[test]
    fn a_memory_separates_prose() {
        let text = "# Memory\n\nDeploys run on Tuesdays, after the smoke tests passed.\n\n## Decision\n\n- Use Redis. \
                    <!-- {\"id\":\"0123456789abcdef\"} -->\n\n## Rollback\n\nA rollback needs two people and a ticket.\n";
        let chunks = file_chunks("MEMORY.md", text);
        assert!(chunks.iter().all(|chunk| !chunk.text.contains("Redis")), "{chunks:?}");
        assert_eq!(chunks.len(), 2, "{chunks:?}");
    }
}
