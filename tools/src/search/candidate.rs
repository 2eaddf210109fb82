//! Candidates: passages that share a term with the query, read from where they are kept and scored.

use schema::daily_log::LogKind;
use schema::memory::{Memory, MemoryId};
use schema::moment::Moment;
use schema::store::{Place, Row, Store};
use schema::tool::SearchSource;

use super::relevance::Relevance;
use super::request::{Narrowing, Request};
use crate::error::ToolError;
use crate::index::{ChunkRow, Document, Index, title_of};

/// Candidates that are read for a query without narrowing. Those behind them share fewer and commoner terms.
const FEW: usize = 300;

/// Candidates that are read at most when a narrowing may leave out most of them.
const MANY: usize = 20_000;

/// Rows that are scanned when another process holds the index.
const SCANNED: usize = 1_000;

/// A passage that may answer, and how well it does.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) passage: Passage,
    /// From 0 to 1.
    pub(super) relevance: f32,
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

    pub(super) fn place(&self) -> Place {
        match self {
            Self::Memory(row) => row.place.clone(),
            Self::Chunk(ChunkRow { path, start_line, end_line, .. }) => {
                Place { path: path.clone(), start_line: *start_line, end_line: *end_line }
            }
        }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Memory(row) => &row.place.path,
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

    fn title(&self) -> String {
        match self {
            Self::Memory(row) => title_of(&row.memory),
            Self::Chunk(chunk) => chunk.title(),
        }
    }
}

/// Reads and scores the candidates of a request that pass its narrowing.
pub(super) fn collect(
    store: &Store,
    index: &Index,
    request: &Request,
    relevance: &Relevance<'_>,
) -> Result<Vec<Candidate>, ToolError> {
    let mut limit = FEW;
    let mut is_doubted = false;
    loop {
        let documents = index.fulltext().candidates(&request.query, limit)?;
        let exhausted = documents.len() < limit;
        let mut found = Vec::new();
        for rowid in documents {
            match read(store, index, Document::of_rowid(rowid))? {
                Some(passage) if admits(&request.narrowing, &passage) => found.push(passage),
                Some(_) => {}
                // Deleted a moment ago; or a damaged page hides it, which SQLite does not always notice by itself.
                None if !is_doubted => {
                    if !store.is_sound() || !index.is_sound() {
                        return Err(ToolError::Damaged("a memory that is indexed is not there".to_owned()));
                    }
                    is_doubted = true;
                }
                None => {}
            }
        }
        let enough = found.len() >= request.limit * 4 || !request.narrowing.is_any();
        if exhausted || enough || limit >= MANY {
            found.extend(unindexed(store, index, &request.narrowing)?);
            return Ok(score(found, relevance));
        }
        limit *= 8;
    }
}

fn read(store: &Store, index: &Index, document: Document) -> Result<Option<Passage>, ToolError> {
    Ok(match document {
        Document::Memory(seq) => store.rows().by_seq(seq)?.map(|row| Passage::Memory(Box::new(row))),
        Document::Chunk(id) => index.chunk(id)?.map(Passage::Chunk),
    })
}

/// The rows that the index does not hold yet.
fn unindexed(store: &Store, index: &Index, narrowing: &Narrowing) -> Result<Vec<Passage>, ToolError> {
    let rows = store.rows().after(index.watermark(store.rows())?, SCANNED)?;
    let passages = rows.into_iter().map(|row| Passage::Memory(Box::new(row)));
    Ok(passages.filter(|passage| admits(narrowing, passage)).collect())
}

fn score(passages: Vec<Passage>, relevance: &Relevance<'_>) -> Vec<Candidate> {
    let scored = passages.into_iter().map(|passage| {
        let relevance = relevance.score(&passage.title(), passage.text());
        Candidate { passage, relevance }
    });
    scored.filter(|candidate| candidate.relevance > 0.0).collect()
}

fn admits(narrowing: &Narrowing, passage: &Passage) -> bool {
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
