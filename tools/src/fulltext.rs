//! The full-text index: one FTS5 table over text that is tokenised here and not by SQLite.
//!
//! SQLite holds plain ASCII-separated tokens, so that every program that can open the file can also search and repair it.

use rusqlite::{Connection, Result, params};

use crate::search::query::{Query, Term};
use crate::text;

/// The full-text table of a database.
#[derive(Debug, Clone, Copy)]
pub struct FullText<'c> {
    connection: &'c Connection,
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

impl<'c> FullText<'c> {
    pub fn new(connection: &'c Connection) -> Self {
        Self { connection }
    }

    /// Makes the tables when they are not there.
    pub fn create(&self) -> Result<()> {
        self.connection.execute_batch(CREATE)
    }

    /// Adds a document under a row number that is not in use.
    pub fn insert(&self, rowid: i64, title: &str, body: &str) -> Result<()> {
        let mut statement =
            self.connection.prepare_cached("INSERT INTO fulltext (rowid, title, body) VALUES (?1, ?2, ?3)")?;
        statement.execute(params![rowid, text::indexed(title), text::indexed(body)])?;
        Ok(())
    }

    /// Removes a document; one that is not there is no error.
    pub fn remove(&self, rowid: i64) -> Result<()> {
        self.connection.prepare_cached("DELETE FROM fulltext WHERE rowid = ?1")?.execute([rowid])?;
        Ok(())
    }

    /// Removes every document.
    pub fn clear(&self) -> Result<()> {
        self.connection.execute("INSERT INTO fulltext (fulltext) VALUES ('delete-all')", []).map(drop)
    }

    /// Row numbers of the documents that hold any of the query's terms, the more promising ones first.
    pub fn candidates(&self, query: &Query, limit: usize) -> Result<Vec<i64>> {
        self.matching(&expression(query), limit)
    }

    /// Row numbers of the documents that hold all terms of any other way to say a part of the query, the more promising ones first.
    /// `corpus` is that of the query.
    pub fn alternatives(&self, query: &Query, corpus: &Corpus, limit: usize) -> Result<Vec<i64>> {
        let occurs = |term: &usize| corpus.frequencies.get(*term).is_some_and(|found| *found > 0);
        let occurring = query.alternatives().filter(|terms| terms.iter().all(occurs));
        let all_of = |terms: &[usize]| {
            let terms = terms.iter().map(|term| quoted(&query.all_terms()[*term])).collect::<Vec<_>>();
            format!("({})", terms.join(" AND "))
        };
        self.matching(&occurring.map(all_of).collect::<Vec<_>>().join(" OR "), limit)
    }

    fn matching(&self, expression: &str, limit: usize) -> Result<Vec<i64>> {
        if expression.is_empty() {
            return Ok(Vec::new());
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT rowid FROM fulltext WHERE fulltext MATCH ?1 ORDER BY bm25(fulltext, 5.0, 1.0), rowid LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        statement.query_map(params![expression, limit], |row| row.get(0))?.collect()
    }

    /// In how many documents a term occurs. For a beginning of tokens it is an upper bound.
    pub fn document_frequency(&self, term: &Term) -> Result<u64> {
        let count: i64 = if term.prefix {
            let mut statement = self
                .connection
                .prepare_cached("SELECT coalesce(sum(doc), 0) FROM fulltext_terms WHERE term >= ?1 AND term < ?2")?;
            // No token has a character above this one.
            statement.query_row([&term.text, &format!("{}\u{10FFFF}", term.text)], |row| row.get(0))?
        } else {
            let mut statement =
                self.connection.prepare_cached("SELECT coalesce(sum(doc), 0) FROM fulltext_terms WHERE term = ?1")?;
            statement.query_row([&term.text], |row| row.get(0))?
        };
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Number of documents.
    pub fn documents(&self) -> Result<u64> {
        let mut statement = self.connection.prepare_cached("SELECT count(*) FROM fulltext_docsize")?;
        let count: i64 = statement.query_row([], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Number of tokens of all documents, as of the last commit.
    pub fn tokens(&self) -> Result<u64> {
        // The record with id 1 holds the number of rows and then the tokens of each column, as variable-length integers.
        let mut statement = self.connection.prepare_cached("SELECT block FROM fulltext_data WHERE id = 1")?;
        let record: Vec<u8> = statement.query_row([], |row| row.get(0))?;
        Ok(varints(&record).skip(1).sum())
    }

    /// The figures that the relevance of documents for this query needs.
    pub fn corpus(&self, query: &Query) -> Result<Corpus> {
        let documents = self.documents()?;
        let tokens = self.tokens()?;
        let frequency = |term| self.document_frequency(term).map(|found| found.min(documents));
        let frequencies = query.all_terms().iter().map(frequency).collect::<Result<_>>()?;
        Ok(Corpus { documents, average_length: tokens as f32 / documents.max(1) as f32, frequencies })
    }
}

const CREATE: &str = "
    CREATE VIRTUAL TABLE IF NOT EXISTS fulltext
        USING fts5 (title, body, content = '', contentless_delete = 1, tokenize = 'ascii');
    CREATE VIRTUAL TABLE IF NOT EXISTS fulltext_terms USING fts5vocab (fulltext, row);
";

/// The query for FTS5: any of the terms, each a quoted string, so that nothing in it is an operator.
fn expression(query: &Query) -> String {
    query.terms().iter().map(quoted).collect::<Vec<_>>().join(" OR ")
}

fn quoted(term: &Term) -> String {
    format!("\"{}\"{}", term.text.replace('"', "\"\""), if term.prefix { " *" } else { "" })
}

/// Reads SQLite's variable-length integers: seven bits a byte, the highest first, and eight bits in a ninth byte.
fn varints(record: &[u8]) -> impl Iterator<Item = u64> {
    let mut rest = record;
    std::iter::from_fn(move || {
        let mut value = 0u64;
        for i in 0..9 {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            if i == 8 {
                return Some(value << 8 | u64::from(byte));
            }
            value = value << 7 | u64::from(byte & 0x7F);
            if byte < 0x80 {
                break;
            }
        }
        Some(value)
    })
}

#[cfg(test)]
mod tests;
