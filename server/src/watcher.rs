//! Watches the store's directory and tells the worker when Markdown changed or an event waits in the spool.
//!
//! Directories are watched, not files: editors save by replacing a file, which a watch on the file would not survive.

use std::path::Path;
use std::time::Duration;

use notify_debouncer_full::notify::{self, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use schema::layout::Layout;
use tokio::sync::mpsc::WeakSender;

use crate::worker::Work;

/// How long a file has to be quiet before it is read.
const QUIET: Duration = Duration::from_millis(500);

/// Watches until it is dropped.
pub(crate) struct Watcher {
    _debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
}

impl Watcher {
    pub(crate) fn start(layout: &Layout, work: WeakSender<Work>) -> notify::Result<Self> {
        let spool = layout.spool();
        let handler = move |result: DebounceEventResult| {
            let matters = match &result {
                Ok(events) => events.iter().flat_map(|event| &event.paths).any(|path| is_news(path, &spool)),
                // An overflow of the queue, for example: look at everything.
                Err(_) => true,
            };
            if matters && let Some(work) = work.upgrade() {
                // A full inbox means that a refresh or a call that refreshes is near anyway.
                let _ = work.try_send(Work::FilesChanged);
            }
        };
        let mut debouncer = new_debouncer(QUIET, None, handler)?;
        debouncer.watch(layout.dir(), RecursiveMode::Recursive)?;
        Ok(Self { _debouncer: debouncer })
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watcher")
    }
}

/// Whether a change at this path concerns us: our databases change all the time, and a directory may have held notes.
fn is_news(path: &Path, spool: &Path) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("md") => true,
        Some("json") => path.parent().is_some_and(|parent| parent.ends_with(spool.file_name().unwrap_or_default())),
        Some(_) => false,
        None => !path.is_file(),
    }
}
