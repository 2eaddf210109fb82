//! Memories that could not be written at once, one file each, until somebody who can comes by.
//!
//! What waits here was prepared before: no secret lies in the spool.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::capture::{Captured, Delivery, Prepared, commit};
use crate::crash;
use crate::layout::Layout;
use crate::memory::{Memory, MemoryId};
use crate::own_file::{self, is_refused, private_file, verify};
use crate::parcel::Parcel;
use crate::store::{Store, StoreError};

/// Lays a memory aside. The same one twice is one file.
pub fn put(layout: &Layout, prepared: &Prepared) -> Result<PathBuf, StoreError> {
    let name = name(&prepared.memory());
    let path = layout.spool().join(&name);
    let fault = |source| StoreError::Io { doing: "write", path: path.clone(), source };
    let json = serde_json::to_vec(&Parcel::of(prepared)).map_err(|error| fault(error.into()))?;
    layout.create_spool().map_err(fault)?;
    let temporary = layout.spool().join(format!(".{name}.{}.tmp", std::process::id()));
    let written =
        private_file().create(true).truncate(true).open(&temporary).and_then(|mut file| write(&mut file, &json));
    crash::point("spool.written");
    let moved = written.and_then(|()| fs::rename(&temporary, &path));
    moved.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        fault(source)
    })?;
    crash::point("spool.put");
    Ok(path)
}

/// Whether a memory waits.
pub(crate) fn holds(layout: &Layout, memory: &Memory) -> bool {
    layout.spool().join(name(memory)).exists()
}

fn name(Memory { session_id, kind, at, content, .. }: &Memory) -> String {
    let id = MemoryId::derive(session_id, *kind, at, content, 0);
    format!("{}-{id}.json", at.utc().replace([':', '-'], ""))
}

fn write(file: &mut File, json: &[u8]) -> io::Result<()> {
    if crash::is_due("spool.half") {
        let _ = file.write_all(&json[..json.len() / 2]);
        crash::end("spool.half");
    }
    file.write_all(json)
}

/// How many memories wait.
pub fn waiting(layout: &Layout) -> usize {
    files(layout).len()
}

/// Keeps what waits, at most `limit` of them, and answers how many were kept.
///
/// A file that cannot be read as a memory is left under another name, for a person to look at.
pub fn drain(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    let mut kept = 0;
    for path in files(store.layout()).into_iter().take(limit) {
        let fault = |source| StoreError::Io { doing: "read", path: path.clone(), source };
        let bytes = match own_file::read(&path) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if is_refused(&error) => Vec::new(),
            read => read.map_err(fault)?,
        };
        let Some(prepared) =
            serde_json::from_slice(&bytes).ok().and_then(|parcel: Parcel| parcel.open(Delivery::Replay))
        else {
            fs::rename(&path, path.with_extension("unreadable")).map_err(fault)?;
            continue;
        };
        match commit(store, &prepared)? {
            Captured::Saved { .. } => kept += 1,
            Captured::Duplicate(_) | Captured::Forgotten => {}
            Captured::Waiting { .. } => continue,
        }
        crash::point("spool.kept");
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(fault)?,
        }
    }
    Ok(kept)
}

fn files(layout: &Layout) -> Vec<PathBuf> {
    if verify(&layout.spool()).is_err() {
        return Vec::new();
    }
    let Ok(listing) = fs::read_dir(layout.spool()) else { return Vec::new() };
    let paths = listing.filter_map(|item| Some(item.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    files.sort();
    files
}
