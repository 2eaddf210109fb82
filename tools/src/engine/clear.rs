//! Clearing up: what is old, or too much, goes by itself. Never what was decided, agreed or pinned, unless it is asked for.

use schema::daily_log::LogKind;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::settings;
use schema::store::Row;

use super::{Engine, Extent, OldDatabases, Selected, Selection};
use crate::error::ToolError;

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// Bytes that an entry takes in its log beside its text, about.
const AROUND: u64 = 40;

/// The day of the last clearing that came by itself.
const LAST: &str = "cleared_on";

/// What goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clearing {
    /// What is older than so many days.
    pub older_than: Option<u32>,
    /// The oldest, until the logs have at most so many bytes.
    pub keep_bytes: Option<u64>,
    /// Types that are spared otherwise.
    pub also: Vec<MemoryType>,
}

impl Engine {
    /// The memories that a clearing would take, oldest first.
    pub fn clearable(&mut self, clearing: &Clearing, now: &Moment) -> Result<Selected, ToolError> {
        let is_spared = |row: &Row| {
            let kind = row.memory.kind;
            row.memory.attributes.pinned
                || !matches!(LogKind::of(&row.path), Some(LogKind::Daily(_)))
                || kind.is_lasting() && !clearing.also.contains(&kind)
        };
        let mut rows = self.select(&Selection::default())?.rows;
        rows.retain(|row| !is_spared(row));
        let old = clearing.older_than.map(|days| now.unix() - i64::from(days) * DAY);
        let mut count = old.map_or(0, |old| rows.partition_point(|row| row.memory.at.unix() < old));
        if let Some(keep) = clearing.keep_bytes {
            let size = |row: &Row| row.memory.content.len() as u64 + AROUND;
            let mut left = self.bytes_of_logs().saturating_sub(rows[..count].iter().map(size).sum());
            while left > keep && count < rows.len() {
                left = left.saturating_sub(size(&rows[count]));
                count += 1;
            }
        }
        rows.truncate(count);
        Ok(Selected::of(rows))
    }

    /// Clears up as the settings say, once a day at most, and answers how many memories went.
    pub fn clear_daily(&mut self, now: &Moment) -> Result<usize, ToolError> {
        let settings = settings::load(self.store.layout()).settings;
        let clearing =
            Clearing { older_than: settings.gc_older_than, keep_bytes: settings.gc_keep_bytes, also: Vec::new() };
        let today = now.date().to_string();
        if clearing == Clearing::default()
            || !self.is_writable()
            || self.store.rows().meta(LAST)? == Some(today.clone())
        {
            return Ok(0);
        }
        // First, so that one that fails is not tried again all day.
        self.store.transact(|rows| rows.set_meta(LAST, &today))?;
        let selected = self.clearable(&clearing, now)?;
        if selected.rows.is_empty() {
            return Ok(0);
        }
        let cleared = self.forget(&selected, Extent::Memories, OldDatabases::Keep, &mut |_| {})?.memories;
        self.news.add(format!("{cleared} old memories were cleared, as the settings say"));
        Ok(cleared)
    }

    fn bytes_of_logs(&self) -> u64 {
        let layout = self.store.layout();
        let files = layout.markdown_files().unwrap_or_default().into_iter();
        let logs = files.filter(|path| matches!(LogKind::of(path), Some(LogKind::Daily(_))));
        logs.filter_map(|path| std::fs::metadata(layout.file(&path)).ok()).map(|metadata| metadata.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use schema::bulk::{Arrival, Bulk, Effect};
    use schema::capture::{Destination, Draft, prepare};
    use schema::memory::Attributes;
    use schema::screen::Screen;
    use schema::settings::Settings;

    use super::*;

    #[test]
    fn only_what_is_old_or_too_much_goes_and_never_what_is_to_stay() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = Engine::open_with(project.path(), None, &Settings::default()).unwrap();
        let now = Moment::from_unix(1_800_000_000, Some(0)).unwrap();
        let arrivals = (0..22).map(|n| {
            let draft = Draft {
                session_id: "s".to_owned(),
                kind: MemoryType::ALL[n % MemoryType::ALL.len()],
                content: format!("text {n} {}", "x".repeat(100)),
                at: Moment::from_unix(now.unix() - (n as i64 + 1) * 10 * DAY, Some(0)).unwrap(),
                attributes: Attributes { pinned: n == 12, ..Attributes::default() },
                destination: Destination::DailyLog,
            };
            Arrival { prepared: prepare(draft, &Screen::default()).unwrap(), exact: None }
        });
        let mut bulk = Bulk::new(&engine.store, Effect::Keep).unwrap();
        bulk.keep(&mut engine.store, arrivals.collect()).unwrap();
        engine.refresh().unwrap();
        let clearing =
            |older_than, keep_bytes, also: &[MemoryType]| Clearing { older_than, keep_bytes, also: also.to_vec() };
        let mut count = |clearing| engine.clearable(&clearing, &now).unwrap().rows.len();
        assert_eq!(count(clearing(None, None, &[])), 0);
        // Of the fifteen older than 75 days one is pinned and five are decisions, preferences and conventions.
        assert_eq!(count(clearing(Some(75), None, &[])), 15 - 1 - 5);
        assert_eq!(count(clearing(Some(75), None, &[MemoryType::Decision])), 15 - 1 - 4);
        assert_eq!(count(clearing(None, Some(0), &[])), 22 - 1 - 6);
        assert_eq!(count(clearing(None, Some(u64::MAX), &[])), 0);
        let old = engine.clearable(&clearing(Some(75), None, &[]), &now).unwrap();
        let forgot = engine.forget(&old, Extent::Memories, OldDatabases::Keep, &mut |_| {}).unwrap();
        assert_eq!(forgot.memories, 9);
        assert_eq!(engine.clearable(&clearing(Some(75), None, &[]), &now).unwrap().rows, []);
        assert_eq!(engine.select(&Selection::default()).unwrap().total, 13);
    }
}
