//! A Unix domain socket in a directory that only its user can enter.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use schema::intake::queue::{QueueAddress, connect, is_own_user};
use tokio::net::{UnixListener, UnixStream};

#[derive(Debug)]
pub(super) struct QueueListener {
    socket: UnixListener,
    path: PathBuf,
    /// Identifies the socket file, so that the file of another server is not removed.
    inode: u64,
}

impl QueueListener {
    /// Opens the socket. If connecting to an existing socket is refused, a killed server left it behind, and it is removed.
    pub(super) fn bind(address: &QueueAddress) -> io::Result<Self> {
        let path = address.0.clone();
        match connect(address) {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(&path)?,
            Err(_) => {}
        }
        let socket = UnixListener::bind(&path)?;
        let inode = fs::symlink_metadata(&path)?.ino();
        Ok(Self { socket, path, inode })
    }

    /// The next connection, or `None` if it comes from another user.
    pub(super) async fn accept(&mut self) -> io::Result<Option<UnixStream>> {
        let (stream, _) = self.socket.accept().await?;
        let is_own = stream.peer_cred().is_ok_and(|peer| is_own_user(peer.uid()));
        Ok(is_own.then_some(stream))
    }

    /// Whether clients can still find the socket.
    pub(super) fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode)
    }
}

impl Drop for QueueListener {
    fn drop(&mut self) {
        if self.is_in_place() {
            // If this fails, the next server detects a stale socket.
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
    fn bind_does_not_wait_for_an_owner_that_stopped_accepting() {
        let directory = tempfile::tempdir().unwrap();
        let address = QueueAddress(directory.path().join("x.sock"));
        let _owner = UnixListener::bind(&address.0).unwrap();
        // More connections than the backlog holds.
        let waiting: Vec<_> = std::iter::from_fn(|| connect(&address).ok()).collect();
        assert!(!waiting.is_empty());
        let (done, bound) = mpsc::channel();
        let probed = address.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async { done.send(QueueListener::bind(&probed).map(drop).map_err(|error| error.kind())) })
        });
        let bound = bound.recv_timeout(Duration::from_secs(20)).expect("bind returns");
        assert_eq!(bound, Err(io::ErrorKind::AddrInUse));
        assert!(address.0.exists());
    }
}
