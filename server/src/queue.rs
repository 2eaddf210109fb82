//! The queue's listening side: one server of a store answers its hooks, and another takes over when it ends.

#[cfg_attr(unix, path = "queue/unix.rs")]
#[cfg_attr(windows, path = "queue/windows.rs")]
mod platform;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use schema::layout::Layout;
use schema::lock::FileLock;
use schema::queue::{LINE_LIMIT, Places, Reply, Request};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc::Sender;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::worker::Work;
use platform::Listener;

/// How soon a server that does not answer the queue tries again, at first and at most.
const FIRST_TRY: Duration = Duration::from_millis(20);
const RETRY: Duration = Duration::from_secs(1);

/// Connections that are served at once; more wait to be accepted.
const CONNECTIONS: usize = 64;

/// How long a connection may say nothing.
const SILENCE: Duration = Duration::from_secs(2);

/// Answers the queue of a store whenever no other server does. Never ends by itself; dropping it takes the socket away.
pub(crate) async fn serve(layout: Layout, work: Sender<Work>) {
    let mut pause = FIRST_TRY;
    loop {
        // Without a store there is no lock yet; the worker is about to make both.
        if let Ok(lock) = FileLock::acquire(&layout.queue_lock(), Duration::ZERO) {
            if let Err(error) = own(&layout, &work).await {
                tracing::warn!("cannot answer the queue: {error:#}");
            }
            drop(lock);
            pause = RETRY;
        }
        sleep(pause).await;
        pause = (pause * 2).min(RETRY);
    }
}

/// Listens until the socket is lost, as it is when something tidies up the directory of temporary files.
async fn own(layout: &Layout, work: &Sender<Work>) -> anyhow::Result<()> {
    let address = Places::from_environment().to_listen(layout)?;
    let mut listener = Listener::bind(&address)?;
    tracing::debug!("answering the queue at {}", address.0.display());
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let mut open = JoinSet::new();
    loop {
        // Never closed, so there is always a permit to come.
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return Ok(()) };
        let stream = match timeout(RETRY, listener.accept()).await {
            Ok(stream) => stream?,
            Err(_) if listener.is_in_place() => continue,
            Err(_) => return Ok(()),
        };
        while open.try_join_next().is_some() {}
        let work = work.clone();
        open.spawn(async move {
            if let Some(stream) = stream
                && let Err(error) = answer(stream, &work).await
            {
                tracing::debug!("a connection of the queue ended: {error}");
            }
            drop(permit);
        });
    }
}

/// Answers the requests of one connection, each before the next.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, work: &Sender<Work>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut stream).take(LINE_LIMIT as u64 + 1);
        if timeout(SILENCE, limited.read_until(b'\n', &mut line)).await?? == 0 {
            return Ok(());
        }
        let is_whole = line.last() == Some(&b'\n');
        let reply = match Request::parse(&line) {
            _ if !is_whole => Reply::Refused(format!("no line of at most {LINE_LIMIT} bytes")),
            Ok(request) => reply(request, work).await,
            Err(why) => Reply::Refused(why),
        };
        timeout(SILENCE, stream.write_all(reply.to_line().as_bytes())).await??;
        if !is_whole {
            return Ok(());
        }
    }
}

async fn reply(request: Request, work: &Sender<Work>) -> Reply {
    let (done, outcome) = oneshot::channel();
    let ending = || Reply::Refused("the server is ending".to_owned());
    if work.send(Work::Event { request, reply: done }).await.is_err() {
        return ending();
    }
    outcome.await.unwrap_or_else(|_| ending())
}
