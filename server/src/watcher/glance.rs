//! Changes as a server sees them that leaves the watching to another one: that one has indexed what changed, or saved it itself, and
//! so has written to a database. Only when it has, files are looked at.

use std::collections::{BTreeMap, BTreeSet};

use schema::daily_log::LogKind;
use schema::layout::Layout;
use schema::stamp::Stamp;

use crate::changes::Change;

/// The store as it was when it was looked at last.
#[derive(Debug)]
pub(crate) struct Glance {
    layout: Layout,
    databases: [Option<Stamp>; 2],
    files: BTreeMap<String, Option<Stamp>>,
}

impl Glance {
    /// What changes is what changes from now on.
    pub(crate) fn new(layout: Layout) -> Self {
        let (databases, files) = (databases(&layout), files(&layout));
        Self { layout, databases, files }
    }

    /// What changed since the last look, if anything did.
    pub(crate) fn look(&mut self) -> Option<Change> {
        let databases = databases(&self.layout);
        if databases == self.databases {
            return None;
        }
        self.databases = databases;
        let before = std::mem::replace(&mut self.files, files(&self.layout));
        let differs = |path: &&String| before.get(*path) != self.files.get(*path);
        let changed: BTreeSet<String> =
            before.keys().chain(self.files.keys()).filter(differs).map(String::clone).collect();
        let is_other_log =
            |path: &String| LogKind::of(path).is_some() && before.contains_key(path) != self.files.contains_key(path);
        let logs_differ = changed.iter().any(is_other_log);
        (!changed.is_empty()).then_some(Change::Files { changed, logs_differ })
    }
}

/// The databases' logs: every change goes there first.
fn databases(layout: &Layout) -> [Option<Stamp>; 2] {
    ["memory.db-wal", "index.db-wal"].map(|name| Stamp::of(&layout.file(name)))
}

fn files(layout: &Layout) -> BTreeMap<String, Option<Stamp>> {
    let paths = layout.markdown_files().unwrap_or_default();
    paths.into_iter().map(|path| (path.clone(), Stamp::of(&layout.file(&path)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_when_a_database_was_written() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        let write = |path: &str, text: &str| std::fs::write(layout.file(path), text).unwrap();
        write("a.md", "one");
        write("b.md", "one");
        let mut glance = Glance::new(layout.clone());
        write("a.md", "three");
        assert_eq!(glance.look(), None);
        write("index.db-wal", "a frame");
        let told = |paths: &[&str], logs_differ| {
            Some(Change::Files { changed: paths.iter().map(ToString::to_string).collect(), logs_differ })
        };
        assert_eq!(glance.look(), told(&["a.md"], false));
        std::fs::remove_file(layout.file("b.md")).unwrap();
        write("2026-01-28.md", "# 2026-01-28\n");
        write("memory.db-wal", "another frame");
        assert_eq!(glance.look(), told(&["2026-01-28.md", "b.md"], true));
        write("memory.db-wal", "a frame that concerns nobody");
        assert_eq!(glance.look(), None);
    }
}
