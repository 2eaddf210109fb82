//! Standard input that reports its end, so that the server can stop even while a task waits for something else.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;

/// Sets a flag at the end of the input.
#[derive(Debug)]
pub(crate) struct StdinReader<R> {
    reader: R,
    ended: watch::Sender<bool>,
}

impl<R> StdinReader<R> {
    pub(crate) fn new(reader: R, ended: watch::Sender<bool>) -> Self {
        Self { reader, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for StdinReader<R> {
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
