//! The hashes of what was deleted on purpose, so that no replay and no import brings it back.

use std::io::{self, Write as _};

use crate::layout::Layout;
use crate::memory::content_hash;
use crate::own_file::{self, private_file};
use crate::store::StoreError;

/// Remembers that a text was forgotten. The caller holds the store lock.
pub fn add(layout: &Layout, content: &str) -> Result<(), StoreError> {
    if holds(layout, content)? {
        return Ok(());
    }
    let line = format!("{}\n", content_hash(content));
    let path = layout.forgotten();
    private_file()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .map_err(|source| StoreError::Io { doing: "append to", path, source })
}

/// Whether a text was forgotten.
pub fn holds(layout: &Layout, content: &str) -> Result<bool, StoreError> {
    let path = layout.forgotten();
    match own_file::read(&path) {
        Ok(hashes) => {
            let hash = content_hash(content);
            Ok(hashes.split(|byte| *byte == b'\n').any(|line| line.trim_ascii_end() == hash.as_bytes()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::Io { doing: "read", path, source }),
    }
}
