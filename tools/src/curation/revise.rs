//! Applies a change to the entry of a stored memory, under the lock, for `engine::curate` and `engine::edit`: its text, whether it is
//! pinned, what it replaces, and whether it is long-term.

use std::collections::HashSet;

use schema::intake::forget::is_entry_of_row;
use schema::log::log_file;
use schema::log::{LONG_TERM_FILE, LogKind, entry_replacement, find_entry, insert_long_term, parse, remove_entries};
use schema::model::memory::{Memory, MemoryAttributes, MemoryId};
use schema::store::{MemoryRow, Store, StoreError};

/// Changes a memory's attributes in its log and returns the new row, or `None` if the id is unknown.
pub fn edit_attributes(
    store: &mut Store,
    id: &MemoryId,
    edit: impl Fn(&mut MemoryAttributes),
) -> Result<Option<MemoryRow>, StoreError> {
    store.require_writable()?;
    let Some(row) = store.rows().by_id(id)? else { return Ok(None) };
    edit_entry(store, &row, |entry| {
        let mut memory = entry.clone();
        edit(&mut memory.attributes);
        (memory != *entry).then_some(memory)
    })
}

/// Changes a memory's text in its log. Its id, type, time and attributes stay. Returns the new row, or `None` if the entry is gone or does not
/// have the text of `before` any more.
pub fn edit_content(store: &mut Store, before: &MemoryRow, content: &str) -> Result<Option<MemoryRow>, StoreError> {
    store.require_writable()?;
    let mut is_same = false;
    let row = edit_entry(store, before, |entry| {
        is_same = entry.content == before.memory.content;
        is_same.then(|| Memory { content: content.to_owned(), ..entry.clone() })
    })?;
    Ok(row.filter(|_| is_same))
}

/// Replaces the entry of a row by what `edit` makes of it, unless that is `None`, and returns the row as it is then.
fn edit_entry(
    store: &mut Store,
    row: &MemoryRow,
    mut edit: impl FnMut(&Memory) -> Option<Memory>,
) -> Result<Option<MemoryRow>, StoreError> {
    let Some(kind) = LogKind::from_path(&row.path) else { return Ok(None) };
    let lock = store.lock()?;
    store.rewrite_log(&row.path, |bytes| {
        let entry = find_entry(bytes, &row.memory, &row.path, kind)?;
        let memory = edit(&entry.memory)?;
        let (range, text) = entry_replacement(bytes, &entry, &memory, kind);
        Some([&bytes[..range.start], &text, &bytes[range.end..]].concat())
    })?;
    drop(lock);
    store.sync_log(&row.path)?;
    Ok(store.rows().by_id(&row.memory.id)?)
}

/// Moves a memory from its log to `MEMORY.md` and returns the new row, or `None` if the id is unknown.
pub fn move_to_long_term(store: &mut Store, id: &MemoryId) -> Result<Option<MemoryRow>, StoreError> {
    store.require_writable()?;
    let Some(row) = store.rows().by_id(id)? else { return Ok(None) };
    if row.path == LONG_TERM_FILE {
        return Ok(Some(row));
    }
    let Some(kind) = LogKind::from_path(&row.path) else { return Ok(None) };
    let lock = store.lock()?;
    let bytes = log_file::read(&store.layout().store_path(&row.path))?;
    let Some(entry) = find_entry(&bytes, &row.memory, &row.path, kind) else { return Ok(None) };
    // The entry is added before it is removed, so that a crash leaves two copies rather than none. A repeated call finds
    // the copy.
    store.rewrite_log(LONG_TERM_FILE, |bytes| {
        let is_missing = find_entry(bytes, &entry.memory, LONG_TERM_FILE, LogKind::LongTerm).is_none();
        is_missing.then(|| insert_long_term(bytes, &entry.memory))
    })?;
    store.rewrite_log(&row.path, |bytes| {
        let parsed = parse(&String::from_utf8_lossy(bytes), kind);
        let gone = parsed.entries.iter().position(|entry| is_entry_of_row(entry, &row))?;
        Some(remove_entries(bytes, &parsed, &HashSet::from([gone])))
    })?;
    drop(lock);
    store.sync_log(LONG_TERM_FILE)?;
    store.sync_log(&row.path)?;
    let claim = entry.memory.id;
    let promoted = store.rows().by_path(LONG_TERM_FILE)?;
    Ok(promoted.into_iter().find(|row| row.memory.id == claim || row.memory.id == claim.for_copy(LONG_TERM_FILE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::files::database::LockTimeout;
    use schema::intake::capture::{CaptureOutcome, capture};
    use schema::intake::prepare::Draft;
    use schema::model::memory::MemoryType;
    use schema::model::moment::Moment;
    use schema::privacy::sanitizer::Sanitizer;

    fn capture_text(store: &mut Store, kind: MemoryType, content: &str) -> MemoryId {
        let draft = Draft::new("s", kind, content, Moment::parse_rfc3339("2026-01-28T10:30:15+09:00").unwrap());
        match capture(store, draft, &Sanitizer::default()).unwrap() {
            Some(CaptureOutcome::Saved { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), LockTimeout::Server).unwrap();
        (project, store)
    }

    #[test]
    fn every_type_is_pinned_and_unpinned_with_nothing_else_changed() {
        let (_project, mut store) = store();
        let ids: Vec<_> = MemoryType::ALL.map(|kind| capture_text(&mut store, kind, "one\n\n```\n- two\n```")).to_vec();
        let path = store.layout().store_path("2026-01-28.md");
        let before = std::fs::read_to_string(&path).unwrap();
        for id in &ids {
            let row = edit_attributes(&mut store, id, |attributes| attributes.pinned = true).unwrap().unwrap();
            assert!(row.memory.attributes.pinned && row.memory.id == *id, "{row:?}");
        }
        let pinned = std::fs::read_to_string(&path).unwrap();
        assert_eq!(pinned.matches("\"pinned\":true").count(), ids.len(), "{pinned}");
        for id in &ids {
            edit_attributes(&mut store, id, |attributes| attributes.pinned = false).unwrap().unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }

    #[test]
    fn every_type_is_edited_with_its_id() {
        let (_project, mut store) = store();
        let ids: Vec<_> = MemoryType::ALL.map(|kind| capture_text(&mut store, kind, "one")).to_vec();
        for id in &ids {
            let before = store.rows().by_id(id).unwrap().unwrap();
            let mut expected = before.memory.clone();
            expected.content = "two\n\n- [10:30:15] **User Prompt**: three".to_owned();
            let row = edit_content(&mut store, &before, &expected.content).unwrap().unwrap();
            assert_eq!(row.memory, expected);
            assert_eq!(edit_content(&mut store, &before, "lost the race").unwrap(), None);
            let again = edit_content(&mut store, &row, "two").unwrap().unwrap();
            assert_eq!((&again.memory.id, again.memory.content.as_str()), (id, "two"));
        }
        assert_eq!(store.rows().by_path("2026-01-28.md").unwrap().len(), ids.len());
    }

    #[test]
    fn entries_that_people_put_elsewhere_keep_their_form() {
        let (_project, mut store) = store();
        let log = "# 2026-01-28\n\n<!-- session a +09:00 -->\n- [10:00:00] **Decision**: among events\n\n\
                   ## Learning\n\n- of another type <!-- {\"id\":\"x1\",\"type\":\"decision\"} -->\n";
        std::fs::write(store.layout().store_path("2026-01-28.md"), log).unwrap();
        store.sync_log("2026-01-28.md").unwrap();
        let rows = store.rows().by_path("2026-01-28.md").unwrap();
        assert_eq!(rows.len(), 2);
        for row in &rows {
            let pinned =
                edit_attributes(&mut store, &row.memory.id, |attributes| attributes.pinned = true).unwrap().unwrap();
            let mut expected = row.memory.clone();
            expected.attributes.pinned = true;
            assert_eq!(pinned.memory, expected);
        }
        assert_eq!(store.rows().by_path("2026-01-28.md").unwrap().len(), 2);
    }

    #[test]
    fn promotion_moves_the_memory_with_its_id() {
        let (_project, mut store) = store();
        let (id, other) = (
            capture_text(&mut store, MemoryType::Decision, "Cache tokens in Redis"),
            capture_text(&mut store, MemoryType::Decision, "Keep logs a year"),
        );
        let row = move_to_long_term(&mut store, &id).unwrap().unwrap();
        assert_eq!((row.memory.id.clone(), row.path.as_str()), (id.clone(), LONG_TERM_FILE));
        let log = std::fs::read_to_string(store.layout().store_path("2026-01-28.md")).unwrap();
        assert!(!log.contains("Redis") && log.contains("Keep logs"), "{log}");
        assert_eq!(move_to_long_term(&mut store, &id).unwrap().unwrap().memory, row.memory);
        assert_eq!(store.rows().by_id(&other).unwrap().unwrap().path, "2026-01-28.md");
        assert_eq!(move_to_long_term(&mut store, &MemoryId::parse("none").unwrap()).unwrap(), None);
    }
}
