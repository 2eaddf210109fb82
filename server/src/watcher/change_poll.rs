//! Detects changes in a server that does not watch files. The watching server writes to a database after every change, so files are checked
//! only after a database changed.

use std::collections::{BTreeMap, BTreeSet};

use schema::files::file_stamp::FileStamp;
use schema::files::layout::Layout;
use schema::log::LogKind;

use crate::change_feed::StoreChange;

/// The store at the last check.
#[derive(Debug)]
pub(crate) struct ChangePoll {
    layout: Layout,
    databases: [Option<FileStamp>; 2],
    files: BTreeMap<String, Option<FileStamp>>,
}

impl ChangePoll {
    pub(crate) fn new(layout: Layout) -> Self {
        let (databases, files) = (wal_stamps(&layout), file_stamps(&layout));
        Self { layout, databases, files }
    }

    /// Changes since the last check.
    pub(crate) fn poll(&mut self) -> Option<StoreChange> {
        let databases = wal_stamps(&self.layout);
        if databases == self.databases {
            return None;
        }
        self.databases = databases;
        let before = std::mem::replace(&mut self.files, file_stamps(&self.layout));
        let differs = |path: &&String| before.get(*path) != self.files.get(*path);
        let changed: BTreeSet<String> =
            before.keys().chain(self.files.keys()).filter(differs).map(String::clone).collect();
        let is_other_log = |path: &String| {
            LogKind::from_path(path).is_some() && before.contains_key(path) != self.files.contains_key(path)
        };
        let logs_differ = changed.iter().any(is_other_log);
        (!changed.is_empty()).then_some(StoreChange::Files { changed, logs_differ })
    }
}

/// Stamps of the write-ahead logs, which change first.
fn wal_stamps(layout: &Layout) -> [Option<FileStamp>; 2] {
    ["memory.db-wal", "index.db-wal"].map(|name| FileStamp::read(&layout.store_path(name)))
}

fn file_stamps(layout: &Layout) -> BTreeMap<String, Option<FileStamp>> {
    let paths = layout.markdown_files().unwrap_or_default();
    paths.into_iter().map(|path| (path.clone(), FileStamp::read(&layout.store_path(&path)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_checked_after_a_database_write() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        let write = |path: &str, text: &str| std::fs::write(layout.store_path(path), text).unwrap();
        write("a.md", "one");
        write("b.md", "one");
        let mut glance = ChangePoll::new(layout.clone());
        write("a.md", "three");
        assert_eq!(glance.poll(), None);
        write("index.db-wal", "a frame");
        let expected = |paths: &[&str], logs_differ| {
            Some(StoreChange::Files { changed: paths.iter().map(ToString::to_string).collect(), logs_differ })
        };
        assert_eq!(glance.poll(), expected(&["a.md"], false));
        std::fs::remove_file(layout.store_path("b.md")).unwrap();
        write("2026-01-28.md", "# 2026-01-28\n");
        write("memory.db-wal", "another frame");
        assert_eq!(glance.poll(), expected(&["2026-01-28.md", "b.md"], true));
        write("memory.db-wal", "a frame that concerns nobody");
        assert_eq!(glance.poll(), None);
    }
}
