//! Memories that could not be written at once. Each waits in a file of its own until a process can write it.
//!
//! Memories are prepared before they wait, so the spool has no secrets.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::files::crash_point;
use crate::files::layout::Layout;
use crate::files::store_file::{self, is_refused, options_for_private, verify};
use crate::intake::prepare::PreparedMemory;
use crate::intake::wire_memory::WireMemory;
use crate::model::memory::{Memory, MemoryId, content_hash};
use crate::model::state_note::StateNote;
use crate::store::StoreError;

/// Writes a memory into the spool. A memory that is written again gets its own file again.
pub fn write_memory(layout: &Layout, prepared: &PreparedMemory) -> Result<(), StoreError> {
    let name = file_name(&prepared.to_memory());
    let json = serde_json::to_vec(&WireMemory::from_prepared(prepared)).map_err(io::Error::from);
    let json = json.map_err(StoreError::io("write", layout.spool_dir().join(&name)))?;
    write_file(layout, &name, &json)
}

/// Writes a note into the spool, unless it waits there already. The names of notes of one second sort in the order in which they came.
pub fn write_note(layout: &Layout, note: &StateNote) -> Result<(), StoreError> {
    let line = note.to_comment();
    let ending = format!("-{}.{NOTE_EXTENSION}", &content_hash(&line)[..32]);
    if files(layout, NOTE_EXTENSION).iter().any(|path| path.to_string_lossy().ends_with(&ending)) {
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("{}-{now:020}{ending}", note.at.utc().replace([':', '-'], ""));
    write_file(layout, &name, line.as_bytes())
}

/// The file extension of notes. Earlier versions ignore such files.
pub(super) const NOTE_EXTENSION: &str = "note";

fn write_file(layout: &Layout, name: &str, content: &[u8]) -> Result<(), StoreError> {
    let path = layout.spool_dir().join(name);
    layout.create_spool_dir().map_err(StoreError::io("write", &path))?;
    let temporary = layout.spool_dir().join(format!(".{name}.{}.tmp", std::process::id()));
    let written = options_for_private().create(true).truncate(true).open(&temporary).and_then(|mut file| {
        crash_point::crash_after("spool.half", || drop(file.write_all(&content[..content.len() / 2])));
        file.write_all(content)
    });
    crash_point::crash_if_armed("spool.written");
    let moved = written.and_then(|()| fs::rename(&temporary, &path));
    moved.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        StoreError::io("write", &path)(source)
    })?;
    crash_point::crash_if_armed("spool.put");
    Ok(())
}

/// Whether the spool has a memory.
pub(super) fn contains(layout: &Layout, memory: &Memory) -> bool {
    layout.spool_dir().join(file_name(memory)).exists()
}

fn file_name(Memory { session_id, kind, at, content, .. }: &Memory) -> String {
    let id = MemoryId::derive(session_id, *kind, at, content, 0);
    format!("{}-{id}.json", at.utc().replace([':', '-'], ""))
}

/// How many memories and notes wait.
pub fn count(layout: &Layout) -> usize {
    files(layout, "json").len() + files(layout, NOTE_EXTENSION).len()
}

/// Reads a file of the spool, or returns `None` if another process was faster.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match store_file::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if is_refused(&error) => Ok(Some(Vec::new())),
        read => read.map(Some).map_err(StoreError::io("read", path)),
    }
}

pub(super) fn set_aside(path: &Path) -> Result<(), StoreError> {
    fs::rename(path, path.with_extension("unreadable")).map_err(StoreError::io("rename", path))
}

pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(StoreError::io("delete", path)),
    }
}

pub(super) fn files(layout: &Layout, ending: &str) -> Vec<PathBuf> {
    if verify(&layout.spool_dir()).is_err() {
        return Vec::new();
    }
    let paths = fs::read_dir(layout.spool_dir()).into_iter().flatten().filter_map(|item| Some(item.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    files.sort();
    files
}
