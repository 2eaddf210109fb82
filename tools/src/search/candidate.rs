//! Collects candidates: passages with a term of the query, with a near vector or of an asked day, and rows that are not indexed yet.

use std::collections::HashSet;

use chrono::NaiveTime;
use schema::log::LogKind;
use schema::model::memory::{Memory, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::store::{Locator, MemoryFilter, MemoryRow, Store};
use schema::tool::SearchSource;

use super::query::Query;
use super::relative_dates::DaySpan;
use super::request::{SearchFilter, SearchRequest};
use super::tags::has_tag;
use super::vector_leg::VectorScores;
use crate::error::ToolError;
use crate::fulltext::CorpusStats;
use crate::index::{ChunkRow, Document, Index, memory_title};

/// How many candidates a phrasing brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Breadth {
    /// Candidates by words, if nothing filters. Later ones share fewer and commoner terms.
    words: usize,
    /// Candidates that match through synonyms.
    synonyms: usize,
    /// Near passages by vector, if nothing filters.
    vectors: usize,
    /// Passages whose neighbours are read.
    pub(super) with_neighbours: usize,
}

impl Breadth {
    pub(super) const QUESTION: Self = Self { words: 300, synonyms: 150, vectors: 100, with_neighbours: 40 };

    /// Another phrasing only has to find what the question misses.
    pub(super) const OTHER_PHRASING: Self = Self { words: 40, synonyms: 20, vectors: 20, with_neighbours: 6 };

    /// How many near passages are read. Their cosines are computed exactly.
    pub(super) fn vector_limit(self, filter: &SearchFilter) -> usize {
        if filter.excludes_something() { VECTOR_CANDIDATES_FILTERED } else { self.vectors }
    }
}

/// Most candidates read if a filter may exclude most of them.
const FULLTEXT_CANDIDATES_FILTERED: usize = 20_000;

/// Most near passages by vector read if a filter may exclude most of them.
const VECTOR_CANDIDATES_FILTERED: usize = 4_000;

/// Memories read of the days that a question names.
const OF_DAYS: usize = 100;

/// Summaries read of a longer time, of sessions and of days.
const OF_MONTHS: usize = 2_000;

/// Rows scanned if another process has the index lock.
const MAX_UNINDEXED: usize = 1_000;

#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) passage: Passage,
    /// Tokens of its text, hashed.
    pub(super) tokens: Vec<u64>,
    /// The words of the question that it has, as bits.
    pub(super) matched: u64,
    /// From 0 to 1.
    pub(super) relevance: f32,
    pub(super) reasons: ScoreReasons,
    /// The phrasing that it matches best, as an index.
    pub(super) phrasing: usize,
}

/// A passage before scoring.
#[derive(Debug, Clone)]
pub(super) struct UnscoredPassage {
    pub(super) passage: Passage,
    /// `None` if it is not indexed yet.
    pub(super) document: Option<Document>,
    /// `false` for a passage that is only context of others.
    pub(super) is_answer: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Passage {
    Memory(Box<MemoryRow>),
    Chunk(ChunkRow),
}

impl Passage {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Memory(row) => &row.memory.content,
            Self::Chunk(chunk) => &chunk.text,
        }
    }

    /// The id that `memory_get` accepts.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Memory(row) => row.memory.id.as_str(),
            Self::Chunk(chunk) => &chunk.uid,
        }
    }

    /// First and last line.
    pub(super) fn lines(&self, locator: &mut Locator) -> (usize, usize) {
        match self {
            Self::Memory(row) => locator.find_lines(row),
            Self::Chunk(chunk) => (chunk.start_line, chunk.end_line),
        }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Memory(row) => &row.path,
            Self::Chunk(chunk) => &chunk.path,
        }
    }

    /// The row of a memory; a passage of Markdown has none.
    pub(super) fn row(&self) -> Option<&MemoryRow> {
        match self {
            Self::Memory(row) => Some(row),
            Self::Chunk(_) => None,
        }
    }

    pub(super) fn memory(&self) -> Option<&Memory> {
        self.row().map(|row| &row.memory)
    }

    pub(super) fn superseded_by(&self) -> Option<&MemoryId> {
        self.row()?.superseded_by.as_ref()
    }

    /// The time of capture, or the day of its log.
    pub(super) fn at(&self) -> Option<Moment> {
        match self {
            Self::Memory(row) => Some(row.memory.at),
            Self::Chunk(chunk) => match LogKind::from_path(&chunk.path)? {
                LogKind::Daily(day) => Some(Moment::from_local_unknown(day, NaiveTime::MIN)),
                LogKind::LongTerm | LogKind::Team => None,
            },
        }
    }

    /// Its session or its file.
    pub(super) fn origin(&self) -> Option<String> {
        match self {
            Self::Memory(row) if row.memory.session_id.is_empty() => None,
            Self::Memory(row) => Some(format!("session {}", row.memory.session_id)),
            Self::Chunk(chunk) => Some(format!("file {}", chunk.path)),
        }
    }

    /// The words by which it is also asked.
    pub(super) fn also(&self) -> &str {
        self.memory().and_then(|memory| memory.attributes.also.as_deref()).unwrap_or_default()
    }

    pub(super) fn title(&self) -> String {
        match self {
            Self::Memory(row) => memory_title(&row.memory),
            Self::Chunk(chunk) => chunk.title(),
        }
    }
}

/// Adds near passages and unindexed rows to the candidates by words.
pub(super) fn add_remaining(
    store: &Store,
    index: &Index,
    filter: &SearchFilter,
    mut found: Vec<UnscoredPassage>,
    nearness: Option<&VectorScores>,
    days: &[DaySpan],
) -> Result<Vec<UnscoredPassage>, ToolError> {
    let nearest = nearness.map_or(&[][..], |nearness| &nearness.nearest);
    // A vector may briefly outlive its document.
    add_documents(store, index, filter, nearest, &mut found)?;
    found.extend(gather_unindexed(store, index, filter)?);
    found.extend(gather_of_days(store, filter, days, &found)?);
    Ok(found)
}

/// Reads candidates that share words or synonyms with the request and pass its filter.
pub(super) fn gather_by_words(
    store: &Store,
    index: &Index,
    request: &SearchRequest,
    query: &Query,
    corpus: &CorpusStats,
    breadth: Breadth,
) -> Result<Vec<UnscoredPassage>, ToolError> {
    let mut found = gather_literal(store, index, request, query, corpus, breadth)?;
    let limit = if request.filter.excludes_something() { FULLTEXT_CANDIDATES_FILTERED } else { breadth.synonyms };
    let by_synonyms = index.fulltext().alternatives(query.all_terms(), query.alternatives(), corpus, limit)?;
    add_documents(store, index, &request.filter, &by_synonyms, &mut found)?;
    Ok(found)
}

fn gather_literal(
    store: &Store,
    index: &Index,
    request: &SearchRequest,
    query: &Query,
    corpus: &CorpusStats,
    breadth: Breadth,
) -> Result<Vec<UnscoredPassage>, ToolError> {
    let mut limit = breadth.words;
    loop {
        let documents = index.fulltext().candidates(query.terms(), corpus, limit)?;
        let mut found = Vec::new();
        add_documents(store, index, &request.filter, &documents, &mut found)?;
        let enough = found.len() >= request.limit * 4 || !request.filter.excludes_something();
        if documents.len() < limit || enough || limit >= FULLTEXT_CANDIDATES_FILTERED {
            return Ok(found);
        }
        limit *= 8;
    }
}

/// Reads documents that were not found before, and adds those that exist and pass the filter.
fn add_documents(
    store: &Store,
    index: &Index,
    filter: &SearchFilter,
    rowids: &[i64],
    found: &mut Vec<UnscoredPassage>,
) -> Result<(), ToolError> {
    let known: HashSet<Document> = found.iter().filter_map(|gathered| gathered.document).collect();
    let documents = rowids.iter().map(|rowid| Document::from_rowid(*rowid));
    let documents: Vec<Document> = documents.filter(|document| !known.contains(document)).collect();
    let seqs = documents.iter().filter_map(|document| match document {
        Document::Memory(seq) => Some(*seq),
        Document::Chunk(_) => None,
    });
    let mut rows = store.rows().by_seqs(&seqs.collect::<Vec<_>>())?.into_iter();
    for document in documents {
        let passage = match document {
            Document::Memory(_) => rows.next().flatten().map(|row| Passage::Memory(Box::new(row))),
            Document::Chunk(id) => index.chunk(id)?.map(Passage::Chunk),
        };
        found.extend(passage.and_then(|passage| admit(filter, passage, Some(document))));
    }
    Ok(())
}

/// A passage as a candidate, if it passes the filter.
fn admit(filter: &SearchFilter, passage: Passage, document: Option<Document>) -> Option<UnscoredPassage> {
    passes_filter(filter, &passage).then_some(UnscoredPassage { passage, document, is_answer: true })
}

pub(super) fn read_passage(store: &Store, index: &Index, document: Document) -> Result<Option<Passage>, ToolError> {
    Ok(match document {
        Document::Memory(seq) => store.rows().by_seq(seq)?.map(|row| Passage::Memory(Box::new(row))),
        Document::Chunk(id) => index.chunk(id)?.map(Passage::Chunk),
    })
}

/// The newest memories of these days. Of more than a week, only the summaries of its days.
fn gather_of_days(
    store: &Store,
    filter: &SearchFilter,
    days: &[DaySpan],
    found: &[UnscoredPassage],
) -> Result<Vec<UnscoredPassage>, ToolError> {
    let known: HashSet<&str> = found.iter().map(|gathered| gathered.passage.id()).collect();
    let mut gathered = Vec::new();
    for span in days {
        let bound = |day, time| Some(Moment::from_local_unknown(day, time).utc());
        let end = NaiveTime::from_hms_opt(23, 59, 59).unwrap_or_default();
        let of_span = MemoryFilter {
            since: bound(span.from, NaiveTime::MIN),
            until: bound(span.to, end),
            kind: span.is_long().then_some(MemoryType::SessionSummary),
            ..MemoryFilter::default()
        };
        let rows = store.rows().list(&of_span, if span.is_long() { OF_MONTHS } else { OF_DAYS })?.into_iter();
        let rows = rows.filter(|row| !known.contains(row.memory.id.as_str()));
        let rows = rows.filter(|row| !span.is_long() || row.memory.is_day_summary());
        gathered.extend(rows.filter_map(|row| {
            let document = Document::Memory(row.seq);
            admit(filter, Passage::Memory(Box::new(row)), Some(document))
        }));
    }
    Ok(gathered)
}

/// Rows that are not indexed yet.
fn gather_unindexed(store: &Store, index: &Index, filter: &SearchFilter) -> Result<Vec<UnscoredPassage>, ToolError> {
    let rows = store.rows().inserted_after(index.watermark(store.rows())?, MAX_UNINDEXED)?;
    let passages = rows.into_iter().map(|row| Passage::Memory(Box::new(row)));
    Ok(passages.filter_map(|passage| admit(filter, passage, None)).collect())
}

/// Whether a passage only repeats what the asking model knows.
pub(super) fn is_echo(filter: &SearchFilter, passage: &Passage) -> bool {
    filter.echo.as_ref().zip(passage.row()).is_some_and(|(echo, row)| echo.is_echo(row))
}

pub(super) fn passes_filter(filter: &SearchFilter, passage: &Passage) -> bool {
    let memory = passage.memory();
    let source = if memory.is_some() { SearchSource::Memory } else { SearchSource::Chunks };
    let in_path = |wanted: &String| {
        let path = passage.path();
        path == wanted
            || wanted.is_empty()
            || path.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let at = passage.at().map(|at| at.unix());
    filter.kind.is_none_or(|kind| memory.is_some_and(|memory| memory.kind == kind))
        && filter.source.is_none_or(|wanted| wanted == source)
        && filter.session_id.as_ref().is_none_or(|id| memory.is_some_and(|memory| memory.session_id == *id))
        && filter.since.is_none_or(|since| at.is_some_and(|at| at >= since))
        && filter.until.is_none_or(|until| at.is_some_and(|at| at <= until))
        && filter.path.as_ref().is_none_or(in_path)
        && filter.tag.as_ref().is_none_or(|tag| has_tag(memory, &[passage.text(), &passage.title()], tag))
        && !is_echo(filter, passage)
}

/// How a relevance was computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct ScoreReasons {
    /// Score of the passage itself, per leg.
    pub(super) words: f32,
    /// The part of `words` that comes from the glossary.
    pub(super) synonyms: f32,
    pub(super) vector: Option<f32>,
    /// For another script: how many standard deviations nearer than usual it is.
    pub(super) cross_script: Option<f32>,
    /// Contribution of the context, and of features such as dates.
    pub(super) context: f32,
    pub(super) features: f32,
}
