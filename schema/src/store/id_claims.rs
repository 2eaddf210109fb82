//! Which of several entries that carry the same id has it: people copy lines with their comments.
//!
//! The rule needs nothing but the Markdown, so that reading file after file as they change and reading all of them anew come
//! to the same ids: the entry in the log of its own day has it, else that in the file whose name comes first. All others
//! have an id made of it and of their file's name.

use std::collections::HashMap;

use chrono::NaiveDate;

use super::{MemoryRow, Rows};
use crate::files::layout::Layout;
use crate::log::log_file::{self, FileState};
use crate::log::{LogKind, parse};
use crate::model::memory::{Memory, MemoryId};

/// Settles who has an id. Rows may be behind their files, so the files are asked, each once.
#[derive(Debug)]
pub(crate) struct IdClaims {
    layout: Layout,
    /// The claims of each file that was read, with the local days of their entries.
    read: HashMap<String, Option<HashMap<MemoryId, NaiveDate>>>,
}

/// The row of an entry that stands in its file, with its local day there.
type StandingClaim = (MemoryRow, NaiveDate);

/// The row and the id of an entry.
pub(super) struct SettledClaim {
    pub(super) id: MemoryId,
    pub(super) row: Option<MemoryRow>,
    /// Rows that were in the way and stand for no entry any more.
    pub(super) removed: Vec<MemoryRow>,
}

impl IdClaims {
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { layout: layout.clone(), read: HashMap::new() }
    }

    /// Settles which id the entry of `memory` in the file at `path` has, and gives the other entries that carry it theirs.
    pub(super) fn settle_id(&mut self, rows: Rows<'_>, memory: &Memory, path: &str) -> rusqlite::Result<SettledClaim> {
        let claim = &memory.id;
        let (mut standing, mut removed) = self.claimants(rows, claim, Some(path))?;
        let mine = standing.iter().position(|(row, _)| row.path == path);
        let mut mine = mine.map(|at| standing.swap_remove(at).0);
        if mine.is_none() {
            // The entry was moved here, and its row comes along.
            mine = removed.iter().position(|row| row.memory.id == *claim).map(|at| removed.swap_remove(at));
        }
        for row in &removed {
            rows.delete(row.seq)?;
        }
        let best = standing.iter().min_by_key(|(row, day)| claim_rank(&row.path, *day));
        let day = memory.at.date();
        let best =
            best.filter(|(row, other)| claim_rank(&row.path, *other) < claim_rank(path, day)).map(|(row, _)| row);
        // Whoever has the id and is not to have it gives it up before the other gets it.
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
        Ok(SettledClaim { id, row: mine, removed })
    }

    /// Passes on the id of a row that is deleted to the best of the other entries that carry it.
    pub(crate) fn release_id(&mut self, rows: Rows<'_>, id: &MemoryId) -> rusqlite::Result<()> {
        if id.original() != *id {
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

    /// The rows that carry an id, at most one of each file: those whose entries stand in their files, with their days, and
    /// those that are left over. What stands in `own` is the caller's to say.
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

    /// The local day of the entry that carries an id in the file of a row, `None` when there is none.
    fn day_in(&mut self, rows: Rows<'_>, row: &MemoryRow, claim: &MemoryId) -> rusqlite::Result<Option<NaiveDate>> {
        let path = &row.path;
        if row.is_pending() {
            return Ok(Some(row.memory.at.date()));
        }
        if !self.read.contains_key(path) {
            let known = rows.log_state(path)?;
            let look = FileState::read(&self.layout.store_path(path));
            let is_readable = !look.is_being_rewritten(known.as_ref().map(|known| known.stamp.size));
            let days = if is_readable { read_claims(&self.layout, path) } else { None };
            self.read.insert(path.clone(), days);
        }
        Ok(match &self.read[path] {
            Some(days) => days.get(claim).copied(),
            // A file that cannot be read now is taken to hold what it held.
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

/// What comes first has the id.
pub fn claim_rank(path: &str, day: NaiveDate) -> (bool, &str) {
    (LogKind::from_path(path) != Some(LogKind::Daily(day)), path)
}
