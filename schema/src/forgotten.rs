//! The hashes of what was deleted on purpose, so that no replay, no import and no restored log brings it back.
//!
//! The file is only appended to. A line is a hash; a later line `-HASH` takes it back, because the entry was saved again.

use std::collections::HashSet;
use std::io::{self, Write as _};

use crate::layout::Layout;
use crate::memory::{Memory, MemoryId, content_hash};
use crate::own_file::{self, private_file};
use crate::store::{Row, StoreError};

/// Marks a line that takes a hash back.
const TAKEN_BACK: char = '-';

/// Everything that was forgotten, read once.
#[derive(Debug, Default)]
pub struct Forgotten(HashSet<String>);

impl Forgotten {
    /// Reads what was forgotten so far.
    pub fn read(layout: &Layout) -> Result<Self, StoreError> {
        let bytes = bytes(layout)?;
        let mut hashes = HashSet::new();
        for line in String::from_utf8_lossy(&bytes).lines().map(str::trim) {
            match line.strip_prefix(TAKEN_BACK) {
                Some(hash) => hashes.remove(hash),
                None => !line.is_empty() && hashes.insert(line.to_owned()),
            };
        }
        Ok(Self(hashes))
    }

    /// Whether a text was forgotten.
    pub fn holds(&self, content: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&content_hash(content))
    }

    /// Whether a session was forgotten as a whole.
    pub fn holds_session(&self, session_id: &str) -> bool {
        self.holds(&of_session(session_id))
    }

    /// Whether an entry of a log was forgotten there. An entry that a person types by hand has no time, and is always new.
    pub fn holds_entry(&self, path: &str, Memory { id, session_id, at, .. }: &Memory) -> bool {
        let is_typed = session_id.is_empty() && at.time() == "00:00:00";
        !is_typed && self.holds(&of_entry(path, id))
    }
}

/// The text whose hash stands for a session. No stored text begins so.
pub fn of_session(session_id: &str) -> String {
    format!("\0session {session_id}")
}

/// The text whose hash stands for an entry of a log.
fn of_entry(path: &str, id: &MemoryId) -> String {
    format!("\0entry {path} {}", id.claim())
}

/// Remembers that memories of one log were forgotten. `there` are all of it; where one that stays says the same, it takes over the place.
/// The caller holds the store lock.
pub fn add_memories(layout: &Layout, rows: &[&Row], there: &[Row]) -> Result<(), StoreError> {
    let ids: HashSet<&MemoryId> = rows.iter().map(|row| &row.memory.id).collect();
    let staying = there.iter().filter(|row| !ids.contains(&row.memory.id));
    let staying: HashSet<&str> = staying.map(|row| row.memory.content.as_str()).collect();
    let entry = |Row { memory, path, .. }: &Row| {
        (!staying.contains(memory.content.as_str())).then(|| of_entry(path, &memory.id))
    };
    let texts = rows.iter().flat_map(|row| [Some(row.memory.content.clone()), entry(row)].into_iter().flatten());
    add(layout, texts)
}

/// Remembers that texts were forgotten. The caller holds the store lock.
pub fn add<T: AsRef<str>>(layout: &Layout, contents: impl IntoIterator<Item = T>) -> Result<(), StoreError> {
    let mut known = Forgotten::read(layout)?.0;
    let hashes = contents.into_iter().map(|text| content_hash(text.as_ref()));
    let lines: String = hashes.filter(|hash| known.insert(hash.clone())).map(|hash| hash + "\n").collect();
    append(layout, &lines)
}

/// Takes back that an entry of a log was forgotten, because it is saved again. Its text stays refused for replays and imports.
/// The caller holds the store lock.
pub fn take_back(layout: &Layout, path: &str, memory: &Memory) -> Result<(), StoreError> {
    let hash = content_hash(&of_entry(path, &memory.id));
    if !is_last(&bytes(layout)?, &hash) {
        return Ok(());
    }
    append(layout, &format!("{TAKEN_BACK}{hash}\n"))
}

/// Whether a text was forgotten.
pub fn holds(layout: &Layout, content: &str) -> Result<bool, StoreError> {
    Ok(is_last(&bytes(layout)?, &content_hash(content)))
}

/// Whether the last line about a hash is the hash itself. Every capture asks this, so nothing is copied.
fn is_last(lines: &[u8], hash: &str) -> bool {
    let mut lines = lines.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.find(|line| line.ends_with(hash.as_bytes())).is_some_and(|line| line.len() == hash.len())
}

/// Appends whole lines.
fn append(layout: &Layout, lines: &str) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    // A killed process may have left half a line.
    let before = bytes(layout)?;
    let end = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let path = layout.forgotten();
    private_file()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(format!("{end}{lines}").as_bytes()))
        .map_err(|source| StoreError::Io { doing: "append to", path, source })
}

/// The file, empty when there is none.
fn bytes(layout: &Layout) -> Result<Vec<u8>, StoreError> {
    let path = layout.forgotten();
    match own_file::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|source| StoreError::Io { doing: "read", path, source }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn half_a_line_of_a_process_that_was_killed_spoils_no_other() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        add(&layout, ["one", "two"]).unwrap();
        let bytes = fs::read(layout.forgotten()).unwrap();
        fs::write(layout.forgotten(), &bytes[..bytes.len() - 9]).unwrap();
        add(&layout, ["two", "three"]).unwrap();
        let forgotten = Forgotten::read(&layout).unwrap();
        assert!(["one", "two", "three"].iter().all(|text| forgotten.holds(text)));
    }
}
