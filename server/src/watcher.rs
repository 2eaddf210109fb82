//! Watches the store's directory, tells the worker when Markdown changed or an event waits in the spool, and whoever follows the
//! store which files changed.
//!
//! Directories are watched, not files: editors save by replacing a file, which a watch on the file would not survive.

mod gathering;
mod glance;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use notify::event::{AccessKind, AccessMode};
use notify::{Config, Event, EventKind, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use schema::daily_log::LogKind;
use schema::layout::Layout;
use tokio::sync::mpsc::WeakSender;

use crate::changes::{Change, Changes};
use crate::request::{Signal, Work};
use gathering::Gathering;
pub(crate) use glance::Glance;

/// Watches until it is dropped.
pub(crate) struct Watcher {
    _watcher: RecommendedWatcher,
    gathering: Arc<Gathering>,
}

impl Watcher {
    pub(crate) fn start(layout: &Layout, work: WeakSender<Work>, changes: Changes) -> notify::Result<Self> {
        let gathering = Arc::new(Gathering::default());
        let spool = layout.spool();
        let heard = Arc::clone(&gathering);
        let hear = move |event: notify::Result<Event>| match news(event, &spool) {
            Some(paths) if paths.is_empty() => {}
            news => heard.add(news),
        };
        let mut watcher = RecommendedWatcher::new(hear, Config::default().with_event_kinds(heard_of()))?;
        watcher.watch(layout.dir(), RecursiveMode::Recursive)?;
        let store = Watched { logs: logs(layout), layout: layout.clone() };
        let teller = Teller { gathering: Arc::clone(&gathering), store, work, changes };
        thread::Builder::new().name("changes".to_owned()).spawn(move || teller.run())?;
        Ok(Self { _watcher: watcher, gathering })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.gathering.end();
    }
}

/// What the system is to tell. On Linux a file is heard of when whoever wrote to it closes it: SQLite writes dozens of pages for each
/// memory to files that stay open, and to be woken for each of them cost a third of what a save does.
fn heard_of() -> EventKindMask {
    let written = if cfg!(target_os = "linux") { EventKindMask::ACCESS_CLOSE } else { EventKindMask::MODIFY_DATA };
    EventKindMask::CREATE | EventKindMask::REMOVE | EventKindMask::MODIFY_NAME | EventKindMask::MODIFY_META | written
}

/// The paths of an event that concern us, or `None` when anything may have changed.
fn news(event: notify::Result<Event>, spool: &Path) -> Option<Vec<PathBuf>> {
    // An overflow of the system's queue, for example: look at everything.
    let event = event.ok().filter(|event| !event.need_rescan())?;
    // Who looks into the store, as we do, changes nothing.
    let is_look = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        kind => kind.is_access(),
    };
    let paths = if is_look { Vec::new() } else { event.paths };
    Some(paths.into_iter().filter(|path| is_news(path, spool)).collect())
}

/// Tells what was gathered.
struct Teller {
    gathering: Arc<Gathering>,
    store: Watched,
    work: WeakSender<Work>,
    changes: Changes,
}

impl Teller {
    fn run(mut self) {
        while let Some(paths) = self.gathering.take() {
            let change = self.store.change(paths.as_ref());
            if let Some(work) = self.work.upgrade() {
                // A full inbox means that a refresh or a call that refreshes is near anyway.
                let _ = work.try_send(Work::Signal(Signal::FilesChanged));
            }
            if !matches!(&change, Change::Files { changed, .. } if changed.is_empty()) {
                self.changes.tell(change);
            }
        }
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
    fn change(&mut self, paths: Option<&BTreeSet<PathBuf>>) -> Change {
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
