//! The listening side of the queue. One server of a store receives events from hooks; when it ends, another one takes over.

#[cfg_attr(unix, path = "queue/unix.rs")]
#[cfg_attr(windows, path = "queue/windows.rs")]
mod platform;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schema::files::layout::Layout;
use schema::files::lock::FileLock;
use schema::intake::queue::{LINE_LIMIT, QueueReply, QueueRequest, SocketDirs};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tools::control::Control;
use tools::engine::Engine;

use crate::change_feed::ChangeFeed;
use crate::dispatcher::{Dispatcher, ReadNeed};
use crate::request::{QueueState, SaveRequest, Signal, Work};
use crate::watcher::ChangePoll;
use platform::QueueListener;

/// Delays before a server tries again to take over, first and maximum.
const FIRST_ATTEMPT_AFTER: Duration = Duration::from_millis(20);
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Connections served at once. More wait to be accepted.
const MAX_CONNECTIONS: usize = 64;

/// Idle limit of a connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Time to read a request that was sent before the server stopped. Its bytes have arrived already.
const DRAIN_TIME: Duration = Duration::from_millis(20);

/// Serves the queue whenever no other server does, until `stop` is set. Then it accepts no more connections and finishes open requests.
pub(crate) async fn serve_queue(
    layout: Layout,
    dispatcher: Dispatcher,
    changes: ChangeFeed,
    state: QueueState,
    stop: CancellationToken,
) {
    let mut open = JoinSet::new();
    let mut server = QueueServer { layout, dispatcher, changes, state, stop_signal: stop.clone(), open: &mut open };
    tokio::select! {
        // Accepts a waiting connection before it checks for the end.
        biased;
        () = server.run() => {}
        () = stop.cancelled() => {}
    }
    drop(server);
    while open.join_next().await.is_some() {}
}

struct QueueServer<'o> {
    layout: Layout,
    dispatcher: Dispatcher,
    changes: ChangeFeed,
    state: QueueState,
    stop_signal: CancellationToken,
    /// Connections outlive the socket.
    open: &'o mut JoinSet<()>,
}

impl QueueServer<'_> {
    /// Takes the queue lock whenever it is free and the worker can save. Returns when the worker ends.
    async fn run(&mut self) {
        let mut pause = FIRST_ATTEMPT_AFTER;
        let mut poll = None;
        let mut can_save = self.state.can_save.clone();
        // A server that cannot save leaves the queue to one that can.
        while can_save.wait_for(|can_save| *can_save).await.is_ok() {
            if let Ok(lock) = FileLock::acquire(&self.layout.queue_lock(), Duration::ZERO) {
                let owner = FlagGuard::new(&self.state.is_owner);
                tracing::info!("this server receives events from hooks and indexes changes");
                poll = None;
                self.dispatcher.signal(Signal::TakeOver).await;
                tokio::select! {
                    () = self.keep_listening() => {}
                    _ = can_save.wait_for(|can_save| !*can_save) => {}
                }
                drop((owner, lock));
                pause = RETRY_AFTER;
            } else if self.changes.has_subscribers() {
                poll = self.poll_changes(poll).await;
            }
            sleep(pause).await;
            pause = (pause * 2).min(RETRY_AFTER);
        }
    }

    /// Reports changes while another server owns the queue and watches the files.
    async fn poll_changes(&self, last: Option<ChangePoll>) -> Option<ChangePoll> {
        let (layout, changes) = (self.layout.clone(), self.changes.clone());
        let read = move || {
            let mut poll = last.unwrap_or_else(|| ChangePoll::new(layout));
            poll.poll().into_iter().for_each(|change| changes.publish(change));
            poll
        };
        tokio::task::spawn_blocking(read).await.ok()
    }

    /// Listens, and again after an error. It keeps the lock meanwhile, because another server would get the same error.
    async fn keep_listening(&mut self) {
        let mut logged = None;
        loop {
            let error = self.listen().await.err().map(|error| format!("{error:#}"));
            if let Some(error) = error.as_ref().filter(|error| logged.as_ref() != Some(*error)) {
                tracing::warn!("cannot listen for hooks: {error}");
            }
            logged = error;
            sleep(RETRY_AFTER).await;
        }
    }

    /// Listens until the socket file is gone, for example after a clean-up of the temporary directory.
    async fn listen(&mut self) -> anyhow::Result<()> {
        let address = SocketDirs::from_environment().listen_address(&self.layout)?;
        let mut listener = QueueListener::bind(&address)?;
        let _answering = FlagGuard::new(&self.state.is_answering);
        tracing::debug!("listening for hooks at {}", address.0.display());
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            // The semaphore is never closed.
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return Ok(()) };
            let stream = match timeout(RETRY_AFTER, listener.accept()).await {
                Ok(stream) => stream?,
                Err(_) if listener.is_in_place() => continue,
                Err(_) => return Ok(()),
            };
            while self.open.try_join_next().is_some() {}
            let (dispatcher, stop) = (self.dispatcher.clone(), self.stop_signal.clone());
            self.open.spawn(async move {
                if let Some(stream) = stream
                    && let Err(error) = serve_connection(stream, &dispatcher, stop).await
                {
                    tracing::debug!("a connection from a hook failed: {error}");
                }
                drop(permit);
            });
        }
    }
}

/// Sets a flag while it lives.
struct FlagGuard(Arc<AtomicBool>);

impl FlagGuard {
    fn new(flag: &Arc<AtomicBool>) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(Arc::clone(flag))
    }
}

impl Drop for FlagGuard {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Serves one connection, one request after the other.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    dispatcher: &Dispatcher,
    stop: CancellationToken,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut stream).take(LINE_LIMIT as u64 + 1);
        let length = {
            let mut read = pin!(limited.read_until(b'\n', &mut line));
            tokio::select! {
                biased;
                read = timeout(IDLE_TIMEOUT, &mut read) => read??,
                () = stop.cancelled() => timeout(DRAIN_TIME, read).await??,
            }
        };
        if length == 0 {
            return Ok(());
        }
        let is_whole = line.last() == Some(&b'\n');
        let reply = match QueueRequest::parse(&line) {
            _ if !is_whole => QueueReply::Refused(format!("the request is not one line of at most {LINE_LIMIT} bytes")),
            Ok(request) => handle_request(request, dispatcher).await,
            Err(why) => QueueReply::Refused(why),
        };
        let reply = reply.to_line();
        timeout(IDLE_TIMEOUT, stream.write_all(reply.as_bytes())).await??;
        if !is_whole {
            return Ok(());
        }
    }
}

async fn handle_request(request: QueueRequest, dispatcher: &Dispatcher) -> QueueReply {
    let reply = match request {
        QueueRequest::Capture(memories) => {
            let saved = dispatcher.write(|reply| Work::Save(SaveRequest::Hook { memories, reply })).await;
            saved.map(|()| QueueReply::Captured)
        }
        QueueRequest::Recall { query, session_id } => {
            let recall = move |engine: &mut Engine, _: Control<'_>| engine.recall(&query, &session_id);
            dispatcher.read(ReadNeed::CaughtUpIndex, None, recall).await.map(QueueReply::Recalled)
        }
    };
    reply.unwrap_or_else(|error| QueueReply::Refused(error.to_string()))
}
