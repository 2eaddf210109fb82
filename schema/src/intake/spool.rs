//! Memories that could not be written at once. Each waits in a file of its own until a process can write it.
//!
//! Memories are prepared before they wait, so the spool has no secrets.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::files::crash_point;
use crate::files::layout::Layout;
use crate::files::store_file::{self, is_refused, options_for_private, verify};
use crate::intake::capture::{CaptureOutcome, Delivery, PreparedMemory, commit, note, restore_overwritten};
use crate::intake::wire_memory::WireMemory;
use crate::model::memory::{Memory, MemoryId, content_hash};
use crate::model::state_note::StateNote;
use crate::store::{IdClaims, PendingWrite, Store, StoreError};

/// Writes a memory into the spool. The same memory always gets the same file.
pub fn write_memory(layout: &Layout, prepared: &PreparedMemory) -> Result<PathBuf, StoreError> {
    let name = file_name(&prepared.to_memory());
    let fault = |source: serde_json::Error| {
        let path = layout.spool_dir().join(&name);
        StoreError::Io { doing: "write", path, source: source.into() }
    };
    let json = serde_json::to_vec(&WireMemory::from_prepared(prepared)).map_err(fault)?;
    put_file(layout, &name, &json)
}

/// Writes a note into the spool.
pub fn put_note(layout: &Layout, note: &StateNote) -> Result<(), StoreError> {
    let line = note.to_comment();
    let name = format!("{}-{}.{NOTE}", note.at.utc().replace([':', '-'], ""), &content_hash(&line)[..32]);
    put_file(layout, &name, line.as_bytes()).map(drop)
}

/// The file extension of notes. Earlier versions ignore such files.
const NOTE: &str = "note";

fn put_file(layout: &Layout, name: &str, content: &[u8]) -> Result<PathBuf, StoreError> {
    let path = layout.spool_dir().join(name);
    let fault = |source| StoreError::Io { doing: "write", path: path.clone(), source };
    layout.create_spool_dir().map_err(fault)?;
    let temporary = layout.spool_dir().join(format!(".{name}.{}.tmp", std::process::id()));
    let written = options_for_private()
        .create(true)
        .truncate(true)
        .open(&temporary)
        .and_then(|mut file| write_file(&mut file, content));
    crash_point::crash_if_armed("spool.written");
    let moved = written.and_then(|()| fs::rename(&temporary, &path));
    moved.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        fault(source)
    })?;
    crash_point::crash_if_armed("spool.put");
    Ok(path)
}

/// Whether the spool has a memory.
fn contains(layout: &Layout, memory: &Memory) -> bool {
    layout.spool_dir().join(file_name(memory)).exists()
}

fn file_name(Memory { session_id, kind, at, content, .. }: &Memory) -> String {
    let id = MemoryId::derive(session_id, *kind, at, content, 0);
    format!("{}-{id}.json", at.utc().replace([':', '-'], ""))
}

fn write_file(file: &mut File, json: &[u8]) -> io::Result<()> {
    if crash_point::is_armed("spool.half") {
        let _ = file.write_all(&json[..json.len() / 2]);
        crash_point::crash("spool.half");
    }
    file.write_all(json)
}

/// How many memories and notes wait.
pub fn count(layout: &Layout) -> usize {
    files(layout, "json").len() + files(layout, NOTE).len()
}

/// Stores what waits, at most `limit` of each kind, and returns how many were stored. Entries that another program overwrote come first.
///
/// A file that is not a memory gets another name, for a person to look at.
pub fn drain(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    let mut kept = restore_overwritten(store, limit)?;
    for path in files(store.layout(), "json").into_iter().take(limit) {
        let Some(bytes) = read(&path)? else { continue };
        let Some(prepared) =
            serde_json::from_slice(&bytes).ok().and_then(|parcel: WireMemory| parcel.into_prepared(Delivery::Replay))
        else {
            set_aside(&path)?;
            continue;
        };
        match commit(store, &prepared)? {
            CaptureOutcome::Saved { .. } => kept += 1,
            CaptureOutcome::Duplicate(_) | CaptureOutcome::Forgotten => {}
            CaptureOutcome::Waiting { .. } => continue,
        }
        crash_point::crash_if_armed("spool.kept");
        remove(&path)?;
    }
    drain_notes(store, limit).map(|noted| kept + noted)
}

/// Stores the notes that wait, and returns how many.
fn drain_notes(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    let mut kept = 0;
    for path in files(store.layout(), NOTE).into_iter().take(limit) {
        let Some(bytes) = read(&path)? else { continue };
        let notes = StateNote::parse(&String::from_utf8_lossy(&bytes));
        if notes.is_empty() {
            set_aside(&path)?;
            continue;
        }
        let noted = note(store, &notes)?;
        if noted.waiting == 0 {
            kept += noted.saved;
            remove(&path)?;
        }
    }
    delete_removed_rows(store)?;
    Ok(kept)
}

/// Reads a file of the spool, or returns `None` if another process was faster.
fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match store_file::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if is_refused(&error) => Ok(Some(Vec::new())),
        read => read.map(Some).map_err(|source| StoreError::Io { doing: "read", path: path.to_owned(), source }),
    }
}

fn set_aside(path: &Path) -> Result<(), StoreError> {
    let fault = |source| StoreError::Io { doing: "read", path: path.to_owned(), source };
    fs::rename(path, path.with_extension("unreadable")).map_err(fault)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| StoreError::Io { doing: "read", path: path.to_owned(), source }),
    }
}

/// Deletes the rows of memories that somebody deleted from the spool.
fn delete_removed_rows(store: &mut Store) -> Result<(), StoreError> {
    if !store.rows().has_pending()? {
        return Ok(());
    }
    let layout = store.layout().clone();
    store.with_transaction(|rows| {
        let waiting = rows.pending_rows()?.into_iter();
        for row in waiting.filter(|row| row.pending_write == PendingWrite::New && !contains(&layout, &row.memory)) {
            rows.delete(row.seq)?;
            IdClaims::new(&layout).release_id(rows, &row.memory.id)?;
            rows.refresh_session(&row.memory.session_id)?;
        }
        Ok(())
    })
}

fn files(layout: &Layout, ending: &str) -> Vec<PathBuf> {
    if verify(&layout.spool_dir()).is_err() {
        return Vec::new();
    }
    let Ok(listing) = fs::read_dir(layout.spool_dir()) else { return Vec::new() };
    let paths = listing.filter_map(|item| Some(item.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    files.sort();
    files
}
