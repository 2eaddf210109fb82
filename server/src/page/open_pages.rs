//! Which pages are open, when the server was last used, and changes that pages should show.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::sleep;

use crate::request::lock;

/// How long the server waits for a request while no page is open.
const UNUSED: Duration = Duration::from_mins(15);

pub(super) struct OpenPages {
    /// [`UNUSED`], except in tests.
    unused: Duration,
    /// Grows with each change. Each open page has a receiver.
    changes: watch::Sender<u64>,
    last_use: Mutex<Instant>,
}

impl OpenPages {
    pub(super) fn new() -> Self {
        Self { unused: UNUSED, changes: watch::Sender::new(0), last_use: Mutex::new(Instant::now()) }
    }

    pub(super) fn note_use(&self) {
        *lock(&self.last_use) = Instant::now();
    }

    pub(super) fn is_any_open(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    pub(super) fn report_change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Opens a page, which gets changes and is open until the result is dropped.
    pub(super) fn open(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Returns once no page was open and no request came for [`UNUSED`].
    pub(super) async fn wait_until_unused(&self) {
        loop {
            self.changes.closed().await;
            let unused = lock(&self.last_use).elapsed();
            if unused >= self.unused && !self.is_any_open() {
                return;
            }
            sleep(self.unused.saturating_sub(unused)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn server_ends_once_no_page_is_open() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let pages = Arc::new(OpenPages { unused: Duration::ZERO, ..OpenPages::new() });
            let open = pages.open();
            let waiting = Arc::clone(&pages);
            let end = tokio::spawn(async move { waiting.wait_until_unused().await });
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert!(!end.is_finished(), "a page is open");
            drop(open);
            end.await.unwrap();
        });
    }
}
