//! The size of a store on disk.

use std::fs;
use std::path::Path;

use serde::Serialize;

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
        let first = inside.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let is_database = |name: &str| {
            let rest = first.as_deref().and_then(|first| first.strip_prefix(name));
            rest.is_some_and(|rest| matches!(rest, "" | "-wal" | "-shm"))
        };
        match first.as_deref() {
            Some("track" | "spool") => &mut self.spooled,
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
