//! Changes Markdown files of the store without losing what another program writes to them at the same time.
//!
//! Editors, formatters and git do not know the store lock, which the caller holds. Most of them truncate a file and then write it again, so
//! a file that became shorter is left alone until it has not changed for [`QUIET_TIME`].

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::files::crash_point;
use crate::files::file_stamp::{FileStamp, file_identity, open_file_identity};
use crate::files::store_file::{self, is_refused, options_for_private};
use crate::log::LogTail;

/// A failure to read or change a file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {path}", path = .path.display())]
pub struct LogFileError {
    pub doing: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl LogFileError {
    /// Whether another program keeps writing the file.
    pub fn is_being_rewritten(&self) -> bool {
        self.source.kind() == io::ErrorKind::ResourceBusy
    }
}

/// How long a file must stay unchanged to count as finished.
pub const QUIET_TIME: Duration = Duration::from_secs(2);

/// How long a command waits for a file to be finished.
pub const MAX_WAIT: Duration = Duration::from_secs(3);

/// The pause between two checks.
pub const PAUSE: Duration = Duration::from_millis(20);

/// How many bytes an append reads at the end of a file.
const SHORT_TAIL: u64 = 4 * 1024;

/// How many bytes an append reads if the last line is unterminated, because it may belong to a long entry.
const LONG_TAIL: u64 = 256 * 1024;

/// Milliseconds since 1970.
pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The state of a file, from its metadata.
#[derive(Debug, Clone, Copy)]
pub struct FileState {
    /// `None` if there is no such file.
    pub stamp: Option<FileStamp>,
    /// When the file last changed, or its directory if there is no such file.
    modified: Option<SystemTime>,
    /// Whether the path is something other than a file. Opening it fails.
    is_foreign: bool,
}

impl FileState {
    pub fn read(path: &Path) -> Self {
        let file = fs::symlink_metadata(path);
        let is_foreign = file.as_ref().is_ok_and(|metadata| !metadata.is_file());
        let stamp = file.as_ref().ok().filter(|_| !is_foreign).and_then(FileStamp::from_metadata);
        let either = file.or_else(|_| fs::symlink_metadata(path.parent().unwrap_or(path)));
        Self { stamp, modified: either.and_then(|metadata| metadata.modified()).ok(), is_foreign }
    }

    /// Whether another program seems to be writing the file, which had `size` bytes after our last change or read: it is empty, shorter or
    /// gone, and changed less than [`QUIET_TIME`] ago.
    pub fn is_being_rewritten(&self, size: Option<i64>) -> bool {
        let is_shorter = match self.stamp {
            Some(stamp) => stamp.size == 0 || size.is_some_and(|size| stamp.size < size),
            None => !self.is_foreign && size.is_some_and(|size| size > 0),
        };
        is_shorter && !self.is_quiet()
    }

    /// Whether the file has not changed lately. A time in the future counts as long ago.
    pub fn is_quiet(&self) -> bool {
        self.modified.is_none_or(|at| at.elapsed().map_or(true, |age| age >= QUIET_TIME))
    }

    /// When the file last changed, in milliseconds since 1970, or `None` if it is gone.
    pub fn saved_at(&self) -> Option<i64> {
        let at = self.modified.filter(|_| self.stamp.is_some())?;
        i64::try_from(at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()
    }
}

/// Returns the bytes of a file. A missing file has none, nor has a refused one, such as a link: nothing outside the store is a memory.
pub fn read(path: &Path) -> Result<Vec<u8>, LogFileError> {
    match read_for_change(path) {
        Err(error) if is_refused(&error.source) => Ok(Vec::new()),
        read => read,
    }
}

/// Returns the bytes of a file that is about to change. Unlike [`read`], fails if the file is refused.
fn read_for_change(path: &Path) -> Result<Vec<u8>, LogFileError> {
    store_file::read_or_empty(path).map_err(|source| LogFileError { doing: "read", path: path.to_owned(), source })
}

/// Appends the bytes that `make` returns for the end of the file, and returns the file's stamp. Creates a missing file. If the disk is
/// full, the file stays as it was.
///
/// Returns `None` if another program changed the file since `file_state`. Then the bytes may be in the file or not, so the caller must look at it
/// again.
pub fn append_bytes(
    path: &Path,
    file_state: FileState,
    make: impl FnOnce(LogTail<'_>) -> Vec<u8>,
) -> Result<Option<FileStamp>, LogFileError> {
    let to_error = |source| LogFileError { doing: "append to", path: path.to_owned(), source };
    // Git removes a file before it creates the new one, and fails if the file exists by then.
    let is_new = file_state.stamp.is_none() && !file_state.is_foreign;
    let mut file = match options_for_private().read(true).append(true).create_new(is_new).open(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => {
            return Ok(None);
        }
        opened => opened.map_err(to_error)?,
    };
    let before = file.metadata().map_err(to_error)?;
    if !is_new && FileStamp::from_metadata(&before) != file_state.stamp {
        return Ok(None);
    }
    let mut end = read_tail(&mut file, before.len(), SHORT_TAIL).map_err(to_error)?;
    if LogTail::whole(&end).ends_mid_line() {
        end = read_tail(&mut file, before.len(), LONG_TAIL).map_err(to_error)?;
    }
    let is_whole = end.len() as u64 == before.len();
    let bytes = make(LogTail { bytes: &end, is_whole });
    crash_point::crash_after("log.half", || drop(file.write_all(&bytes[..bytes.len() / 2])));
    file.write_all(&bytes).map_err(|error| {
        // Half an entry would parse as an entry.
        let _ = file.set_len(before.len());
        to_error(error)
    })?;
    crash_point::crash_if_armed("log.appended");
    let after = file.metadata().map_err(to_error)?;
    // Editors save by replacing the file that was open here.
    if file_identity(path) != open_file_identity(&before) {
        return Ok(None);
    }
    let is_alone = after.len() == before.len() + bytes.len() as u64;
    Ok(FileStamp::from_metadata(&after).filter(|_| is_alone))
}

/// Returns the last bytes of a file of this length, at most `limit`. They are fewer if the file became shorter meanwhile.
fn read_tail(file: &mut File, length: u64, limit: u64) -> io::Result<Vec<u8>> {
    let wanted = length.min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
    file.seek(SeekFrom::Start(length - wanted))?;
    file.take(wanted).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last known change of a file that is about to be rewritten.
#[derive(Debug, Clone, Copy)]
pub enum LastChange {
    /// Our own, which left the file with this stamp.
    Ours(FileStamp),
    /// None: the file never existed.
    Unchanged,
    /// Possibly another program's.
    Unknown,
}

impl LastChange {
    fn is_still_true(self, now: Option<FileStamp>) -> bool {
        match self {
            Self::Ours(stamp) => now == Some(stamp),
            Self::Unchanged => now.is_none(),
            Self::Unknown => false,
        }
    }
}

/// Replaces a file with what `edit` returns for its bytes, atomically, and returns whether it did. If `edit` returns `None`, the file
/// stays.
///
/// Replaces the file only if its last change is `last` or it has been quiet: a program that still has the old file open would lose what it
/// writes. Waits for that as long as `timeout`. Calls `edit` again if the file changed meanwhile.
pub fn rewrite_with(
    path: &Path,
    last: LastChange,
    timeout: Duration,
    mut edit: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<bool, LogFileError> {
    let deadline = Instant::now() + timeout;
    loop {
        let stamp = FileStamp::read(path);
        let before = read_for_change(path)?;
        let Some(after) = edit(&before) else { return Ok(false) };
        let may_replace = last.is_still_true(stamp) || FileState::read(path).is_quiet();
        if may_replace && replace_if_unchanged(path, stamp, &before, &after)? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            let text = "another program keeps writing it; try again when it has finished";
            let source = io::Error::new(io::ErrorKind::ResourceBusy, text);
            return Err(LogFileError { doing: "rewrite", path: path.to_owned(), source });
        }
        if !may_replace {
            thread::sleep(PAUSE);
        }
    }
}

/// Replaces the file, or returns `false` if it changed since it was read.
fn replace_if_unchanged(
    path: &Path,
    stamp: Option<FileStamp>,
    before: &[u8],
    after: &[u8],
) -> Result<bool, LogFileError> {
    let to_error = |source| LogFileError { doing: "rewrite", path: path.to_owned(), source };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = (|| {
        let mut file: File = options_for_private().create(true).truncate(true).open(&temporary)?;
        file.write_all(after)?;
        if let Ok(metadata) = fs::metadata(path) {
            file.set_permissions(metadata.permissions())?;
        }
        drop(file);
        crash_point::crash_if_armed("log.rewritten");
        if read_for_change(path).map_err(|error| error.source)? != before || FileStamp::read(path) != stamp {
            return Ok(false);
        }
        let is_replaced = rename_over(&temporary, path, stamp.map(|_| before))?;
        crash_point::crash_if_armed("log.replaced");
        Ok(is_replaced)
    })();
    if !matches!(written, Ok(true)) {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(to_error)
}

/// Renames `new` to `path` if the file there still has the bytes `before`, or is still missing if `before` is `None`. Otherwise returns
/// `false`, and `path` is as another program left it: git, for example, removes a file and fails if something is there before it has
/// created the new one.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_over(new: &Path, path: &Path, before: Option<&[u8]>) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    let rename = |flags| renameat_with(CWD, new, CWD, path, flags);
    let Some(before) = before else {
        return match rename(RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::rename(new, path).map(|()| true),
            renamed => Ok(renamed.map(|()| true)?),
        };
    };
    match rename(RenameFlags::EXCHANGE) {
        Err(Errno::NOENT) => return Ok(false),
        // Some file systems, such as those on a network, only replace.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return fs::rename(new, path).map(|()| true),
        exchanged => exchanged?,
    }
    // The replaced file has the other name now.
    if store_file::read(new)? != before {
        rename(RenameFlags::EXCHANGE).or_else(|_| rename(RenameFlags::empty()))?;
        return Ok(false);
    }
    fs::remove_file(new).map(|()| true)
}

/// Renames `new` to `path`.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_over(new: &Path, path: &Path, _before: Option<&[u8]>) -> io::Result<bool> {
    fs::rename(new, path).map(|()| true)
}

#[cfg(test)]
pub(crate) mod tests;
