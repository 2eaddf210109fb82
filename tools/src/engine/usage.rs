//! Growth and use of a store, and its size on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::store::RecallCount;
use serde::Serialize;

use super::{Engine, HistoryFilter};
use crate::error::ToolError;

/// Bytes on disk by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiskUsage {
    /// Logs, long-term memory and notes: the part that cannot be rebuilt.
    pub markdown: u64,
    /// `memory.db` and SQLite's files next to it.
    pub rows: u64,
    /// `index.db` and SQLite's files next to it.
    pub index: u64,
    /// Turn buffers and the spool.
    #[serde(rename = "waiting")]
    pub spooled: u64,
    /// Backups, hook errors, locks.
    pub other: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreUsage {
    pub storage: DiskUsage,
    /// Memories per month such as `2026-01`, oldest first, without empty months.
    pub months: Vec<(String, u64)>,
    pub last_7_days: u64,
    pub last_30_days: u64,
    /// The most opened memories.
    pub recalled: Vec<RecallCount>,
}

/// Growth and use of some memories, which have no disk size of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilteredUsage {
    pub memories: u64,
    /// Number of their sessions.
    pub sessions: u64,
    pub types: BTreeMap<MemoryType, u64>,
    pub months: Vec<(String, u64)>,
    pub last_7_days: u64,
    pub last_30_days: u64,
    pub recalled: Vec<RecallCount>,
}

impl Engine {
    /// Size and growth of the store, and the most opened memories.
    pub fn store_usage(&mut self, recalled: usize) -> Result<StoreUsage, ToolError> {
        let back =
            |days: i64| Moment::from_unix(seconds_days_ago(days), Some(0)).map(|then| then.utc()).unwrap_or_default();
        let storage = disk_usage(self.store.layout().store_dir());
        self.read_rows(|rows| {
            Ok(StoreUsage {
                storage,
                months: rows.count_by_month()?,
                last_7_days: rows.count_since(&back(7))?,
                last_30_days: rows.count_since(&back(30))?,
                recalled: rows.most_recalled(recalled)?,
            })
        })
    }

    /// Growth of the matching memories, and the most opened of them.
    pub fn filtered_usage(&mut self, wanted: &HistoryFilter, recalled: usize) -> Result<FilteredUsage, ToolError> {
        let rows = self.list_history(wanted, usize::MAX)?;
        let (week, month) = (seconds_days_ago(7), seconds_days_ago(30));
        let since = |then: i64| rows.iter().filter(|row| row.memory.at.unix() >= then).count() as u64;
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.memory.session_id.as_str()).collect();
        let mut usage = FilteredUsage {
            memories: rows.len() as u64,
            sessions: sessions.iter().filter(|id| !id.is_empty()).count() as u64,
            last_7_days: since(week),
            last_30_days: since(month),
            ..FilteredUsage::default()
        };
        let mut months: BTreeMap<String, u64> = BTreeMap::new();
        for row in &rows {
            *usage.types.entry(row.memory.kind).or_default() += 1;
            *months.entry(row.memory.at.date().format("%Y-%m").to_string()).or_default() += 1;
        }
        usage.months = months.into_iter().collect();
        let opened: BTreeSet<i64> = rows.iter().filter(|row| row.access_count > 0).map(|row| row.seq).collect();
        if !opened.is_empty() {
            usage.recalled = self.read_rows(|rows| rows.most_recalled(usize::MAX))?;
            usage.recalled.retain(|recalls| opened.contains(&recalls.row.seq));
            usage.recalled.truncate(recalled);
        }
        Ok(usage)
    }
}

/// In seconds since 1970.
fn seconds_days_ago(days: i64) -> i64 {
    Moment::now().unix() - TimeDelta::days(days).num_seconds()
}

/// Adds up the files of a store.
pub(super) fn disk_usage(dir: &Path) -> DiskUsage {
    let mut storage = DiskUsage::default();
    let mut pending = vec![dir.to_owned()];
    while let Some(folder) = pending.pop() {
        for item in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let path = item.path();
            match item.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                Ok(kind) if kind.is_file() => {
                    let inside = path.strip_prefix(dir).unwrap_or(&path);
                    *storage.category_of(inside) += item.metadata().map_or(0, |metadata| metadata.len());
                }
                _ => {}
            }
        }
    }
    storage
}

impl DiskUsage {
    fn category_of(&mut self, inside: &Path) -> &mut u64 {
        let first = inside.iter().next().and_then(OsStr::to_str).unwrap_or_default();
        let is_database =
            |name: &str| first.strip_prefix(name).is_some_and(|rest| matches!(rest, "" | "-wal" | "-shm"));
        match first {
            "track" | "spool" => &mut self.spooled,
            _ if is_database("memory.db") => &mut self.rows,
            _ if is_database("index.db") => &mut self.index,
            _ if inside.extension().is_some_and(|ending| ending == "md") => &mut self.markdown,
            _ => &mut self.other,
        }
    }

    pub fn total(&self) -> u64 {
        self.markdown + self.rows + self.index + self.spooled + self.other
    }
}
