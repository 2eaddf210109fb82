//! Lists memories, sessions and tasks.

use std::path::Path;

use chrono::NaiveDateTime;
use schema::log::LONG_TERM_FILE;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::store::{MemoryFilter, MemoryRow, SessionRow};
use schema::tool::{Hit, SearchInput};
use tools::engine::{Engine, HistoryFilter, Task, TaskState};
use tools::error::ToolError;

use super::super::message::{FindRequest, ItemKind, ListItem, ListKind, MAX_ITEMS};
use crate::cli::sessions::{render_counts, session_title};
use crate::cli::terminal_text::{format_age, one_line};

/// The engine's maximum number of hits.
const MAX_HITS: i64 = 50;

/// Newest memories to check for incomplete words.
const MAX_SCANNED: usize = 5_000;

/// Maximum characters of an item's text.
const LINE: usize = 400;

/// Characters before the first match, if it is far from the beginning of a text.
const BEFORE_MATCH: usize = 60;

/// The items of a list, and a notice if there are none.
type FoundItems = (Vec<ListItem>, Option<String>);

pub(super) fn find_items(engine: &mut Engine, request: &FindRequest) -> Result<FoundItems, ToolError> {
    match request.list {
        ListKind::Memories => find_memories(engine, request),
        ListKind::Sessions => Ok((find_sessions(engine, request)?, None)),
        ListKind::Tasks => Ok((find_tasks(engine, request)?, None)),
    }
}

/// The words of a query, which a text contains in any order and case.
struct SubstringQuery(Vec<String>);

impl SubstringQuery {
    fn new(query: &str) -> Self {
        Self(query.split_whitespace().map(str::to_lowercase).collect())
    }

    fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.iter().all(|word| text.contains(word))
    }

    /// The part of a long text around the first match, on one line.
    fn excerpt(&self, content: &str) -> String {
        let lower = content.to_lowercase();
        let first = self.0.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or_default();
        let before = lower[..first].chars().count();
        let skipped = if before > LINE / 2 { before - BEFORE_MATCH } else { 0 };
        let mark = if skipped > 0 { "…" } else { "" };
        let part: String = content.chars().skip(skipped).take(LINE).collect();
        one_line(&format!("{mark}{part}"))
    }
}

fn find_memories(engine: &mut Engine, request: &FindRequest) -> Result<FoundItems, ToolError> {
    let query = SubstringQuery::new(&request.query);
    let FindRequest { query: text, kind, since, session, .. } = request;
    let since_utc = since.as_ref().map(Moment::utc);
    let filter = MemoryFilter { kind: *kind, since: since_utc, session_id: session.clone(), ..MemoryFilter::default() };
    let wanted = HistoryFilter { filter, ..HistoryFilter::default() };
    let now = Moment::now();
    let item = |row: &MemoryRow| ListItem::from_row(row, &query, &now);
    if text.is_empty() {
        return Ok((engine.list_history(&wanted, MAX_ITEMS)?.iter().map(item).collect(), None));
    }
    let input = SearchInput {
        query: text.clone(),
        kind: *kind,
        since: since.as_ref().map(Moment::rfc3339),
        session_id: session.clone(),
        max_results: Some(MAX_HITS),
        max_tokens: Some(i64::from(u16::MAX)),
        ..SearchInput::default()
    };
    let output = engine.search(&input)?;
    let mut items: Vec<ListItem> = output.results.iter().map(|hit| ListItem::from_hit(hit, &now)).collect();
    // Incomplete words are found by comparing letters.
    for row in engine.list_history(&wanted, MAX_SCANNED)?.iter().filter(|row| query.matches(&row.memory.content)) {
        if items.len() >= MAX_ITEMS {
            break;
        }
        if !items.iter().any(|item| item.id == row.memory.id.as_str()) {
            items.push(item(row));
        }
    }
    let notice = output.notice.filter(|_| items.is_empty());
    Ok((items, notice))
}

fn find_sessions(engine: &mut Engine, request: &FindRequest) -> Result<Vec<ListItem>, ToolError> {
    let query = SubstringQuery::new(&request.query);
    let since = request.since.as_ref().map(Moment::utc);
    let wanted =
        HistoryFilter { filter: MemoryFilter { since, ..MemoryFilter::default() }, ..HistoryFilter::default() };
    let now = Moment::now();
    let sessions = engine.sessions(&wanted, usize::MAX)?.into_iter();
    let is_meant = |session: &SessionRow| {
        let SessionRow { title, summary, files, .. } = session;
        let files = files.join(" ");
        let parts = [title.as_deref(), summary.as_deref(), Some(files.as_str())].map(Option::unwrap_or_default);
        query.matches(&parts.join(" "))
    };
    Ok(sessions.filter(is_meant).take(MAX_ITEMS).map(|session| ListItem::from_session(&session, &now)).collect())
}

/// Open tasks first.
fn find_tasks(engine: &mut Engine, request: &FindRequest) -> Result<Vec<ListItem>, ToolError> {
    let query = SubstringQuery::new(&request.query);
    let now = Moment::now();
    let is_meant = |task: &Task| {
        query.matches(&task.row.memory.content)
            && request.since.is_none_or(|since| task.row.memory.at.unix() >= since.unix())
    };
    let tasks = engine.tasks()?.into_iter().filter(is_meant);
    let mut items: Vec<ListItem> = tasks.map(|task| ListItem::from_task(&task, &query, &now)).collect();
    items.sort_by_key(|item| item.is_done);
    items.truncate(MAX_ITEMS);
    Ok(items)
}

impl ListItem {
    fn from_row(row: &MemoryRow, query: &SubstringQuery, now: &Moment) -> Self {
        Self {
            id: row.memory.id.to_string(),
            kind: ItemKind::Memory(row.memory.kind),
            age: format_age(row.memory.at.unix(), now.unix()),
            label: row.memory.kind.to_string(),
            text: query.excerpt(&row.memory.content),
            is_pinned: row.memory.attributes.pinned,
            is_superseded: row.superseded_by.is_some(),
            is_long_term: row.path == LONG_TERM_FILE,
            is_done: row.memory.kind == MemoryType::Task && !row.is_open_task(),
        }
    }

    fn from_task(task: &Task, query: &SubstringQuery, now: &Moment) -> Self {
        let label = match &task.state {
            TaskState::Open => "open",
            TaskState::Blocked(_) => "blocked",
            TaskState::Done(_) => "done",
        };
        Self { label: label.to_owned(), ..Self::from_row(&task.row, query, now) }
    }

    fn from_session(session: &SessionRow, now: &Moment) -> Self {
        Self {
            id: session.id.clone(),
            kind: ItemKind::Session,
            age: format_age(session.ended.unix(), now.unix()),
            label: render_counts(session.prompts, session.errors),
            text: session_title(session.title.as_deref()),
            is_pinned: false,
            is_superseded: false,
            is_long_term: false,
            is_done: false,
        }
    }

    fn from_hit(hit: &Hit, now: &Moment) -> Self {
        let has = |flag: &str| hit.flags.iter().any(|known| known == flag);
        let place = Path::new(&hit.path).file_name().map(|name| name.to_string_lossy().into_owned());
        let text = match (hit.kind, place) {
            (None, Some(place)) => format!("{place}: {}", hit.snippet),
            _ => hit.snippet.clone(),
        };
        Self {
            id: hit.id.clone(),
            kind: hit.kind.map_or(ItemKind::Note, ItemKind::Memory),
            age: hit.date.as_deref().map(|date| age_of_date(date, now)).unwrap_or_default(),
            label: hit.kind.map_or_else(|| "note".to_owned(), |kind| kind.to_string()),
            text: one_line(&text),
            is_pinned: has("pinned"),
            is_superseded: has("superseded"),
            is_long_term: has("long_term"),
            is_done: has("done"),
        }
    }
}

/// The age of a local date, with or without a time.
fn age_of_date(date: &str, now: &Moment) -> String {
    let at = NaiveDateTime::parse_from_str(date, "%Y-%m-%d %H:%M:%S").ok();
    let at = at.or_else(|| date.parse::<chrono::NaiveDate>().ok()?.and_hms_opt(0, 0, 0));
    let at = at.map(|at| Moment::from_local_unknown(at.date(), at.time()));
    at.map(|at| format_age(at.unix(), now.unix())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_match_is_in_the_excerpt() {
        let text = format!("{}Falcon flies {}", "word ".repeat(300), "more ".repeat(300));
        let query = SubstringQuery::new("FALCON");
        let excerpt = query.excerpt(&text);
        assert!(excerpt.starts_with('…') && excerpt.contains("Falcon flies"), "{excerpt}");
        assert!(excerpt.chars().count() <= LINE + 1);
        assert_eq!(query.excerpt("a Falcon\nflies"), "a Falcon flies");
        assert!(query.matches("the falcon") && !SubstringQuery::new("falcon eagle").matches("the falcon"));
    }
}
