//! What a store weighs, how it grows, and what of it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chrono::TimeDelta;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::store::Recalls;

use super::{Engine, Wanted};
use crate::error::ToolError;

/// What a store weighs, how it grows, and what of it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    pub storage: Storage,
    /// Memories of each month such as `2026-01`, the oldest first; months without any are left out.
    pub months: Vec<(String, u64)>,
    pub last_7_days: u64,
    pub last_30_days: u64,
    /// The memories that were opened most.
    pub recalled: Vec<Recalls>,
}

/// The same of some memories, which have no place on disk of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageOfSome {
    pub memories: u64,
    /// Of so many sessions.
    pub sessions: u64,
    pub types: BTreeMap<MemoryType, u64>,
    pub months: Vec<(String, u64)>,
    pub last_7_days: u64,
    pub last_30_days: u64,
    pub recalled: Vec<Recalls>,
}

/// Bytes on disk by what they are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Storage {
    /// Logs, long-term memory and notes: what cannot be made again.
    pub markdown: u64,
    /// `memory.db` with what SQLite keeps beside it.
    pub rows: u64,
    /// `index.db` likewise.
    pub index: u64,
    /// Buffers of turns and memories in the spool.
    pub waiting: u64,
    /// Backups, faults of hooks, locks.
    pub other: u64,
}

impl Engine {
    /// What the store weighs, how it grows, and the memories that are opened most.
    pub fn usage(&mut self, recalled: usize) -> Result<Usage, ToolError> {
        let back = |days: i64| Moment::from_unix(days_ago(days), Some(0)).map(|then| then.utc()).unwrap_or_default();
        let storage = storage(self.store.layout().dir());
        self.mending(|engine| {
            let rows = engine.store.rows();
            Ok(Usage {
                storage,
                months: rows.count_by_month()?,
                last_7_days: rows.count_since(&back(7))?,
                last_30_days: rows.count_since(&back(30))?,
                recalled: rows.most_recalled(recalled)?,
            })
        })
    }

    /// How the memories that are wanted grow, and which of them are opened most.
    pub fn usage_of(&mut self, wanted: &Wanted, recalled: usize) -> Result<UsageOfSome, ToolError> {
        let rows = self.history(wanted, usize::MAX)?;
        let (week, month) = (days_ago(7), days_ago(30));
        let since = |then: i64| rows.iter().filter(|row| row.memory.at.unix() >= then).count() as u64;
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.memory.session_id.as_str()).collect();
        let mut usage = UsageOfSome {
            memories: rows.len() as u64,
            sessions: sessions.iter().filter(|id| !id.is_empty()).count() as u64,
            last_7_days: since(week),
            last_30_days: since(month),
            ..UsageOfSome::default()
        };
        let mut months: BTreeMap<String, u64> = BTreeMap::new();
        for row in &rows {
            *usage.types.entry(row.memory.kind).or_default() += 1;
            *months.entry(row.memory.at.date().format("%Y-%m").to_string()).or_default() += 1;
        }
        usage.months = months.into_iter().collect();
        let opened: BTreeSet<i64> = rows.iter().filter(|row| row.access_count > 0).map(|row| row.seq).collect();
        if !opened.is_empty() {
            usage.recalled = self.mending(|engine| Ok(engine.store.rows().most_recalled(usize::MAX)?))?;
            usage.recalled.retain(|recalls| opened.contains(&recalls.row.seq));
            usage.recalled.truncate(recalled);
        }
        Ok(usage)
    }
}

/// Seconds since 1970.
fn days_ago(days: i64) -> i64 {
    Moment::now().unix() - TimeDelta::days(days).num_seconds()
}

fn storage(dir: &Path) -> Storage {
    let mut storage = Storage::default();
    let mut pending = vec![dir.to_owned()];
    while let Some(folder) = pending.pop() {
        for item in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let path = item.path();
            match item.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(path),
                Ok(kind) if kind.is_file() => {
                    let inside = path.strip_prefix(dir).unwrap_or(&path);
                    *storage.part(inside) += item.metadata().map_or(0, |metadata| metadata.len());
                }
                _ => {}
            }
        }
    }
    storage
}

impl Storage {
    fn part(&mut self, inside: &Path) -> &mut u64 {
        let first = inside.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let is_database = |name: &str| {
            let rest = first.as_deref().and_then(|first| first.strip_prefix(name));
            rest.is_some_and(|rest| matches!(rest, "" | "-wal" | "-shm"))
        };
        match first.as_deref() {
            Some("track" | "spool") => &mut self.waiting,
            _ if is_database("memory.db") => &mut self.rows,
            _ if is_database("index.db") => &mut self.index,
            _ if inside.extension().is_some_and(|ending| ending == "md") => &mut self.markdown,
            _ => &mut self.other,
        }
    }

    /// Bytes of all parts.
    pub fn total(&self) -> u64 {
        self.markdown + self.rows + self.index + self.waiting + self.other
    }
}
