//! What was worked on: memories in their order, sessions, and days.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use schema::layout::STORE_DIR;
use schema::memory::{MemoryId, MemoryType};
use schema::moment::Moment;
use schema::store::{Filter, Row, Session};
use schema::tool_usage;

use super::Engine;
use crate::error::ToolError;

/// Memories that are read at once on the way back through the days.
const PAGE: usize = 2_000;

/// What is looked at. What is not said admits all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub filter: Filter,
    /// Any of these types.
    pub kinds: Vec<MemoryType>,
    /// A file or folder of the project: what changed or names it.
    pub file: Option<String>,
}

impl Wanted {
    fn admits(&self, row: &Row) -> bool {
        self.file.as_ref().is_none_or(|file| row.memory.content.contains(file.as_str()))
            && (self.kinds.is_empty() || self.kinds.contains(&row.memory.kind))
    }

    /// Whether of a session some memories are wanted, and others not.
    fn is_of_some(&self) -> bool {
        !self.kinds.is_empty() || self.file.is_some() || self.filter.path.is_some() || self.filter.kind.is_some()
    }

    /// What the store is asked for: a filter for each type.
    fn filters(&self) -> Vec<Filter> {
        let of = |kind: &MemoryType| Filter { kind: Some(*kind), ..self.filter.clone() };
        let mut kinds = self.kinds.clone();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() { vec![self.filter.clone()] } else { kinds.iter().map(of).collect() }
    }
}

/// A day on which something was remembered, by the calendar of where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Day {
    pub date: NaiveDate,
    pub memories: usize,
    /// In the order of their beginnings.
    pub visits: Vec<Visit>,
    /// What was concluded, in its order.
    pub noted: Vec<Row>,
}

/// What one session did on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    pub session_id: String,
    pub title: Option<String>,
    pub from: Moment,
    pub to: Moment,
    pub prompts: usize,
    pub errors: usize,
    /// Those that are wanted; everything else is of all that it did.
    pub memories: usize,
    pub files: Vec<String>,
}

impl Engine {
    /// Narrows to a path: a file of the store, where its memories stand, or else one of the project.
    pub fn narrow_to_path(&self, wanted: &mut Wanted, path: &str) -> Result<(), ToolError> {
        let given = path.trim().replace('\\', "/");
        let plain = given.trim_start_matches("./").trim_end_matches('/');
        if plain.is_empty() {
            return Err(ToolError::Invalid("path is empty: name a file or folder".to_owned()));
        }
        match plain.strip_prefix(STORE_DIR) {
            Some(inside) => wanted.filter.path = Some(inside.trim_start_matches('/').to_owned()),
            None if plain.ends_with(".md") && self.store.layout().file(plain).exists() => {
                wanted.filter.path = Some(plain.to_owned());
            }
            None => wanted.file = Some(plain.to_owned()),
        }
        Ok(())
    }

    /// The newest memories that are wanted.
    pub fn history(&mut self, wanted: &Wanted, limit: usize) -> Result<Vec<Row>, ToolError> {
        let reach = if wanted.file.is_none() { limit } else { usize::MAX };
        let mut rows = Vec::new();
        for filter in wanted.filters() {
            rows.extend(self.list(&filter, reach)?);
        }
        rows.sort_by_key(|row| std::cmp::Reverse((row.memory.at.unix(), row.seq)));
        Ok(rows.into_iter().filter(|row| wanted.admits(row)).take(limit).collect())
    }

    /// How many memories are wanted.
    pub fn count(&mut self, wanted: &Wanted) -> Result<u64, ToolError> {
        if wanted.file.is_some() {
            return Ok(self.history(wanted, usize::MAX)?.len() as u64);
        }
        let filters = wanted.filters();
        self.mending(|engine| {
            let rows = engine.store.rows();
            let counts: Result<Vec<u64>, _> = filters.iter().map(|filter| rows.count_listed(filter)).collect();
            Ok(counts?.iter().sum())
        })
    }

    /// A memory as it is, without counting that it was read.
    pub fn peek(&mut self, id: &str) -> Result<Option<Row>, ToolError> {
        let Some(id) = MemoryId::parse(id) else { return Ok(None) };
        self.mending(|engine| Ok(engine.store.rows().by_id(&id)?))
    }

    /// The sessions that went on in a time, the last first; with a file, those that changed it; with types or a log, those of which it
    /// holds some.
    pub fn sessions(&mut self, wanted: &Wanted, limit: usize) -> Result<Vec<Session>, ToolError> {
        let with_some = self.sessions_with_some(wanted)?;
        let Filter { session_id, since, until, .. } = &wanted.filter;
        let sessions =
            self.mending(|engine| Ok(engine.store.rows().sessions(since.as_deref(), until.as_deref())?))?;
        let is_wanted = |session: &Session| {
            session_id.as_ref().is_none_or(|id| *id == session.id)
                && with_some.as_ref().is_none_or(|ids| ids.contains(&session.id))
                && wanted.file.as_ref().is_none_or(|file| session.files.iter().any(|changed| is_in(changed, file)))
        };
        Ok(sessions.into_iter().filter(is_wanted).take(limit).collect())
    }

    /// Those with a memory of the types or the log that are wanted; `None` where neither is said.
    fn sessions_with_some(&mut self, wanted: &Wanted) -> Result<Option<BTreeSet<String>>, ToolError> {
        if wanted.kinds.is_empty() && wanted.filter.path.is_none() {
            return Ok(None);
        }
        let rows = self.history(&Wanted { file: None, ..wanted.clone() }, usize::MAX)?;
        Ok(Some(rows.into_iter().map(|row| row.memory.session_id).collect()))
    }

    /// The id of the session that begins so, if only one does. What is no beginning of any is answered as it came.
    pub fn whole_session_id(&mut self, beginning: &str) -> Result<String, ToolError> {
        let beginning = beginning.trim();
        match self.mending(|engine| Ok(engine.store.rows().sessions_beginning_with(beginning)?))?.as_slice() {
            [only] => Ok(only.clone()),
            [first, second, ..] if first != beginning => Err(ToolError::Invalid(format!(
                "{beginning:?} is the beginning of the sessions {first} and {second}: give more of it"
            ))),
            _ => Ok(beginning.to_owned()),
        }
    }

    /// The newest days on which something that is wanted was remembered, the last first.
    pub fn timeline(&mut self, wanted: &Wanted, days: usize) -> Result<Vec<Day>, ToolError> {
        let rows = self.newest_days(wanted, days)?;
        let mut by_day: BTreeMap<NaiveDate, Vec<Row>> = BTreeMap::new();
        for row in rows {
            by_day.entry(row.memory.at.date()).or_default().push(row);
        }
        by_day.into_iter().rev().take(days).map(|(date, rows)| self.day(date, rows, wanted)).collect()
    }

    /// The memories of at least so many days, the newest first: the last day may be there in part only where it is one too many.
    fn newest_days(&mut self, wanted: &Wanted, days: usize) -> Result<Vec<Row>, ToolError> {
        let mut limit = PAGE;
        let filters = wanted.filters();
        let filter = if let [only] = &filters[..] { only } else { &wanted.filter };
        loop {
            let rows = self.list(filter, limit)?;
            let is_all = rows.len() < limit;
            let rows: Vec<Row> = rows.into_iter().filter(|row| wanted.admits(row)).collect();
            // Days of two places may be mixed at their ends; a day more than needed is whole either way.
            let mut dates: Vec<NaiveDate> = rows.iter().map(|row| row.memory.at.date()).collect();
            dates.sort_unstable();
            dates.dedup();
            if is_all || dates.len() > days.saturating_add(1) {
                return Ok(rows);
            }
            limit = limit.saturating_mul(4);
        }
    }

    fn day(&mut self, date: NaiveDate, rows: Vec<Row>, wanted: &Wanted) -> Result<Day, ToolError> {
        let mut day = Day { date, memories: rows.len(), visits: Vec::new(), noted: Vec::new() };
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        // They come newest first.
        for row in rows.into_iter().rev() {
            if !row.memory.session_id.is_empty() {
                let place = *places.entry(row.memory.session_id.clone()).or_insert_with(|| {
                    day.visits.push(Visit::begun_by(&row));
                    day.visits.len() - 1
                });
                day.visits[place].take_in(&row);
            }
            if !row.memory.kind.is_session_data() {
                day.noted.push(row);
            }
        }
        for visit in &mut day.visits {
            let session = self.mending(|engine| Ok(engine.store.rows().session(&visit.session_id)?))?;
            visit.title = session.and_then(|session| session.title);
            if wanted.is_of_some() {
                self.widen(visit, date, wanted)?;
            }
        }
        Ok(day)
    }

    /// Counts what a session did on a day in all: of the memories that are wanted alone, its prompts and files would be told wrong.
    fn widen(&mut self, visit: &mut Visit, date: NaiveDate, wanted: &Wanted) -> Result<(), ToolError> {
        let Filter { since, until, .. } = wanted.filter.clone();
        let filter = Filter { session_id: Some(visit.session_id.clone()), since, until, ..Filter::default() };
        let rows = self.list(&filter, usize::MAX)?;
        let mut whole: Option<Visit> = None;
        for row in rows.iter().rev().filter(|row| row.memory.at.date() == date) {
            whole.get_or_insert_with(|| Visit::begun_by(row)).take_in(row);
        }
        if let Some(whole) = whole {
            *visit = Visit { title: visit.title.take(), memories: visit.memories, ..whole };
        }
        Ok(())
    }
}

impl Visit {
    fn begun_by(row: &Row) -> Self {
        Self {
            session_id: row.memory.session_id.clone(),
            title: None,
            from: row.memory.at,
            to: row.memory.at,
            prompts: 0,
            errors: 0,
            memories: 0,
            files: Vec::new(),
        }
    }

    fn take_in(&mut self, row: &Row) {
        self.to = self.to.max(row.memory.at);
        self.memories += 1;
        self.prompts += usize::from(row.memory.kind == MemoryType::UserPrompt);
        self.errors += usize::from(row.memory.kind == MemoryType::Error);
        if row.memory.kind == MemoryType::ToolUsage {
            for file in tool_usage::files(&row.memory.content) {
                if !self.files.iter().any(|known| known == file) {
                    self.files.push(file.to_owned());
                }
            }
        }
    }
}

/// Whether a file is the wanted one or lies in the wanted folder.
fn is_in(file: &str, wanted: &str) -> bool {
    file.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
