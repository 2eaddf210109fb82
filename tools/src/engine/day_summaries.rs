//! Summaries of old days, composed of what their memories say. They are memories of their own, and go with the memories that they quote.

use std::collections::BTreeSet;

use chrono::{Days, NaiveDate, NaiveTime};
use schema::intake::capture::{CaptureOutcome, capture};
use schema::intake::forget::forget_rows;
use schema::intake::prepare::Draft;
use schema::model::memory::{DAY, MemoryAttributes, MemoryType};
use schema::model::moment::Moment;
use schema::prose::gist::shortened;
use schema::settings;
use schema::store::{MemoryFilter, MemoryRow, forgotten};
use serde_json::{Map, Value};

use super::Engine;
use super::history::{HistoryFilter, TimelineDay};
use crate::error::ToolError;

/// Meta key: the day on which days were last summarised.
const LAST: &str = "days_summarised_on";

/// The most days that are summarised at once, because events wait meanwhile. The next day goes on.
const MOST_AT_ONCE: usize = 20;

/// The age of the oldest days that are summarised, in days.
const MOST_AGE: u32 = 1_000;

/// The longest title of a session and the longest conclusion in a summary, in characters, and how many of each it has.
const LINE: usize = 100;
const MOST_LINES: usize = 8;

/// The metadata field with the ids of the memories that a summary is about, and how many it has.
const ENTRIES: &str = "entries";
const MOST_ENTRIES: usize = 40;

/// The parts of a summary, in their order.
const PARTS: [(&str, &[MemoryType]); 4] = [
    ("Decided", &[MemoryType::Decision, MemoryType::Convention, MemoryType::Architecture, MemoryType::Pattern]),
    ("Learned", &[MemoryType::Learning, MemoryType::Preference]),
    ("Fixed", &[MemoryType::ErrorFix]),
    ("Planned", &[MemoryType::Task]),
];

impl Engine {
    /// Adds missing summaries of days that are older than the settings say, at most once a day, and returns their number. Summaries with an
    /// entry that was deleted or replaced since are composed again.
    pub fn summarise_days_daily(&mut self, now: &Moment) -> Result<usize, ToolError> {
        let settings = settings::load(self.store.layout()).settings;
        let Some(age) = settings.day_summary_after.filter(|_| settings.capture) else { return Ok(0) };
        if !self.begin_daily(LAST, now)? {
            return Ok(0);
        }
        // Older days would be cleaned up again.
        let oldest = settings.gc_older_than.unwrap_or(MOST_AGE).min(MOST_AGE);
        let days_ago = |days: u32| now.date().checked_sub_days(Days::new(days.into()));
        let Some((from, before)) = days_ago(oldest).zip(days_ago(age)) else { return Ok(0) };
        self.summarise_days(from, before)
    }

    /// Adds the missing summaries of the days in a range, the newest first.
    fn summarise_days(&mut self, from: NaiveDate, before: NaiveDate) -> Result<usize, ToolError> {
        let mut known = Vec::new();
        let mut outdated = Vec::new();
        for row in self.day_summaries()? {
            if self.is_outdated(&row)? { outdated.push(row) } else { known.push(row.memory.at.date()) }
        }
        self.with_repair(|engine| Ok(forget_rows(&mut engine.store, &outdated).map(drop)?))?;
        let days = from.iter_days().take_while(|day| *day < before).collect::<Vec<_>>().into_iter().rev();
        let mut count = 0;
        for date in days.filter(|date| !known.contains(date)) {
            let Some(draft) = self.day(date)?.as_ref().and_then(draft_of) else { continue };
            if forgotten::is_forgotten(self.store.layout(), &draft.content)? {
                continue;
            }
            let saved =
                self.with_repair(|engine| Ok(capture(&mut engine.store, draft.clone(), &engine.loaded.sanitizer)?))?;
            count += usize::from(matches!(saved, Some(CaptureOutcome::Saved { .. })));
            if count == MOST_AT_ONCE {
                break;
            }
        }
        Ok(count)
    }

    /// The memories of a day, if there are any.
    fn day(&mut self, date: NaiveDate) -> Result<Option<TimelineDay>, ToolError> {
        let bound = |day: Option<NaiveDate>| day.map(|day| Moment::from_local_unknown(day, NaiveTime::MIN).utc());
        // The memories of a day may have any offset from UTC.
        let (since, until) = (bound(date.pred_opt()), bound(date.checked_add_days(Days::new(2))));
        let wanted = HistoryFilter {
            filter: MemoryFilter { since, until, ..MemoryFilter::default() },
            ..HistoryFilter::default()
        };
        Ok(self.timeline(&wanted, 4)?.into_iter().find(|day| day.date == date))
    }

    fn day_summaries(&mut self) -> Result<Vec<MemoryRow>, ToolError> {
        let filter = MemoryFilter { kind: Some(MemoryType::SessionSummary), ..MemoryFilter::default() };
        let mut rows = self.list(&filter, usize::MAX)?;
        rows.retain(|row| row.memory.is_day_summary());
        Ok(rows)
    }

    /// Whether an entry of a summary was deleted or replaced.
    fn is_outdated(&mut self, summary: &MemoryRow) -> Result<bool, ToolError> {
        let ids =
            summary.memory.attributes.metadata.get(ENTRIES).and_then(Value::as_array).cloned().unwrap_or_default();
        for id in ids.iter().filter_map(Value::as_str) {
            if self.peek(id)?.is_none_or(|row| row.superseded_by.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes the summaries that may quote some memories: those of all days of their sessions, and of their own days.
    pub(super) fn forget_day_summaries(&mut self, of: &[MemoryRow]) -> Result<(), ToolError> {
        let summaries = self.day_summaries()?;
        if summaries.is_empty() {
            return Ok(());
        }
        let mut days: BTreeSet<NaiveDate> = of.iter().map(|row| row.memory.at.date()).collect();
        let sessions: BTreeSet<&str> = of.iter().map(|row| row.memory.session_id.as_str()).collect();
        for session in sessions.into_iter().filter(|session| !session.is_empty()) {
            let filter = MemoryFilter { session_id: Some(session.to_owned()), ..MemoryFilter::default() };
            days.extend(self.list(&filter, usize::MAX)?.iter().map(|row| row.memory.at.date()));
        }
        let quoting: Vec<MemoryRow> =
            summaries.into_iter().filter(|row| days.contains(&row.memory.at.date())).collect();
        self.with_repair(|engine| Ok(forget_rows(&mut engine.store, &quoting).map(drop)?))
    }
}

/// Returns the summary of a day, or `None` if nothing of it has a title or is a conclusion.
fn draft_of(day: &TimelineDay) -> Option<Draft> {
    let line = |text: &str| shortened(text, LINE);
    let titles: Vec<String> =
        day.sessions.iter().filter_map(|session| session.title.as_deref()).map(line).take(MOST_LINES).collect();
    let stated: Vec<&MemoryRow> = day
        .conclusions
        .iter()
        .filter(|row| row.memory.kind != MemoryType::SessionSummary && row.superseded_by.is_none())
        .filter(|row| row.memory.kind != MemoryType::Task || row.is_open_task())
        .collect();
    let mut parts = Vec::new();
    for (name, kinds) in PARTS {
        let of_part = stated.iter().filter(|row| kinds.contains(&row.memory.kind));
        let lines: Vec<String> = of_part.map(|row| line(&row.memory.content)).take(MOST_LINES).collect();
        if !lines.is_empty() {
            parts.push(format!("{name}: {}", lines.join("; ")));
        }
    }
    let last = day.sessions.iter().map(|session| session.to).chain(stated.iter().map(|row| row.memory.at)).max()?;
    if titles.is_empty() && parts.is_empty() {
        return None;
    }
    let count = match day.sessions.len() {
        0 => String::new(),
        1 => ", 1 session".to_owned(),
        count => format!(", {count} sessions"),
    };
    let titles = if titles.is_empty() { String::new() } else { format!(": {}", titles.join("; ")) };
    parts.insert(0, format!("{}{count}{titles}", day.date));
    let ids = stated.iter().take(MOST_ENTRIES).map(|row| row.memory.id.as_str().into()).collect();
    let metadata =
        Map::from_iter([(DAY.to_owned(), day.date.to_string().into()), (ENTRIES.to_owned(), Value::Array(ids))]);
    Some(Draft {
        attributes: MemoryAttributes { metadata, auto: true, ..MemoryAttributes::default() },
        ..Draft::new("", MemoryType::SessionSummary, parts.join("\n"), last)
    })
}

#[cfg(test)]
mod tests {
    use schema::tool::SearchInput;
    use serde_json::json;

    use super::super::{ForgetExtent, OldDatabases, Selection};
    use super::*;
    use crate::control::Control;
    use crate::engine::tests::new_engine;

    fn save(engine: &mut Engine, kind: MemoryType, content: &str, day: u32) -> String {
        let at = NaiveDate::from_ymd_opt(2026, 4, day).unwrap().and_hms_opt(10, 0, 0).unwrap();
        let draft =
            Draft::new(format!("s{day}"), kind, content, Moment::from_unix(at.and_utc().timestamp(), Some(0)).unwrap());
        match capture(&mut engine.store, draft, &engine.loaded.sanitizer).unwrap().unwrap() {
            CaptureOutcome::Saved { id, .. } => id.to_string(),
            other => panic!("{content}: {other:?}"),
        }
    }

    fn summaries(engine: &mut Engine) -> Vec<MemoryRow> {
        let filter = MemoryFilter { kind: Some(MemoryType::SessionSummary), ..MemoryFilter::default() };
        engine.list(&filter, 10).unwrap()
    }

    #[test]
    fn old_days_get_one_summary_that_a_search_for_their_time_finds() {
        let (_project, mut engine) = new_engine();
        save(&mut engine, MemoryType::UserPrompt, "Where should the tokens live?", 3);
        let decision = save(&mut engine, MemoryType::Decision, "Cache the tokens in Redis", 3);
        save(&mut engine, MemoryType::Learning, "The proxy drops idle connections after a minute", 9);
        assert_eq!(summarise(&mut engine), 1);
        assert_eq!(summarise(&mut engine), 0, "one a day");
        let [summary] = &summaries(&mut engine)[..] else { panic!("one summary") };
        let text = "2026-04-03, 1 session: Where should the tokens live?\nDecided: Cache the tokens in Redis";
        assert_eq!((summary.memory.content.as_str(), summary.path.as_str()), (text, "2026-04-03.md"));
        assert_eq!(summary.memory.attributes.metadata["entries"], json!([decision]));
        engine.refresh(&mut Control::default()).unwrap();
        for question in ["What did we do in April 2026?", "what did we decide in spring 2026", "2026년 4월에 뭐 했지?"]
        {
            let input: SearchInput = serde_json::from_value(json!({ "query": question })).unwrap();
            let found = engine.search(&input).unwrap();
            assert_eq!(found.results[0].id, summary.memory.id.to_string(), "{question}: {:#?}", found.results);
        }
    }

    #[test]
    fn summary_goes_with_a_memory_that_it_repeats() {
        let (_project, mut engine) = new_engine();
        let decision = save(&mut engine, MemoryType::Decision, "Cache the tokens in Redis", 3);
        save(&mut engine, MemoryType::Decision, "Rate limits are per key", 3);
        summarise(&mut engine);
        let selected = engine.select(&Selection { ids: vec![decision], ..Selection::default() }).unwrap();
        engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Keep).unwrap();
        assert_eq!(summaries(&mut engine), []);
        assert_eq!(summarise(&mut engine), 1);
        assert!(!summaries(&mut engine)[0].memory.content.contains("Redis"));
    }

    #[test]
    fn summary_is_composed_again_after_an_edit_or_a_replacement() {
        let (_project, mut engine) = new_engine();
        let old = save(&mut engine, MemoryType::Decision, "Cache the tokens in Redis", 3);
        let new = save(&mut engine, MemoryType::Decision, "Cache the tokens in memory", 8);
        summarise(&mut engine);
        engine.supersede(&old, &new).unwrap();
        summarise(&mut engine);
        let texts = |engine: &mut Engine| -> String {
            summaries(engine).into_iter().map(|row| row.memory.content + "\n").collect()
        };
        assert!(!texts(&mut engine).contains("Redis"), "{}", texts(&mut engine));
        let row = engine.find_by_prefix(&new).unwrap();
        engine.edit_text(&row, "Cache the tokens in Valkey").unwrap();
        assert_eq!(summaries(&mut engine), []);
    }

    /// Summarises the days of a week, and returns how many got a summary.
    fn summarise(engine: &mut Engine) -> usize {
        let day = |day| NaiveDate::from_ymd_opt(2026, 4, day).unwrap();
        engine.summarise_days(day(2), day(9)).unwrap()
    }
}
