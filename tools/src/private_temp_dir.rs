//! A temporary directory that only the user can read, deleted on drop.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::files::layout::private_dir_builder;

/// How many names are tried. A process that was killed leaves its directory behind.
const MAX_NAMES: usize = 1_000;

#[derive(Debug)]
pub struct PrivateTempDir(PathBuf);

impl PrivateTempDir {
    /// Creates an empty directory. Its name contains the purpose.
    pub fn create(purpose: &str) -> io::Result<Self> {
        Self::create_in(&environment::temp_dir(), purpose)
    }

    fn create_in(parent: &Path, purpose: &str) -> io::Result<Self> {
        let process = std::process::id();
        for number in 0..MAX_NAMES {
            let path = parent.join(format!("jikime-memory-{purpose}-{process}-{number}"));
            // Not recursive, so that an existing directory or link is an error and never used.
            match private_dir_builder().recursive(false).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("cannot create {}: {error}", path.display())));
                }
            }
        }
        Err(io::Error::other(format!("{} is full of directories of earlier processes", parent.display())))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the directory where it is.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for PrivateTempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_new_private_and_deleted_on_drop() {
        let parent = tempfile::tempdir().unwrap();
        let [first, second] = ["test"; 2].map(|purpose| PrivateTempDir::create_in(parent.path(), purpose).unwrap());
        assert_ne!(first.path(), second.path());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(first.path()).unwrap().permissions().mode() & 0o777, 0o700);
        }
        fs::write(first.path().join("file"), "text").unwrap();
        drop(first);
        second.keep();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn link_with_the_name_is_not_followed() {
        let (parent, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let name = format!("jikime-memory-test-{}-0", std::process::id());
        std::os::unix::fs::symlink(elsewhere.path(), parent.path().join(name)).unwrap();
        let created = PrivateTempDir::create_in(parent.path(), "test").unwrap();
        assert!(created.path().to_string_lossy().ends_with("-1"), "{created:?}");
    }
}
