//! A Unix domain socket, in a directory that only its user can enter.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use schema::queue::{Address, connect, is_own_user};
use tokio::net::{UnixListener, UnixStream};

#[derive(Debug)]
pub(super) struct Listener {
    socket: UnixListener,
    path: PathBuf,
    /// Which file the socket is, so that no other is taken for it.
    inode: u64,
}

impl Listener {
    /// Opens the socket. One that a killed server left behind is removed, which shows by nobody answering there.
    pub(super) fn bind(address: &Address) -> io::Result<Self> {
        let path = address.0.clone();
        match connect(address) {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server answers there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(&path)?,
            Err(_) => {}
        }
        let socket = UnixListener::bind(&path)?;
        let inode = fs::symlink_metadata(&path)?.ino();
        Ok(Self { socket, path, inode })
    }

    /// The next connection, or `None` for one of another user.
    pub(super) async fn accept(&mut self) -> io::Result<Option<UnixStream>> {
        let (stream, _) = self.socket.accept().await?;
        let is_own = stream.peer_cred().is_ok_and(|peer| is_own_user(peer.uid()));
        Ok(is_own.then_some(stream))
    }

    /// Whether clients still find it.
    pub(super) fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.is_in_place() {
            // A socket that stays is found to be stale by the next server.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_socket_whose_owner_has_stopped_to_accept_is_left_to_it_without_waiting_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let address = Address(directory.path().join("x.sock"));
        let _owner = UnixListener::bind(&address.0).unwrap();
        // More than can wait to be accepted.
        let waiting: Vec<_> = std::iter::from_fn(|| connect(&address).ok()).collect();
        assert!(!waiting.is_empty());
        let (done, bound) = mpsc::channel();
        let probed = address.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { done.send(Listener::bind(&probed).map(drop).map_err(|error| error.kind())) })
        });
        let bound = bound.recv_timeout(Duration::from_secs(20)).expect("an end of the waiting");
        assert_eq!(bound, Err(io::ErrorKind::AddrInUse));
        assert!(address.0.exists());
    }
}
