//! The notes of logs as rows, and the states of memories that follow from them.

use std::collections::HashSet;

use rusqlite::{Params, params};
use serde_json::{Map, Value};

use super::{MemoryRow, Rows};
use crate::model::memory::MemoryId;
use crate::model::moment::Moment;
use crate::model::state_note::{
    CONFIRMED, MemoryState, REVIEW_UNTIL, REVIEW_WITH, REVIEWED, Standing, StateChange, StateNote,
};

impl Rows<'_> {
    /// Returns the notes of one log in the order of the file.
    pub(crate) fn notes_in(&self, path: &str) -> rusqlite::Result<Vec<StateNote>> {
        let sql = "SELECT about, at, utc_offset, change, value FROM notes INDEXED BY notes_by_path WHERE path = ?1 ORDER BY position";
        self.read_notes(sql, [path])
    }

    /// Returns the notes about a memory in the order in which they count.
    pub fn notes_about(&self, id: &MemoryId) -> rusqlite::Result<Vec<StateNote>> {
        self.notes_until(id, &Moment::latest())
    }

    /// Returns the notes about a memory up to a moment.
    fn notes_until(&self, id: &MemoryId, until: &Moment) -> rusqlite::Result<Vec<StateNote>> {
        // Notes of the same second are in the order of their log. The log of a day continues in one with a longer name.
        let sql = "SELECT about, at, utc_offset, change, value FROM notes WHERE about = ?1 AND at <= ?2
             GROUP BY at, change, value ORDER BY at, min(length(path)), min(path), min(position)";
        self.read_notes(sql, [id.as_str(), &until.utc()])
    }

    /// Returns the decisions of all reviews in the order in which they count.
    pub fn reviews(&self) -> rusqlite::Result<Vec<StateNote>> {
        let sql = "SELECT about, at, utc_offset, change, value FROM notes WHERE change = ?1 ORDER BY at, length(path), path, position";
        self.read_notes(sql, [REVIEWED])
    }

    /// Returns the pairs, the older memory first, that a review keeps for good although the newer one seems to replace the older one.
    pub fn kept_pairs(&self) -> rusqlite::Result<HashSet<(MemoryId, MemoryId)>> {
        let kept = |note: StateNote| {
            let StateChange::Reviewed(fields) = note.change else { return None };
            let with = fields.get(REVIEW_WITH).and_then(Value::as_str).and_then(MemoryId::parse)?;
            (!fields.contains_key(REVIEW_UNTIL)).then_some((note.about, with))
        };
        Ok(self.reviews()?.into_iter().filter_map(kept).collect())
    }

    fn read_notes(&self, sql: &str, values: impl Params) -> rusqlite::Result<Vec<StateNote>> {
        let mut statement = self.0.prepare_cached(sql)?;
        let mut found = statement.query(values)?;
        let mut notes = Vec::new();
        while let Some(row) = found.next()? {
            let about = MemoryId::parse(row.get_ref(0)?.as_str()?);
            let at = Moment::parse_rfc3339(row.get_ref(1)?.as_str()?);
            let at = at.and_then(|at| Moment::from_unix(at.unix(), row.get(2).ok()));
            let name = row.get_ref(3)?.as_str()?;
            let value: Option<Value> = serde_json::from_str(row.get_ref(4)?.as_str()?).ok();
            let change = value.and_then(|value| StateChange::of(name, &value));
            notes.extend((|| Some(StateNote { about: about?, at: at?, change: change? }))());
        }
        Ok(notes)
    }

    /// Returns the logs that have a note about a memory.
    pub(crate) fn paths_of_notes(&self, about: &MemoryId) -> rusqlite::Result<Vec<String>> {
        self.column("SELECT DISTINCT path FROM notes WHERE about = ?1", [about.as_str()])
    }

    /// Adds a note at the end of a log and derives the state of its memory. Returns `false` if the note exists already.
    pub(crate) fn add_note(&self, path: &str, note: &StateNote) -> rusqlite::Result<bool> {
        let StateNote { about, at, change } = note;
        let sql = "INSERT OR IGNORE INTO notes (about, at, utc_offset, change, value, path, position)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, 1 + ifnull(max(position), 0) FROM notes WHERE path = ?6";
        let value = change.value().to_string();
        let values = params![about.as_str(), at.utc(), at.offset_seconds(), change.name(), value, path];
        let is_new = self.0.prepare_cached(sql)?.execute(values)? > 0;
        if is_new {
            self.derive_state(about)?;
        }
        Ok(is_new)
    }

    /// Whether any log has a note.
    pub(crate) fn has_note(&self, note: &StateNote) -> rusqlite::Result<bool> {
        let StateNote { about, at, change } = note;
        let sql = "SELECT EXISTS (SELECT 1 FROM notes WHERE about = ?1 AND at = ?2 AND change = ?3 AND value = ?4)";
        let values = params![about.as_str(), at.utc(), change.name(), change.value().to_string()];
        self.value(sql, values)
    }

    /// Returns the last confirmation of a memory: its time and its fields.
    pub fn last_confirmation(&self, id: &MemoryId) -> rusqlite::Result<Option<(Moment, Map<String, Value>)>> {
        let sql = "SELECT about, at, utc_offset, change, value FROM notes WHERE about = ?1 AND change = 'confirmed'
             ORDER BY at DESC, length(path) DESC, path DESC, position DESC LIMIT 1";
        let last = self.read_notes(sql, [id.as_str()])?.pop();
        Ok(last.and_then(|StateNote { at, change, .. }| match change {
            StateChange::Confirmed(fields) => Some((at, fields)),
            _ => None,
        }))
    }

    /// Returns the standing of a memory.
    pub fn standing(&self, row: &MemoryRow) -> rusqlite::Result<Standing> {
        let sql = "SELECT count(DISTINCT ifnull(json_extract(value, '$.session'), '')) FROM notes WHERE about = ?1 AND change = ?2";
        let values = [row.memory.id.as_str(), CONFIRMED];
        let sessions: i64 = self.value(sql, values)?;
        Ok(Standing::of(row.memory.attributes.pinned, sessions.unsigned_abs()))
    }

    /// Whether a note says that a memory repeated between two moments, in seconds since 1970.
    pub fn is_repeated_between(&self, id: &MemoryId, from: i64, to: i64) -> rusqlite::Result<bool> {
        let utc = |seconds| Moment::from_unix(seconds, Some(0)).map(|at| at.utc()).unwrap_or_default();
        let sql =
            "SELECT EXISTS (SELECT 1 FROM notes WHERE about = ?1 AND change = 'repeated' AND at BETWEEN ?2 AND ?3)";
        self.value(sql, params![id.as_str(), utc(from), utc(to)])
    }

    /// Replaces the notes of a log that were `known` when it was read with those that were `found` in it. Notes that were added since stay
    /// and follow the others.
    pub(super) fn replace_notes(&self, path: &str, known: &[StateNote], found: &[StateNote]) -> rusqlite::Result<()> {
        let before: HashSet<_> = known.iter().map(key).collect();
        let now: HashSet<_> = found.iter().map(key).collect();
        for note in found.iter().filter(|note| !before.contains(&key(note))) {
            self.add_note(path, note)?;
        }
        let mut delete = self.0.prepare_cached(
            "DELETE FROM notes WHERE about = ?1 AND at = ?2 AND change = ?3 AND value = ?4 AND path = ?5",
        )?;
        for note in known {
            let key = key(note);
            if !now.contains(&key) {
                let (about, at, change, value) = key;
                delete.execute(params![about, at, change, value, path])?;
                self.derive_state(&note.about)?;
            }
        }
        if found == known { Ok(()) } else { self.reorder_notes(path, found) }
    }

    /// Puts the notes of a log into the given order, before all other notes of that log.
    fn reorder_notes(&self, path: &str, order: &[StateNote]) -> rusqlite::Result<()> {
        let sql = "UPDATE notes SET position = position + ?2 WHERE path = ?1";
        self.execute(sql, params![path, order.len() as i64])?;
        let mut place = self.0.prepare_cached(
            "UPDATE notes SET position = ?6 WHERE about = ?1 AND at = ?2 AND change = ?3 AND value = ?4 AND path = ?5",
        )?;
        // In reverse, so that the first of two equal notes decides.
        for (position, note) in order.iter().enumerate().rev() {
            let (about, at, change, value) = key(note);
            place.execute(params![about, at, change, value, path, position as i64])?;
        }
        let ids: HashSet<_> = order.iter().map(|note| &note.about).collect();
        ids.into_iter().try_for_each(|id| self.derive_state(id))
    }

    /// Derives the state of a memory that was just inserted.
    pub(super) fn derive_first_state(&self, id: &MemoryId) -> rusqlite::Result<()> {
        let is_noted = self.value("SELECT EXISTS (SELECT 1 FROM notes WHERE about = ?1)", [id.as_str()])?;
        if is_noted { self.derive_state(id) } else { Ok(()) }
    }

    /// Returns the state of a memory according to the notes about it up to a moment.
    pub(crate) fn state_at(&self, id: &MemoryId, until: &Moment) -> rusqlite::Result<MemoryState> {
        let notes = self.notes_until(id, until)?;
        Ok(MemoryState::after(notes.iter().map(|note| (note.at, &note.change))))
    }

    /// Derives the state of a memory from the notes about it.
    pub(super) fn derive_state(&self, id: &MemoryId) -> rusqlite::Result<()> {
        let state = self.state_at(id, &Moment::latest())?;
        let sql = "UPDATE memories SET phase = ?2, settled_by = ?3, settled_at = ?4, repeats = ?5, repeated_at = ?6
             WHERE id = ?1 AND (phase IS NOT ?2 OR settled_by IS NOT ?3 OR settled_at IS NOT ?4 OR repeats <> ?5 OR repeated_at IS NOT ?6)";
        let MemoryState { phase, settled_by, settled_at, repeats, repeated_at } = state;
        let [settled_at, repeated_at] = [settled_at, repeated_at].map(|at| at.map(|at| at.utc()));
        let values = params![id.as_str(), phase.name(), settled_by, settled_at, repeats, repeated_at];
        self.execute(sql, values)
    }
}

/// Returns the fields that identify a note in a log.
fn key(StateNote { about, at, change }: &StateNote) -> (&str, String, &'static str, String) {
    (about.as_str(), at.utc(), change.name(), change.value().to_string())
}
