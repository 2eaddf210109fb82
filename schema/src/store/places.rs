//! Where memories stand in their files, as the rows know it.
//!
//! Lines are kept relative to the section of a memory: those of its type in its file. An event is put before all conclusions of its day,
//! and moves each section of them by one change, however many there are.

use rusqlite::{OptionalExtension, params};

use super::{Place, Rows};
use crate::daily_log::Shift;
use crate::memory::MemoryType;

/// Movements of a log that are kept for those who read it before. Who was overtaken by more begins again.
const KEPT: i64 = 256;

/// How often those behind them are dropped, and those of other logs.
const DROPPED_EVERY: i64 = 64;

/// What the keys of generations in `meta` begin with. They stay when a log goes, as they must not go back.
const GENERATION: &str = "generation:";

/// The memories of one type in one file.
struct Section {
    number: i64,
    /// By how many lines all of them have moved.
    moved: i64,
}

impl Rows<'_> {
    /// Notes where a memory stands.
    pub(super) fn put(&self, seq: i64, kind: &str, place: &Place) -> rusqlite::Result<()> {
        let section = self.section(&place.path, kind)?;
        let sql =
            "INSERT OR REPLACE INTO places (seq, section, start_line, end_line) VALUES (?1, ?2, ?3 - ?5, ?4 - ?5)";
        let values = params![seq, section.number, place.start_line as i64, place.end_line as i64, section.moved];
        self.0.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Notes that a memory stands somewhere else, perhaps in another file.
    pub fn move_to(&self, seq: i64, place: &Place) -> rusqlite::Result<()> {
        let sql = "UPDATE memories SET path = ?2 WHERE seq = ?1 AND path <> ?2";
        self.0.prepare_cached(sql)?.execute(params![seq, place.path])?;
        let sql = "SELECT type FROM memories WHERE seq = ?1";
        let kind: Option<String> = self.0.prepare_cached(sql)?.query_row([seq], |row| row.get(0)).optional()?;
        kind.map_or(Ok(()), |kind| self.put(seq, &kind, place))
    }

    /// Notes other lines of a memory, unless it stands in another file by now.
    pub(super) fn move_within(&self, seq: i64, place: &Place) -> rusqlite::Result<()> {
        let sql = "UPDATE places SET start_line = ?3 - moved, end_line = ?4 - moved FROM sections
             WHERE seq = ?1 AND sections.section = places.section
                 AND EXISTS (SELECT 1 FROM memories WHERE seq = ?1 AND path = ?2)";
        let values = params![seq, place.path, place.start_line as i64, place.end_line as i64];
        self.0.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Moves what stands in a log from a line on.
    pub(crate) fn shift(&self, path: &str, shift: Shift) -> rusqlite::Result<()> {
        self.note_shift(path, shift)?;
        let Shift { from, by } = shift;
        for kind in MemoryType::ALL {
            let Some(Section { number, moved }) = self.known_section(path, kind.as_str())? else { continue };
            let from = from as i64 - moved;
            let end = |which: &str| {
                let sql = format!("SELECT {which}(start_line) FROM places WHERE section = ?1");
                self.0.prepare_cached(&sql)?.query_row([number], |row| row.get::<_, Option<i64>>(0))
            };
            if end("max")?.is_none_or(|last| last < from) {
                continue;
            }
            if end("min")?.is_some_and(|first| first >= from) {
                let sql = "UPDATE sections SET moved = moved + ?2 WHERE section = ?1";
                self.0.prepare_cached(sql)?.execute(params![number, by as i64])?;
            } else {
                // Somebody put entries of this type in several places.
                let sql = "UPDATE places SET start_line = start_line + ?3, end_line = end_line + ?3
                     WHERE section = ?1 AND start_line >= ?2";
                self.0.prepare_cached(sql)?.execute(params![number, from, by as i64])?;
            }
        }
        Ok(())
    }

    /// Forgets the sections of a log in which no memory stands.
    pub(super) fn forget_sections(&self, path: &str) -> rusqlite::Result<()> {
        let sql = "DELETE FROM sections
             WHERE file = ?1 AND NOT EXISTS (SELECT 1 FROM places WHERE places.section = sections.section)";
        self.0.prepare_cached(sql)?.execute([path]).map(drop)
    }

    fn section(&self, path: &str, kind: &str) -> rusqlite::Result<Section> {
        if let Some(section) = self.known_section(path, kind)? {
            return Ok(section);
        }
        let number =
            self.0.prepare_cached("INSERT INTO sections (file, holds) VALUES (?1, ?2)")?.insert([path, kind])?;
        Ok(Section { number, moved: 0 })
    }

    fn known_section(&self, path: &str, kind: &str) -> rusqlite::Result<Option<Section>> {
        let sql = "SELECT section, moved FROM sections WHERE file = ?1 AND holds = ?2";
        let read = |row: &rusqlite::Row<'_>| Ok(Section { number: row.get(0)?, moved: row.get(1)? });
        self.0.prepare_cached(sql)?.query_row([path, kind], read).optional()
    }

    fn note_shift(&self, path: &str, Shift { from, by }: Shift) -> rusqlite::Result<()> {
        let generation = self.next_generation(path)?;
        let sql = "INSERT OR REPLACE INTO shifts (file, generation, first_line, lines) VALUES (?1, ?2, ?3, ?4)";
        self.0.prepare_cached(sql)?.execute(params![path, generation, from as i64, by as i64])?;
        if generation % DROPPED_EVERY == 0 {
            let sql = "DELETE FROM shifts WHERE file <> ?1 OR generation <= ?2";
            self.0.prepare_cached(sql)?.execute(params![path, generation - KEPT])?;
        }
        Ok(())
    }

    /// How the rows of a log have moved since a generation; `None` when something else became of them as well.
    pub(super) fn shifts_since(&self, path: &str, generation: i64) -> rusqlite::Result<Option<Vec<Shift>>> {
        let missed = self.generation(path)? - generation;
        if missed == 0 {
            return Ok(Some(Vec::new()));
        }
        let sql = "SELECT first_line, lines FROM shifts WHERE file = ?1 AND generation > ?2 ORDER BY generation";
        let read = |row: &rusqlite::Row<'_>| {
            let number = |column| row.get::<_, i64>(column).map(|number| number.unsigned_abs() as usize);
            Ok(Shift { from: number(0)?, by: number(1)? })
        };
        let mut statement = self.0.prepare_cached(sql)?;
        let shifts: Vec<Shift> =
            statement.query_map(params![path, generation], read)?.collect::<rusqlite::Result<_>>()?;
        Ok((i64::try_from(shifts.len()) == Ok(missed)).then_some(shifts))
    }

    /// How often the rows of a log moved, or were brought in step with it. What was read of the log before the last time is not what
    /// its rows are to be brought in step with. Who deletes or renames one begins none, and leaves the log to be read again.
    pub(super) fn generation(&self, path: &str) -> rusqlite::Result<i64> {
        Ok(self.meta(&format!("{GENERATION}{path}"))?.and_then(|count| count.parse().ok()).unwrap_or_default())
    }

    fn next_generation(&self, path: &str) -> rusqlite::Result<i64> {
        let next = self.generation(path)? + 1;
        self.set_meta(&format!("{GENERATION}{path}"), &next.to_string())?;
        Ok(next)
    }

    /// Begins a generation of a log's rows that is not the one before, moved.
    pub(super) fn begin_generation(&self, path: &str) -> rusqlite::Result<i64> {
        self.0.prepare_cached("DELETE FROM shifts WHERE file = ?1")?.execute([path])?;
        self.next_generation(path)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::database::Patience;
    use crate::memory::{Attributes, Memory, MemoryId};
    use crate::moment::Moment;
    use crate::store::Store;

    const LOG: &str = "2026-01-28.md";
    const OTHER: &str = "2026-01-29.md";

    fn place(path: &str, line: usize) -> Place {
        Place { path: path.to_owned(), start_line: line, end_line: line + 1 }
    }

    fn insert(rows: Rows<'_>, kind: MemoryType, line: usize) -> i64 {
        let at = Moment::from_unix(1_769_563_815, Some(32_400)).unwrap();
        let content = format!("{kind:?} {line}");
        let id = MemoryId::derive("s", kind, &at, &content, 0);
        let memory = Memory { id, session_id: "s".into(), kind, content, at, attributes: Attributes::default() };
        rows.insert(&memory, &place(LOG, line)).unwrap()
    }

    fn lines(rows: Rows<'_>) -> BTreeMap<i64, (String, usize)> {
        let all = rows.after(0, 100).unwrap();
        assert!(all.iter().all(|row| row.place.end_line == row.place.start_line + 1));
        all.into_iter().map(|row| (row.seq, (row.place.path, row.place.start_line))).collect()
    }

    #[test]
    fn memories_move_alike_whether_those_of_their_type_stand_together_or_not() {
        use MemoryType::{Decision, Learning, UserPrompt};
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), Patience::Server).unwrap();
        let rows = store.rows();
        // Decisions stand in two places.
        let kinds = [(UserPrompt, 3), (Decision, 5), (UserPrompt, 7), (Learning, 9), (Decision, 11), (Learning, 13)];
        let mut expected = BTreeMap::new();
        for (kind, line) in kinds {
            expected.insert(insert(rows, kind, line), (LOG.to_owned(), line));
        }
        for (from, by) in [(9, 4), (100, 7), (8, 2), (1, 30), (50, 1)] {
            rows.shift(LOG, Shift { from, by }).unwrap();
            expected.values_mut().filter(|(_, line)| *line >= from).for_each(|(_, line)| *line += by);
            assert_eq!(lines(rows), expected, "{from} {by}");
        }
        // What comes above all that has moved, and what goes to another file and back.
        let first = insert(rows, Learning, 2);
        expected.insert(first, (LOG.to_owned(), 2));
        assert_eq!(lines(rows), expected);
        rows.move_to(first, &place(OTHER, 5)).unwrap();
        rows.shift(LOG, Shift { from: 1, by: 6 }).unwrap();
        expected.values_mut().for_each(|(_, line)| *line += 6);
        expected.insert(first, (OTHER.to_owned(), 5));
        rows.move_within(first, &place(LOG, 77)).unwrap();
        assert_eq!(lines(rows), expected);
        rows.move_within(first, &place(OTHER, 6)).unwrap();
        rows.shift(OTHER, Shift { from: 6, by: 1 }).unwrap();
        assert_eq!(lines(rows)[&first], (OTHER.to_owned(), 7));
        rows.move_to(first, &place(LOG, 1)).unwrap();
        rows.forget_sections(OTHER).unwrap();
        rows.forget_sections(LOG).unwrap();
        expected.insert(first, (LOG.to_owned(), 1));
        assert_eq!(lines(rows), expected);
        let sections: i64 = store.db.query_row("SELECT count(*) FROM sections", [], |row| row.get(0)).unwrap();
        assert_eq!(sections, 3);
    }

    #[test]
    fn so_many_movements_are_known_and_none_from_before_a_generation_of_its_own() {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), Patience::Server).unwrap();
        let rows = store.rows();
        let start = rows.generation(LOG).unwrap();
        let shift = |from: i64| Shift { from: from as usize, by: 1 };
        (1..=10).for_each(|from| rows.shift(OTHER, shift(from)).unwrap());
        (1..=KEPT).for_each(|from| rows.shift(LOG, shift(from)).unwrap());
        assert_eq!(rows.shifts_since(LOG, start + KEPT).unwrap(), Some(vec![]));
        let last: Vec<Shift> = (KEPT - 9..=KEPT).map(shift).collect();
        assert_eq!(rows.shifts_since(LOG, start + KEPT - 10).unwrap(), Some(last));
        (1..=KEPT + DROPPED_EVERY).for_each(|from| rows.shift(LOG, shift(from)).unwrap());
        assert_eq!(rows.shifts_since(LOG, start).unwrap(), None);
        let kept: i64 = store.db.query_row("SELECT count(*) FROM shifts", [], |row| row.get(0)).unwrap();
        assert!(kept <= KEPT + DROPPED_EVERY, "{kept}");
        let known = rows.generation(LOG).unwrap();
        rows.shift(LOG, shift(1)).unwrap();
        rows.begin_generation(LOG).unwrap();
        assert_eq!(rows.shifts_since(LOG, known).unwrap(), None);
    }
}
