//! A lock between processes, with a timeout, on a file of its own.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::files::store_file::options_for_private;

/// The first and the longest pause between two tries. A store's lock is held for a fraction of a millisecond, so longer pauses would leave
/// it unused.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const MAX_PAUSE: Duration = Duration::from_micros(200);

/// A lock that is held until it is dropped. The operating system releases it whenever the process ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

/// The error when a lock is not acquired.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{path} is held by another process", path = .0.display())]
    Busy(PathBuf),
    #[error("cannot lock {path}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl FileLock {
    /// Acquires the lock, trying for at most `timeout`.
    pub fn acquire(path: &Path, timeout: Duration) -> Result<Self, LockError> {
        let to_error = |source| LockError::Io { path: path.to_owned(), source };
        let file = options_for_private().create(true).truncate(false).open(path).map_err(to_error)?;
        match lock_within(&file, timeout) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(LockError::Busy(path.to_owned())),
            locked => locked.map(|()| Self { _file: file }).map_err(to_error),
        }
    }
}

/// Locks an open file, trying for at most `timeout`. The error is `WouldBlock` if another process holds the lock.
pub(crate) fn lock_within(file: &File, timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    let mut pause = FIRST_PAUSE;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(pause),
            locked => return locked.map_err(io::Error::from),
        }
        pause = (pause + pause / 8).min(MAX_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_holder_is_refused_until_the_first_releases() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = FileLock::acquire(&path, Duration::ZERO).unwrap();
        assert!(matches!(FileLock::acquire(&path, Duration::ZERO), Err(LockError::Busy(_))));
        drop(first);
        FileLock::acquire(&path, Duration::ZERO).unwrap();
    }
}
