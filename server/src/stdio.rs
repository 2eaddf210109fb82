//! Standard input and output as a transport: a line is a message. What the protocol's library would pass over in silence is answered
//! here, and what would end it is kept from it, so that the next good request is served whatever came before.

mod lines;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::message::{self, Incoming};
use lines::{Line, Lines};

/// Bytes of a message. The longest memory is far shorter.
const LONGEST: usize = 16 * 1024 * 1024;

/// Requests that are not answered yet. While there are so many, no more are read: a client that never reads its answers stops at its
/// own pipe rather than fill this process.
const UNANSWERED: usize = 1024;

/// How long the last refusals may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// One connection.
#[derive(Debug)]
pub(crate) struct Stdio<R, W> {
    lines: Lines<R>,
    output: Arc<tokio::sync::Mutex<W>>,
    places: Arc<Semaphore>,
    /// The place of the next request, taken before it is read.
    place: Option<OwnedSemaphorePermit>,
    unanswered: Unanswered,
    refusals: JoinSet<()>,
    /// Whether a request came that opens a connection. Until then the library takes anything but a request for a fault.
    is_open: bool,
}

/// Requests that are not answered yet. One that may go on for as long as the connection, such as to listen, takes no place.
type Unanswered = Arc<Mutex<HashMap<RequestId, Option<OwnedSemaphorePermit>>>>;

impl<R, W> Stdio<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    pub(crate) fn new(input: R, output: W) -> Self {
        Self {
            lines: Lines::new(input),
            output: Arc::new(tokio::sync::Mutex::new(output)),
            places: Arc::new(Semaphore::new(UNANSWERED)),
            place: None,
            unanswered: Unanswered::default(),
            refusals: JoinSet::new(),
            is_open: false,
        }
    }

    /// What a line says to the server, if anything; else it is answered here.
    fn judge(&mut self, line: &Line) -> Option<ClientJsonRpcMessage> {
        let incoming = if line.length > LONGEST {
            message::too_long(&line.bytes, line.length, LONGEST)
        } else {
            message::read(&line.bytes)
        };
        let incoming = match incoming {
            Incoming::Message(message) => self.admit(*message),
            other => other,
        };
        match incoming {
            Incoming::Message(message) => Some(*message),
            Incoming::Ignored => {
                tracing::debug!("a line of {} bytes is passed over", line.length);
                None
            }
            Incoming::Refused(answer) => {
                tracing::debug!("a line of {} bytes is refused", line.length);
                self.refuse(*answer);
                None
            }
        }
    }

    /// Lets a message pass, unless nobody could tell its answer from another or the library has no answer to it.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Incoming {
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if let ClientRequest::CustomRequest(request) = &request.request {
                    let version = request.get_meta().protocol_version();
                    return message::refused(message::unknown(request, version.as_ref()), Some(id));
                }
                let mut unanswered = locked(&self.unanswered);
                if unanswered.contains_key(&id) {
                    let text = format!("the request of id {id} is not answered yet: give each an id of its own");
                    return message::refused(ErrorData::invalid_request(text, None), Some(id));
                }
                let is_lasting = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                let place = if is_lasting { None } else { self.place.take() };
                unanswered.insert(id, place);
                self.is_open |= opens(&request.request);
            }
            _ if !self.is_open => return Incoming::Ignored,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // It will not be answered.
                    locked(&self.unanswered).remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Incoming::Message(Box::new(message))
    }

    /// Answers without the library. The place is free again when it is written.
    fn refuse(&mut self, answer: ServerJsonRpcMessage) {
        let (output, place) = (Arc::clone(&self.output), self.place.take());
        while self.refusals.try_join_next().is_some() {}
        self.refusals.spawn(async move {
            if let Err(error) = write(&output, &answer).await {
                tracing::debug!("nobody reads answers any more: {error}");
            }
            drop(place);
        });
    }
}

impl<R, W> Transport<RoleServer> for Stdio<R, W>
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
            // The id is free as soon as the client can have read the answer, the place not before it is written.
            let place = id.and_then(|id| locked(&unanswered).remove(id));
            let written = write(&output, &item).await;
            drop(place);
            written
        }
    }

    /// The next message. The library stops waiting for it whenever it has something else to do, and asks again.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.place.is_none() {
                self.place = Arc::clone(&self.places).acquire_owned().await.ok();
            }
            let line = match self.lines.next().await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::debug!("standard input cannot be read: {error}");
                    return None;
                }
            };
            if let Some(message) = self.judge(&line) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        let written = async { while self.refusals.join_next().await.is_some() {} };
        // Who does not read by now will not.
        let _ = timeout(LAST_WORDS, written).await;
        Ok(())
    }
}

/// Whether the library takes a request for the beginning of a connection: a handshake, or what comes with all that it needs.
fn opens(request: &ClientRequest) -> bool {
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

async fn write<W: AsyncWrite + Unpin>(
    output: &tokio::sync::Mutex<W>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// A fault of another thread leaves a map of ids as good as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
