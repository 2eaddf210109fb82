//! A lock between processes, on a file of its own, that gives up after a while.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::files::store_file::options_for_private;

/// How long to rest between two tries. A lock of a store is held for a fraction of a millisecond, so that a crowd that rested for longer
/// would leave it unused; one that is held for longer is not worth the waking up.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
const MAX_PAUSE: Duration = Duration::from_millis(1);

/// Held until dropped; the operating system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{path} is held by another process", path = .0.display())]
    Busy(PathBuf),
    #[error("cannot lock {path}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl FileLock {
    /// Takes the lock, trying for `patience` at most.
    pub fn acquire(path: &Path, patience: Duration) -> Result<Self, LockError> {
        let fault = |source| LockError::Io { path: path.to_owned(), source };
        let file = options_for_private().create(true).truncate(false).open(path).map_err(fault)?;
        let deadline = Instant::now() + patience;
        let mut pause = FIRST_PAUSE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(source)) => return Err(fault(source)),
                Err(TryLockError::WouldBlock) => {}
            }
            if Instant::now() >= deadline {
                return Err(LockError::Busy(path.to_owned()));
            }
            std::thread::sleep(pause);
            pause = (pause + pause / 8).min(MAX_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_lets_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = FileLock::acquire(&path, Duration::ZERO).unwrap();
        assert!(matches!(FileLock::acquire(&path, Duration::ZERO), Err(LockError::Busy(_))));
        drop(first);
        FileLock::acquire(&path, Duration::ZERO).unwrap();
    }
}
