//! The one way out: takes a memory out of its log and the database, and remembers that it is to stay away.

use crate::daily_log::{LogKind, parse, removal};
use crate::forgotten;
use crate::log_file;
use crate::memory::MemoryId;
use crate::store::{Row, Store, StoreError};

/// Deletes a memory. `None` when there is none with this id.
pub fn forget(store: &mut Store, id: &MemoryId) -> Result<Option<Row>, StoreError> {
    store.require_writable()?;
    let Some(row) = store.rows().by_id(id)? else { return Ok(None) };
    let _lock = store.lock()?;
    if let Some(kind) = LogKind::of(&row.place.path) {
        log_file::change(&store.layout().file(&row.place.path), |bytes| {
            let parsed = parse(&String::from_utf8_lossy(bytes), kind);
            // By the content too: a copy of an entry has an id of its own that only the database knows.
            let is_it = |entry: &&crate::daily_log::Entry| entry.memory.id == *id || entry.memory == row.memory;
            parsed.entries.iter().find(is_it).map(|entry| removal(bytes, entry))
        })?;
    }
    forgotten::add(store.layout(), &row.memory.content)?;
    store.transact(|rows| {
        rows.delete(row.seq)?;
        rows.refresh_session(&row.memory.session_id)
    })?;
    Ok(Some(row))
}
