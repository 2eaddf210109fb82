//! Candidates: passages that share a term with the query or are near to it, read from where they are kept.

use std::collections::HashSet;

use schema::daily_log::LogKind;
use schema::memory::{Memory, MemoryId};
use schema::moment::Moment;
use schema::store::{Locator, Row, Store};
use schema::tool::SearchSource;

use super::fusion::Reasons;
use super::near::Nearness;
use super::request::{Narrowing, Request};
use crate::error::ToolError;
use crate::fulltext::Corpus;
use crate::index::{ChunkRow, Document, Index, title_of};

/// Candidates that are read for a query without narrowing. Those behind them share fewer and commoner terms.
const FEW: usize = 300;

/// Candidates that say a part of the query in other words.
const FEW_OTHERWISE: usize = 150;

/// Candidates that are read at most when a narrowing may leave out most of them.
const MANY: usize = 20_000;

/// Passages that are near by their vectors, and how many when a narrowing may leave out most of them.
pub(super) const FEW_NEAR: usize = 100;
pub(super) const MANY_NEAR: usize = 4_000;

/// Rows that are scanned when another process holds the index.
const SCANNED: usize = 1_000;

/// A passage that may answer, and how well it does.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) passage: Passage,
    /// The tokens of its text, by their hashes.
    pub(super) tokens: Vec<u64>,
    /// From 0 to 1.
    pub(super) relevance: f32,
    pub(super) reasons: Reasons,
}

/// A passage before it is scored.
#[derive(Debug, Clone)]
pub(super) struct Gathered {
    pub(super) passage: Passage,
    /// Its number in the full-text table; `None` when it is not indexed yet.
    pub(super) document: Option<Document>,
    /// Whether it may be answered, or is only there for what stands beside it.
    pub(super) is_answer: bool,
}

/// What was found.
#[derive(Debug, Clone)]
pub(super) enum Passage {
    Memory(Box<Row>),
    Chunk(ChunkRow),
}

impl Passage {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Memory(row) => &row.memory.content,
            Self::Chunk(chunk) => &chunk.text,
        }
    }

    /// The name by which it is opened.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Memory(row) => row.memory.id.as_str(),
            Self::Chunk(chunk) => &chunk.uid,
        }
    }

    /// Its first and last line.
    pub(super) fn lines(&self, locator: &mut Locator) -> (usize, usize) {
        match self {
            Self::Memory(row) => locator.lines(row),
            Self::Chunk(chunk) => (chunk.start_line, chunk.end_line),
        }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Memory(row) => &row.path,
            Self::Chunk(chunk) => &chunk.path,
        }
    }

    pub(super) fn memory(&self) -> Option<&Memory> {
        match self {
            Self::Memory(row) => Some(&row.memory),
            Self::Chunk(_) => None,
        }
    }

    pub(super) fn superseded_by(&self) -> Option<&MemoryId> {
        match self {
            Self::Memory(row) => row.superseded_by.as_ref(),
            Self::Chunk(_) => None,
        }
    }

    /// When it was captured, or the day of the log that it stands in.
    pub(super) fn at(&self) -> Option<Moment> {
        match self {
            Self::Memory(row) => Some(row.memory.at),
            Self::Chunk(chunk) => match LogKind::of(&chunk.path)? {
                LogKind::Daily(day) => Some(Moment::from_local_unknown(day, chrono::NaiveTime::MIN)),
                LogKind::LongTerm => None,
            },
        }
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Memory(row) => title_of(&row.memory),
            Self::Chunk(chunk) => chunk.title(),
        }
    }
}

/// Adds to what was found by words what is near, and what is not indexed yet.
pub(super) fn complete(
    store: &Store,
    index: &Index,
    request: &Request,
    mut found: Vec<Gathered>,
    nearness: Option<&Nearness>,
) -> Result<Vec<Gathered>, ToolError> {
    let known: HashSet<Document> = found.iter().filter_map(|gathered| gathered.document).collect();
    let near = nearness.map_or(&[][..], |nearness| &nearness.nearest).iter().map(|rowid| Document::of_rowid(*rowid));
    let near = near.filter(|document| !known.contains(document)).collect();
    // A vector may outlive its document by a moment.
    found.extend(admitted(request, read_all(store, index, near)?));
    found.extend(unindexed(store, index, &request.narrowing)?);
    Ok(found)
}

/// Reads the candidates that share words with a request, or say a part of it in other words, and pass its narrowing.
pub(super) fn by_words(
    store: &Store,
    index: &Index,
    request: &Request,
    corpus: &Corpus,
) -> Result<Vec<Gathered>, ToolError> {
    let mut found = literally(store, index, request, corpus)?;
    let known: HashSet<Document> = found.iter().filter_map(|gathered| gathered.document).collect();
    let limit = if request.narrowing.is_any() { MANY } else { FEW_OTHERWISE };
    let otherwise = index.fulltext().alternatives(&request.query, corpus, limit)?;
    let otherwise = otherwise.into_iter().map(Document::of_rowid).filter(|document| !known.contains(document));
    found.extend(admitted(request, read_all(store, index, otherwise.collect())?));
    Ok(found)
}

fn literally(store: &Store, index: &Index, request: &Request, corpus: &Corpus) -> Result<Vec<Gathered>, ToolError> {
    let mut limit = FEW;
    loop {
        let documents = index.fulltext().candidates(&request.query, corpus, limit)?;
        let exhausted = documents.len() < limit;
        let read = read_all(store, index, documents.into_iter().map(Document::of_rowid).collect())?;
        let found: Vec<Gathered> = admitted(request, read).collect();
        let enough = found.len() >= request.limit * 4 || !request.narrowing.is_any();
        if exhausted || enough || limit >= MANY {
            return Ok(found);
        }
        limit *= 8;
    }
}

/// Those of the passages that are there and pass the narrowing of a request.
fn admitted(request: &Request, read: Vec<(Document, Option<Passage>)>) -> impl Iterator<Item = Gathered> {
    let there = read.into_iter().filter_map(|(document, passage)| Some((document, passage?)));
    let admitted = there.filter(|(_, passage)| admits(&request.narrowing, passage));
    admitted.map(|(document, passage)| Gathered { passage, document: Some(document), is_answer: true })
}

/// Reads documents; `None` for those that are gone.
fn read_all(
    store: &Store,
    index: &Index,
    documents: Vec<Document>,
) -> Result<Vec<(Document, Option<Passage>)>, ToolError> {
    let seqs = documents.iter().filter_map(|document| match document {
        Document::Memory(seq) => Some(*seq),
        Document::Chunk(_) => None,
    });
    let mut rows = store.rows().by_seqs(&seqs.collect::<Vec<_>>())?.into_iter();
    let read = |document| match document {
        Document::Memory(_) => Ok(rows.next().flatten().map(|row| Passage::Memory(Box::new(row)))),
        Document::Chunk(id) => Ok(index.chunk(id)?.map(Passage::Chunk)),
    };
    let passages = documents.iter().copied().map(read).collect::<Result<Vec<_>, ToolError>>()?;
    Ok(documents.into_iter().zip(passages).collect())
}

pub(super) fn read(store: &Store, index: &Index, document: Document) -> Result<Option<Passage>, ToolError> {
    Ok(match document {
        Document::Memory(seq) => store.rows().by_seq(seq)?.map(|row| Passage::Memory(Box::new(row))),
        Document::Chunk(id) => index.chunk(id)?.map(Passage::Chunk),
    })
}

/// The rows that the index does not hold yet.
fn unindexed(store: &Store, index: &Index, narrowing: &Narrowing) -> Result<Vec<Gathered>, ToolError> {
    let rows = store.rows().after(index.watermark(store.rows())?, SCANNED)?;
    let passages = rows.into_iter().map(|row| Passage::Memory(Box::new(row)));
    let admitted = passages.filter(|passage| admits(narrowing, passage));
    Ok(admitted.map(|passage| Gathered { passage, document: None, is_answer: true }).collect())
}

pub(super) fn admits(narrowing: &Narrowing, passage: &Passage) -> bool {
    let memory = passage.memory();
    let source = match passage {
        Passage::Memory(_) => SearchSource::Memory,
        Passage::Chunk(_) => SearchSource::Chunks,
    };
    let in_path = |wanted: &String| {
        let path = passage.path();
        path == wanted
            || wanted.is_empty()
            || path.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let at = passage.at().map(|at| at.unix());
    narrowing.kind.is_none_or(|kind| memory.is_some_and(|memory| memory.kind == kind))
        && narrowing.source.is_none_or(|wanted| wanted == source)
        && narrowing.session_id.as_ref().is_none_or(|id| memory.is_some_and(|memory| memory.session_id == *id))
        && narrowing.since.is_none_or(|since| at.is_some_and(|at| at >= since))
        && narrowing.until.is_none_or(|until| at.is_some_and(|at| at <= until))
        && narrowing.path.as_ref().is_none_or(in_path)
}
