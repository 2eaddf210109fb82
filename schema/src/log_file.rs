//! Changes a Markdown file of the store so that no reader sees half a change and no editor's save is lost.
//!
//! The caller holds the store lock; editors do not know of it, which is why a rewrite checks once more before it replaces.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::daily_log::Splice;
use crate::own_file::{self, is_linked, private_file};

/// A file that could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {path}", path = .path.display())]
pub struct LogFileError {
    pub doing: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

/// How often a rewrite starts over because somebody saved the file in between.
const ATTEMPTS: usize = 8;

/// Applies the change that `edit` makes of the file's bytes, and answers it; `None` from `edit` leaves the file alone.
///
/// A missing file reads as empty. `edit` runs again when the file was changed by somebody else meanwhile.
pub fn change(path: &Path, mut edit: impl FnMut(&[u8]) -> Option<Splice>) -> Result<Option<Splice>, LogFileError> {
    for _ in 0..ATTEMPTS {
        let before = whole(path)?;
        let Some(splice) = edit(&before) else { return Ok(None) };
        if splice.is_append(before.len()) {
            append(path, before.len(), &splice.bytes)?;
            return Ok(Some(splice));
        }
        if replace(path, &before, &splice.apply(&before))? {
            return Ok(Some(splice));
        }
    }
    let source = io::Error::other("the file keeps changing");
    Err(LogFileError { doing: "rewrite", path: path.to_owned(), source })
}

/// Appends what `edit` makes of the file as it reads it, and answers it; `None`, also for a missing file, leaves the file alone.
pub fn extend(
    path: &Path,
    edit: impl FnOnce(&mut File) -> io::Result<Option<Splice>>,
) -> Result<Option<Splice>, LogFileError> {
    let made = match own_file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.and_then(|mut file| edit(&mut file)),
    };
    let made = made.map_err(|source| LogFileError { doing: "read", path: path.to_owned(), source })?;
    if let Some(splice) = &made {
        append(path, splice.start, &splice.bytes)?;
    }
    Ok(made)
}

/// The bytes of a file, none when it is missing. A link is as good as missing: what it leads to is no memory.
pub fn read(path: &Path) -> Result<Vec<u8>, LogFileError> {
    match whole(path) {
        Err(error) if is_linked(&error.source) => Ok(Vec::new()),
        read => read,
    }
}

/// The bytes of a file that is about to be changed.
fn whole(path: &Path) -> Result<Vec<u8>, LogFileError> {
    match own_file::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|source| LogFileError { doing: "read", path: path.to_owned(), source }),
    }
}

/// Appends to a file of that length, which it has again when not all of it can be written.
pub fn append(path: &Path, length: usize, bytes: &[u8]) -> Result<(), LogFileError> {
    let fault = |source| LogFileError { doing: "append to", path: path.to_owned(), source };
    let mut file = private_file().append(true).create(true).open(path).map_err(fault)?;
    file.write_all(bytes).map_err(|error| {
        // On a full disk part of it may have been written. Half an entry would read as an entry.
        let _ = private_file().open(path).and_then(|file| file.set_len(length as u64));
        fault(error)
    })
}

/// Replaces the file in one step, or answers `false` when it is no longer what was read.
fn replace(path: &Path, before: &[u8], after: &[u8]) -> Result<bool, LogFileError> {
    let fault = |source| LogFileError { doing: "rewrite", path: path.to_owned(), source };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = (|| {
        let mut file = private_file().create(true).truncate(true).open(&temporary)?;
        file.write_all(after)?;
        if let Ok(metadata) = fs::metadata(path) {
            file.set_permissions(metadata.permissions())?;
        }
        drop(file);
        if whole(path).map_err(|error| error.source)? != before {
            return Ok(false);
        }
        fs::rename(&temporary, path).map(|()| true)
    })();
    if !matches!(written, Ok(true)) {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(at: usize, bytes: &[u8]) -> Splice {
        Splice { start: at, end: at, bytes: bytes.to_vec(), lines: 1..=1 }
    }

    #[test]
    fn a_save_by_an_editor_in_between_wins_and_the_change_is_applied_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.md");
        fs::write(&path, "old").unwrap();
        let mut saved = false;
        change(&path, |bytes| {
            if !saved {
                saved = true;
                fs::write(&path, "edited").unwrap();
            }
            Some(insert(0, if bytes == b"edited" { b"2 " } else { b"1 " }))
        })
        .unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2 edited");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn an_append_makes_the_file_and_a_refusal_leaves_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.md");
        assert_eq!(change(&path, |_| None).unwrap(), None);
        assert!(!path.exists());
        change(&path, |bytes| Some(insert(bytes.len(), b"a\n"))).unwrap();
        change(&path, |bytes| Some(insert(bytes.len(), b"b\n"))).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
    }
}
