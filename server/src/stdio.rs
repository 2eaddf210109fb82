//! Standard input and output as a transport: one line is one message. This module answers lines that the library ignores, and filters lines
//! on which the library would end, so that bad input never stops the server.

mod line_reader;

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::message::{self, IncomingMessage};
use crate::request::lock;
use line_reader::{InputLine, LineReader};

/// Bytes of a message. The longest memory is far shorter.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Requests without an answer yet. At this number the server stops reading, so that a client that never reads its answers blocks on its own
/// pipe and does not fill this process.
const UNANSWERED: usize = 1024;

/// Time to write the last errors.
const DRAIN_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct StdioTransport<R, W> {
    lines: LineReader<R>,
    output: Arc<tokio::sync::Mutex<W>>,
    permits: Arc<Semaphore>,
    /// The permit for the next request, acquired before it is read.
    next_permit: Option<OwnedSemaphorePermit>,
    unanswered: PendingRequests,
    refusals: JoinSet<()>,
    /// Whether the connection is open. Until then the library fails on anything but a request.
    is_open: bool,
}

/// Requests without an answer yet. A request that can last as long as the connection, such as listening, holds no permit.
type PendingRequests = Arc<Mutex<HashMap<RequestId, Option<OwnedSemaphorePermit>>>>;

impl<R, W> StdioTransport<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            lines: LineReader::new(input),
            output: Arc::new(tokio::sync::Mutex::new(output)),
            permits: Arc::new(Semaphore::new(UNANSWERED)),
            next_permit: None,
            unanswered: PendingRequests::default(),
            refusals: JoinSet::new(),
            is_open: false,
        }
    }

    /// The message of a line for the library, or `None` if it was answered or ignored here.
    fn handle_line(&mut self, line: &InputLine) -> Option<ClientJsonRpcMessage> {
        let incoming = if line.length > MAX_MESSAGE_BYTES {
            message::reject_too_long(&line.bytes, line.length, MAX_MESSAGE_BYTES)
        } else {
            message::parse_message(&line.bytes)
        };
        let incoming = match incoming {
            IncomingMessage::Message(message) => self.admit_message(*message),
            other => other,
        };
        match incoming {
            IncomingMessage::Message(message) => Some(*message),
            IncomingMessage::Ignored => {
                tracing::debug!("ignored a line of {} bytes", line.length);
                None
            }
            IncomingMessage::Refused(answer) => {
                tracing::debug!("rejected a line of {} bytes", line.length);
                self.send_refusal(*answer);
                None
            }
        }
    }

    /// Accepts a message, unless its id is already in use or the library cannot answer it.
    fn admit_message(&mut self, message: ClientJsonRpcMessage) -> IncomingMessage {
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if let ClientRequest::CustomRequest(request) = &request.request {
                    let version = request.get_meta().protocol_version();
                    return message::reject(message::unknown_request_error(request, version.as_ref()), Some(id));
                }
                let mut unanswered = lock(&self.unanswered);
                if unanswered.contains_key(&id) {
                    let text = format!("request id {id} is still in use; give each request its own id");
                    return message::reject(ErrorData::invalid_request(text, None), Some(id));
                }
                let is_lasting = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                let permit = if is_lasting { None } else { self.next_permit.take() };
                unanswered.insert(id, permit);
                self.is_open |= is_opening(&request.request);
            }
            _ if !self.is_open => return IncomingMessage::Ignored,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // A cancelled request gets no answer.
                    lock(&self.unanswered).remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        IncomingMessage::Message(Box::new(message))
    }

    /// Answers without the library. The permit is released after the answer is written.
    fn send_refusal(&mut self, answer: ServerJsonRpcMessage) {
        let (output, permit) = (Arc::clone(&self.output), self.next_permit.take());
        while self.refusals.try_join_next().is_some() {}
        self.refusals.spawn(async move {
            if let Err(error) = write_message(&output, &answer).await {
                tracing::debug!("cannot write to standard output: {error}");
            }
            drop(permit);
        });
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (output, unanswered) = (Arc::clone(&self.output), Arc::clone(&self.unanswered));
        async move {
            let id = match &item {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            // The client can reuse the id as soon as it reads the answer. The permit is released after the answer is written.
            let permit = id.and_then(|id| lock(&unanswered).remove(id));
            let written = write_message(&output, &item).await;
            drop(permit);
            written
        }
    }

    /// The next message. Must be safe to cancel, because the library often stops waiting and calls it again.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.next_permit.is_none() {
                self.next_permit = Arc::clone(&self.permits).acquire_owned().await.ok();
            }
            let line = match self.lines.next().await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::debug!("cannot read standard input: {error}");
                    return None;
                }
            };
            if let Some(message) = self.handle_line(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let written = async { while self.refusals.join_next().await.is_some() {} };
        // A client that does not read by now will not read at all.
        let _ = timeout(DRAIN_TIME, written).await;
        Ok(())
    }
}

/// Whether the library accepts this request as the first one: a handshake, or a request with all metadata.
fn is_opening(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_complete = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
            is_complete
                && meta.protocol_version().is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

async fn write_message<W: AsyncWrite + Unpin>(
    output: &tokio::sync::Mutex<W>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// Standard input that sets a flag at its end, so that the server can stop even while a task waits for something else.
#[derive(Debug)]
pub(crate) struct StdinReader<R> {
    pub(crate) reader: R,
    pub(crate) ended: CancellationToken,
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
            Poll::Ready(_) => self.ended.cancel(),
            Poll::Pending => {}
        }
        outcome
    }
}
