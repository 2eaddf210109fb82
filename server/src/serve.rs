//! `serve`: MCP over standard input and output until the host closes it, or over HTTP until a signal.

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;
use schema::files::environment;
use schema::files::layout::Layout;
use schema::settings;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use tools::registry::register;

use crate::change_feed::ChangeFeed;
use crate::dispatcher::Dispatcher;
use crate::exit;
use crate::http::{self, HttpAccess};
use crate::logging;
use crate::mcp::{self, McpServer};
use crate::page::{self, PageSettings};
use crate::queue;
use crate::stdio::{StdinReader, StdioTransport};
use crate::team_client;

/// Time to finish requests after a signal. Hosts kill the process after half a second.
const FINISH_AFTER_SIGNAL: Duration = Duration::from_millis(250);

/// Time to finish after the host closed the connection. All its requests are finished then, but hooks may still send events.
const FINISH: Duration = Duration::from_secs(5);

/// Time to carry out deletions after the end of the page. A lock of another program is waited for.
const FINISH_PAGE: Duration = Duration::from_secs(10);

/// The host's session, for memories that are saved without a hook.
const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

#[derive(Debug)]
pub(crate) enum Transport {
    Stdio,
    Http(HttpAccess),
    /// A page in the browser, without MCP.
    Page(PageSettings),
}

/// Serves the project's memory until standard input ends or a signal comes.
pub(crate) fn serve(project: &Path, transport: &Transport) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    logging::log_to_files(&layout);
    if settings::load(&layout).settings.other_projects
        && let Err(error) = register(project)
    {
        tracing::warn!("cannot register the project: {error}");
    }
    tracing::info!("started version {} as process {}", env!("CARGO_PKG_VERSION"), std::process::id());
    let session_id = environment::text(SESSION_VARIABLE).filter(|id| !id.is_empty());
    let changes = ChangeFeed::new();
    let ending = CancellationToken::new();
    let (dispatcher, threads, state) =
        Dispatcher::start(project.to_owned(), session_id, changes.clone(), ending.clone(), mcp::prepare_tool_list)
            .context("cannot start the engine")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let (deadline, outcome) = runtime.block_on(async {
        let queue_stop = CancellationToken::new();
        let queue =
            tokio::spawn(queue::serve_queue(layout, dispatcher.clone(), changes.clone(), state, queue_stop.clone()));
        let is_page = matches!(transport, Transport::Page(_));
        if !is_page {
            tokio::spawn(team_client::exchange_regularly(project.to_owned()));
        }
        let signalled = CancellationToken::new();
        let serving = serve_transport(transport, project, dispatcher, changes, ending.clone(), signalled.clone());
        let mut serving = pin!(serving);
        let (deadline, outcome) = tokio::select! {
            // First, so that the signal handler is installed before the first request.
            biased;
            () = wait_for_signal(is_page) => {
                let deadline = Instant::now() + if is_page { FINISH_PAGE } else { FINISH_AFTER_SIGNAL };
                // The page still deletes what can no longer be undone.
                if !is_page {
                    ending.cancel();
                }
                signalled.cancel();
                // Finishes open requests, as far as there is time.
                (deadline, timeout_at(deadline.into(), serving).await.unwrap_or(Ok(())))
            }
            outcome = &mut serving => (Instant::now() + FINISH, outcome),
        };
        ending.cancel();
        queue_stop.cancel();
        // A hook that gets no answer in time writes by itself.
        let _ = timeout_at(deadline.into(), queue).await;
        (deadline, outcome)
    });
    threads.stop();
    // A thread may block on standard input forever, so the process does not wait for it.
    runtime.shutdown_background();
    while !threads.are_finished() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    tracing::info!("process {} stopped", std::process::id());
    outcome
}

/// Serves until the host closes the connection, or the page was closed for a while, or a signal comes.
async fn serve_transport(
    transport: &Transport,
    project: &Path,
    dispatcher: Dispatcher,
    changes: ChangeFeed,
    ending: CancellationToken,
    signalled: CancellationToken,
) -> anyhow::Result<()> {
    match transport {
        Transport::Stdio => {
            let (input, output) = stdio_pipes();
            let memory = McpServer::new(dispatcher, changes, ending.clone());
            // A closed connection ends the server.
            let transport = StdioTransport::new(StdinReader { reader: input, ended: ending }, output);
            match memory.serve_with_ct(transport, signalled).await {
                Ok(service) => {
                    let ended = service.waiting().await;
                    tracing::debug!("the host closed the connection: {ended:?}");
                }
                // Hosts may disconnect at any time. The error is not logged, because it may quote a memory.
                Err(_) => tracing::debug!("the host disconnected before its first request"),
            }
        }
        Transport::Http(access) => {
            let listener = http::bind_listener(access.address).await?;
            exit::print_status(&format!("serving {}", http::listener_url(&listener)?));
            let memory = move || McpServer::new(dispatcher.clone(), changes.clone(), ending.clone());
            http::serve(listener, access, memory, signalled).await?;
        }
        Transport::Page(settings) => {
            let announce = |address: &str| exit::print_status(&format!("Open {address}"));
            page::serve(project.to_owned(), settings, dispatcher, signalled, announce).await?;
        }
    }
    Ok(())
}

/// Waits for a signal to stop, which for a `page` is also a closed terminal. Otherwise the default stays, because `nohup` ignores that signal.
pub(crate) async fn wait_for_signal(is_page: bool) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = is_page.then(|| signal(SignalKind::hangup()).ok()).flatten();
        if let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        {
            let hung_up = async {
                match hangup {
                    Some(mut hangup) => drop(hangup.recv().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = hung_up => {}
            }
            return;
        }
    }
    #[cfg(not(unix))]
    let _ = is_page;
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
