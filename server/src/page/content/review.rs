//! Candidates of a review, each with what can be done about it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use schema::model::memory::MemoryType;
use schema::privacy::output_text::clean_text;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings;
use schema::store::MemoryRow;
use tools::control::Control;
use tools::engine::{Engine, ReviewCandidate, ReviewKind};
use tools::error::ToolError;

use super::{digest_of, minute};

/// The most candidates on a page, and characters of a text.
const SHOWN: usize = 40;
const TEXT: usize = 8_000;

/// How long memories are compared for one answer. Hooks wait meanwhile, and the next answer goes on.
const TURN: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(in crate::page) struct ReviewList {
    /// Memories that other members proposed to the team.
    pub(in crate::page) proposals: Vec<ReviewedText>,
    pub(in crate::page) candidates: Vec<CandidateItem>,
    pub(in crate::page) total: usize,
    /// Candidates that return later.
    pub(in crate::page) put_off: usize,
    /// Whether all memories were compared.
    pub(in crate::page) is_complete: bool,
}

#[derive(Debug)]
pub(in crate::page) struct CandidateItem {
    pub(in crate::page) kind: &'static str,
    pub(in crate::page) reason: String,
    pub(in crate::page) older: ReviewedText,
    pub(in crate::page) newer: Option<ReviewedText>,
    /// Whether the memory can be proposed to the team.
    pub(in crate::page) can_be_shared: bool,
}

#[derive(Debug)]
pub(in crate::page) struct ReviewedText {
    pub(in crate::page) id: String,
    pub(in crate::page) kind: MemoryType,
    pub(in crate::page) date: String,
    pub(in crate::page) path: String,
    /// The text without secrets, or its beginning.
    pub(in crate::page) text: String,
    /// Whether the text is shortened, redacted or cleaned. Then it cannot be edited here.
    pub(in crate::page) is_partial: bool,
    /// Identifies the text, so that a change of another one is noticed.
    pub(in crate::page) digest: String,
}

pub(in crate::page) fn list(engine: &mut Engine, hidden: &HashSet<String>) -> Result<ReviewList, ToolError> {
    let until = Instant::now() + TURN;
    let report = engine.review(&mut Control::default().cancelled_if(|| Instant::now() >= until))?;
    let sanitizer = settings::load(engine.store().layout()).sanitizer;
    let is_shown = |candidate: &&ReviewCandidate| {
        let mut rows = std::iter::once(&candidate.older).chain(&candidate.newer);
        !rows.any(|row| hidden.contains(row.memory.id.as_str()))
    };
    let mut shared = engine.shared_memories()?;
    let may_approve = engine.may_approve();
    shared.retain(|row| may_approve(row) && !hidden.contains(row.memory.id.as_str()));
    let shown: Vec<&ReviewCandidate> = report.candidates.iter().filter(is_shown).collect();
    let item = |candidate: &&ReviewCandidate| {
        Ok(CandidateItem {
            kind: candidate.kind.name(),
            reason: candidate.reason.clone(),
            older: ReviewedText::new(&candidate.older, &sanitizer),
            newer: candidate.newer.as_ref().map(|row| ReviewedText::new(row, &sanitizer)),
            can_be_shared: candidate.kind.asks_whether_it_holds() && engine.may_share(&candidate.older)?,
        })
    };
    Ok(ReviewList {
        candidates: shown.iter().take(SHOWN).map(item).collect::<Result<_, ToolError>>()?,
        proposals: shared.iter().take(SHOWN).map(|row| ReviewedText::new(row, &sanitizer)).collect(),
        total: shown.len(),
        put_off: report.put_off,
        is_complete: report.is_complete,
    })
}

impl ReviewedText {
    fn new(row: &MemoryRow, sanitizer: &Sanitizer) -> Self {
        let text: String = sanitizer.clean(&row.memory.content).text.chars().take(TEXT).collect();
        let text = clean_text(&text).into_owned();
        Self {
            is_partial: text != row.memory.content,
            text,
            id: row.memory.id.to_string(),
            kind: row.memory.kind,
            date: minute(&row.memory.at),
            path: row.path.clone(),
            digest: digest_of(row),
        }
    }
}

/// The candidate that a form names. Its texts are read again.
pub(in crate::page) fn candidate(
    engine: &mut Engine,
    kind: &str,
    older: &str,
    newer: Option<&str>,
) -> Result<ReviewCandidate, ToolError> {
    let known = ReviewKind::ALL.into_iter().find(|known| known.name() == kind);
    let kind = known.ok_or_else(|| ToolError::Invalid(format!("unknown kind of candidate {kind:?}")))?;
    let mut row = |id: &str| {
        engine.peek(id)?.ok_or_else(|| ToolError::NotFound(format!("{id} was changed or deleted meanwhile; reload")))
    };
    let newer = newer.map(&mut row).transpose()?;
    Ok(ReviewCandidate { kind, reason: String::new(), older: row(older)?, newer })
}
