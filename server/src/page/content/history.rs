//! Days, sessions and tasks.

use std::collections::{BTreeMap, HashSet};

use chrono::{Datelike as _, Days, NaiveDate, NaiveTime, TimeDelta};
use schema::host::session_record::SessionRecord;
use schema::log::LogKind;
use schema::model::moment::Moment;
use schema::privacy::output_text::clean_line;
use schema::store::{MemoryFilter, SessionRow};
use serde::Serialize;
use tools::engine::{Engine, HistoryFilter, TaskState, TimelineDay};
use tools::error::ToolError;

use super::{MemoryItem, minute};

/// Days on a page, conclusions of a day, weeks in the map of days, sessions on a page, and memories of a session.
const DAYS: usize = 14;
const CONCLUSIONS: usize = 24;
const WEEKS: i64 = 53;
const SESSIONS: usize = 100;
const MEMORIES: usize = 400;

/// The newest tasks that are read, and open and finished ones on a page.
const TASKS: usize = 2_000;
const OPEN: usize = 300;
const DONE: usize = 50;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct Timeline {
    pub(in crate::page) days: Vec<Day>,
    /// The number of memories of each day of the last year with any.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(in crate::page) counts: BTreeMap<NaiveDate, u64>,
    /// The first day of the map, a Monday.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(in crate::page) first: NaiveDate,
    /// The day before which there may be more.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(in crate::page) before: Option<NaiveDate>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct Day {
    #[cfg_attr(test, schemars(with = "String"))]
    pub(in crate::page) date: NaiveDate,
    pub(in crate::page) memories: usize,
    pub(in crate::page) sessions: Vec<DaySession>,
    pub(in crate::page) conclusions: Vec<MemoryItem>,
    /// Conclusions that are not listed.
    pub(in crate::page) more: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct DaySession {
    pub(in crate::page) id: String,
    pub(in crate::page) title: Option<String>,
    pub(in crate::page) from: String,
    pub(in crate::page) to: String,
    pub(in crate::page) prompts: usize,
    pub(in crate::page) errors: usize,
    pub(in crate::page) files: Vec<String>,
}

/// The last days until `before`, or until now.
pub(in crate::page) fn timeline(
    engine: &mut Engine,
    before: Option<NaiveDate>,
    hidden: &HashSet<String>,
) -> Result<Timeline, ToolError> {
    // A day is that of the memory's time zone, so a day more is read at each end.
    let until = before.and_then(|day| day.checked_add_days(Days::new(1)));
    let until = until.map(|day| Moment::from_local_unknown(day, NaiveTime::MIN).utc());
    let wanted =
        HistoryFilter { filter: MemoryFilter { until, ..MemoryFilter::default() }, ..HistoryFilter::default() };
    let mut found = engine.timeline(&wanted, DAYS + 2)?;
    found.retain(|day| before.is_none_or(|before| day.date < before));
    found.truncate(DAYS);
    let today = Moment::now().date();
    let first = today - TimeDelta::weeks(WEEKS - 1);
    let first = first - TimeDelta::days(i64::from(first.weekday().num_days_from_monday()));
    let mut counts = BTreeMap::new();
    for (path, count) in engine.store().rows().count_by_path()? {
        if let Some(LogKind::Daily(day)) = LogKind::from_path(&path)
            && (first..=today).contains(&day)
        {
            *counts.entry(day).or_default() += count;
        }
    }
    let before = (found.len() == DAYS).then(|| found.last().map(|day| day.date)).flatten();
    let days = found.into_iter().map(|day| Day::new(day, hidden)).collect();
    Ok(Timeline { days, counts, first, before })
}

impl Day {
    fn new(day: TimelineDay, hidden: &HashSet<String>) -> Self {
        let sessions = day.sessions.into_iter().map(|session| DaySession {
            id: session.session_id,
            title: session.title.as_deref().map(clean_line),
            from: session.from.time()[..5].to_owned(),
            to: session.to.time()[..5].to_owned(),
            prompts: session.prompts,
            errors: session.errors,
            files: session.files.iter().map(|file| clean_line(file)).collect(),
        });
        let conclusions = day.conclusions.iter().filter(|row| !hidden.contains(row.memory.id.as_str()));
        Self {
            date: day.date,
            memories: day.memories,
            sessions: sessions.collect(),
            conclusions: conclusions.clone().take(CONCLUSIONS).map(MemoryItem::of_row).collect(),
            more: conclusions.count().saturating_sub(CONCLUSIONS),
        }
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct SessionItem {
    pub(in crate::page) id: String,
    pub(in crate::page) title: Option<String>,
    pub(in crate::page) started: String,
    /// Seconds.
    pub(in crate::page) duration: u64,
    pub(in crate::page) prompts: u64,
    pub(in crate::page) errors: u64,
    pub(in crate::page) memories: u64,
    pub(in crate::page) files: Vec<String>,
    pub(in crate::page) branch: Option<String>,
}

impl SessionItem {
    fn of_row(session: &SessionRow) -> Self {
        let branch = session.details.get("branch").and_then(serde_json::Value::as_str);
        Self {
            id: session.id.clone(),
            title: session.title.as_deref().map(clean_line),
            started: minute(&session.started),
            duration: session.duration(),
            prompts: session.prompts,
            errors: session.errors,
            memories: session.memories,
            files: session.files.iter().map(|file| clean_line(file)).collect(),
            branch: branch.map(clean_line),
        }
    }
}

/// The last sessions.
pub(in crate::page) fn sessions(engine: &mut Engine) -> Result<Vec<SessionItem>, ToolError> {
    Ok(engine.last_sessions(SESSIONS)?.iter().map(SessionItem::of_row).collect())
}

/// One session: what came of it, what it left open, and its memories in order.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct OpenedSession {
    #[serde(flatten)]
    pub(in crate::page) session: SessionItem,
    pub(in crate::page) outcome: Option<String>,
    pub(in crate::page) open_steps: Vec<String>,
    /// Failures, and what resolved them, which may be unknown.
    pub(in crate::page) failures: Vec<(String, Option<String>)>,
    pub(in crate::page) memories: Vec<MemoryItem>,
    /// Whether only the last memories are listed.
    pub(in crate::page) is_cut: bool,
}

pub(in crate::page) fn session(
    engine: &mut Engine,
    id: &str,
    hidden: &HashSet<String>,
) -> Result<OpenedSession, ToolError> {
    let id = engine.resolve_session_id(id)?;
    let missing = || ToolError::NotFound(format!("there is no session with the id {id:?}"));
    let session = engine.store().rows().session(&id)?.ok_or_else(missing)?;
    let record = SessionRecord::compose(engine.store().rows(), &id)?;
    let filter = MemoryFilter { session_id: Some(id), ..MemoryFilter::default() };
    let mut rows = engine.list(&filter, MEMORIES)?;
    rows.reverse();
    let is_cut = session.memories > MEMORIES as u64;
    let memories = rows.iter().map(MemoryItem::of_row);
    let failures = record.iter().flat_map(|record| &record.failures);
    Ok(OpenedSession {
        session: SessionItem::of_row(&session),
        outcome: record.as_ref().and_then(|record| Some(record.outcome.as_ref()?.0.clone())),
        open_steps: record.iter().flat_map(|record| &record.open_steps).cloned().collect(),
        failures: failures.map(|failure| (failure.text.clone(), failure.resolved_by.clone())).collect(),
        memories: memories.filter(|memory| !hidden.contains(&memory.id)).collect(),
        is_cut,
    })
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::page) struct TaskItem {
    #[serde(flatten)]
    pub(in crate::page) memory: MemoryItem,
    pub(in crate::page) is_done: bool,
    /// The event that it waits for.
    pub(in crate::page) waits_for: Option<String>,
    /// The id of a memory, or words, by which it was closed.
    pub(in crate::page) done_by: Option<String>,
}

/// The newest tasks, open ones first.
pub(in crate::page) fn tasks(engine: &mut Engine, hidden: &HashSet<String>) -> Result<Vec<TaskItem>, ToolError> {
    let task = |task: tools::engine::Task| {
        let (is_done, waits_for, done_by) = match task.state {
            TaskState::Open => (false, None, None),
            TaskState::Blocked(by) => (false, Some(clean_line(&by)), None),
            TaskState::Done(by) => (true, None, by.as_deref().map(clean_line)),
        };
        TaskItem { memory: MemoryItem::of_row(&task.row), is_done, waits_for, done_by }
    };
    let tasks = engine.newest_tasks(TASKS)?.into_iter().filter(|task| !hidden.contains(task.row.memory.id.as_str()));
    let (done, open): (Vec<_>, Vec<_>) = tasks.partition(|task| matches!(task.state, TaskState::Done(_)));
    Ok(open.into_iter().take(OPEN).chain(done.into_iter().take(DONE)).map(task).collect())
}
