//! Watches the store's directory, tells the worker when Markdown changed or an event waits in the spool, and whoever follows the
//! store which files changed.
//!
//! Directories are watched, not files: editors save by replacing a file, which a watch on the file would not survive.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use notify_debouncer_full::notify::{self, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use schema::daily_log::LogKind;
use schema::layout::Layout;
use tokio::sync::mpsc::WeakSender;

use crate::changes::{Change, Changes};
use crate::worker::Work;

/// How long a file has to be quiet before it is read.
const QUIET: Duration = Duration::from_millis(500);

/// Watches until it is dropped.
pub(crate) struct Watcher {
    _debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
}

impl Watcher {
    pub(crate) fn start(layout: &Layout, work: WeakSender<Work>, changes: Changes) -> notify::Result<Self> {
        let spool = layout.spool();
        let mut store = Watched { logs: logs(layout), layout: layout.clone() };
        let handler = move |result: DebounceEventResult| {
            let news: Option<Vec<&Path>> = match &result {
                Ok(events) => {
                    // Who looks into the store, as we do, changes nothing.
                    let changes = events.iter().filter(|event| !event.kind.is_access());
                    let paths = changes.flat_map(|event| &event.paths);
                    Some(paths.map(AsRef::as_ref).filter(|path| is_news(path, &spool)).collect())
                }
                // An overflow of the queue, for example: look at everything.
                Err(_) => None,
            };
            if news.as_ref().is_some_and(Vec::is_empty) {
                return;
            }
            let change = store.change(news.as_deref());
            if let Some(work) = work.upgrade() {
                // A full inbox means that a refresh or a call that refreshes is near anyway.
                let _ = work.try_send(Work::FilesChanged);
            }
            if !matches!(&change, Change::Files { changed, .. } if changed.is_empty()) {
                changes.tell(change);
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

/// The store as it was when something last changed.
struct Watched {
    layout: Layout,
    logs: BTreeSet<String>,
}

impl Watched {
    fn change(&mut self, paths: Option<&[&Path]>) -> Change {
        let logs = logs(&self.layout);
        let logs_differ = logs != self.logs;
        self.logs = logs;
        let Some(paths) = paths else { return Change::Anything };
        // What waits in the spool is told once it is kept. A folder may have held any note.
        let kept = paths.iter().filter(|path| path.extension().is_none_or(|ending| ending != "json"));
        let files = kept.map(|path| self.layout.relative(path).filter(|path| path.ends_with(".md")));
        files
            .collect::<Option<BTreeSet<String>>>()
            .map_or(Change::Anything, |changed| Change::Files { changed, logs_differ })
    }
}

fn logs(layout: &Layout) -> BTreeSet<String> {
    let files = layout.markdown_files().unwrap_or_default();
    files.into_iter().filter(|path| LogKind::of(path).is_some()).collect()
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
