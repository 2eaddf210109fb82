//! Where the queue of a store is: a name made of the store's path, where only its user can get.

use std::io;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::layout::Layout;

/// The address of a queue: the path of a socket, or on Windows of a named pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(pub PathBuf);

/// Why a store has no queue.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("cannot use {path} for the queue", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{path} is not a directory of this user alone, so the queue is not opened there", path = .0.display())]
    NotPrivate(PathBuf),
}

/// The address of a store's queue. Touches nothing but the store's own path.
pub fn address(layout: &Layout) -> Result<Address, AddressError> {
    let store = std::fs::canonicalize(layout.dir())
        .map_err(|source| AddressError::Io { path: layout.dir().to_owned(), source })?;
    let hash = Sha256::digest(store.as_os_str().as_encoded_bytes());
    let name: String = hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
    Ok(platform::address(&name))
}

pub use platform::is_own_user;

impl Address {
    /// Makes the directory of a socket, for this user only, or finds it to be so.
    pub fn prepare(&self) -> Result<(), AddressError> {
        platform::prepare(self)
    }

    /// Whether nobody else can have put something there.
    pub(super) fn is_private(&self) -> bool {
        platform::is_private(self)
    }
}

#[cfg(unix)]
mod platform {
    use std::fs::{self, DirBuilder};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    use std::path::{Path, PathBuf};

    use super::{Address, AddressError};

    pub(super) fn address(name: &str) -> Address {
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        let directory = runtime.map_or_else(
            || std::env::temp_dir().join(format!("jikime-memory-{}", rustix::process::geteuid().as_raw())),
            |runtime| runtime.join("jikime-memory"),
        );
        Address(directory.join(name).with_extension("sock"))
    }

    /// Whether a user is the one that this process runs as.
    pub fn is_own_user(user: u32) -> bool {
        user == rustix::process::geteuid().as_raw()
    }

    pub(super) fn prepare(address: &Address) -> Result<(), AddressError> {
        let directory = directory(address);
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(AddressError::Io { path: directory.to_owned(), source })
            }
            _ if is_private(address) => Ok(()),
            _ => Err(AddressError::NotPrivate(directory.to_owned())),
        }
    }

    pub(super) fn is_private(address: &Address) -> bool {
        fs::symlink_metadata(directory(address))
            .is_ok_and(|metadata| metadata.is_dir() && is_own_user(metadata.uid()) && metadata.mode() & 0o077 == 0)
    }

    fn directory(address: &Address) -> &Path {
        address.0.parent().expect("a socket is in the directory that its address was made with")
    }
}

/// Named pipes have no directory; by default only their creator may write to them, which is what a client does first.
#[cfg(windows)]
mod platform {
    use super::{Address, AddressError};

    pub(super) fn address(name: &str) -> Address {
        Address(format!(r"\\.\pipe\jikime-memory-{name}").into())
    }

    pub(super) fn prepare(_: &Address) -> Result<(), AddressError> {
        Ok(())
    }

    pub(super) fn is_private(_: &Address) -> bool {
        true
    }

    /// Not asked here: the pipe's own access list keeps others out.
    pub fn is_own_user(_: u32) -> bool {
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn at(directory: &std::path::Path) -> Address {
        Address(directory.join("x.sock"))
    }

    #[test]
    fn a_store_has_one_address_however_its_path_is_spelled() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(&project.path().join("p"));
        assert!(address(&layout).is_err());
        fs::create_dir_all(layout.dir()).unwrap();
        symlink(project.path().join("p"), project.path().join("link")).unwrap();
        let found = address(&layout).unwrap();
        assert_eq!(found, address(&Layout::new(&project.path().join("link"))).unwrap());
        assert!(found.0.as_os_str().len() < 104, "{found:?}");
        fs::create_dir_all(Layout::new(project.path()).dir()).unwrap();
        assert_ne!(found, address(&Layout::new(project.path())).unwrap());
    }

    #[test]
    fn a_directory_that_others_may_enter_or_that_is_a_link_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("own");
        at(&own).prepare().unwrap();
        at(&own).prepare().unwrap();
        symlink(&own, root.path().join("link")).unwrap();
        let link = at(&root.path().join("link"));
        assert!(matches!(link.prepare(), Err(AddressError::NotPrivate(_))));
        assert!(!link.is_private());
        fs::set_permissions(&own, fs::Permissions::from_mode(0o711)).unwrap();
        assert!(matches!(at(&own).prepare(), Err(AddressError::NotPrivate(_))));
        fs::write(root.path().join("file"), "").unwrap();
        assert!(at(&root.path().join("file")).prepare().is_err());
    }

    #[test]
    fn another_user_is_told_apart() {
        let own = rustix::process::geteuid().as_raw();
        assert!(is_own_user(own) && !is_own_user(own + 1));
    }
}
