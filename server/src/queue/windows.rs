//! A named pipe. By default only the user who made it may write to it, and nobody from another machine can open it here.

use std::io;

use schema::queue::Address;
use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};

#[derive(Debug)]
pub(super) struct Listener {
    address: Address,
    /// The instance that the next client gets.
    next: NamedPipeServer,
}

impl Listener {
    pub(super) fn bind(address: &Address) -> io::Result<Self> {
        let next = ServerOptions::new().first_pipe_instance(true).reject_remote_clients(true).create(&address.0)?;
        Ok(Self { address: address.clone(), next })
    }

    /// The next connection.
    pub(super) async fn accept(&mut self) -> io::Result<Option<NamedPipeServer>> {
        self.next.connect().await?;
        let next = ServerOptions::new().reject_remote_clients(true).create(&self.address.0)?;
        Ok(Some(std::mem::replace(&mut self.next, next)))
    }

    /// Nobody can take a pipe away.
    #[expect(clippy::unused_self, reason = "a socket needs it to know")]
    pub(super) fn is_in_place(&self) -> bool {
        true
    }
}
