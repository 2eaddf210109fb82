//! Collects changes until the files are quiet. The consumer sleeps until the first change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long files must be quiet, and the longest delay if they never are.
const QUIET_TIME: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(2);

/// If more paths change, they are reported as one change of everything.
const MAX_PATHS: usize = 1_000;

/// Changes since the last call of `take`.
#[derive(Debug, Default)]
pub(super) struct Debouncer {
    state: Mutex<DebounceState>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct DebounceState {
    pending: Option<PendingChanges>,
    is_stopped: bool,
}

/// Changes and the times of the first and the last one.
#[derive(Debug)]
struct PendingChanges {
    /// `None` after more than [`MAX_PATHS`] paths.
    paths: Option<BTreeSet<PathBuf>>,
    first: Instant,
    last: Instant,
}

impl Debouncer {
    /// Adds changed paths. `None` means that any file may have changed.
    pub(super) fn add(&self, paths: Option<Vec<PathBuf>>) {
        let now = Instant::now();
        let mut seen = self.lock();
        // After the first change the consumer sleeps for a time of its own.
        if seen.pending.is_none() {
            self.arrived.notify_one();
        }
        let pending =
            seen.pending.get_or_insert_with(|| PendingChanges { paths: Some(BTreeSet::new()), first: now, last: now });
        pending.last = now;
        match (&mut pending.paths, paths) {
            (Some(known), Some(more)) if known.len() < MAX_PATHS => known.extend(more),
            (known, _) => *known = None,
        }
    }

    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.arrived.notify_one();
    }

    /// Waits for changes, then until files are quiet. Returns `None` at the end.
    pub(super) fn wait_for_changes(&self) -> Option<Option<BTreeSet<PathBuf>>> {
        let mut seen = self.lock();
        loop {
            if seen.is_stopped {
                return None;
            }
            let due = seen.pending.as_ref().map(|pending| (pending.last + QUIET_TIME).min(pending.first + MAX_DELAY));
            seen = match due.map(|due| due.saturating_duration_since(Instant::now())) {
                None => self.arrived.wait(seen).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return seen.pending.take().map(|pending| pending.paths),
                Some(left) => self.arrived.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// A set of paths stays valid if another thread panics.
    fn lock(&self) -> MutexGuard<'_, DebounceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn close_changes_are_reported_once() {
        let debouncer = Debouncer::default();
        debouncer.add(Some(paths(&["b.md", "a.md"])));
        debouncer.add(Some(paths(&["a.md"])));
        assert_eq!(debouncer.wait_for_changes(), Some(Some(paths(&["a.md", "b.md"]).into_iter().collect())));
    }

    #[test]
    fn too_many_paths_become_one_change_of_everything() {
        let debouncer = Debouncer::default();
        (0..2 * MAX_PATHS).for_each(|n| debouncer.add(Some(paths(&[&format!("{n}.md")]))));
        assert_eq!(debouncer.wait_for_changes(), Some(None));
        debouncer.add(None);
        debouncer.add(Some(paths(&["a.md"])));
        assert_eq!(debouncer.wait_for_changes(), Some(None));
    }

    #[test]
    fn files_that_are_never_quiet_are_reported() {
        let debouncer = Debouncer::default();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| debouncer.wait_for_changes());
            while !taken.is_finished() {
                debouncer.add(Some(paths(&["a.md"])));
                std::thread::yield_now();
            }
            assert!(taken.join().unwrap().is_some());
        });
    }

    #[test]
    fn end_wakes_the_waiting_thread() {
        let debouncer = Debouncer::default();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| debouncer.wait_for_changes());
            debouncer.stop();
            assert_eq!(taken.join().unwrap(), None);
        });
    }
}
