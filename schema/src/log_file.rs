//! Changes a Markdown file of the store so that no reader sees half a change and no editor's save is lost.
//!
//! The caller holds the store lock; editors do not know of it, which is why a rewrite checks once more before it replaces.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::crash;
use crate::daily_log::Splice;
use crate::own_file::{self, is_refused, private_file};
use crate::stamp::{Stamp, identity, identity_of};

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
        // A new file appears whole, like one that is written anew.
        let done = match splice.is_append(before.len()) && !before.is_empty() {
            true => append(path, As::Long(before.len()), &splice.bytes)?,
            false => replace(path, &before, &splice.apply(&before))?,
        };
        if done {
            return Ok(Some(splice));
        }
    }
    let source = io::Error::other("the file keeps changing");
    Err(LogFileError { doing: "rewrite", path: path.to_owned(), source })
}

/// Appends what `edit` makes of the file as it reads it, and answers it; `None`, also for a missing file and for one that somebody
/// changed meanwhile, leaves the file alone.
pub fn extend(
    path: &Path,
    edit: impl FnOnce(&mut File) -> io::Result<Option<Splice>>,
) -> Result<Option<Splice>, LogFileError> {
    let made = match own_file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.and_then(|mut file| edit(&mut file)),
    };
    let made = made.map_err(|source| LogFileError { doing: "read", path: path.to_owned(), source })?;
    match made {
        Some(splice) if append(path, As::Long(splice.start), &splice.bytes)? => Ok(Some(splice)),
        _ => Ok(None),
    }
}

/// The bytes of a file, none when it is missing. A refused one counts as missing: what it leads to is no memory.
pub fn read(path: &Path) -> Result<Vec<u8>, LogFileError> {
    match whole(path) {
        Err(error) if is_refused(&error.source) => Ok(Vec::new()),
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

/// What is known of a file that is appended to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum As {
    /// It was read and had so many bytes.
    Long(usize),
    /// It was not read and had this stamp.
    Stamped(Stamp),
}

/// Appends to a file, which has its length again when not all of it can be written. `false` when it is another one than it was: it
/// was not appended to, or what was appended is gone with the file whose place another one took.
pub(crate) fn append(path: &Path, known: As, bytes: &[u8]) -> Result<bool, LogFileError> {
    let fault = |source| LogFileError { doing: "append to", path: path.to_owned(), source };
    let mut file = match private_file().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(fault)?,
    };
    let before = file.metadata().map_err(fault)?;
    let is_known = match known {
        As::Long(length) => before.len() == length as u64,
        As::Stamped(stamp) => Stamp::new(&before) == Some(stamp),
    };
    if !is_known {
        return Ok(false);
    }
    if crash::is_due("log.half") {
        let _ = file.write_all(&bytes[..bytes.len() / 2]);
        crash::end("log.half");
    }
    file.write_all(bytes).map_err(|error| {
        // On a full disk part of it may have been written. Half an entry would read as an entry.
        let _ = file.set_len(before.len());
        fault(error)
    })?;
    crash::point("log.appended");
    // Editors save by putting another file in the place of the one that was open here.
    Ok(identity(path) == identity_of(&before))
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
        crash::point("log.rewritten");
        if whole(path).map_err(|error| error.source)? != before {
            return Ok(false);
        }
        fs::rename(&temporary, path)?;
        crash::point("log.replaced");
        Ok(true)
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
    fn what_is_appended_to_a_file_that_is_another_by_then_is_not_taken_for_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.md");
        fs::write(&path, "old\n").unwrap();
        let stamp = Stamp::of(&path).unwrap();
        assert!(append(&path, As::Stamped(stamp), b"new\n").unwrap());
        assert!(!append(&path, As::Stamped(stamp), b"newer\n").unwrap(), "the stamp is that of another state");
        assert!(!append(&path, As::Long(4), b"newer\n").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\nnew\n");
        // In between, an editor saves: the file that is read is not the one that is appended to.
        let appended = extend(&path, |file| {
            fs::write(dir.path().join("saved"), "edited, and longer\n")?;
            fs::rename(dir.path().join("saved"), &path)?;
            let length = file.metadata()?.len() as usize;
            Ok(Some(insert(length, b"newer\n")))
        });
        assert_eq!(appended.unwrap(), None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "edited, and longer\n");
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
