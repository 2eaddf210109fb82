//! Automatic cleanup of old memories. Keeps pinned memories and conclusions unless asked otherwise.

use schema::log::LogKind;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::settings;
use schema::store::MemoryRow;

use super::{Engine, ForgetExtent, OldDatabases, SelectedMemories, Selection};
use crate::error::ToolError;

const DAY: i64 = 24 * 60 * 60;

/// Approximate bytes of a log entry besides its text.
const ENTRY_OVERHEAD: u64 = 40;

/// Approximate bytes of a row, terms and a vector in the databases, besides the text, which both contain. Empty databases do not count,
/// because deleting memories does not make them smaller.
const DATABASE_OVERHEAD: u64 = 2_000;

/// Meta key: the day of the last automatic cleanup.
const LAST: &str = "cleared_on";

/// The memories that a cleanup deletes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Memories older than this many days.
    pub older_than: Option<u32>,
    /// The oldest memories, until the logs and their part of the databases have at most this many bytes.
    pub keep_bytes: Option<u64>,
    /// Types that are kept by default.
    pub included_kinds: Vec<MemoryType>,
}

fn is_daily(path: &str) -> bool {
    matches!(LogKind::from_path(path), Some(LogKind::Daily(_)))
}

fn in_databases(row: &MemoryRow) -> u64 {
    row.memory.content.len() as u64 * 2 + DATABASE_OVERHEAD
}

impl Engine {
    /// Memories that a cleanup would delete, oldest first.
    pub fn select_expired(&mut self, policy: &RetentionPolicy, now: &Moment) -> Result<SelectedMemories, ToolError> {
        let is_spared = |row: &MemoryRow| {
            let kind = row.memory.kind;
            row.memory.attributes.pinned
                || !is_daily(&row.path)
                || kind.is_lasting() && !policy.included_kinds.contains(&kind)
        };
        let mut rows = self.select(&Selection::default())?.rows;
        let bytes_in_databases: u64 = rows.iter().filter(|row| is_daily(&row.path)).map(in_databases).sum();
        rows.retain(|row| !is_spared(row));
        let old = policy.older_than.map(|days| now.unix() - i64::from(days) * DAY);
        let mut count = old.map_or(0, |old| rows.partition_point(|row| row.memory.at.unix() < old));
        if let Some(keep) = policy.keep_bytes {
            let size = |row: &MemoryRow| row.memory.content.len() as u64 + ENTRY_OVERHEAD + in_databases(row);
            let mut left = (self.log_bytes() + bytes_in_databases).saturating_sub(rows[..count].iter().map(size).sum());
            while left > keep && count < rows.len() {
                left = left.saturating_sub(size(&rows[count]));
                count += 1;
            }
        }
        rows.truncate(count);
        Ok(SelectedMemories::new(rows))
    }

    /// Deletes old memories as the settings require, at most once a day, and returns their number.
    pub fn delete_expired_daily(&mut self, now: &Moment) -> Result<usize, ToolError> {
        let settings = settings::load(self.store.layout()).settings;
        let policy = RetentionPolicy {
            older_than: settings.gc_older_than,
            keep_bytes: settings.gc_keep_bytes,
            included_kinds: Vec::new(),
        };
        if policy == RetentionPolicy::default() || !self.begin_daily(LAST, now)? {
            return Ok(0);
        }
        let selected = self.select_expired(&policy, now)?;
        if selected.rows.is_empty() {
            return Ok(0);
        }
        let cleared = self.forget(&selected, ForgetExtent::Memories, OldDatabases::Keep)?.memories;
        self.repair_messages.add(format!("{cleared} old memories were deleted, as the settings require"));
        Ok(cleared)
    }

    fn log_bytes(&self) -> u64 {
        let layout = self.store.layout();
        let files = layout.markdown_files().unwrap_or_default().into_iter();
        let logs = files.filter(|path| is_daily(path));
        logs.filter_map(|path| std::fs::metadata(layout.store_path(&path)).ok()).map(|metadata| metadata.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::bulk_import::{BulkImporter, ImportMode, IncomingMemory};
    use schema::intake::prepare::{Draft, prepare};
    use schema::model::memory::MemoryAttributes;
    use schema::privacy::sanitizer::Sanitizer;

    use super::*;
    use crate::control::Control;
    use crate::engine::tests::new_engine;

    #[test]
    fn cleanup_deletes_old_and_spares_kept_types() {
        let (_project, mut engine) = new_engine();
        let now = Moment::from_unix(1_800_000_000, Some(0)).unwrap();
        let incoming = (0..22).map(|n| {
            let draft = Draft {
                attributes: MemoryAttributes { pinned: n == 12, ..MemoryAttributes::default() },
                ..Draft::new(
                    "s",
                    MemoryType::ALL[n % MemoryType::ALL.len()],
                    format!("text {n} {}", "x".repeat(100)),
                    Moment::from_unix(now.unix() - (n as i64 + 1) * 10 * DAY, Some(0)).unwrap(),
                )
            };
            IncomingMemory { prepared: prepare(draft, &Sanitizer::default()).unwrap(), exact: None }
        });
        let mut bulk = BulkImporter::new(&engine.store, ImportMode::Write).unwrap();
        bulk.import(&mut engine.store, incoming.collect()).unwrap();
        engine.refresh(&mut Control::default()).unwrap();
        let clearing = |older_than, keep_bytes, also: &[MemoryType]| RetentionPolicy {
            older_than,
            keep_bytes,
            included_kinds: also.to_vec(),
        };
        let mut count = |clearing| engine.select_expired(&clearing, &now).unwrap().rows.len();
        assert_eq!(count(clearing(None, None, &[])), 0);
        // Of 15 memories older than 75 days one is pinned and five are conclusions.
        assert_eq!(count(clearing(Some(75), None, &[])), 15 - 1 - 5);
        assert_eq!(count(clearing(Some(75), None, &[MemoryType::Decision])), 15 - 1 - 4);
        assert_eq!(count(clearing(None, Some(0), &[])), 22 - 1 - 6);
        assert_eq!(count(clearing(None, Some(u64::MAX), &[])), 0);
        // Each of the 22 takes about 2,200 bytes of the databases and 150 of the logs.
        assert_eq!(count(clearing(None, Some(40_000), &[])), 6);
        let old = engine.select_expired(&clearing(Some(75), None, &[]), &now).unwrap();
        let forgot = engine.forget(&old, ForgetExtent::Memories, OldDatabases::Keep).unwrap();
        assert_eq!(forgot.memories, 9);
        assert_eq!(engine.select_expired(&clearing(Some(75), None, &[]), &now).unwrap().rows, []);
        assert_eq!(engine.select(&Selection::default()).unwrap().total, 13);
    }
}
