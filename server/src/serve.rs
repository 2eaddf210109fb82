//! `serve`: MCP over standard input and output until the host ends it.

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;
use schema::layout::Layout;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;
use crate::input::Input;
use crate::mcp::Memory;
use crate::queue;
use crate::worker::{self, Work, Worker};

/// How long it may take to finish what was asked before a signal came: hosts kill half a second after it.
const FINISH_AFTER_SIGNAL: Duration = Duration::from_millis(250);

/// The same after the host closed the connection and all that it asked was answered, which leaves time to keep what hooks send.
const FINISH: Duration = Duration::from_secs(5);

/// The host's session, for memories that are saved without a hook.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// Serves the project's memory until standard input ends or a signal comes.
pub(crate) fn serve(project: &Path) -> anyhow::Result<()> {
    let session_id = std::env::var(SESSION).ok().filter(|id| !id.is_empty());
    let changes = Changes::new();
    let (end, ending) = watch::channel(false);
    let Worker { work, thread, standing } =
        worker::start(project.to_owned(), session_id, changes.clone(), ending).context("cannot start the engine")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let layout = Layout::new(project);
    let deadline = runtime.block_on(async {
        let (stop, stopped) = watch::channel(false);
        let queue = tokio::spawn(queue::serve(layout, work.clone(), standing, stopped));
        let signalled = CancellationToken::new();
        let mut talk = pin!(talk(work, changes, &end, signalled.clone()));
        let deadline = tokio::select! {
            // First, so that a signal is listened for before the first request is answered.
            biased;
            () = signal() => {
                let deadline = Instant::now() + FINISH_AFTER_SIGNAL;
                end.send_replace(true);
                signalled.cancel();
                // What was asked for is finished and answered, as far as there is time.
                let _ = timeout_at(deadline.into(), talk).await;
                deadline
            }
            () = &mut talk => Instant::now() + FINISH,
        };
        stop.send_replace(true);
        // Who is not answered in time keeps what it sent by itself.
        let _ = timeout_at(deadline.into(), queue).await;
        deadline
    });
    // Reading standard input may block a thread for good; the process does not wait for it.
    runtime.shutdown_background();
    while !thread.is_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Answers the host until its side of the connection ends, which is told to `end`, or a signal comes.
async fn talk(work: Sender<Work>, changes: Changes, end: &watch::Sender<bool>, signalled: CancellationToken) {
    let (input, output) = stdio_pipes();
    let memory = Memory::new(work, changes, end.subscribe());
    match memory.serve_with_ct((Input::new(input, end.clone()), output), signalled).await {
        Ok(service) => {
            let ended = service.waiting().await;
            tracing::debug!("the host ended: {ended:?}");
        }
        // A host that goes away before it says anything is no fault of anybody.
        Err(error) => tracing::debug!("the host ended before the first request: {error}"),
    }
    end.send_replace(true);
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
