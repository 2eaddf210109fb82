//! Finds candidates by the files of the project and by the records of what sessions were given. Both can change, so that no candidate is
//! stored.

use schema::host::code::changes::ChangeDetector;
use schema::host::session_context::GivenTimes;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::store::{MemoryFilter, MemoryRow, Store};

use super::review_candidate::{ReviewCandidate, ReviewKind};
use crate::error::ToolError;

/// The newest memories of a type that are compared with the code, and that may be unused.
const PER_TYPE: usize = 2_000;

/// Memories whose files count as one answer of the change detector, which limits how much it reads.
const PER_ANSWER: usize = 100;

/// Seconds after which a memory that no session was given is unused.
const UNUSED_AFTER: i64 = 180 * 86_400;

/// Memories whose code changed or is gone.
pub(super) fn stale(store: &Store, detector: &mut ChangeDetector) -> Result<Vec<ReviewCandidate>, ToolError> {
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

/// Memories that no session was given for half a year. Without records of that time nothing is known.
pub(super) fn unused(store: &Store, given: &GivenTimes, now: &Moment) -> Result<Vec<ReviewCandidate>, ToolError> {
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
