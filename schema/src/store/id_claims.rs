//! Decides which of several entries with the same id gets it. People copy lines together with their comments.
//!
//! The rule depends only on the Markdown, so that reading changed files one by one and reading all files give the same ids. The entry in
//! the log of its own day gets the id, or else the entry in the file whose name comes first. All others get an id derived from it and the
//! name of their file.

use std::collections::HashMap;

use chrono::NaiveDate;

use super::{MemoryRow, Rows};
use crate::files::layout::Layout;
use crate::log::log_file;
use crate::log::{LogKind, parse};
use crate::model::memory::{Memory, MemoryId};

/// Assigns ids to entries that claim them. Rows may be older than their files, so the files are read, each once.
#[derive(Debug)]
pub(crate) struct IdClaims {
    layout: Layout,
    /// The claims in each file that was read, with the local days of their entries. `None` for a file that cannot be read now.
    read: HashMap<String, Option<HashMap<MemoryId, NaiveDate>>>,
}

/// The row of an entry that is in its file, with its local day there.
type StandingClaim = (MemoryRow, NaiveDate);

/// The id that an entry gets, and its row.
pub(super) struct AssignedId {
    pub(super) id: MemoryId,
    pub(super) row: Option<MemoryRow>,
    /// Conflicting rows that no longer have an entry.
    pub(super) removed: Vec<MemoryRow>,
}

impl IdClaims {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { layout: layout.clone(), read: HashMap::new() }
    }

    /// Assigns an id to the entry of `memory` in the file at `path`, and updates the other entries that claim it.
    pub(super) fn assign_id(&mut self, rows: Rows<'_>, memory: &Memory, path: &str) -> rusqlite::Result<AssignedId> {
        let claim = &memory.id;
        let (mut standing, mut removed) = self.claimants(rows, claim, Some(path))?;
        let mine = standing.iter().position(|(row, _)| row.path == path);
        let mut mine = mine.map(|at| standing.swap_remove(at).0);
        if mine.is_none() {
            // The entry was moved here, and its row moves along.
            mine = removed.iter().position(|row| row.memory.id == *claim).map(|at| removed.swap_remove(at));
        }
        for row in &removed {
            rows.delete(row.seq)?;
        }
        let best = standing.iter().min_by_key(|(row, day)| claim_rank(&row.path, *day));
        let day = memory.at.date();
        let best =
            best.filter(|(row, other)| claim_rank(&row.path, *other) < claim_rank(path, day)).map(|(row, _)| row);
        // A row that loses the id gives it up before another one gets it.
        for (row, _) in standing.iter().filter(|(row, _)| row.memory.id == *claim) {
            if best.is_none_or(|best| best.seq != row.seq) {
                rows.set_id(row.seq, &claim.for_copy(&row.path))?;
            }
        }
        let id = if best.is_none() { claim.clone() } else { claim.for_copy(path) };
        if let Some(row) = mine.as_mut().filter(|row| row.memory.id != id) {
            rows.set_id(row.seq, &id)?;
            row.memory.id = id.clone();
        }
        if let Some(row) = best.filter(|row| row.memory.id != *claim) {
            rows.set_id(row.seq, claim)?;
        }
        Ok(AssignedId { id, row: mine, removed })
    }

    /// Passes the id of a deleted row to the best of the other entries that claim it.
    pub(crate) fn release_id(&mut self, rows: Rows<'_>, id: &MemoryId) -> rusqlite::Result<()> {
        if id.is_copy() {
            return Ok(());
        }
        let (standing, _) = self.claimants(rows, id, None)?;
        if standing.iter().any(|(row, _)| row.memory.id == *id) {
            return Ok(());
        }
        match standing.iter().min_by_key(|(row, day)| claim_rank(&row.path, *day)) {
            Some((row, _)) => rows.set_id(row.seq, id),
            None => Ok(()),
        }
    }

    /// Returns the rows that claim an id, at most one for each file: those with an entry in their file, with its day, and the others. In
    /// `own` every row counts as having an entry; the caller knows that file.
    fn claimants(
        &mut self,
        rows: Rows<'_>,
        claim: &MemoryId,
        own: Option<&str>,
    ) -> rusqlite::Result<(Vec<StandingClaim>, Vec<MemoryRow>)> {
        let (mut standing, mut left): (Vec<StandingClaim>, Vec<MemoryRow>) = (Vec::new(), Vec::new());
        let mut found = rows.claimants(claim)?;
        found.sort_by_key(|row| row.memory.id != *claim);
        for row in found {
            let path = &row.path;
            let known = standing.iter().any(|(other, _)| other.path == *path);
            let day = if own == Some(path) { Some(row.memory.at.date()) } else { self.day_in(rows, &row, claim)? };
            match day.filter(|_| !known) {
                Some(day) => standing.push((row, day)),
                None => left.push(row),
            }
        }
        Ok((standing, left))
    }

    /// Returns the local day of the entry with this id in the file of a row, or `None` if it is gone.
    fn day_in(&mut self, rows: Rows<'_>, row: &MemoryRow, claim: &MemoryId) -> rusqlite::Result<Option<NaiveDate>> {
        let path = &row.path;
        if row.is_pending() {
            return Ok(Some(row.memory.at.date()));
        }
        if !self.read.contains_key(path) {
            let is_readable = !rows.is_being_rewritten(&self.layout, path)?;
            let days = if is_readable { read_claims(&self.layout, path) } else { None };
            self.read.insert(path.clone(), days);
        }
        Ok(match &self.read[path] {
            Some(days) => days.get(claim).copied(),
            // If the file cannot be read now, assume that it still has the entry.
            None => Some(row.memory.at.date()),
        })
    }
}

fn read_claims(layout: &Layout, path: &str) -> Option<HashMap<MemoryId, NaiveDate>> {
    let Some(kind) = LogKind::from_path(path) else { return Some(HashMap::new()) };
    let bytes = log_file::read(&layout.store_path(path)).ok()?;
    let parsed = parse(&String::from_utf8_lossy(&bytes), kind);
    Some(parsed.entries.into_iter().map(|entry| (entry.memory.id, entry.memory.at.date())).collect())
}

/// Ranks a claim. The lowest rank gets the id.
pub fn claim_rank(path: &str, day: NaiveDate) -> (bool, &str) {
    (LogKind::from_path(path) != Some(LogKind::Daily(day)), path)
}
