//! Watches the store's directory. Reports changed Markdown and spooled events to the worker, and changed files to subscribers.
//!
//! It watches directories, because editors replace files, which ends a watch on a file.

mod change_poll;
mod debounce;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use schema::files::layout::Layout;
use schema::log::LogKind;
use tokio::sync::mpsc::WeakSender;

use crate::change_feed::{ChangeFeed, StoreChange};
use crate::request::{Signal, Work};
pub(crate) use change_poll::ChangePoll;
use debounce::Debouncer;

/// Watches until dropped.
pub(crate) struct StoreWatcher {
    _watcher: RecommendedWatcher,
    debouncer: Arc<Debouncer>,
}

impl StoreWatcher {
    pub(crate) fn start(layout: &Layout, work: WeakSender<Work>, changes: ChangeFeed) -> notify::Result<Self> {
        let debouncer = Arc::new(Debouncer::default());
        let spool = layout.spool_dir();
        let listener = Arc::clone(&debouncer);
        let handle_event = move |event: notify::Result<Event>| match relevant_paths(event, &spool) {
            Some(paths) if paths.is_empty() => {}
            paths => listener.add(paths),
        };
        let mut watcher = RecommendedWatcher::new(handle_event, Config::default().with_event_kinds(event_kinds()))?;
        watcher.watch(layout.store_dir(), RecursiveMode::Recursive)?;
        let store = StoreSnapshot { logs: list_logs(layout), layout: layout.clone() };
        let notifier = ChangeNotifier { debouncer: Arc::clone(&debouncer), store, work, changes };
        thread::Builder::new().name("changes".to_owned()).spawn(move || notifier.run())?;
        Ok(Self { _watcher: watcher, debouncer })
    }
}

impl Drop for StoreWatcher {
    fn drop(&mut self) {
        self.debouncer.stop();
    }
}

/// The kinds of events to receive. On Linux a write is reported when the file is closed. Otherwise each save would wake the thread dozens
/// of times for SQLite's pages, which cost a third of the time of a save.
fn event_kinds() -> EventKindMask {
    let written = if cfg!(target_os = "linux") { EventKindMask::ACCESS_CLOSE } else { EventKindMask::MODIFY_DATA };
    EventKindMask::CREATE | EventKindMask::REMOVE | EventKindMask::MODIFY_NAME | EventKindMask::MODIFY_META | written
}

/// The relevant paths of an event, or `None` if any file may have changed.
fn relevant_paths(event: notify::Result<Event>, spool: &Path) -> Option<Vec<PathBuf>> {
    // For example, the system's queue overflowed.
    let event = event.ok().filter(|event| !event.need_rescan())?;
    // Reading changes nothing.
    let is_read = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        kind => kind.is_access(),
    };
    let paths = if is_read { Vec::new() } else { event.paths };
    Some(paths.into_iter().filter(|path| is_relevant(path, spool)).collect())
}

/// Sends collected changes to the worker and to subscribers.
struct ChangeNotifier {
    debouncer: Arc<Debouncer>,
    store: StoreSnapshot,
    work: WeakSender<Work>,
    changes: ChangeFeed,
}

impl ChangeNotifier {
    fn run(mut self) {
        while let Some(paths) = self.debouncer.wait_for_changes() {
            let change = self.store.change(paths.as_ref());
            if let Some(work) = self.work.upgrade() {
                // If the inbox is full, a request that refreshes is waiting anyway.
                let _ = work.try_send(Work::Signal(Signal::FilesChanged));
            }
            if !matches!(&change, StoreChange::Files { changed, .. } if changed.is_empty()) {
                self.changes.publish(change);
            }
        }
    }
}

/// The store at the last change.
struct StoreSnapshot {
    layout: Layout,
    logs: BTreeSet<String>,
}

impl StoreSnapshot {
    fn change(&mut self, paths: Option<&BTreeSet<PathBuf>>) -> StoreChange {
        let logs = list_logs(&self.layout);
        let logs_differ = logs != self.logs;
        self.logs = logs;
        let Some(paths) = paths else { return StoreChange::Anything };
        // Spooled events are reported after they are saved. A directory may have contained any note.
        let kept =
            paths.iter().filter(|path| path.extension().is_none_or(|ending| ending != "json" && ending != "note"));
        let files = kept.map(|path| self.layout.relative_path(path).filter(|path| path.ends_with(".md")));
        files
            .collect::<Option<BTreeSet<String>>>()
            .map_or(StoreChange::Anything, |changed| StoreChange::Files { changed, logs_differ })
    }
}

fn list_logs(layout: &Layout) -> BTreeSet<String> {
    let files = layout.markdown_files().unwrap_or_default();
    files.into_iter().filter(|path| LogKind::from_path(path).is_some()).collect()
}

/// Whether a path matters. Databases change all the time. A directory may have contained notes.
fn is_relevant(path: &Path, spool: &Path) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("md") => true,
        Some("json" | "note") => {
            path.parent().is_some_and(|parent| parent.ends_with(spool.file_name().unwrap_or_default()))
        }
        Some(_) => false,
        None => !path.is_file(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_can_change_memories_matter() {
        let relevant = |path: &str| is_relevant(Path::new(path), Path::new("/p/spool"));
        for path in ["/p/a.md", "/p/spool/a.json", "/p/spool/a.note", "/p/spool"] {
            assert!(relevant(path), "{path}");
        }
        for path in ["/p/setup.json", "/p/a.note", "/p/memory.db"] {
            assert!(!relevant(path), "{path}");
        }
    }
}
