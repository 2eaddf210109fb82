//! A Unix domain socket, in a directory that only its user can enter.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream as Probe;
use std::path::PathBuf;

use schema::queue::{Address, is_own_user};
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
        match Probe::connect(&path) {
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
