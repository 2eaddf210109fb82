//! Memories that could not be written at once, one file each, until somebody who can comes by.
//!
//! What waits here was prepared before: no secret lies in the spool.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::capture::{Captured, Destination, Draft, Prepared, commit};
use crate::layout::{Layout, private_file};
use crate::memory::{Attributes, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::store::{Store, StoreError};

/// A waiting memory as its file holds it. Fields of a newer version are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Waiting {
    session: String,
    #[serde(rename = "type")]
    kind: MemoryType,
    at: String,
    content: String,
    #[serde(default)]
    long_term: bool,
    #[serde(default)]
    importance: Option<u8>,
    #[serde(default)]
    supersedes: Option<String>,
    #[serde(default)]
    origin: Option<String>,
    #[serde(default)]
    metadata: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    redactions: usize,
}

/// Lays a memory aside. The same one twice is one file.
pub fn put(layout: &Layout, prepared: &Prepared) -> Result<PathBuf, StoreError> {
    let draft = prepared.draft();
    let id = MemoryId::derive(&draft.session_id, draft.kind, &draft.at, &draft.content, 0);
    let name = format!("{}-{id}.json", draft.at.utc().replace([':', '-'], ""));
    let path = layout.spool().join(&name);
    let fault = |source| StoreError::Io { doing: "write", path: path.clone(), source };
    let json = serde_json::to_vec(&Waiting::of(prepared)).map_err(|error| fault(error.into()))?;
    fs::create_dir_all(layout.spool()).map_err(fault)?;
    let temporary = layout.spool().join(format!(".{name}.{}.tmp", std::process::id()));
    let written =
        private_file().create(true).truncate(true).open(&temporary).and_then(|mut file| file.write_all(&json));
    let moved = written.and_then(|()| fs::rename(&temporary, &path));
    moved.map_err(|source| {
        let _ = fs::remove_file(&temporary);
        fault(source)
    })?;
    Ok(path)
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
        let bytes = match fs::read(&path) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(fault)?,
        };
        let Some(prepared) = serde_json::from_slice(&bytes).ok().and_then(Waiting::prepared) else {
            fs::rename(&path, path.with_extension("unreadable")).map_err(fault)?;
            continue;
        };
        match commit(store, &prepared)? {
            Captured::Saved { .. } => kept += 1,
            Captured::Duplicate(_) | Captured::Forgotten => {}
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(fault)?,
        }
    }
    Ok(kept)
}

fn files(layout: &Layout) -> Vec<PathBuf> {
    let Ok(listing) = fs::read_dir(layout.spool()) else { return Vec::new() };
    let paths = listing.filter_map(|item| Some(item.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    files.sort();
    files
}

impl Waiting {
    fn of(prepared: &Prepared) -> Self {
        let Draft { session_id, kind, content, at, attributes, destination } = prepared.draft().clone();
        Self {
            session: session_id,
            kind,
            at: at.rfc3339(),
            content,
            long_term: destination == Destination::LongTerm,
            importance: attributes.importance,
            supersedes: attributes.supersedes.map(|id| id.to_string()),
            origin: attributes.origin,
            metadata: attributes.metadata,
            redactions: prepared.redactions(),
        }
    }

    fn prepared(self) -> Option<Prepared> {
        let draft = Draft {
            session_id: self.session,
            kind: self.kind,
            content: self.content,
            at: Moment::parse_rfc3339(&self.at)?,
            attributes: Attributes {
                importance: self.importance,
                pinned: false,
                supersedes: self.supersedes.as_deref().and_then(MemoryId::parse),
                origin: self.origin,
                metadata: self.metadata,
            },
            destination: if self.long_term { Destination::LongTerm } else { Destination::DailyLog },
        };
        Some(Prepared::replayed(draft, self.redactions))
    }
}
