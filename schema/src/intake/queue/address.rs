//! The address of a store's queue: a name derived from the store's path, in a directory that only its user can enter.
//!
//! Hosts start servers and hooks with different environments. So a server uses the first safe directory of several, and a client looks in
//! all of them.

use std::io;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::files::layout::Layout;
use crate::model::memory::to_hex;

/// The address of a queue: the path of a socket, or on Windows of a named pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueAddress(pub PathBuf);

/// The reason why a store has no queue.
#[derive(Debug, thiserror::Error)]
pub enum QueueAddressError {
    #[error("cannot resolve {path}", path = .path.display())]
    Store { path: PathBuf, source: io::Error },
    #[error("no safe directory for the socket: {0}")]
    Unsafe(String),
}

pub use platform::{SocketDirs, is_own_user};

/// Returns a name for a store that is the same through any link. It is short because socket paths must be short.
fn store_name(layout: &Layout) -> Result<String, QueueAddressError> {
    let store = std::fs::canonicalize(layout.store_dir())
        .map_err(|source| QueueAddressError::Store { path: layout.store_dir().to_owned(), source })?;
    Ok(to_hex(&Sha256::digest(store.as_os_str().as_encoded_bytes())[..10]))
}

#[cfg(unix)]
mod platform {
    use std::fs::{self, DirBuilder};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
    use std::path::PathBuf;

    use super::{QueueAddress, QueueAddressError, store_name};
    use crate::files::environment;
    use crate::files::layout::Layout;

    /// The longest path of a socket on every Unix, in bytes: macOS allows 104, including the final zero.
    const MAX_SOCKET_PATH: usize = 103;

    /// The directories for sockets, best first.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SocketDirs(Vec<SocketDir>);

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct SocketDir {
        path: PathBuf,
        /// Whether it is in the runtime directory of this user, and not in one for temporary files of all users. `sudo` may leave another
        /// user's in the environment, and a directory that root creates there locks its owner out.
        is_in_runtime: bool,
    }

    impl SocketDirs {
        /// Returns the directories that the environment names, and those that are customary on the system.
        pub fn from_environment() -> Self {
            let custom = PathBuf::from(format!("/run/user/{}", own_user()));
            let named = environment::variable("XDG_RUNTIME_DIR").map(PathBuf::from);
            Self::new(named.into_iter().chain([custom]), [environment::temp_dir(), PathBuf::from("/tmp")])
        }

        /// Prefers runtime directories to directories for temporary files.
        pub(in crate::intake::queue) fn new(
            runtime: impl IntoIterator<Item = PathBuf>,
            temporary: impl IntoIterator<Item = PathBuf>,
        ) -> Self {
            let runtime = runtime.into_iter().map(|path| (path.join("jikime-memory"), true));
            let temporary =
                temporary.into_iter().map(|path| (path.join(format!("jikime-memory-{}", own_user())), false));
            let mut directories = Vec::new();
            for (path, is_in_runtime) in runtime.chain(temporary) {
                let directory = SocketDir { path, is_in_runtime };
                if directory.path.is_absolute() && !directories.contains(&directory) {
                    directories.push(directory);
                }
            }
            Self(directories)
        }

        /// Returns the address to listen on, in the first safe directory. Creates the directory if necessary.
        pub fn listen_address(&self, layout: &Layout) -> Result<QueueAddress, QueueAddressError> {
            let name = store_name(layout)?;
            let mut reasons = Vec::new();
            for directory in &self.0 {
                match directory.create() {
                    Ok(()) => match directory.address(&name) {
                        Some(address) => return Ok(address),
                        None => reasons.push(format!("{} is too long", directory.path.display())),
                    },
                    Err(reason) => reasons.push(format!("{}: {reason}", directory.path.display())),
                }
            }
            Err(QueueAddressError::Unsafe(reasons.join("; ")))
        }

        /// Returns the addresses where a server may listen, likeliest first. Creates nothing, and checks a directory only when its turn
        /// comes.
        pub fn connect_addresses(
            &self,
            layout: &Layout,
        ) -> Result<impl Iterator<Item = QueueAddress>, QueueAddressError> {
            let name = store_name(layout)?;
            let safe = self.0.iter().filter(|directory| directory.check().is_ok());
            Ok(safe.filter_map(move |directory| directory.address(&name)))
        }
    }

    impl SocketDir {
        fn address(&self, name: &str) -> Option<QueueAddress> {
            let path = self.path.join(name).with_extension("sock");
            (path.as_os_str().len() <= MAX_SOCKET_PATH).then_some(QueueAddress(path))
        }

        fn create(&self) -> Result<(), String> {
            self.check_parent()?;
            match DirBuilder::new().mode(0o700).create(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error.to_string()),
                _ => self.check(),
            }
        }

        /// Checks that nobody else can have put something there.
        fn check(&self) -> Result<(), String> {
            self.check_parent()?;
            let metadata = fs::symlink_metadata(&self.path).map_err(|error| error.to_string())?;
            if !metadata.is_dir() {
                Err("it is not a directory".to_owned())
            } else if !is_own_user(metadata.uid()) {
                Err("it belongs to another user".to_owned())
            } else if metadata.mode() & 0o077 != 0 {
                Err("other users may enter it".to_owned())
            } else {
                Ok(())
            }
        }

        fn check_parent(&self) -> Result<(), String> {
            let Some(parent) = self.path.parent().filter(|_| self.is_in_runtime) else { return Ok(()) };
            match fs::metadata(parent) {
                Ok(metadata) if is_own_user(metadata.uid()) => Ok(()),
                Ok(_) => Err("its parent directory belongs to another user".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        }
    }

    /// Whether a user is the one that this process runs as.
    pub fn is_own_user(user: u32) -> bool {
        user == own_user()
    }

    fn own_user() -> u32 {
        rustix::process::geteuid().as_raw()
    }
}

/// Named pipes have no directory. By default only their creator may write to them, and a client writes first.
#[cfg(windows)]
mod platform {
    use super::{QueueAddress, QueueAddressError, store_name};
    use crate::files::layout::Layout;

    /// All pipes are in one place.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct SocketDirs;

    impl SocketDirs {
        pub fn from_environment() -> Self {
            Self
        }

        /// Returns the address to listen on.
        #[expect(clippy::unused_self, reason = "sockets have several places")]
        pub fn listen_address(&self, layout: &Layout) -> Result<QueueAddress, QueueAddressError> {
            Ok(QueueAddress(format!(r"\\.\pipe\jikime-memory-{}", store_name(layout)?).into()))
        }

        /// Returns the address where a server may listen.
        pub fn connect_addresses(
            &self,
            layout: &Layout,
        ) -> Result<impl Iterator<Item = QueueAddress>, QueueAddressError> {
            self.listen_address(layout).map(|address| [address].into_iter())
        }
    }

    /// Not checked here: the access list of the pipe keeps others out.
    pub fn is_own_user(_: u32) -> bool {
        true
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    use super::*;

    fn store() -> (tempfile::TempDir, Layout) {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::new(&root.path().join("p"));
        fs::create_dir_all(layout.store_dir()).unwrap();
        for directory in ["run", "tmp"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        (root, layout)
    }

    /// Returns directories with and without a runtime directory in the environment.
    fn socket_dirs(root: &Path, runtime: &[&str]) -> SocketDirs {
        SocketDirs::new(runtime.iter().map(|name| root.join(name)), [root.join("tmp")])
    }

    fn connect_paths(places: &SocketDirs, layout: &Layout) -> Vec<PathBuf> {
        places.connect_addresses(layout).unwrap().map(|address| address.0).collect()
    }

    #[test]
    fn store_has_one_address_for_all_its_paths() {
        let (root, layout) = store();
        let places = socket_dirs(root.path(), &[]);
        assert!(places.listen_address(&Layout::new(root.path())).is_err(), "without a store");
        symlink(root.path().join("p"), root.path().join("link")).unwrap();
        let found = places.listen_address(&layout).unwrap();
        assert_eq!(found, places.listen_address(&Layout::new(&root.path().join("link"))).unwrap());
        fs::create_dir_all(Layout::new(root.path()).store_dir()).unwrap();
        assert_ne!(found, places.listen_address(&Layout::new(root.path())).unwrap());
    }

    #[test]
    fn client_finds_a_server_with_less_environment() {
        let (root, layout) = store();
        let (poor, rich) = (socket_dirs(root.path(), &[]), socket_dirs(root.path(), &["run"]));
        let QueueAddress(listening) = poor.listen_address(&layout).unwrap();
        assert_eq!(connect_paths(&rich, &layout), std::slice::from_ref(&listening));
        let QueueAddress(better) = rich.listen_address(&layout).unwrap();
        assert!(better.starts_with(root.path().join("run")));
        assert_eq!(connect_paths(&rich, &layout), [better, listening]);
    }

    #[test]
    fn unsafe_and_too_long_directories_are_skipped() {
        let (root, layout) = store();
        let places = socket_dirs(root.path(), &["gone", "run"]);
        let path = |places: &SocketDirs| places.listen_address(&layout).unwrap().0.parent().unwrap().to_owned();
        let first = path(&places);
        assert_eq!(first, root.path().join("run/jikime-memory"));
        assert!(!root.path().join("gone").exists());
        fs::set_permissions(&first, fs::Permissions::from_mode(0o711)).unwrap();
        let second = path(&places);
        assert!(second.starts_with(root.path().join("tmp")));
        assert_eq!(connect_paths(&places, &layout).len(), 1);
        fs::set_permissions(&first, fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(&second, root.path().join("elsewhere")).unwrap();
        symlink(root.path().join("elsewhere"), &second).unwrap();
        assert_eq!(connect_paths(&places, &layout).len(), 1);
        let long = root.path().join("x".repeat(100));
        fs::create_dir(&long).unwrap();
        let error = SocketDirs::new([long], [root.path().join("tmp")]).listen_address(&layout).unwrap_err().to_string();
        assert!(error.contains("too long") && error.contains("no safe directory"), "{error}");
    }

    #[test]
    fn runtime_directory_of_another_user_is_not_used() {
        let (root, layout) = store();
        let own = rustix::process::geteuid();
        // Root can create such a directory; for anybody else the root directory is one.
        let theirs = if own.is_root() { root.path().join("run") } else { PathBuf::from("/") };
        if own.is_root() {
            std::os::unix::fs::chown(&theirs, Some(1000), None).unwrap();
            fs::create_dir(theirs.join("jikime-memory")).unwrap();
            fs::set_permissions(theirs.join("jikime-memory"), fs::Permissions::from_mode(0o700)).unwrap();
        }
        let places = SocketDirs::new([theirs], [root.path().join("tmp")]);
        assert!(places.listen_address(&layout).unwrap().0.starts_with(root.path().join("tmp")));
        assert_eq!(connect_paths(&places, &layout).len(), 1);
        assert!(is_own_user(own.as_raw()) && !is_own_user(own.as_raw() + 1));
    }
}
