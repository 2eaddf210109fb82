//! `serve`: MCP over standard input and output until the host ends it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;

use crate::mcp::Memory;
use crate::worker::{self, Worker};

/// How long the worker may take to finish what it was asked before the host ended us. A host that sends a signal kills after
/// half a second.
const FINISH: Duration = Duration::from_millis(250);

/// The host's session, for memories that are saved without a hook.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// Serves the project's memory until standard input ends or a signal comes.
pub(crate) fn serve(project: &Path) -> anyhow::Result<()> {
    let session_id = std::env::var(SESSION).ok().filter(|id| !id.is_empty());
    let Worker { work, thread } = worker::start(project.to_owned(), session_id).context("cannot start the engine")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let signalled = runtime.block_on(async {
        let service = match Memory::new(work).serve(stdio_pipes()).await {
            Ok(service) => service,
            // A host that goes away before it says anything is no fault of anybody.
            Err(error) => {
                tracing::debug!("the host ended before the first request: {error}");
                return false;
            }
        };
        let cancel = service.cancellation_token();
        tokio::select! {
            ended = service.waiting() => {
                tracing::debug!("the host ended: {ended:?}");
                false
            }
            () = signal() => {
                cancel.cancel();
                true
            }
        }
    });
    // Reading standard input may block a thread for good; the process does not wait for it.
    runtime.shutdown_background();
    let deadline = Instant::now() + FINISH;
    while !thread.is_finished() && (!signalled || Instant::now() < deadline) {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
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
