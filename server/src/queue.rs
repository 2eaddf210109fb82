//! The queue's listening side: one server of a store answers its hooks, and another takes over when it ends.

#[cfg_attr(unix, path = "queue/unix.rs")]
#[cfg_attr(windows, path = "queue/windows.rs")]
mod platform;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use schema::layout::Layout;
use schema::lock::FileLock;
use schema::queue::{LINE_LIMIT, Places, Reply, Request};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tools::engine::Engine;

use crate::changes::Changes;
use crate::dispatcher::{Dispatcher, Need};
use crate::request::{QueueState, Save, Signal, Write};
use crate::watcher::Glance;
use platform::Listener;

/// How soon a server that does not answer the queue tries again, at first and at most.
const FIRST_TRY: Duration = Duration::from_millis(20);
const RETRY: Duration = Duration::from_secs(1);

/// Connections that are served at once; more wait to be accepted.
const CONNECTIONS: usize = 64;

/// How long a connection may say nothing.
const SILENCE: Duration = Duration::from_secs(2);

/// How long what was sent may take to be read once the server ends. It is there already.
const LAST_WORD: Duration = Duration::from_millis(20);

/// Answers the queue of a store whenever no other server does, until it is told to stop. Then nobody is let in any more, and
/// what was asked before is answered.
pub(crate) async fn serve(
    layout: Layout,
    dispatcher: Dispatcher,
    changes: Changes,
    state: QueueState,
    mut stop: watch::Receiver<bool>,
) {
    let mut open = JoinSet::new();
    let mut post = Post { layout, dispatcher, changes, state, stop: stop.clone(), open: &mut open };
    tokio::select! {
        // Whoever has connected is let in before the end is looked at.
        biased;
        () = post.hold() => {}
        () = stopped(&mut stop) => {}
    }
    drop(post);
    while open.join_next().await.is_some() {}
}

/// Waits until the server ends.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Whoever would tell is gone: that is the end as well.
    let _ = stop.wait_for(|stop| *stop).await.is_err();
}

struct Post<'o> {
    layout: Layout,
    dispatcher: Dispatcher,
    changes: Changes,
    state: QueueState,
    stop: watch::Receiver<bool>,
    /// Connections. They outlive the socket.
    open: &'o mut JoinSet<()>,
}

impl Post<'_> {
    /// Takes the post whenever it is free and the engine can do what is asked. Ends with the engine.
    async fn hold(&mut self) {
        let mut pause = FIRST_TRY;
        let mut glance = None;
        let mut can_save = self.state.can_save.clone();
        // A server that can only read leaves the post to one that can keep what is sent.
        while can_save.wait_for(|can_save| *can_save).await.is_ok() {
            if let Ok(lock) = FileLock::acquire(&self.layout.queue_lock(), Duration::ZERO) {
                let owner = Told::new(&self.state.is_owner);
                tracing::info!("this server answers hooks and indexes what changes");
                glance = None;
                self.dispatcher.signal(Signal::TakeOver).await;
                tokio::select! {
                    () = self.keep_listening() => {}
                    _ = can_save.wait_for(|can_save| !*can_save) => {}
                }
                drop((owner, lock));
                pause = RETRY;
            } else if self.changes.is_followed() {
                glance = self.glance(glance).await;
            }
            sleep(pause).await;
            pause = (pause * 2).min(RETRY);
        }
    }

    /// Tells what changed while another server has the post, and with it the watching.
    async fn glance(&self, last: Option<Glance>) -> Option<Glance> {
        let (layout, changes) = (self.layout.clone(), self.changes.clone());
        let look = move || {
            let mut glance = last.unwrap_or_else(|| Glance::new(layout));
            glance.look().into_iter().for_each(|change| changes.tell(change));
            glance
        };
        tokio::task::spawn_blocking(look).await.ok()
    }

    /// Listens, and again after a fault. The post is kept meanwhile: what keeps this server from the queue would keep others as well.
    async fn keep_listening(&mut self) {
        let mut told = None;
        loop {
            let fault = self.listen().await.err().map(|error| format!("{error:#}"));
            if let Some(fault) = fault.as_ref().filter(|fault| told.as_ref() != Some(*fault)) {
                tracing::warn!("cannot answer the queue: {fault}");
            }
            told = fault;
            sleep(RETRY).await;
        }
    }

    /// Listens until the socket is lost, as it is when something tidies up the directory of temporary files.
    async fn listen(&mut self) -> anyhow::Result<()> {
        let address = Places::from_environment().to_listen(&self.layout)?;
        let mut listener = Listener::bind(&address)?;
        let _answering = Told::new(&self.state.is_answering);
        tracing::debug!("answering the queue at {}", address.0.display());
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            // Never closed, so there is always a permit to come.
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return Ok(()) };
            let stream = match timeout(RETRY, listener.accept()).await {
                Ok(stream) => stream?,
                Err(_) if listener.is_in_place() => continue,
                Err(_) => return Ok(()),
            };
            while self.open.try_join_next().is_some() {}
            let (dispatcher, stop) = (self.dispatcher.clone(), self.stop.clone());
            self.open.spawn(async move {
                if let Some(stream) = stream
                    && let Err(error) = answer(stream, &dispatcher, stop).await
                {
                    tracing::debug!("a connection of the queue ended: {error}");
                }
                drop(permit);
            });
        }
    }
}

/// Tells something of this server for as long as it lives.
struct Told(Arc<AtomicBool>);

impl Told {
    fn new(flag: &Arc<AtomicBool>) -> Self {
        flag.store(true, Ordering::Relaxed);
        Self(Arc::clone(flag))
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Answers the requests of one connection, each before the next.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    dispatcher: &Dispatcher,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut stream).take(LINE_LIMIT as u64 + 1);
        let length = {
            let mut read = pin!(limited.read_until(b'\n', &mut line));
            tokio::select! {
                biased;
                read = timeout(SILENCE, &mut read) => read??,
                () = stopped(&mut stop) => timeout(LAST_WORD, read).await??,
            }
        };
        if length == 0 {
            return Ok(());
        }
        let is_whole = line.last() == Some(&b'\n');
        let reply = match Request::parse(&line) {
            _ if !is_whole => Reply::Refused(format!("no line of at most {LINE_LIMIT} bytes")),
            Ok(request) => reply(request, dispatcher).await,
            Err(why) => Reply::Refused(why),
        };
        let reply = reply.to_line();
        timeout(SILENCE, stream.write_all(reply.as_bytes())).await??;
        if !is_whole {
            return Ok(());
        }
    }
}

async fn reply(request: Request, dispatcher: &Dispatcher) -> Reply {
    let reply = match request {
        Request::Capture(memories) => {
            let saved = dispatcher.write(|reply| Write::Save(Save::Hook { memories, reply })).await;
            saved.map(|()| Reply::Captured)
        }
        Request::Recall { query, session_id } => {
            let recall = move |engine: &mut Engine, _: &dyn Fn() -> bool| engine.recall(&query, &session_id);
            dispatcher.read(Need::Index, None, recall).await.map(Reply::Recalled)
        }
    };
    reply.unwrap_or_else(|error| Reply::Refused(error.to_string()))
}
