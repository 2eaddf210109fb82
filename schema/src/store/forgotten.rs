//! The hashes of deleted texts, so that no replay, import or restored log brings them back.
//!
//! The file is append-only. A line is a hash. A later line `-HASH` revokes it, because the entry was saved again.

use std::collections::HashSet;

use crate::files::layout::Layout;
use crate::files::store_file;
use crate::model::memory::{Memory, MemoryId, content_hash};
use crate::store::{MemoryRow, StoreError};

/// Marks a line that revokes a hash.
const TAKEN_BACK: char = '-';

/// All hashes that are not revoked, read once.
#[derive(Debug, Default)]
pub struct ForgottenHashes(HashSet<String>);

impl ForgottenHashes {
    /// Reads the file of a store.
    pub fn read(layout: &Layout) -> Result<Self, StoreError> {
        let bytes = read_bytes(layout)?;
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
    pub fn contains(&self, content: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&content_hash(content))
    }

    /// Whether a session was forgotten as a whole.
    pub fn contains_session(&self, session_id: &str) -> bool {
        self.contains(&session_key(session_id))
    }

    /// Whether an entry was forgotten in a log. An entry that a person typed has no time and always counts as new.
    pub fn contains_entry(&self, path: &str, Memory { id, session_id, at, .. }: &Memory) -> bool {
        let is_typed = session_id.is_empty() && at.time() == "00:00:00";
        !is_typed && self.contains(&entry_key(path, id))
    }
}

/// Returns the text whose hash stands for a session. No stored text begins like this.
pub fn session_key(session_id: &str) -> String {
    format!("\0session {session_id}")
}

/// Returns the text whose hash stands for an entry of a log.
fn entry_key(path: &str, id: &MemoryId) -> String {
    format!("\0entry {path} {}", id.original())
}

/// Records that memories of one log were forgotten. `there` are all memories of the log. An entry is not recorded if another one with the
/// same text stays, because that one takes its place. The caller holds the store lock.
pub fn add_memories(layout: &Layout, rows: &[&MemoryRow], there: &[MemoryRow]) -> Result<(), StoreError> {
    let ids: HashSet<&MemoryId> = rows.iter().map(|row| &row.memory.id).collect();
    let staying = there.iter().filter(|row| !ids.contains(&row.memory.id));
    let staying: HashSet<&str> = staying.map(|row| row.memory.content.as_str()).collect();
    let entry = |MemoryRow { memory, path, .. }: &MemoryRow| {
        (!staying.contains(memory.content.as_str())).then(|| entry_key(path, &memory.id))
    };
    let texts = rows.iter().flat_map(|row| [Some(row.memory.content.clone()), entry(row)].into_iter().flatten());
    add_texts(layout, texts)
}

/// Records that texts were forgotten. The caller holds the store lock.
pub fn add_texts<T: AsRef<str>>(layout: &Layout, contents: impl IntoIterator<Item = T>) -> Result<(), StoreError> {
    let mut known = ForgottenHashes::read(layout)?.0;
    let hashes = contents.into_iter().map(|text| content_hash(text.as_ref()));
    let lines: String = hashes.filter(|hash| known.insert(hash.clone())).map(|hash| hash + "\n").collect();
    append_lines(layout, &lines)
}

/// Revokes the hash of an entry that is saved again. Its text stays refused for replays and imports. The caller holds the store lock.
pub fn unforget(layout: &Layout, path: &str, memory: &Memory) -> Result<(), StoreError> {
    let hash = content_hash(&entry_key(path, &memory.id));
    if !is_last_forgotten(&read_bytes(layout)?, &hash) {
        return Ok(());
    }
    append_lines(layout, &format!("{TAKEN_BACK}{hash}\n"))
}

/// Whether a text was forgotten.
pub fn is_forgotten(layout: &Layout, content: &str) -> Result<bool, StoreError> {
    Ok(is_last_forgotten(&read_bytes(layout)?, &content_hash(content)))
}

/// Whether the last line about a hash does not revoke it. Copies nothing, because every capture calls this.
fn is_last_forgotten(lines: &[u8], hash: &str) -> bool {
    let mut lines = lines.rsplit(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.find(|line| line.ends_with(hash.as_bytes())).is_some_and(|line| line.len() == hash.len())
}

/// Appends whole lines.
fn append_lines(layout: &Layout, lines: &str) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    let before = read_bytes(layout)?;
    let path = layout.forgotten_file();
    store_file::append_lines(&path, &before, lines).map_err(StoreError::io("append to", path))
}

/// Returns the content of the file. A missing file is empty.
fn read_bytes(layout: &Layout) -> Result<Vec<u8>, StoreError> {
    let path = layout.forgotten_file();
    store_file::read_or_empty(&path).map_err(StoreError::io("read", path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn half_written_hash_does_not_affect_others() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        add_texts(&layout, ["one", "two"]).unwrap();
        let bytes = fs::read(layout.forgotten_file()).unwrap();
        fs::write(layout.forgotten_file(), &bytes[..bytes.len() - 9]).unwrap();
        add_texts(&layout, ["two", "three"]).unwrap();
        let forgotten = ForgottenHashes::read(&layout).unwrap();
        assert!(["one", "two", "three"].iter().all(|text| forgotten.contains(text)));
    }
}
