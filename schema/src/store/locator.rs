//! Finds the lines of many memories: reads each file once, and parses it whole if many of its memories are asked for. [`find_lines`] finds a
//! single one.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::MemoryRow;
use crate::files::layout::Layout;
use crate::log::log_file;
use crate::log::{LogKind, find_lines, parse};

/// Up to this many entries of a file are searched for one by one. For more, parsing the whole file is cheaper.
const ONE_BY_ONE: usize = 64;

/// Finds entries in their files. Reads each file once.
#[derive(Debug)]
pub struct Locator {
    layout: Layout,
    files: HashMap<String, LocatorFile>,
}

#[derive(Debug, Default)]
struct LocatorFile {
    bytes: Vec<u8>,
    lookups: usize,
    /// The lines of the entries by their ids.
    entries: Option<HashMap<String, RangeInclusive<usize>>>,
}

impl Locator {
    pub(super) fn new(layout: &Layout) -> Self {
        Self { layout: layout.clone(), files: HashMap::new() }
    }

    /// Returns the first and last line of a memory in its file, from 1, or 0 for both if the file does not have it.
    pub fn find_lines(&mut self, row: &MemoryRow) -> (usize, usize) {
        let Some(kind) = LogKind::from_path(&row.path) else { return (0, 0) };
        let layout = &self.layout;
        let read = || LocatorFile {
            bytes: log_file::read(&layout.store_path(&row.path)).unwrap_or_default(),
            ..LocatorFile::default()
        };
        let file = self.files.entry(row.path.clone()).or_insert_with(read);
        file.lookups += 1;
        let found = if file.lookups <= ONE_BY_ONE {
            find_lines(&file.bytes, &row.memory, &row.path, kind)
        } else {
            let entries = file.entries.get_or_insert_with(|| {
                let entries = parse(&String::from_utf8_lossy(&file.bytes), kind).entries.into_iter();
                entries.map(|entry| (entry.memory.id.to_string(), entry.start_line..=entry.end_line)).collect()
            });
            let id = &row.memory.id;
            entries.get(id.as_str()).or_else(|| entries.get(id.original().as_str())).cloned()
        };
        found.map_or((0, 0), RangeInclusive::into_inner)
    }
}
