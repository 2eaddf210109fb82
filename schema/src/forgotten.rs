//! The hashes of what was deleted on purpose, so that no replay, no import and no log that comes back as it was brings it back.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write as _};

use crate::layout::Layout;
use crate::memory::{Memory, MemoryId, content_hash};
use crate::own_file::{self, private_file};
use crate::store::{Row, StoreError};

/// Everything that was forgotten, read once.
#[derive(Debug, Default)]
pub struct Forgotten(HashSet<String>);

impl Forgotten {
    /// Reads what was forgotten so far.
    pub fn read(layout: &Layout) -> Result<Self, StoreError> {
        let lines = hashes(layout)?;
        let lines =
            lines.split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line.trim_ascii()).into_owned());
        Ok(Self(lines.filter(|line| !line.is_empty()).collect()))
    }

    /// Whether a text was forgotten.
    pub fn holds(&self, content: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&content_hash(content))
    }

    /// Whether a session was forgotten as a whole.
    pub fn holds_session(&self, session_id: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&content_hash(&of_session(session_id)))
    }

    /// Whether an entry of a log is one that was forgotten there. What a person types again by hand never is: it says no time.
    pub fn holds_entry(&self, path: &str, Memory { id, session_id, at, .. }: &Memory) -> bool {
        let is_typed = session_id.is_empty() && at.time() == "00:00:00";
        !self.0.is_empty() && !is_typed && self.0.contains(&content_hash(&of_entry(path, id)))
    }
}

/// What stands for a session among the texts: no text that is kept begins so.
pub fn of_session(session_id: &str) -> String {
    format!("\0session {session_id}")
}

/// What stands for an entry of a log among the texts.
pub fn of_entry(path: &str, id: &MemoryId) -> String {
    format!("\0entry {path} {}", id.claim())
}

/// Remembers that memories of one log were forgotten. `there` are all of it; where one that stays says the same, it takes over the place.
/// The caller holds the store lock.
pub fn add_memories(layout: &Layout, rows: &[&Row], there: &[Row]) -> Result<(), StoreError> {
    let ids: HashSet<&MemoryId> = rows.iter().map(|row| &row.memory.id).collect();
    let staying = there.iter().filter(|row| !ids.contains(&row.memory.id));
    let staying: HashSet<&str> = staying.map(|row| row.memory.content.as_str()).collect();
    let texts = rows.iter().flat_map(|Row { memory, place, .. }| {
        let content = memory.content.as_str();
        let entry = (!staying.contains(content)).then(|| Cow::Owned(of_entry(&place.path, &memory.id)));
        [Some(Cow::Borrowed(content)), entry].into_iter().flatten()
    });
    add(layout, texts)
}

/// Remembers that texts were forgotten. The caller holds the store lock.
pub fn add<T: AsRef<str>>(layout: &Layout, contents: impl IntoIterator<Item = T>) -> Result<(), StoreError> {
    let known = hashes(layout)?;
    let is_whole = known.is_empty() || known.ends_with(b"\n");
    let mut known: HashSet<String> = known
        .split(|byte| *byte == b'\n')
        .map(|line| String::from_utf8_lossy(line.trim_ascii()).into_owned())
        .collect();
    let hashes = contents.into_iter().map(|text| content_hash(text.as_ref()));
    let lines: String = hashes.filter(|hash| known.insert(hash.clone())).map(|hash| hash + "\n").collect();
    if lines.is_empty() {
        return Ok(());
    }
    // Behind half a line of a process that was killed it would be no line of its own.
    let end = if is_whole { "" } else { "\n" };
    let lines = format!("{end}{lines}");
    let path = layout.forgotten();
    private_file()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(lines.as_bytes()))
        .map_err(|source| StoreError::Io { doing: "append to", path, source })
}

/// Whether a text was forgotten.
pub fn holds(layout: &Layout, content: &str) -> Result<bool, StoreError> {
    let hashes = hashes(layout)?;
    if hashes.is_empty() {
        return Ok(false);
    }
    let hash = content_hash(content);
    Ok(hashes.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == hash.as_bytes()))
}

/// The file, empty when there is none.
fn hashes(layout: &Layout) -> Result<Vec<u8>, StoreError> {
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
