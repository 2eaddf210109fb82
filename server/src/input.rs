//! Standard input that tells when it has ended: whoever waits for something else, such as for changes, must not keep the server from
//! ending with it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// A reader that sets a flag when there is nothing more to read.
#[derive(Debug)]
pub(crate) struct Input<R> {
    reader: R,
    ended: watch::Sender<bool>,
}

impl<R> Input<R> {
    pub(crate) fn new(reader: R, ended: watch::Sender<bool>) -> Self {
        Self { reader, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Input<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let is_room = buffer.remaining() > 0;
        let outcome = Pin::new(&mut self.reader).poll_read(context, buffer);
        match &outcome {
            Poll::Ready(Ok(())) if !is_room || buffer.filled().len() > before => {}
            Poll::Ready(_) => drop(self.ended.send_replace(true)),
            Poll::Pending => {}
        }
        outcome
    }
}
