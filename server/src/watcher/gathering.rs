//! Gathers changes until files have been quiet for a while. Whoever waits for them sleeps until the first one comes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long files have to be quiet before they are read, and how long that is waited for while they are not.
const QUIET: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(2);

/// Paths that are told one by one; more are told as one change of everything.
const PATHS: usize = 1_000;

/// What happened since it was taken last.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    seen: Mutex<Seen>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    news: Option<News>,
    is_over: bool,
}

/// Changes, and when the first and the last of them came.
#[derive(Debug)]
struct News {
    /// `None`: more than can be told.
    paths: Option<BTreeSet<PathBuf>>,
    first: Instant,
    last: Instant,
}

impl Gathering {
    /// Adds paths that changed, or with `None` everything.
    pub(super) fn add(&self, paths: Option<Vec<PathBuf>>) {
        let now = Instant::now();
        let mut seen = self.seen();
        let news = seen.news.get_or_insert_with(|| News { paths: Some(BTreeSet::new()), first: now, last: now });
        news.last = now;
        match (&mut news.paths, paths) {
            (Some(known), Some(more)) if known.len() < PATHS => known.extend(more),
            (known, _) => *known = None,
        }
        drop(seen);
        self.arrived.notify_one();
    }

    /// Ends it: nobody is to wait any more.
    pub(super) fn end(&self) {
        self.seen().is_over = true;
        self.arrived.notify_one();
    }

    /// Waits for changes and until it is quiet, and takes what there is; `None` at the end.
    pub(super) fn take(&self) -> Option<Option<BTreeSet<PathBuf>>> {
        let mut seen = self.seen();
        loop {
            if seen.is_over {
                return None;
            }
            let due = seen.news.as_ref().map(|news| (news.last + QUIET).min(news.first + LONGEST));
            seen = match due.map(|due| due.saturating_duration_since(Instant::now())) {
                None => self.arrived.wait(seen).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return seen.news.take().map(|news| news.paths),
                Some(left) => self.arrived.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    /// A fault of another thread leaves paths as good as they were.
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_comes_close_together_is_told_once() {
        let gathering = Gathering::default();
        gathering.add(Some(paths(&["b.md", "a.md"])));
        gathering.add(Some(paths(&["a.md"])));
        assert_eq!(gathering.take(), Some(Some(paths(&["a.md", "b.md"]).into_iter().collect())));
    }

    #[test]
    fn too_many_paths_are_a_change_of_everything_and_take_no_more_room() {
        let gathering = Gathering::default();
        (0..2 * PATHS).for_each(|n| gathering.add(Some(paths(&[&format!("{n}.md")]))));
        assert_eq!(gathering.take(), Some(None));
        gathering.add(None);
        gathering.add(Some(paths(&["a.md"])));
        assert_eq!(gathering.take(), Some(None));
    }

    #[test]
    fn files_that_are_never_quiet_are_told_all_the_same() {
        let gathering = Gathering::default();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| gathering.take());
            while !taken.is_finished() {
                gathering.add(Some(paths(&["a.md"])));
                std::thread::yield_now();
            }
            assert!(taken.join().unwrap().is_some());
        });
    }

    #[test]
    fn whoever_waits_is_woken_at_the_end() {
        let gathering = Gathering::default();
        std::thread::scope(|scope| {
            let taken = scope.spawn(|| gathering.take());
            gathering.end();
            assert_eq!(taken.join().unwrap(), None);
        });
    }
}
