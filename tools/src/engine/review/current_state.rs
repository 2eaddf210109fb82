//! Candidates that depend on more than texts: on the files of the project, on what sessions were given, and on open tasks. They are found
//! anew each time.

use schema::host::code::changes::ChangeDetector;
use schema::host::given::GivenTimes;
use schema::intake::capture::may_be_confirmed;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::prose::comparison::is_about_another;
use schema::prose::tasks::finished;
use schema::store::{MemoryFilter, MemoryRow, Store};

use super::new_memories::similar;
use super::review_candidate::{ReviewCandidate, ReviewKind};
use crate::error::ToolError;
use crate::index::Index;

/// The newest memories of a type that are compared with the code, and that may be unused.
const PER_TYPE: usize = 2_000;

/// The newest open tasks that are compared with later memories.
const TASKS: usize = 100;

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
                found.push(ReviewCandidate { kind: ReviewKind::Stale, reason, older: row, newer: None });
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
    for kind in MemoryType::ALL.into_iter().filter(|kind| may_be_confirmed(*kind)) {
        let rows = newest(store, kind, until.clone())?.into_iter().filter(|row| {
            let last = given.last.get(row.memory.id.as_str());
            !row.memory.attributes.pinned && last.is_none_or(|last| *last <= limit)
        });
        let reason = "no session was given it for 180 days";
        found.extend(rows.map(|row| ReviewCandidate {
            kind: ReviewKind::Unused,
            reason: reason.to_owned(),
            older: row,
            newer: None,
        }));
    }
    Ok(found)
}

/// Open tasks that a later memory reports as done, also the message of a commit.
pub(super) fn finished_tasks(store: &Store, index: &Index) -> Result<Vec<ReviewCandidate>, ToolError> {
    let mut found = Vec::new();
    for task in store.rows().open_tasks(&Moment::latest(), TASKS)? {
        let text = &task.memory.content;
        let mut later = similar(store, index, text)?;
        later.retain(|row| row.memory.kind != MemoryType::Task && row.order() > task.order());
        later.sort_by_key(MemoryRow::order);
        let is_report = |row: &MemoryRow| match row.memory.kind {
            MemoryType::ToolUsage => commit_messages(&row.memory.content).any(|message| is_done(&message, text)),
            _ => is_done(&row.memory.content, text),
        };
        if let Some(newer) = later.into_iter().find(is_report) {
            let reason = "a later memory says that it is done".to_owned();
            found.push(ReviewCandidate { kind: ReviewKind::FinishedTask, reason, older: task, newer: Some(newer) });
        }
    }
    Ok(found)
}

fn is_done(report: &str, task: &str) -> bool {
    // What follows a colon explains: "Fixed the export: there was no time zone".
    let head = report.split([':', ';']).next().unwrap_or(report);
    [report, head].into_iter().any(|report| !finished(report, &[task]).is_empty() && !is_about_another(report, task))
}

/// The subjects of commits in the commands of a turn, as reports.
fn commit_messages(commands: &str) -> impl Iterator<Item = String> {
    let after = commands.match_indices("git commit").map(|(at, _)| &commands[at..]);
    let quoted = after.filter_map(|rest| {
        let line = rest.lines().next()?;
        let (_, message) = line.split_once("-m ").or_else(|| line.split_once("-am "))?;
        let quote = message.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        message[1..].split(quote).next()
    });
    quoted.map(|message| format!("{message}: done"))
}

/// The newest memories of a type that were not replaced.
fn newest(store: &Store, kind: MemoryType, until: Option<String>) -> Result<Vec<MemoryRow>, ToolError> {
    let filter = MemoryFilter { kind: Some(kind), until, ..MemoryFilter::default() };
    let mut rows = store.rows().list(&filter, PER_TYPE)?;
    rows.retain(|row| row.superseded_by.is_none());
    Ok(rows)
}
