//! `serve`: MCP over standard input and output until the host ends it, or over HTTP until a signal comes.

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;
use schema::layout::Layout;
use tokio::sync::watch;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;
use crate::dispatcher::Dispatcher;
use crate::exit;
use crate::http::{self, Access};
use crate::input::Input;
use crate::log;
use crate::mcp::{self, Memory};
use crate::queue;
use crate::stdio::Stdio;

/// How long it may take to finish what was asked before a signal came: hosts kill half a second after it.
const FINISH_AFTER_SIGNAL: Duration = Duration::from_millis(250);

/// The same after the host closed the connection and all that it asked was answered, which leaves time to keep what hooks send.
const FINISH: Duration = Duration::from_secs(5);

/// The host's session, for memories that are saved without a hook.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// How hosts are talked to.
#[derive(Debug)]
pub(crate) enum Transport {
    Stdio,
    Http(Access),
}

/// Serves the project's memory until standard input ends or a signal comes.
pub(crate) fn serve(project: &Path, transport: &Transport) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    log::into_files(&layout);
    tracing::info!("version {} begins as process {}", env!("CARGO_PKG_VERSION"), std::process::id());
    let session_id = std::env::var(SESSION).ok().filter(|id| !id.is_empty());
    let changes = Changes::new();
    let (end, ending) = watch::channel(false);
    let (dispatcher, threads, state) =
        Dispatcher::start(project.to_owned(), session_id, changes.clone(), ending, mcp::prepare)
            .context("cannot start the engine")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let (deadline, talked) = runtime.block_on(async {
        let (stop, stopped) = watch::channel(false);
        let queue = tokio::spawn(queue::serve(layout, dispatcher.clone(), changes.clone(), state, stopped));
        let signalled = CancellationToken::new();
        let host = Host { dispatcher, changes, end: end.clone() };
        let mut talk = pin!(host.talk(transport, signalled.clone()));
        let (deadline, talked) = tokio::select! {
            // First, so that a signal is listened for before the first request is answered.
            biased;
            () = signal() => {
                let deadline = Instant::now() + FINISH_AFTER_SIGNAL;
                end.send_replace(true);
                signalled.cancel();
                // What was asked for is finished and answered, as far as there is time.
                (deadline, timeout_at(deadline.into(), talk).await.unwrap_or(Ok(())))
            }
            talked = &mut talk => (Instant::now() + FINISH, talked),
        };
        end.send_replace(true);
        stop.send_replace(true);
        // Who is not answered in time keeps what it sent by itself.
        let _ = timeout_at(deadline.into(), queue).await;
        (deadline, talked)
    });
    threads.end();
    // Reading standard input may block a thread for good; the process does not wait for it.
    runtime.shutdown_background();
    while !threads.are_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    tracing::info!("process {} ends", std::process::id());
    talked
}

/// What it takes to answer hosts.
struct Host {
    dispatcher: Dispatcher,
    changes: Changes,
    end: watch::Sender<bool>,
}

impl Host {
    async fn talk(self, transport: &Transport, signalled: CancellationToken) -> anyhow::Result<()> {
        match transport {
            Transport::Stdio => self.over_stdio(signalled).await,
            Transport::Http(access) => self.over_http(access, signalled).await?,
        }
        Ok(())
    }

    /// Answers the host until its side of the connection ends, which is told as the end of the server, or a signal comes.
    async fn over_stdio(self, signalled: CancellationToken) {
        let (input, output) = stdio_pipes();
        let memory = Memory::new(self.dispatcher, self.changes, self.end.subscribe());
        match memory.serve_with_ct(Stdio::new(Input::new(input, self.end), output), signalled).await {
            Ok(service) => {
                let ended = service.waiting().await;
                tracing::debug!("the host ended: {ended:?}");
            }
            // A host that goes away before it says anything is no fault of anybody.
            // What it said instead of one may be a memory.
            Err(_) => tracing::debug!("the host ended before the first request"),
        }
    }

    /// Answers hosts over HTTP until a signal comes.
    async fn over_http(self, access: &Access, signalled: CancellationToken) -> anyhow::Result<()> {
        let listener = http::bind(access).await?;
        exit::tell(&format!("serving {}", http::url(&listener)?));
        let memory = move || Memory::new(self.dispatcher.clone(), self.changes.clone(), self.end.subscribe());
        Ok(http::serve(listener, access, memory, signalled).await?)
    }
}

/// Waits for the signals by which hosts end a server.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
