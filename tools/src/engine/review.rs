//! Review: finds memories that somebody should look at, without a language model. It changes nothing but the notes of decisions.

mod new_memories;
mod review_candidate;

pub use review_candidate::{ReviewCandidate, ReviewKind};

use std::cell::Cell;

use schema::host::code::changes::ChangeDetector;
use schema::host::session_context::{GivenTimes, given_times};
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::model::sharing::team_author;
use schema::prose::comparison::{TextRelation, ValueKind};
use schema::settings;
use schema::store::{MemoryFilter, MemoryRow, Store};

use self::new_memories::{has_secret, relation_of, reports_condition, reports_end};
use self::review_candidate::ReviewDecisions;
use super::Engine;
use crate::control::Control;
use crate::error::ToolError;
use crate::index::ReviewPass;

/// Pairs that are read at once, and open candidates after which a review finds no older ones of a pass.
const PER_READ: usize = 500;
const PER_PASS: usize = 500;

/// The newest memories of a type that are compared with the code, and that may be unused.
const PER_TYPE: usize = 2_000;

/// Memories whose files count as one answer of the change detector, which limits how much it reads.
const PER_ANSWER: usize = 100;

/// Seconds after which a memory that no session was given is unused.
const UNUSED_AFTER: i64 = 180 * 86_400;

/// Days after which a candidate that was put off returns.
pub const REVIEW_PAUSE_DAYS: i64 = 30;

/// The candidates at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewReport {
    /// The most urgent kind first, then the newest.
    pub candidates: Vec<ReviewCandidate>,
    /// The number of candidates that a person put off and that would be here otherwise.
    pub put_off: usize,
    /// Whether all memories were examined. The next review goes on.
    pub is_complete: bool,
}

impl Engine {
    /// Finds the candidates. New memories are examined until it is stopped.
    pub fn review(&mut self, control: &mut Control<'_>) -> Result<ReviewReport, ToolError> {
        let settings = settings::load(self.store.layout());
        self.with_repair(|engine| {
            let (store, index) = (&engine.store, &mut engine.index);
            let redact = &settings.settings.redact;
            let is_complete = new_memories::examine(store, index, &settings.sanitizer, redact, control)?;
            let (store, now) = (&engine.store, Moment::now());
            let decisions = ReviewDecisions::from_notes(store.rows().reviews()?);
            let put_off = Cell::new(0);
            let is_open = |found: &ReviewCandidate| {
                // A review changes no shared memory.
                if found.rows().any(|row| team_author(&row.path).is_some()) || found.is_superseded() {
                    return false;
                }
                put_off.update(|count| count + usize::from(decisions.is_put_off(found, &now)));
                !decisions.is_hidden(found, &now)
            };
            let secret = |older: MemoryRow, _| {
                has_secret(&older, &settings.sanitizer)
                    .then(|| ReviewCandidate::of_one(ReviewKind::SecretFound, "it contains a secret", older))
            };
            let mut candidates = engine.candidates_of_pass(ReviewPass::Secrets, &secret, &is_open)?;
            candidates.extend(engine.candidates_of_pass(ReviewPass::Pairs, &pair_candidate, &is_open)?);
            candidates.extend(engine.candidates_of_pass(ReviewPass::Reports, &reported_task, &is_open)?);
            let mut current = stale(store, &mut engine.change_detector)?;
            current.extend(unused(store, &given_times(store.layout()), &now)?);
            candidates.extend(current.into_iter().filter(&is_open));
            candidates.sort_by_key(|candidate| {
                let newest = candidate.newer.as_ref().unwrap_or(&candidate.older);
                (candidate.kind, std::cmp::Reverse(newest.order()))
            });
            Ok(ReviewReport { candidates, put_off: put_off.get(), is_complete })
        })
    }

    /// Keeps a candidate away, until a moment or for good. The note is part of the Markdown.
    pub fn dismiss(&mut self, candidate: &ReviewCandidate, until: Option<Moment>) -> Result<(), ToolError> {
        self.append_notes(&[candidate.dismissal(until)])
    }

    /// Keeps a candidate away for [`REVIEW_PAUSE_DAYS`].
    pub fn put_off(&mut self, candidate: &ReviewCandidate) -> Result<(), ToolError> {
        self.dismiss(candidate, Moment::from_unix(Moment::now().unix() + REVIEW_PAUSE_DAYS * 86_400, None))
    }

    /// The newest candidates of a pass that are still open. `candidate` gets the older memory first.
    fn candidates_of_pass(
        &self,
        pass: ReviewPass,
        candidate: &dyn Fn(MemoryRow, MemoryRow) -> Option<ReviewCandidate>,
        is_open: &dyn Fn(&ReviewCandidate) -> bool,
    ) -> Result<Vec<ReviewCandidate>, ToolError> {
        let mut open = Vec::new();
        for pairs in self.index.review_candidates(pass)?.chunks(PER_READ) {
            let seqs: Vec<i64> = pairs.iter().flat_map(|(newer, older)| [*older, *newer]).collect();
            let mut rows = self.store.rows().by_seqs(&seqs)?.into_iter();
            while let (Some(a), Some(b)) = (rows.next(), rows.next()) {
                let Some((a, b)) = a.zip(b) else { continue };
                let (older, newer) = if a.order() <= b.order() { (a, b) } else { (b, a) };
                open.extend(candidate(older, newer).filter(is_open));
            }
            if open.len() >= PER_PASS {
                break;
            }
        }
        Ok(open)
    }
}

/// An open task with a report that it is done, or that what it waits for came about.
fn reported_task(older: MemoryRow, newer: MemoryRow) -> Option<ReviewCandidate> {
    let (kind, reason) = match () {
        () if !older.is_open_task() => return None,
        () if reports_end(&newer, &older) => (ReviewKind::FinishedTask, "a later memory says that it is done"),
        () if reports_condition(&newer, &older) => {
            (ReviewKind::ReadyTask, "what it waits for seems to have come about")
        }
        () => return None,
    };
    Some(ReviewCandidate { kind, reason: reason.to_owned(), older, newer: Some(newer) })
}

/// A pair that is still a candidate. Its texts are compared again, because they may have been edited.
fn pair_candidate(older: MemoryRow, newer: MemoryRow) -> Option<ReviewCandidate> {
    let (kind, reason) = match relation_of(&older, &newer)? {
        TextRelation::SaidTwice => (ReviewKind::SaidTwice, "both say the same"),
        TextRelation::ChangedValue(value) => (
            ReviewKind::ChangedValue,
            match value {
                ValueKind::Number => "a number differs",
                ValueKind::Quotation => "a quoted value differs",
                ValueKind::Negation => "one of them is negated",
                ValueKind::Choice => "the newer one seems to replace the older one",
            },
        ),
    };
    Some(ReviewCandidate { kind, reason: reason.to_owned(), older, newer: Some(newer) })
}

/// Memories whose code changed or is gone. It may change again, so that no candidate is stored.
fn stale(store: &Store, detector: &mut ChangeDetector) -> Result<Vec<ReviewCandidate>, ToolError> {
    let mut found = Vec::new();
    for kind in MemoryType::ALL.into_iter().filter(|kind| kind.is_about_code()) {
        for (at, row) in newest(store, kind, None)?.into_iter().enumerate() {
            if at % PER_ANSWER == 0 {
                detector.begin();
            }
            let changes = detector.file_changes(store.rows(), &row)?;
            if let Some(reason) = changes.summary().filter(|_| changes.demotion() < 1.0) {
                found.push(ReviewCandidate::of_one(ReviewKind::Stale, reason, row));
            }
        }
    }
    Ok(found)
}

/// Memories that no session was given for half a year, which is not stored either. Without records of that time nothing is known.
fn unused(store: &Store, given: &GivenTimes, now: &Moment) -> Result<Vec<ReviewCandidate>, ToolError> {
    let limit = now.unix() - UNUSED_AFTER;
    if given.since.is_none_or(|since| since > limit) {
        return Ok(Vec::new());
    }
    let until = Moment::from_unix(limit, Some(0)).map(|until| until.utc());
    let mut found = Vec::new();
    for kind in MemoryType::ALL.into_iter().filter(|kind| kind.may_be_confirmed()) {
        let rows = newest(store, kind, until.clone())?.into_iter().filter(|row| {
            let last = given.last.get(row.memory.id.as_str());
            !row.memory.attributes.pinned && last.is_none_or(|last| *last <= limit)
        });
        let reason = "no session was given it for 180 days";
        found.extend(rows.map(|row| ReviewCandidate::of_one(ReviewKind::Unused, reason, row)));
    }
    Ok(found)
}

/// The newest memories of a type that were not replaced.
fn newest(store: &Store, kind: MemoryType, until: Option<String>) -> Result<Vec<MemoryRow>, ToolError> {
    let filter = MemoryFilter { kind: Some(kind), until, ..MemoryFilter::default() };
    let mut rows = store.rows().list(&filter, PER_TYPE)?;
    rows.retain(|row| row.superseded_by.is_none());
    Ok(rows)
}

#[cfg(test)]
mod tests;
