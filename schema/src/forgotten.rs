//! The hashes of what was deleted on purpose, so that no replay and no import brings it back.

use std::collections::HashSet;
use std::io::{self, Write as _};

use crate::layout::Layout;
use crate::memory::content_hash;
use crate::own_file::{self, private_file};
use crate::store::StoreError;

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
}

/// What stands for a session among the texts: no text that is kept begins so.
pub fn of_session(session_id: &str) -> String {
    format!("\0session {session_id}")
}

/// Remembers that texts were forgotten. The caller holds the store lock.
pub fn add<'t>(layout: &Layout, contents: impl IntoIterator<Item = &'t str>) -> Result<(), StoreError> {
    let known = hashes(layout)?;
    let is_whole = known.is_empty() || known.ends_with(b"\n");
    let mut known: HashSet<String> = known
        .split(|byte| *byte == b'\n')
        .map(|line| String::from_utf8_lossy(line.trim_ascii()).into_owned())
        .collect();
    let hashes = contents.into_iter().map(content_hash);
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
