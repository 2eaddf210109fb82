//! A named pipe. By default only the user who created it can write to it. Remote clients are rejected.

use std::io;

use schema::intake::queue::QueueAddress;
use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};

#[derive(Debug)]
pub(super) struct QueueListener {
    address: QueueAddress,
    /// The instance for the next client.
    next: NamedPipeServer,
}

impl QueueListener {
    pub(super) fn bind(address: &QueueAddress) -> io::Result<Self> {
        let next = ServerOptions::new().first_pipe_instance(true).reject_remote_clients(true).create(&address.0)?;
        Ok(Self { address: address.clone(), next })
    }

    pub(super) async fn accept(&mut self) -> io::Result<Option<NamedPipeServer>> {
        self.next.connect().await?;
        let next = ServerOptions::new().reject_remote_clients(true).create(&self.address.0)?;
        Ok(Some(std::mem::replace(&mut self.next, next)))
    }

    /// A pipe cannot be deleted.
    #[expect(clippy::unused_self, reason = "the Unix listener needs it")]
    pub(super) fn is_in_place(&self) -> bool {
        true
    }
}
