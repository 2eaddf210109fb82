//! Limits connections. A connection is admitted once it has sent a whole request with the token. Until then, and while it sends the next
//! request, it can be closed in favour of a new connection, so half-sent requests block nobody. An admitted connection ends after a long
//! silence.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::connect_info::Connected;
use axum::http::StatusCode;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::request::lock;

/// Connections served at once. More wait to be accepted.
const MAX_CONNECTIONS: usize = 64;

/// Idle limit of an admitted connection. The server itself keeps event streams alive.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Time until a new connection must be admitted.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a new connection has at least, however many others wait. A real client sends its token at once.
const MIN_SENDING_TIME: Duration = Duration::from_millis(250);

/// Pause after the system refused a connection, for example because there are too many open files.
const PAUSE_AFTER_REFUSAL: Duration = Duration::from_millis(100);

/// Bytes of a body. The longest memory takes less, even if each byte is escaped.
pub(crate) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Time for a whole body.
pub(crate) const BODY_TIME: Duration = Duration::from_secs(10);

/// Reads a body, or returns the status for one that is too long or does not arrive in time.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, StatusCode> {
    match timeout(BODY_TIME, to_bytes(body, MAX_BODY_BYTES)).await {
        Ok(read) => read.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

/// The state of a connection, shared between the listener and the middleware.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionState(Arc<ConnectionPhase>);

#[derive(Debug)]
struct ConnectionPhase {
    /// Start of the request that is being sent. `None` while the connection is admitted.
    sending: Mutex<Option<Instant>>,
    /// Cancelled to close the connection in favour of another one.
    cancellation: CancellationToken,
}

impl ConnectionState {
    /// A request with the token has begun; its body may be incomplete.
    pub(crate) fn begin_request(&self) {
        lock(&self.0.sending).get_or_insert_with(Instant::now);
    }

    /// The whole request has arrived. The connection cannot be closed in favour of others until its next request.
    pub(crate) fn admit(&self) {
        *lock(&self.0.sending) = None;
    }

    fn is_admitted(&self) -> bool {
        lock(&self.0.sending).is_none()
    }

    /// If only the listener holds this value, the connection is closed.
    fn is_closed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Connected<IncomingStream<'_, LimitedListener>> for ConnectionState {
    fn connect_info(stream: IncomingStream<'_, LimitedListener>) -> Self {
        stream.io().state.clone()
    }
}

/// A listener that accepts at most [`MAX_CONNECTIONS`] connections.
#[derive(Debug)]
pub(crate) struct LimitedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    /// Accepted connections; some may be closed.
    connections: Vec<ConnectionState>,
}

impl LimitedListener {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, permits: Arc::new(Semaphore::new(MAX_CONNECTIONS)), connections: Vec::new() }
    }

    /// Waits for a permit. If all are taken, closes a connection that is not admitted.
    async fn acquire_permit(&mut self) -> OwnedSemaphorePermit {
        let permits = Arc::clone(&self.permits);
        loop {
            tokio::select! {
                biased;
                permit = Arc::clone(&permits).acquire_owned() => return permit.expect("the semaphore is never closed"),
                () = self.make_room() => {}
            }
        }
    }

    /// Closes the connection that has been sending its request for longest, once [`MIN_SENDING_TIME`] is over.
    async fn make_room(&mut self) {
        self.connections.retain(|connection| !connection.is_closed());
        let sending =
            self.connections.iter().filter_map(|connection| Some(((*lock(&connection.0.sending))?, connection)));
        let oldest =
            sending.filter(|(_, connection)| !connection.0.cancellation.is_cancelled()).min_by_key(|(since, _)| *since);
        // If all connections are admitted, a new request has its grace time from now on.
        let due = oldest.map_or_else(Instant::now, |(since, _)| since) + MIN_SENDING_TIME;
        if let Some((_, oldest)) = oldest.filter(|_| Instant::now() >= due) {
            oldest.0.cancellation.cancel();
            // Gives the closed connection time to release its permit.
            return sleep(PAUSE_AFTER_REFUSAL).await;
        }
        sleep_until(due).await;
    }
}

impl Listener for LimitedListener {
    type Io = LimitedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (LimitedConnection, SocketAddr) {
        let permit = self.acquire_permit().await;
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let sending = Mutex::new(Some(Instant::now()));
                    let cancellation = CancellationToken::new();
                    let state = ConnectionState(Arc::new(ConnectionPhase { sending, cancellation }));
                    self.connections.retain(|connection| !connection.is_closed());
                    self.connections.push(state.clone());
                    return (LimitedConnection::new(stream, state, permit), address);
                }
                Err(error) => {
                    tracing::debug!("a connection was not accepted: {error}");
                    sleep(PAUSE_AFTER_REFUSAL).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with a deadline.
#[derive(Debug)]
pub(crate) struct LimitedConnection {
    stream: TcpStream,
    state: ConnectionState,
    cancellation: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Deadline; traffic of an admitted connection moves it.
    end: Pin<Box<Sleep>>,
    /// Whether the deadline was moved. An answer may take longer than a request.
    is_moved: bool,
    _permit: OwnedSemaphorePermit,
}

impl LimitedConnection {
    fn new(stream: TcpStream, state: ConnectionState, permit: OwnedSemaphorePermit) -> Self {
        let cancellation = Box::pin(state.0.cancellation.clone().cancelled_owned());
        let end = Box::pin(sleep(REQUEST_TIMEOUT));
        Self { stream, state, cancellation, end, is_moved: false, _permit: permit }
    }

    /// Closes the connection at its deadline. Traffic moves the deadline only if the connection is admitted.
    fn reset_deadline<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if self.state.is_admitted() {
            if outcome.is_ready() || !self.is_moved {
                self.end.as_mut().reset(Instant::now() + IDLE_TIMEOUT);
                self.is_moved = true;
            }
            if outcome.is_ready() {
                return outcome;
            }
        } else if self.cancellation.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => outcome,
        }
    }
}

impl AsyncRead for LimitedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.reset_deadline(context, outcome)
    }
}

impl AsyncWrite for LimitedConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.reset_deadline(context, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
