//! Connections, so many at once. One is let in while it has sent a whole request that has the token. Before that, and while it sends the
//! next one, it makes way for others, so that no half-sent request keeps anybody out. One that was let in ends after a long silence.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Connections that are served at once; more wait to be accepted.
const CONNECTIONS: usize = 64;

/// How long a connection that was let in may say nothing. Streams of events are kept alive by the server itself.
const SILENCE: Duration = Duration::from_secs(60);

/// How long a connection may take until it is let in first, however much it says.
const ENTRY: Duration = Duration::from_secs(10);

/// How long it has at least, however many others wait. A client that has a token sends it at once.
const GRACE: Duration = Duration::from_millis(250);

/// The pause after the system refused a connection, for want of files for example.
const REFUSED: Duration = Duration::from_millis(100);

/// Who is at the other end of a connection.
#[derive(Debug, Clone)]
pub(super) struct Visitor(Arc<Visit>);

#[derive(Debug)]
struct Visit {
    /// Since when it has been sending a request; `None` while it is let in.
    sending: Mutex<Option<Instant>>,
    /// Cancelled when the connection has to make way.
    leave: CancellationToken,
}

impl Visitor {
    fn new() -> Self {
        Self(Arc::new(Visit { sending: Mutex::new(Some(Instant::now())), leave: CancellationToken::new() }))
    }

    /// A request with the token has begun. Its body may be half-sent.
    pub(super) fn begins(&self) {
        self.sending().get_or_insert_with(Instant::now);
    }

    /// The whole request is here: the connection makes way for nobody until the next one.
    pub(super) fn let_in(&self) {
        *self.sending() = None;
    }

    fn is_let_in(&self) -> bool {
        self.sending().is_none()
    }

    fn sending(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its connection is over: nobody else knows of it then.
    fn is_gone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Connected<IncomingStream<'_, Limited>> for Visitor {
    fn connect_info(stream: IncomingStream<'_, Limited>) -> Self {
        stream.io().visitor.clone()
    }
}

/// A socket that accepts no more connections than can be served.
#[derive(Debug)]
pub(super) struct Limited {
    listener: TcpListener,
    free: Arc<Semaphore>,
    /// Those that were accepted and may still be there.
    visitors: Vec<Visitor>,
}

impl Limited {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(CONNECTIONS)), visitors: Vec::new() }
    }

    /// A place for one more connection, for which one that was not let in makes way when there is none.
    async fn place(&mut self) -> OwnedSemaphorePermit {
        let free = Arc::clone(&self.free);
        loop {
            tokio::select! {
                biased;
                place = Arc::clone(&free).acquire_owned() => return place.expect("the semaphore is never closed"),
                () = self.make_room() => {}
            }
        }
    }

    /// Ends the connection that has been sending its request for longest, once it has had its time.
    async fn make_room(&mut self) {
        self.visitors.retain(|visitor| !visitor.is_gone());
        let sending = self.visitors.iter().filter_map(|visitor| Some(((*visitor.sending())?, visitor)));
        let oldest = sending.filter(|(_, visitor)| !visitor.0.leave.is_cancelled()).min_by_key(|(since, _)| *since);
        // If all are let in, the next one to begin a request has its time from then on.
        let due = oldest.map_or_else(Instant::now, |(since, _)| since) + GRACE;
        if let Some((_, oldest)) = oldest.filter(|_| Instant::now() >= due) {
            oldest.0.leave.cancel();
            // Until its place is free, or the next one's time is up.
            return sleep(REFUSED).await;
        }
        sleep_until(due).await;
    }
}

impl Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let place = self.place().await;
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let visitor = Visitor::new();
                    self.visitors.retain(|visitor| !visitor.is_gone());
                    self.visitors.push(visitor.clone());
                    return (Connection::new(stream, visitor, place), address);
                }
                Err(error) => {
                    tracing::debug!("a connection was not accepted: {error}");
                    sleep(REFUSED).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when its time is up.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    visitor: Visitor,
    leave: Pin<Box<WaitForCancellationFutureOwned>>,
    /// When it ends, unless something goes before.
    end: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Connection {
    fn new(stream: TcpStream, visitor: Visitor, place: OwnedSemaphorePermit) -> Self {
        let leave = Box::pin(visitor.0.leave.clone().cancelled_owned());
        Self { stream, visitor, leave, end: Box::pin(sleep(ENTRY)), _place: place }
    }

    /// Ends the connection when its time is up, which starts anew when something went, but only for who was let in.
    fn heard<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if self.visitor.is_let_in() {
            if outcome.is_ready() {
                self.end.as_mut().reset(Instant::now() + SILENCE);
                return outcome;
            }
        } else if self.leave.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => outcome,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.heard(context, outcome)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.heard(context, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
