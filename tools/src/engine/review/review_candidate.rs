//! The candidates of a review, and the decisions that keep them away.

use std::collections::HashMap;

use schema::model::memory::MemoryId;
use schema::model::moment::Moment;
use schema::model::state_note::{REVIEW_KIND, REVIEW_UNTIL, REVIEW_WITH, StateChange, StateNote};
use schema::store::MemoryRow;
use serde_json::{Map, Value};

/// Why a memory is a candidate, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewKind {
    SecretFound,
    ChangedValue,
    SaidTwice,
    FinishedTask,
    ReadyTask,
    Stale,
    Unused,
}

impl ReviewKind {
    pub const ALL: [Self; 7] = [
        Self::SecretFound,
        Self::ChangedValue,
        Self::SaidTwice,
        Self::FinishedTask,
        Self::ReadyTask,
        Self::Stale,
        Self::Unused,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::SecretFound => "secret_found",
            Self::ChangedValue => "changed_value",
            Self::SaidTwice => "said_twice",
            Self::FinishedTask => "finished_task",
            Self::ReadyTask => "ready_task",
            Self::Stale => "stale",
            Self::Unused => "unused",
        }
    }

    /// Whether the question is if a memory still holds or is still useful. Only then is sharing offered.
    pub fn asks_whether_it_holds(self) -> bool {
        matches!(self, Self::Stale | Self::Unused)
    }
}

/// A memory, or two, that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewCandidate {
    pub kind: ReviewKind,
    /// A few words for people.
    pub reason: String,
    pub older: MemoryRow,
    pub newer: Option<MemoryRow>,
}

impl ReviewCandidate {
    pub(super) fn of_one(kind: ReviewKind, reason: impl Into<String>, row: MemoryRow) -> Self {
        Self { kind, reason: reason.into(), older: row, newer: None }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &MemoryRow> {
        std::iter::once(&self.older).chain(&self.newer)
    }

    /// Whether one of its memories was replaced.
    pub(super) fn is_superseded(&self) -> bool {
        self.rows().any(|row| row.superseded_by.is_some())
    }

    /// The note that keeps it away, until a moment or for good.
    pub(super) fn dismissal(&self, until: Option<Moment>) -> StateNote {
        let mut fields = Map::from_iter([(REVIEW_KIND.to_owned(), self.kind.name().into())]);
        fields.extend(self.newer.as_ref().map(|newer| (REVIEW_WITH.to_owned(), newer.memory.id.as_str().into())));
        fields.extend(until.map(|until| (REVIEW_UNTIL.to_owned(), until.rfc3339().into())));
        StateNote { about: self.older.memory.id.clone(), at: Moment::now(), change: StateChange::Reviewed(fields) }
    }
}

/// The last decision about each candidate.
#[derive(Debug, Default)]
pub(super) struct ReviewDecisions(HashMap<(MemoryId, String, Option<String>), Option<i64>>);

impl ReviewDecisions {
    /// Reads notes in the order in which they count.
    pub(super) fn from_notes(notes: Vec<StateNote>) -> Self {
        let decision = |note: StateNote| {
            let StateChange::Reviewed(fields) = note.change else { return None };
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            let until = text(REVIEW_UNTIL).map(|until| Moment::parse_rfc3339(until).map_or(0, |until| until.unix()));
            Some(((note.about, text(REVIEW_KIND)?.to_owned(), text(REVIEW_WITH).map(str::to_owned)), until))
        };
        Self(notes.into_iter().filter_map(decision).collect())
    }

    /// Whether a candidate is put off until a later moment.
    pub(super) fn is_put_off(&self, candidate: &ReviewCandidate, now: &Moment) -> bool {
        self.of(candidate).is_some_and(|until| until.is_some_and(|until| until > now.unix()))
    }

    /// Whether a candidate is dismissed or put off at a moment.
    pub(super) fn is_hidden(&self, candidate: &ReviewCandidate, now: &Moment) -> bool {
        self.of(candidate).is_some_and(|until| until.is_none_or(|until| until > now.unix()))
    }

    /// The last decision about a candidate, with the second until which it counts.
    fn of(&self, candidate: &ReviewCandidate) -> Option<Option<i64>> {
        let with = candidate.newer.as_ref().map(|newer| newer.memory.id.to_string());
        let key = (candidate.older.memory.id.clone(), candidate.kind.name().to_owned(), with);
        self.0.get(&key).copied()
    }
}
