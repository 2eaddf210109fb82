//! The full-text index: maps terms to documents. Tokenising is done here and not by SQLite.
//!
//! Stored in ordinary SQLite tables, so it is as crash-safe as they are. A query finds the best documents without reading
//! all postings of a common word.

mod merge;
mod postings;
mod top_documents;
mod writer;

pub use postings::PostingsCache;
pub use writer::SegmentWriter;

use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Result, params};

use merge::Segment;
use postings::{CachedPostings, Posting, PostingCursor};
use top_documents::{TermCursors, TopDocuments};

/// A token of the index, or a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QueryTerm {
    pub text: String,
    /// Whether it matches every token with this prefix.
    pub prefix: bool,
}

/// The full-text tables of a database.
#[derive(Debug, Clone, Copy)]
pub struct FullText<'c> {
    connection: &'c Connection,
    /// Cached posting lists.
    cache: Option<&'c RefCell<PostingsCache>>,
}

/// Corpus statistics that a document's relevance depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct CorpusStats {
    pub documents: u64,
    /// Average tokens of a document, title and body.
    pub average_length: f32,
    /// Document frequency of each query term, in order.
    pub frequencies: Vec<u64>,
}

/// Letters from which a term may differ in one place, and in two. Shorter terms are too often other words.
const ONE_EDIT_FROM: usize = 5;
const TWO_EDITS_FROM: usize = 9;

/// Scale of an impact per unit of idf.
const UNIT: f32 = 1000.0;

impl<'c> FullText<'c> {
    pub fn new(connection: &'c Connection) -> Self {
        Self { connection, cache: None }
    }

    /// The tables with a cache for repeated searches.
    pub fn with_cache(connection: &'c Connection, cache: &'c RefCell<PostingsCache>) -> Self {
        Self { connection, cache: Some(cache) }
    }

    /// Creates the tables if they are missing.
    pub fn create(&self) -> Result<()> {
        self.connection.execute_batch(include_str!("fulltext/fulltext.sql"))
    }

    /// Adds documents. Batches are cheaper than single documents.
    pub fn writer(&self) -> SegmentWriter<'c> {
        SegmentWriter::new(self.connection)
    }

    /// Removes a document; an unknown one is no error.
    pub fn remove(&self, rowid: i64) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached("DELETE FROM fulltext_documents WHERE document = ?1 RETURNING number, length")?;
        let removed = statement.query_one([rowid], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((number, length)) = removed.optional()? else { return Ok(()) };
        self.connection.prepare_cached("INSERT INTO fulltext_removed (number) VALUES (?1)")?.execute([number])?;
        self.connection
            .prepare_cached("UPDATE fulltext_totals SET documents = documents - 1, tokens = tokens - ?1")?
            .execute([length])
            .map(drop)
    }

    pub fn clear(&self) -> Result<()> {
        self.connection.execute_batch(
            "DELETE FROM fulltext_postings; DELETE FROM fulltext_segments; DELETE FROM fulltext_removed;
             DELETE FROM fulltext_documents; UPDATE fulltext_totals SET documents = 0, tokens = 0;",
        )
    }

    /// Does some milliseconds of maintenance and returns whether there is more.
    pub fn merge_step(&self) -> Result<bool> {
        merge::merge_step(self.connection)
    }

    /// Deletes all words that only removed documents had.
    pub fn purge(&self) -> Result<()> {
        merge::purge_removed(self.connection)
    }

    /// Row numbers of documents with any of these terms, best first by the sum of impacts weighted by idf. `corpus` must
    /// start with these terms.
    pub fn candidates(&self, terms: &[QueryTerm], corpus: &CorpusStats, limit: usize) -> Result<Vec<i64>> {
        let ways: Vec<[usize; 1]> = (0..terms.len()).map(|term| [term]).collect();
        let ways: Vec<&[usize]> = ways.iter().map(|way| &way[..]).collect();
        self.in_snapshot(|| self.best_documents(terms, corpus, &ways, limit))
    }

    /// Row numbers of documents with all terms of at least one alternative, best first. Alternatives refer to terms by
    /// index. `corpus` is that of the terms.
    pub fn alternatives<'w>(
        &self,
        terms: &[QueryTerm],
        ways: impl Iterator<Item = &'w [usize]>,
        corpus: &CorpusStats,
        limit: usize,
    ) -> Result<Vec<i64>> {
        let occurs = |term: &usize| corpus.frequencies.get(*term).is_some_and(|found| *found > 0);
        let ways: Vec<&[usize]> = ways.filter(|way| !way.is_empty() && way.iter().all(occurs)).collect();
        self.in_snapshot(|| self.best_documents(terms, corpus, &ways, limit))
    }

    /// The best documents with all terms of any alternative.
    fn best_documents(
        &self,
        terms: &[QueryTerm],
        corpus: &CorpusStats,
        ways: &[&[usize]],
        limit: usize,
    ) -> Result<Vec<i64>> {
        let mut best = TopDocuments::new(limit);
        let removed = self.removed_documents()?;
        for segment in merge::segments(self.connection)? {
            let cursors =
                ways.iter().map(|way| self.term_cursors(&segment, terms, corpus, way)).collect::<Result<Vec<_>>>()?;
            top_documents::search_segment(cursors.into_iter().flatten().collect(), &mut best, |number| {
                removed.binary_search(&number).is_ok()
            });
        }
        let mut document =
            self.connection.prepare_cached("SELECT document FROM fulltext_documents WHERE number = ?1")?;
        let rows = best.into_sorted().into_iter().map(|(_, number)| document.query_row([number], |row| row.get(0)));
        rows.collect()
    }

    /// The documents of a segment with all these terms; `None` if it lacks one.
    fn term_cursors(
        &self,
        segment: &Segment,
        terms: &[QueryTerm],
        corpus: &CorpusStats,
        way: &[usize],
    ) -> Result<Option<TermCursors>> {
        let mut cursors = Vec::with_capacity(way.len());
        for term in way {
            let Some(cursor) = self.cursor(segment, &terms[*term])? else { return Ok(None) };
            cursors.push((cursor, idf_weight(corpus.documents as f32, corpus.frequencies[*term] as f32)));
        }
        Ok(TermCursors::from_cursors(cursors))
    }

    /// The terms with the fewest edits from this one: insertions, deletions, replacements and swaps of neighbours. The first
    /// letter must be the same, so that a part of the dictionary is enough.
    pub fn similar_terms(&self, term: &str) -> Result<Vec<String>> {
        let length = term.chars().count();
        let most = match length {
            TWO_EDITS_FROM.. => 2,
            ONE_EDIT_FROM.. => 1,
            _ => return Ok(Vec::new()),
        };
        let first: String = term.chars().take(1).collect();
        let (shortest, longest) = ((length - most) as i64, (length + most) as i64);
        let mut statement = self.connection.prepare_cached(
            "SELECT term FROM fulltext_postings
             WHERE segment = ?1 AND term >= ?2 AND term < ?3 AND length(term) BETWEEN ?4 AND ?5",
        )?;
        let (mut best, mut found) = (most + 1, Vec::new());
        self.in_snapshot(|| {
            for segment in merge::segments(self.connection)? {
                let values = params![segment.id, first, prefix_end(&first), shortest, longest];
                let mut rows = statement.query(values)?;
                while let Some(row) = rows.next()? {
                    let other = row.get_ref(0)?.as_str()?;
                    let edits = strsim::osa_distance(term, other);
                    if edits < best {
                        found.clear();
                        best = edits;
                    }
                    if edits == best && edits <= most && !found.iter().any(|known| known == other) {
                        found.push(other.to_owned());
                    }
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Number of documents and of their tokens.
    fn totals(&self) -> Result<(u64, u64)> {
        let mut statement = self.connection.prepare_cached("SELECT documents, tokens FROM fulltext_totals")?;
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        statement.query_row([], read).map(|(documents, tokens)| (documents.unsigned_abs(), tokens.unsigned_abs()))
    }

    /// Corpus statistics for these terms.
    pub fn corpus(&self, terms: &[QueryTerm]) -> Result<CorpusStats> {
        self.in_snapshot(|| {
            let (documents, tokens) = self.totals()?;
            let removed = self.removed_documents()?;
            let segments = merge::segments(self.connection)?;
            // For a prefix it is an upper bound.
            let frequency = |term| -> Result<u64> {
                let counts = segments.iter().map(|segment| self.frequency_in(segment, term, &removed));
                Ok(counts.sum::<Result<u64>>()?.min(documents))
            };
            let frequencies = terms.iter().map(frequency).collect::<Result<_>>()?;
            Ok(CorpusStats { documents, average_length: tokens as f32 / documents.max(1) as f32, frequencies })
        })
    }

    /// Reads several tables in one snapshot.
    fn in_snapshot<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.connection.execute_batch("SAVEPOINT fulltext")?;
        let outcome = read();
        let released = self.connection.execute_batch("RELEASE fulltext");
        // An error may have ended the transaction already; then report that error.
        outcome.and_then(|read| released.map(|()| read))
    }

    /// Removed documents that are still in a segment, ascending.
    fn removed_documents(&self) -> Result<Vec<u32>> {
        let mut statement = self.connection.prepare_cached("SELECT number FROM fulltext_removed ORDER BY number")?;
        statement.query_map([], |row| row.get(0))?.collect()
    }

    fn frequency_in(&self, segment: &Segment, term: &QueryTerm, removed: &[u32]) -> Result<u64> {
        let count: i64 = if term.prefix {
            let mut statement = self.connection.prepare_cached(
                "SELECT coalesce(sum(count), 0) FROM fulltext_postings WHERE segment = ?1 AND term >= ?2 AND term < ?3",
            )?;
            statement.query_row(params![segment.id, term.text, prefix_end(&term.text)], |row| row.get(0))?
        } else {
            self.cached_postings(segment, &term.text)?.count as i64
        };
        let count = count.unsigned_abs();
        let gone = removed.iter().rev().filter(|number| (segment.first..=segment.last).contains(*number));
        let mut gone = gone.peekable();
        if count == 0 || gone.peek().is_none() {
            return Ok(count);
        }
        let Some(mut cursor) = self.cursor(segment, term)? else { return Ok(0) };
        let holding = gone.filter(|number| {
            cursor.seek(**number);
            cursor.document() == Some(**number)
        });
        Ok(count.saturating_sub(holding.count() as u64))
    }

    /// Postings of a term in a segment; for a prefix, of all its tokens.
    fn cursor(&self, segment: &Segment, term: &QueryTerm) -> Result<Option<PostingCursor>> {
        if term.prefix {
            return self.prefix_postings(segment, &term.text);
        }
        let CachedPostings { count, bytes } = self.cached_postings(segment, &term.text)?;
        if count == 0 {
            return Ok(None);
        }
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => self
                .connection
                .prepare_cached("SELECT list FROM fulltext_postings WHERE segment = ?1 AND term = ?2")?
                .query_row(params![segment.id, term.text], |row| Ok(Arc::from(row.get_ref(0)?.as_blob()?)))?,
        };
        Ok(Some(PostingCursor::new(segment.last, count, bytes)))
    }

    /// Number of postings of a term in a segment, with the list unless it is long.
    fn cached_postings(&self, segment: &Segment, term: &str) -> Result<CachedPostings> {
        if let Some(list) = self.cache.and_then(|cache| cache.borrow().get(segment.id, term)) {
            return Ok(list);
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT count, CASE WHEN length(list) <= ?3 THEN list END FROM fulltext_postings
             WHERE segment = ?1 AND term = ?2",
        )?;
        let read = |row: &rusqlite::Row<'_>| {
            let count: i64 = row.get(0)?;
            Ok(CachedPostings {
                count: count.unsigned_abs() as usize,
                bytes: row.get_ref(1)?.as_blob_or_null()?.map(Arc::from),
            })
        };
        let found = statement.query_row(params![segment.id, term, postings::MAX_CACHED_LIST_BYTES], read).optional()?;
        let list = found.unwrap_or(CachedPostings { count: 0, bytes: None });
        if let Some(cache) = self.cache {
            cache.borrow_mut().insert(segment.id, term, list.clone());
        }
        Ok(list)
    }

    fn prefix_postings(&self, segment: &Segment, beginning: &str) -> Result<Option<PostingCursor>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT count, list FROM fulltext_postings WHERE segment = ?1 AND term >= ?2 AND term < ?3",
        )?;
        let mut rows = statement.query(params![segment.id, beginning, prefix_end(beginning)])?;
        let mut postings: Vec<Posting> = Vec::new();
        while let Some(row) = rows.next()? {
            let count: i64 = row.get(0)?;
            let list = row.get_ref(1)?.as_blob()?.to_vec();
            postings.extend(postings::decode(segment.last, count.unsigned_abs() as usize, &list));
        }
        // A document with several of the tokens counts with the strongest.
        postings.sort_unstable_by(|a, b| b.cmp(a));
        postings.dedup_by_key(|(number, _)| *number);
        let list = postings::encode(segment.last, &postings);
        Ok((!postings.is_empty()).then(|| PostingCursor::new(segment.last, postings.len(), list.into())))
    }
}

/// Upper bound of all tokens with this prefix: no token has a greater character.
fn prefix_end(beginning: &str) -> String {
    format!("{beginning}\u{10FFFF}")
}

/// Robertson's idf, positive for every term, as an integer.
fn idf_weight(documents: f32, occurring: f32) -> u32 {
    let idf = ((documents - occurring + 0.5) / (occurring + 0.5)).ln_1p();
    (idf * UNIT).round().max(1.0) as u32
}

#[cfg(test)]
mod tests;
