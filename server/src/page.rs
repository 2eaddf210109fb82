//! `view`: a local page to browse and edit memories.
//!
//! It is a server of its own next to those of hosts, so that it outlives their sessions. It shares the engine with them, and ends some time
//! after its last page was closed.

mod access;
mod actions;
mod api;
mod content;
mod deletions;
mod html;
mod language;
mod live;
mod open_pages;
mod state;

use std::path::PathBuf;

use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Form, Router};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tools::error::ToolError;

use crate::dispatcher::Dispatcher;
use crate::http::connection::{ConnectionState, LimitedListener, MAX_BODY_BYTES, read_body};
use access::{PageAccess, protect};
use language::Language;
use state::{ErrorText, PageError, PageHandle};

/// How to serve the page.
#[derive(Debug, Clone)]
pub(crate) struct PageSettings {
    /// The port on the loopback address; 0 is any free one.
    pub(crate) port: u16,
    /// Whether to open the page in the user's browser.
    pub(crate) opens_browser: bool,
}

/// Serves the page until it was closed for a while or `stop` is cancelled. `announce` gets the address to open, which works once.
pub(crate) async fn serve(
    project: PathBuf,
    settings: &PageSettings,
    dispatcher: Dispatcher,
    stop: CancellationToken,
    announce: impl FnOnce(&str),
) -> anyhow::Result<()> {
    let PageSettings { port, opens_browser } = *settings;
    let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(|error| {
        ToolError::Unavailable(format!("cannot listen on 127.0.0.1:{port}: {error}; --port names another port"))
    })?;
    let (access, address) = PageAccess::new(listener.local_addr()?.port())?;
    let page = PageHandle::new(project, dispatcher, access, stop.child_token());
    announce(&address);
    if opens_browser && open::that_detached(&address).is_err() {
        tracing::info!("no browser could be opened");
    }
    tokio::spawn(live::end_when_unused(page.clone()));
    tokio::spawn(live::watch_store(page.clone()));
    let service = router(page.clone()).into_make_service_with_connect_info::<ConnectionState>();
    let stopped = page.0.stop.clone().cancelled_owned();
    // Deletions do not wait for connections, which may stay half open.
    let deletions = tokio::spawn(async move {
        page.0.stop.cancelled().await;
        page.finish_deletions().await;
    });
    axum::serve(LimitedListener::new(listener), service).with_graceful_shutdown(stopped).await?;
    Ok(deletions.await?)
}

fn router(page: PageHandle) -> Router {
    let pages = Router::new()
        .route("/enter", post(enter))
        .route("/static/view.css", get(async || file("text/css", include_str!("page/view.css"))))
        .route("/static/view.js", get(async || file("text/javascript", include_str!("page/view.js"))))
        .route("/static/icon.svg", get(async || file("image/svg+xml", include_str!("page/icon.svg"))))
        .route("/search", get(html::search))
        .route("/memory", get(html::memory))
        .route("/timeline", get(html::timeline))
        .route("/sessions", get(html::sessions))
        .route("/session", get(html::session))
        .route("/tasks", get(html::tasks))
        .route("/review", get(html::review))
        .route("/briefs", get(html::briefs))
        .route("/health", get(html::health))
        .route("/events", get(live::stream))
        .route("/do", post(actions::act))
        .nest("/api", api::router());
    let base = page.0.access.base();
    // The last layer runs first.
    Router::new()
        .route(&format!("{base}/"), get(entry))
        .nest(&base, pages)
        .fallback(async || PageError(ToolError::NotFound("there is no such page".to_owned())))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(page.clone(), check))
        .with_state(page)
}

/// The page without a memory: its script exchanges the token in the address for a cookie.
async fn entry(State(page): State<PageHandle>, language: Language, headers: HeaderMap) -> Response {
    if page.0.access.is_known(&headers) {
        return (StatusCode::SEE_OTHER, [(header::LOCATION, "search")]).into_response();
    }
    html::entry(language).into_response()
}

#[derive(Deserialize)]
struct EntryForm {
    token: String,
}

/// Exchanges the token, which works once and for a minute.
async fn enter(State(page): State<PageHandle>, Form(form): Form<EntryForm>) -> Response {
    match page.0.access.redeem(&form.token) {
        Some(cookie) => (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response(),
        None => {
            let text = "this address was used or is too old; run jikime-memory view again";
            (StatusCode::FORBIDDEN, text).into_response()
        }
    }
}

fn file(kind: &str, text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text).into_response()
}

/// Refuses strangers before their bodies are read, and shows errors of whole pages as pages.
async fn check(
    State(page): State<PageHandle>,
    ConnectInfo(connection): ConnectInfo<ConnectionState>,
    language: Language,
    request: Request,
    next: Next,
) -> Response {
    if let Some(refusal) = page.0.access.refusal(&request) {
        return protect(refusal.into_response());
    }
    connection.begin_request();
    page.0.open_pages.note_use();
    let (is_whole_page, is_known) = (page.0.access.is_page(&request), page.0.access.is_known(request.headers()));
    let (parts, body) = request.into_parts();
    let response = match read_body(body).await {
        Ok(bytes) => {
            if is_known {
                connection.admit();
            }
            next.run(Request::from_parts(parts, bytes.into())).await
        }
        Err(StatusCode::REQUEST_TIMEOUT) => {
            (StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time").into_response()
        }
        Err(status) => (status, "the text is too long").into_response(),
    };
    let text = response.extensions().get::<ErrorText>().filter(|_| is_whole_page).cloned();
    protect(match text {
        Some(ErrorText(text)) => (response.status(), html::error(page, language, &text)).into_response(),
        None => response,
    })
}
