//! The one way out: takes a memory out of its log and the database, and remembers that it is to stay away.

use crate::daily_log::{Entry, LogKind, parse, removal};
use crate::forgotten;
use crate::log_file;
use crate::memory::MemoryId;
use crate::store::{Claims, Row, Store, StoreError};

/// Deletes a memory. `None` when there is none with this id.
pub fn forget(store: &mut Store, id: &MemoryId) -> Result<Option<Row>, StoreError> {
    store.require_writable()?;
    let Some(row) = store.rows().by_id(id)? else { return Ok(None) };
    let _lock = store.lock()?;
    if let Some(kind) = LogKind::of(&row.place.path) {
        log_file::change(&store.layout().file(&row.place.path), |bytes| {
            let parsed = parse(&String::from_utf8_lossy(bytes), kind);
            parsed.entries.iter().find(|entry| is_it(entry, &row)).map(|entry| removal(bytes, entry))
        })?;
    }
    forgotten::add(store.layout(), &row.memory.content)?;
    let mut claims = Claims::new(store.layout());
    store.transact(|rows| {
        rows.delete(row.seq)?;
        claims.release(rows, id)?;
        rows.refresh_session(&row.memory.session_id)
    })?;
    Ok(Some(row))
}

/// Whether an entry of a row's file is the row's: a copy carries the id of what it is a copy of.
pub(crate) fn is_it(entry: &Entry, row: &Row) -> bool {
    entry.memory.id == row.memory.id || entry.memory.id.of_copy(&row.place.path) == row.memory.id
}
