//! Watches the store's directory. Reports changed Markdown and spooled events to the worker, and changed files to subscribers.
//!
//! It watches directories, because editors replace files, which ends a watch on a file.

mod change_poll;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use schema::files::layout::Layout;
use schema::log::LogKind;
use tokio::sync::mpsc::WeakSender;

use crate::change_feed::{ChangeFeed, StoreChange};
use crate::request::{Signal, Work};
pub(crate) use change_poll::ChangePoll;

/// How long files must be quiet, and the longest delay if they never are.
const QUIET_TIME: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(2);

/// If more paths change, they are reported as one change of everything.
const MAX_PATHS: usize = 1_000;

/// Watches until dropped.
pub(crate) struct StoreWatcher {
    _watcher: RecommendedWatcher,
}

impl StoreWatcher {
    pub(crate) fn start(layout: &Layout, work: WeakSender<Work>, changes: ChangeFeed) -> notify::Result<Self> {
        let (sender, events) = mpsc::channel();
        let spool = layout.spool_dir();
        let handle_event = move |event: notify::Result<Event>| match relevant_paths(event, &spool) {
            Some(paths) if paths.is_empty() => {}
            // The thread below ends after this sender.
            paths => drop(sender.send(paths)),
        };
        let mut watcher = RecommendedWatcher::new(handle_event, Config::default().with_event_kinds(event_kinds()))?;
        watcher.watch(layout.store_dir(), RecursiveMode::Recursive)?;
        let mut store = StoreSnapshot { logs: list_logs(layout), layout: layout.clone() };
        let report_changes = move || {
            while let Some(paths) = wait_for_changes(&events) {
                let change = store.change(paths.as_ref());
                if let Some(work) = work.upgrade() {
                    // If the inbox is full, a request that refreshes is waiting anyway.
                    let _ = work.try_send(Work::Signal(Signal::FilesChanged));
                }
                if !matches!(&change, StoreChange::Files { changed, .. } if changed.is_empty()) {
                    changes.publish(change);
                }
            }
        };
        thread::Builder::new().name("changes".to_owned()).spawn(report_changes)?;
        Ok(Self { _watcher: watcher })
    }
}

/// Waits for changed paths, then until files are quiet. Returns `Some(None)` if any file may have changed, and `None` at the end.
fn wait_for_changes(events: &Receiver<Option<Vec<PathBuf>>>) -> Option<Option<BTreeSet<PathBuf>>> {
    let mut paths = events.recv().ok()?;
    let mut changed = Some(BTreeSet::new());
    let end = Instant::now() + MAX_DELAY;
    loop {
        match (&mut changed, paths) {
            (Some(known), Some(more)) if known.len() < MAX_PATHS => known.extend(more),
            (known, _) => *known = None,
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Some(changed);
        }
        match events.recv_timeout(left.min(QUIET_TIME)) {
            Ok(more) => paths = more,
            Err(RecvTimeoutError::Timeout) => return Some(changed),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
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

    fn paths(names: &[&str]) -> Option<Vec<PathBuf>> {
        Some(names.iter().map(PathBuf::from).collect())
    }

    #[test]
    fn close_changes_are_reported_once() {
        let (sender, events) = mpsc::channel();
        sender.send(paths(&["b.md", "a.md"])).unwrap();
        sender.send(paths(&["a.md"])).unwrap();
        assert_eq!(wait_for_changes(&events), Some(Some(["a.md", "b.md"].map(PathBuf::from).into())));
    }

    #[test]
    fn too_many_paths_become_one_change_of_everything() {
        let (sender, events) = mpsc::channel();
        (0..2 * MAX_PATHS).for_each(|n| sender.send(paths(&[&format!("{n}.md")])).unwrap());
        assert_eq!(wait_for_changes(&events), Some(None));
        sender.send(None).unwrap();
        sender.send(paths(&["a.md"])).unwrap();
        assert_eq!(wait_for_changes(&events), Some(None));
    }

    #[test]
    fn files_that_are_never_quiet_are_reported() {
        let (sender, events) = mpsc::sync_channel(1);
        let taken = thread::spawn(move || wait_for_changes(&events));
        while sender.send(paths(&["a.md"])).is_ok() {}
        assert!(taken.join().unwrap().is_some());
    }

    #[test]
    fn end_wakes_the_waiting_thread() {
        let (sender, events) = mpsc::channel();
        let taken = thread::spawn(move || wait_for_changes(&events));
        drop(sender);
        assert_eq!(taken.join().unwrap(), None);
    }

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
