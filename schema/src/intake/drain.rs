//! Stores the memories and notes that wait in the spool.

use crate::files::crash_point;
use crate::intake::capture::{CaptureOutcome, append_notes, commit, restore_overwritten};
use crate::intake::prepare::Delivery;
use crate::intake::spool::{NOTE_EXTENSION, contains, files, read, remove, set_aside};
use crate::intake::wire_memory::WireMemory;
use crate::model::state_note::StateNote;
use crate::store::{EntryState, IdClaims, Store, StoreError};

/// Stores what waits, at most `limit` of each kind, and returns how many were stored. Entries that another program overwrote come first.
///
/// A file that is not a memory gets another name, for a person to look at.
pub fn drain(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    let mut stored = restore_overwritten(store, limit)?;
    for path in files(store.layout(), "json").into_iter().take(limit) {
        let Some(bytes) = read(&path)? else { continue };
        let Some(prepared) =
            serde_json::from_slice(&bytes).ok().and_then(|memory: WireMemory| memory.into_prepared(Delivery::Replay))
        else {
            set_aside(&path)?;
            continue;
        };
        match commit(store, &prepared)? {
            CaptureOutcome::Saved { .. } => stored += 1,
            CaptureOutcome::Duplicate(_) | CaptureOutcome::Forgotten => {}
            CaptureOutcome::Waiting { .. } => continue,
        }
        crash_point::crash_if_armed("spool.kept");
        remove(&path)?;
    }
    drain_notes(store, limit).map(|notes| stored + notes)
}

/// Stores the notes that wait, and returns how many.
fn drain_notes(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    let mut stored = 0;
    for path in files(store.layout(), NOTE_EXTENSION).into_iter().take(limit) {
        let Some(bytes) = read(&path)? else { continue };
        let notes = StateNote::parse(&String::from_utf8_lossy(&bytes));
        if notes.is_empty() {
            set_aside(&path)?;
            continue;
        }
        let counts = append_notes(store, &notes)?;
        if counts.waiting == 0 {
            stored += counts.saved;
            remove(&path)?;
        }
    }
    delete_removed_rows(store)?;
    Ok(stored)
}

/// Deletes the rows of memories that somebody deleted from the spool.
fn delete_removed_rows(store: &mut Store) -> Result<(), StoreError> {
    if !store.rows().has_pending()? {
        return Ok(());
    }
    let layout = store.layout().clone();
    store.with_transaction(|rows| {
        let waiting = rows.pending_rows()?.into_iter();
        for row in waiting.filter(|row| row.entry == EntryState::Waiting && !contains(&layout, &row.memory)) {
            rows.delete(row.seq)?;
            IdClaims::new(&layout).release_id(rows, &row.memory.id)?;
            rows.refresh_session(&row.memory.session_id)?;
        }
        Ok(())
    })
}
