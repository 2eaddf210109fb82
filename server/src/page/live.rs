//! Notifies open pages when the store changes, and ends the server when no page is open any more.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_core::Stream;
use schema::files::file_stamp::FileStamp;
use schema::files::layout::Layout;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::state::PageHandle;

/// How often the store is compared with its last state while a page is open.
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How often a message keeps the connection alive. One without traffic is closed after a minute.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// The events of one page: one for each change of the store.
pub(super) async fn stream(State(page): State<PageHandle>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (mut changes, stop) = (page.0.open_pages.open(), page.0.stop.clone());
    let (events, received) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Ok(()) = tokio::select! {
            changed = changes.changed() => changed,
            () = events.closed() => return,
            // A server that ends waits for open connections.
            () = stop.cancelled() => return,
        } {
            // Browsers ignore an event without data.
            if events.send(Event::default().event("change").data("store")).await.is_err() {
                return;
            }
        }
    });
    Sse::new(Events(received)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))
}

struct Events(mpsc::Receiver<Event>);

impl Stream for Events {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|event| event.map(Ok))
    }
}

/// Ends the server some time after its last use.
pub(super) async fn end_when_unused(page: PageHandle) {
    page.0.open_pages.wait_until_unused().await;
    page.0.stop.cancel();
}

/// Compares the files of the rows while pages are open. Every program that changes memories changes them.
pub(super) async fn watch_store(page: PageHandle) {
    let layout = Layout::new(&page.0.project);
    let mut last = rows_state(&layout);
    while timeout(STORE_POLL_INTERVAL, page.0.stop.cancelled()).await.is_err() {
        if !page.0.open_pages.is_any_open() {
            continue;
        }
        let now = rows_state(&layout);
        if last != now {
            page.0.open_pages.report_change();
        }
        last = now;
    }
}

/// The stamps of `memory.db` and its write-ahead log.
fn rows_state(layout: &Layout) -> [Option<FileStamp>; 2] {
    ["memory.db", "memory.db-wal"].map(|name| FileStamp::read(&layout.store_path(name)))
}
