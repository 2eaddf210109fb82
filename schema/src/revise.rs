//! Changes what an entry says of itself and where it stands, never its text: pinned, what it replaces, and whether it is
//! long-term memory.

use std::collections::HashSet;

use crate::daily_log::{LONG_TERM_FILE, LogKind, find, insertion, parse, replacement, without};
use crate::forget::is_it;
use crate::log_file;
use crate::memory::{Attributes, MemoryId};
use crate::store::{Row, Store, StoreError};

/// Changes the attributes of a memory in its log, and answers what it is then. `None` when there is none with this id.
pub fn revise(store: &mut Store, id: &MemoryId, edit: impl Fn(&mut Attributes)) -> Result<Option<Row>, StoreError> {
    store.require_writable()?;
    let Some(row) = store.rows().by_id(id)? else { return Ok(None) };
    let Some(kind) = LogKind::of(&row.path) else { return Ok(None) };
    let lock = store.lock()?;
    store.rewrite_log(&row.path, |bytes| {
        let entry = find(bytes, &row.memory, &row.path, kind)?;
        let mut memory = entry.memory.clone();
        edit(&mut memory.attributes);
        let rewritten = || {
            let (range, text) = replacement(bytes, &entry, &memory, kind);
            [&bytes[..range.start], &text, &bytes[range.end..]].concat()
        };
        (memory != entry.memory).then(rewritten)
    })?;
    drop(lock);
    store.sync_log(&row.path)?;
    Ok(store.rows().by_id(id)?)
}

/// Moves a memory from its log to `MEMORY.md` and answers it there. `None` when there is none with this id.
pub fn promote(store: &mut Store, id: &MemoryId) -> Result<Option<Row>, StoreError> {
    store.require_writable()?;
    let Some(row) = store.rows().by_id(id)? else { return Ok(None) };
    if row.path == LONG_TERM_FILE {
        return Ok(Some(row));
    }
    let Some(kind) = LogKind::of(&row.path) else { return Ok(None) };
    let lock = store.lock()?;
    let bytes = log_file::read(&store.layout().file(&row.path))?;
    let Some(entry) = find(&bytes, &row.memory, &row.path, kind) else { return Ok(None) };
    // For a moment it stands in both files rather than in none; whoever does it again finds it there.
    store.rewrite_log(LONG_TERM_FILE, |bytes| {
        let is_missing = find(bytes, &entry.memory, LONG_TERM_FILE, LogKind::LongTerm).is_none();
        is_missing.then(|| insertion(bytes, &entry.memory))
    })?;
    store.rewrite_log(&row.path, |bytes| {
        let parsed = parse(&String::from_utf8_lossy(bytes), kind);
        let gone = parsed.entries.iter().position(|entry| is_it(entry, &row))?;
        Some(without(bytes, &parsed, &HashSet::from([gone])))
    })?;
    drop(lock);
    store.sync_log(LONG_TERM_FILE)?;
    store.sync_log(&row.path)?;
    let claim = entry.memory.id;
    let promoted = store.rows().by_path(LONG_TERM_FILE)?;
    Ok(promoted.into_iter().find(|row| row.memory.id == claim || row.memory.id == claim.of_copy(LONG_TERM_FILE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Captured, Destination, Draft, capture};
    use crate::database::Patience;
    use crate::memory::MemoryType;
    use crate::moment::Moment;
    use crate::screen::Screen;

    fn kept(store: &mut Store, kind: MemoryType, content: &str) -> MemoryId {
        let draft = Draft {
            session_id: "s".into(),
            kind,
            content: content.into(),
            at: Moment::parse_rfc3339("2026-01-28T10:30:15+09:00").unwrap(),
            attributes: Attributes::default(),
            destination: Destination::DailyLog,
        };
        match capture(store, draft, &Screen::default()).unwrap() {
            Some(Captured::Saved { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), Patience::Server).unwrap();
        (project, store)
    }

    #[test]
    fn every_type_is_pinned_and_unpinned_with_nothing_else_changed() {
        let (_project, mut store) = store();
        let ids: Vec<_> = MemoryType::ALL.map(|kind| kept(&mut store, kind, "one\n\n```\n- two\n```")).to_vec();
        let path = store.layout().file("2026-01-28.md");
        let before = std::fs::read_to_string(&path).unwrap();
        for id in &ids {
            let row = revise(&mut store, id, |attributes| attributes.pinned = true).unwrap().unwrap();
            assert!(row.memory.attributes.pinned && row.memory.id == *id, "{row:?}");
        }
        let pinned = std::fs::read_to_string(&path).unwrap();
        assert_eq!(pinned.matches("\"pinned\":true").count(), ids.len(), "{pinned}");
        for id in &ids {
            revise(&mut store, id, |attributes| attributes.pinned = false).unwrap().unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }

    #[test]
    fn entries_that_people_put_elsewhere_keep_their_form() {
        let (_project, mut store) = store();
        let log = "# 2026-01-28\n\n<!-- session a +09:00 -->\n- [10:00:00] **Decision**: among events\n\n\
                   ## Learning\n\n- of another type <!-- {\"id\":\"x1\",\"type\":\"decision\"} -->\n";
        std::fs::write(store.layout().file("2026-01-28.md"), log).unwrap();
        store.sync_log("2026-01-28.md").unwrap();
        let rows = store.rows().by_path("2026-01-28.md").unwrap();
        assert_eq!(rows.len(), 2);
        for row in &rows {
            let pinned = revise(&mut store, &row.memory.id, |attributes| attributes.pinned = true).unwrap().unwrap();
            let mut expected = row.memory.clone();
            expected.attributes.pinned = true;
            assert_eq!(pinned.memory, expected);
        }
        assert_eq!(store.rows().by_path("2026-01-28.md").unwrap().len(), 2);
    }

    #[test]
    fn a_promoted_memory_is_the_same_one_in_memory_md_and_the_log_has_it_no_more() {
        let (_project, mut store) = store();
        let (id, other) = (
            kept(&mut store, MemoryType::Decision, "Cache tokens in Redis"),
            kept(&mut store, MemoryType::Decision, "Keep logs a year"),
        );
        let row = promote(&mut store, &id).unwrap().unwrap();
        assert_eq!((row.memory.id.clone(), row.path.as_str()), (id.clone(), LONG_TERM_FILE));
        let log = std::fs::read_to_string(store.layout().file("2026-01-28.md")).unwrap();
        assert!(!log.contains("Redis") && log.contains("Keep logs"), "{log}");
        assert_eq!(promote(&mut store, &id).unwrap().unwrap().memory, row.memory);
        assert_eq!(store.rows().by_id(&other).unwrap().unwrap().path, "2026-01-28.md");
        assert_eq!(promote(&mut store, &MemoryId::parse("none").unwrap()).unwrap(), None);
    }
}
