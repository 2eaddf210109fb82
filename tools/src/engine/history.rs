//! History: memories in order, sessions and days.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use schema::files::layout::STORE_DIR;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::model::tool_usage;
use schema::store::{MemoryFilter, MemoryRow, SessionRow};

use super::Engine;
use crate::error::ToolError;

/// Memories per read while going back through the days.
const PAGE: usize = 2_000;

/// A filter; an empty field matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    pub filter: MemoryFilter,
    /// Any of these types.
    pub kinds: Vec<MemoryType>,
    /// A file or folder of the project: memories that changed or name it.
    pub file: Option<String>,
}

impl HistoryFilter {
    fn admits(&self, row: &MemoryRow) -> bool {
        self.file.as_ref().is_none_or(|file| row.memory.content.contains(file.as_str()))
            && (self.kinds.is_empty() || self.kinds.contains(&row.memory.kind))
    }

    /// Whether the filter may match only a part of a session's memories.
    fn narrows_memories(&self) -> bool {
        !self.kinds.is_empty() || self.file.is_some() || self.filter.path.is_some() || self.filter.kind.is_some()
    }

    /// One store filter per type.
    fn store_filters(&self) -> Vec<MemoryFilter> {
        let of = |kind: &MemoryType| MemoryFilter { kind: Some(*kind), ..self.filter.clone() };
        let mut kinds = self.kinds.clone();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() { vec![self.filter.clone()] } else { kinds.iter().map(of).collect() }
    }
}

/// A day with memories, in the local calendar of each memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineDay {
    pub date: NaiveDate,
    pub memories: usize,
    /// In order of their start.
    pub sessions: Vec<SessionDay>,
    /// Conclusions, in order.
    pub conclusions: Vec<MemoryRow>,
}

/// A session's work on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDay {
    pub session_id: String,
    pub title: Option<String>,
    pub from: Moment,
    pub to: Moment,
    pub prompts: usize,
    pub errors: usize,
    /// Only these are filtered; the other fields count all of the session's work.
    pub memories: usize,
    pub files: Vec<String>,
}

impl Engine {
    /// Limits the filter to a path: a file of the store, or else one of the project.
    pub fn narrow_to_path(&self, wanted: &mut HistoryFilter, path: &str) -> Result<(), ToolError> {
        let given = path.trim().replace('\\', "/");
        let plain = given.trim_start_matches("./").trim_end_matches('/');
        if plain.is_empty() {
            return Err(ToolError::Invalid("path is empty: name a file or folder".to_owned()));
        }
        match plain.strip_prefix(STORE_DIR) {
            Some(inside) => wanted.filter.path = Some(inside.trim_start_matches('/').to_owned()),
            None if plain.ends_with(".md") && self.store.layout().store_path(plain).exists() => {
                wanted.filter.path = Some(plain.to_owned());
            }
            None => wanted.file = Some(plain.to_owned()),
        }
        Ok(())
    }

    /// The newest matching memories.
    pub fn list_history(&mut self, wanted: &HistoryFilter, limit: usize) -> Result<Vec<MemoryRow>, ToolError> {
        let reach = if wanted.file.is_none() { limit } else { usize::MAX };
        let mut rows = Vec::new();
        for filter in wanted.store_filters() {
            rows.extend(self.list(&filter, reach)?);
        }
        rows.sort_by_key(|row| std::cmp::Reverse((row.memory.at.unix(), row.seq)));
        Ok(rows.into_iter().filter(|row| wanted.admits(row)).take(limit).collect())
    }

    /// Number of matching memories.
    pub fn count_history(&mut self, wanted: &HistoryFilter) -> Result<u64, ToolError> {
        if wanted.file.is_some() {
            return Ok(self.list_history(wanted, usize::MAX)?.len() as u64);
        }
        let filters = wanted.store_filters();
        self.read_rows(|rows| filters.iter().map(|filter| rows.count_listed(filter)).sum())
    }

    /// Sessions in a time range, the last first. A file selects the sessions that changed it; types or a log select those
    /// with such memories.
    pub fn sessions(&mut self, wanted: &HistoryFilter, limit: usize) -> Result<Vec<SessionRow>, ToolError> {
        let with_some = self.session_ids_matching(wanted)?;
        let MemoryFilter { session_id, since, until, .. } = &wanted.filter;
        let sessions = self.read_rows(|rows| rows.sessions(since.as_deref(), until.as_deref()))?;
        let is_wanted = |session: &SessionRow| {
            session_id.as_ref().is_none_or(|id| *id == session.id)
                && with_some.as_ref().is_none_or(|ids| ids.contains(&session.id))
                && wanted
                    .file
                    .as_ref()
                    .is_none_or(|file| session.files.iter().any(|changed| is_in_folder(changed, file)))
        };
        Ok(sessions.into_iter().filter(is_wanted).take(limit).collect())
    }

    /// The last sessions, without reading the others.
    pub fn last_sessions(&mut self, limit: usize) -> Result<Vec<SessionRow>, ToolError> {
        self.read_rows(|rows| {
            let ids = rows.last_sessions("", limit)?;
            ids.iter().filter_map(|id| rows.session(id).transpose()).collect()
        })
    }

    /// The ids of the last sessions.
    pub fn last_session_ids(&mut self, limit: usize) -> Result<Vec<String>, ToolError> {
        self.read_rows(|rows| rows.last_sessions("", limit))
    }

    /// Sessions with a memory of the filter's types or log; `None` if the filter has neither.
    fn session_ids_matching(&mut self, wanted: &HistoryFilter) -> Result<Option<BTreeSet<String>>, ToolError> {
        if wanted.kinds.is_empty() && wanted.filter.path.is_none() {
            return Ok(None);
        }
        let rows = self.list_history(&HistoryFilter { file: None, ..wanted.clone() }, usize::MAX)?;
        Ok(Some(rows.into_iter().map(|row| row.memory.session_id).collect()))
    }

    /// The newest days with a matching memory, the last first.
    pub fn timeline(&mut self, wanted: &HistoryFilter, days: usize) -> Result<Vec<TimelineDay>, ToolError> {
        let rows = self.newest_days(wanted, days)?;
        let mut by_day: BTreeMap<NaiveDate, Vec<MemoryRow>> = BTreeMap::new();
        for row in rows {
            by_day.entry(row.memory.at.date()).or_default().push(row);
        }
        by_day.into_iter().rev().take(days).map(|(date, rows)| self.summarize_day(date, rows, wanted)).collect()
    }

    /// Memories of at least this many days, the newest first. Only a surplus day may be incomplete.
    fn newest_days(&mut self, wanted: &HistoryFilter, days: usize) -> Result<Vec<MemoryRow>, ToolError> {
        let mut limit = PAGE;
        let filters = wanted.store_filters();
        let filter = if let [only] = &filters[..] { only } else { &wanted.filter };
        loop {
            let rows = self.list(filter, limit)?;
            let is_all = rows.len() < limit;
            let rows: Vec<MemoryRow> = rows.into_iter().filter(|row| wanted.admits(row)).collect();
            // Days of two time zones may interleave, so one day more than needed is read.
            let mut dates: Vec<NaiveDate> = rows.iter().map(|row| row.memory.at.date()).collect();
            dates.sort_unstable();
            dates.dedup();
            if is_all || dates.len() > days.saturating_add(1) {
                return Ok(rows);
            }
            limit = limit.saturating_mul(4);
        }
    }

    fn summarize_day(
        &mut self,
        date: NaiveDate,
        rows: Vec<MemoryRow>,
        wanted: &HistoryFilter,
    ) -> Result<TimelineDay, ToolError> {
        let mut day = TimelineDay { date, memories: rows.len(), sessions: Vec::new(), conclusions: Vec::new() };
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        // Rows come newest first.
        for row in rows.into_iter().rev() {
            if !row.memory.session_id.is_empty() {
                let place = *places.entry(row.memory.session_id.clone()).or_insert_with(|| {
                    day.sessions.push(SessionDay::from_row(&row));
                    day.sessions.len() - 1
                });
                day.sessions[place].add_row(&row);
            }
            if !row.memory.kind.is_event() {
                day.conclusions.push(row);
            }
        }
        for visit in &mut day.sessions {
            let session = self.read_rows(|rows| rows.session(&visit.session_id))?;
            visit.title = session.and_then(|session| session.title);
            if wanted.narrows_memories() {
                self.add_session_totals(visit, date, wanted)?;
            }
        }
        Ok(day)
    }

    /// Counts all of a session's work on a day, because matching memories alone would give wrong prompts and files.
    fn add_session_totals(
        &mut self,
        visit: &mut SessionDay,
        date: NaiveDate,
        wanted: &HistoryFilter,
    ) -> Result<(), ToolError> {
        let MemoryFilter { since, until, .. } = wanted.filter.clone();
        let filter =
            MemoryFilter { session_id: Some(visit.session_id.clone()), since, until, ..MemoryFilter::default() };
        let rows = self.list(&filter, usize::MAX)?;
        let mut whole: Option<SessionDay> = None;
        for row in rows.iter().rev().filter(|row| row.memory.at.date() == date) {
            whole.get_or_insert_with(|| SessionDay::from_row(row)).add_row(row);
        }
        if let Some(whole) = whole {
            *visit = SessionDay { title: visit.title.take(), memories: visit.memories, ..whole };
        }
        Ok(())
    }
}

impl SessionDay {
    fn from_row(row: &MemoryRow) -> Self {
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

    fn add_row(&mut self, row: &MemoryRow) {
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

/// Whether a file is the wanted one, or is in the wanted folder.
fn is_in_folder(file: &str, wanted: &str) -> bool {
    file.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
