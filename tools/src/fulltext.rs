//! The full-text index: which documents hold which terms, over text that is tokenised here and not by SQLite.
//!
//! Kept in plain tables of SQLite, which makes it as safe as they are, and read so that the best documents of a query are found
//! without reading all that hold a common word.

mod best;
mod list;
mod merge;
mod met;
mod writer;

pub use met::Met;
pub use writer::Writer;

use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Result, params};

use crate::search::query::{Query, Term};
use best::{Best, Leg};
use list::{Cursor, Posting};
use merge::Segment;
use met::List;

/// The full text of a database.
#[derive(Debug, Clone, Copy)]
pub struct FullText<'c> {
    connection: &'c Connection,
    /// What was read of it before.
    met: Option<&'c RefCell<Met>>,
}

/// What the relevance of a document depends on besides the document and the query.
#[derive(Debug, Clone, PartialEq)]
pub struct Corpus {
    pub documents: u64,
    /// Mean number of tokens of a document, title and body together.
    pub average_length: f32,
    /// In how many documents each of all the query's terms occurs, in their order.
    pub frequencies: Vec<u64>,
}

/// What an impact is worth per unit of idf.
const UNIT: f32 = 1000.0;

impl<'c> FullText<'c> {
    pub fn new(connection: &'c Connection) -> Self {
        Self { connection, met: None }
    }

    /// The same for whoever searches in it more than once, and keeps what was met.
    pub fn met(connection: &'c Connection, met: &'c RefCell<Met>) -> Self {
        Self { connection, met: Some(met) }
    }

    /// Makes the tables when they are not there.
    pub fn create(&self) -> Result<()> {
        self.connection.execute_batch(include_str!("fulltext/fulltext.sql"))
    }

    /// Adds documents; many together cost less than each by itself.
    pub fn writer(&self) -> Writer<'c> {
        Writer::new(self.connection)
    }

    /// Removes a document; one that is not there is no error.
    pub fn remove(&self, rowid: i64) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached("DELETE FROM fulltext_documents WHERE document = ?1 RETURNING number, length")?;
        let removed = statement.query_row([rowid], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((number, length)) = removed.optional()? else { return Ok(()) };
        self.connection.prepare_cached("INSERT INTO fulltext_removed (number) VALUES (?1)")?.execute([number])?;
        self.connection
            .prepare_cached("UPDATE fulltext_totals SET documents = documents - 1, tokens = tokens - ?1")?
            .execute([length])
            .map(drop)
    }

    /// Removes every document.
    pub fn clear(&self) -> Result<()> {
        self.connection.execute_batch(
            "DELETE FROM fulltext_postings; DELETE FROM fulltext_segments; DELETE FROM fulltext_removed;
             DELETE FROM fulltext_documents; UPDATE fulltext_totals SET documents = 0, tokens = 0;",
        )
    }

    /// Does some of the work that makes searching faster, for milliseconds; whether there is more.
    pub fn tend(&self) -> Result<bool> {
        merge::step(self.connection)
    }

    /// Leaves no word that only removed documents held.
    pub fn purge(&self) -> Result<()> {
        merge::purge(self.connection)
    }

    /// Row numbers of the documents that hold any of the query's terms, the more promising ones first: by the sum of the terms'
    /// impacts, weighted by their idf in this corpus.
    pub fn candidates(&self, query: &Query, corpus: &Corpus, limit: usize) -> Result<Vec<i64>> {
        let ways: Vec<Vec<usize>> = (0..query.terms().len()).map(|term| vec![term]).collect();
        self.at_one_time(|| self.best(query, corpus, &ways, limit))
    }

    /// Row numbers of the documents that hold all terms of any other way to say a part of the query, the more promising ones first.
    /// `corpus` is that of the query.
    pub fn alternatives(&self, query: &Query, corpus: &Corpus, limit: usize) -> Result<Vec<i64>> {
        let occurs = |term: &usize| corpus.frequencies.get(*term).is_some_and(|found| *found > 0);
        let occurring = query.alternatives().filter(|terms| !terms.is_empty() && terms.iter().all(occurs));
        let ways: Vec<Vec<usize>> = occurring.map(<[usize]>::to_vec).collect();
        self.at_one_time(|| self.best(query, corpus, &ways, limit))
    }

    /// The best documents of those that hold all terms of any of the ways.
    fn best(&self, query: &Query, corpus: &Corpus, ways: &[Vec<usize>], limit: usize) -> Result<Vec<i64>> {
        let mut best = Best::new(limit);
        let removed = self.removed()?;
        for segment in merge::segments(self.connection)? {
            let legs = ways.iter().map(|way| self.leg(&segment, query, corpus, way)).collect::<Result<Vec<_>>>()?;
            best::search(legs.into_iter().flatten().collect(), &mut best, |number| {
                removed.binary_search(&number).is_ok()
            });
        }
        let mut document =
            self.connection.prepare_cached("SELECT document FROM fulltext_documents WHERE number = ?1")?;
        let rows = best.into_sorted().into_iter().map(|(_, number)| document.query_row([number], |row| row.get(0)));
        rows.collect()
    }

    /// The documents of a segment that hold all of these terms, `None` when it lacks one.
    fn leg(&self, segment: &Segment, query: &Query, corpus: &Corpus, way: &[usize]) -> Result<Option<Leg>> {
        let mut cursors = Vec::with_capacity(way.len());
        for term in way {
            let Some(cursor) = self.cursor(segment, &query.all_terms()[*term])? else { return Ok(None) };
            cursors.push((cursor, weight(corpus.documents as f32, corpus.frequencies[*term] as f32)));
        }
        Ok(Leg::of_all(cursors))
    }

    /// In how many documents each of these terms occurs. For a beginning of tokens it is an upper bound.
    pub fn document_frequencies(&self, terms: &[Term]) -> Result<Vec<u64>> {
        let removed = self.removed()?;
        let segments = merge::segments(self.connection)?;
        let frequency = |term| segments.iter().map(|segment| self.frequency_in(segment, term, &removed)).sum();
        terms.iter().map(frequency).collect()
    }

    /// Number of documents.
    pub fn documents(&self) -> Result<u64> {
        self.total("SELECT documents FROM fulltext_totals")
    }

    /// Number of tokens of all documents.
    pub fn tokens(&self) -> Result<u64> {
        self.total("SELECT tokens FROM fulltext_totals")
    }

    /// The figures that the relevance of documents for this query needs.
    pub fn corpus(&self, query: &Query) -> Result<Corpus> {
        self.at_one_time(|| {
            let documents = self.documents()?;
            let tokens = self.tokens()?;
            let frequencies = self.document_frequencies(query.all_terms())?;
            let frequencies = frequencies.into_iter().map(|found| found.min(documents)).collect();
            Ok(Corpus { documents, average_length: tokens as f32 / documents.max(1) as f32, frequencies })
        })
    }

    /// Reads several tables as they were at one time, whatever another process writes meanwhile.
    fn at_one_time<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.connection.execute_batch("SAVEPOINT fulltext")?;
        let outcome = read();
        let released = self.connection.execute_batch("RELEASE fulltext");
        // A fault that ended the transaction leaves nothing to release, and is what is told.
        outcome.and_then(|read| released.map(|()| read))
    }

    fn total(&self, sql: &str) -> Result<u64> {
        self.connection.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
    }

    /// Documents that are gone but still in a segment, in rising order.
    fn removed(&self) -> Result<Vec<u32>> {
        let mut statement = self.connection.prepare_cached("SELECT number FROM fulltext_removed ORDER BY number")?;
        statement.query_map([], |row| row.get(0))?.collect()
    }

    fn frequency_in(&self, segment: &Segment, term: &Term, removed: &[u32]) -> Result<u64> {
        let count: i64 = if term.prefix {
            let mut statement = self.connection.prepare_cached(
                "SELECT coalesce(sum(count), 0) FROM fulltext_postings WHERE segment = ?1 AND term >= ?2 AND term < ?3",
            )?;
            statement.query_row(params![segment.id, term.text, behind(&term.text)], |row| row.get(0))?
        } else {
            self.list(segment, &term.text)?.count as i64
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

    /// The postings of a term in a segment; of a beginning, those of all tokens that begin with it.
    fn cursor(&self, segment: &Segment, term: &Term) -> Result<Option<Cursor>> {
        if term.prefix {
            return self.postings_of_beginning(segment, &term.text);
        }
        let List { count, bytes } = self.list(segment, &term.text)?;
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
        Ok(Some(Cursor::new(segment.last, count, bytes)))
    }

    /// How many postings a term has in a segment, and its list unless that is long.
    fn list(&self, segment: &Segment, term: &str) -> Result<List> {
        if let Some(list) = self.met.and_then(|met| met.borrow().get(segment.id, term)) {
            return Ok(list);
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT count, CASE WHEN length(list) <= ?3 THEN list END FROM fulltext_postings
             WHERE segment = ?1 AND term = ?2",
        )?;
        let read = |row: &rusqlite::Row<'_>| {
            let count: i64 = row.get(0)?;
            Ok(List { count: count.unsigned_abs() as usize, bytes: row.get_ref(1)?.as_blob_or_null()?.map(Arc::from) })
        };
        let found = statement.query_row(params![segment.id, term, met::SHORT], read).optional()?;
        let list = found.unwrap_or(List { count: 0, bytes: None });
        if let Some(met) = self.met {
            met.borrow_mut().keep(segment.id, term, list.clone());
        }
        Ok(list)
    }

    fn postings_of_beginning(&self, segment: &Segment, beginning: &str) -> Result<Option<Cursor>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT count, list FROM fulltext_postings WHERE segment = ?1 AND term >= ?2 AND term < ?3",
        )?;
        let mut rows = statement.query(params![segment.id, beginning, behind(beginning)])?;
        let mut postings: Vec<Posting> = Vec::new();
        while let Some(row) = rows.next()? {
            let count: i64 = row.get(0)?;
            let list = row.get_ref(1)?.as_blob()?.to_vec();
            postings.extend(list::decode(segment.last, count.unsigned_abs() as usize, &list));
        }
        // A document that holds several of them counts by the strongest.
        postings.sort_unstable_by(|a, b| b.cmp(a));
        postings.dedup_by_key(|(number, _)| *number);
        let list = list::encode(segment.last, &postings);
        Ok((!postings.is_empty()).then(|| Cursor::new(segment.last, postings.len(), list.into())))
    }
}

/// What follows all tokens with this beginning: no token has a character above this one.
fn behind(beginning: &str) -> String {
    format!("{beginning}\u{10FFFF}")
}

/// Robertson's idf, positive for every term, as a whole number.
fn weight(documents: f32, occurring: f32) -> u32 {
    let idf = ((documents - occurring + 0.5) / (occurring + 0.5)).ln_1p();
    (idf * UNIT).round().max(1.0) as u32
}

#[cfg(test)]
mod tests;
