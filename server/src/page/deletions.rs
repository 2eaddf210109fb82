//! Memories that are hidden now and deleted soon, so that a person can take it back. Nothing is written until then.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use crate::request::lock;

/// How long a deletion can be undone.
pub(super) const UNDO_TIME: Duration = Duration::from_secs(30);

/// How long pages show that a deletion failed.
const FAILURE_TIME: Duration = Duration::from_mins(10);

#[derive(Default)]
pub(super) struct PendingDeletions {
    pending: Mutex<HashMap<String, Deletion>>,
    /// When and why deletions failed, by id.
    failures: Mutex<BTreeMap<String, (Instant, String)>>,
}

enum Deletion {
    Waiting {
        since: Instant,
        timer: AbortHandle,
        /// Identifies the text that the person saw.
        digest: String,
    },
    Deleting,
}

impl PendingDeletions {
    /// Records why a deletion failed. All pages show it for [`FAILURE_TIME`], unless it is tried again.
    pub(super) fn record_failure(&self, id: &str, why: String) {
        lock(&self.failures).insert(id.to_owned(), (Instant::now(), why));
    }

    pub(super) fn failures(&self) -> Vec<String> {
        let recent = |(at, why): &(Instant, String)| (at.elapsed() < FAILURE_TIME).then(|| why.clone());
        lock(&self.failures).values().filter_map(recent).collect()
    }

    /// The ids of memories that lists do not show.
    pub(super) fn hidden(&self) -> HashSet<String> {
        lock(&self.pending).keys().cloned().collect()
    }

    /// The ids of deletions that can be undone.
    pub(super) fn waiting(&self) -> Vec<String> {
        let is_waiting =
            |(id, deletion): (&String, &Deletion)| matches!(deletion, Deletion::Waiting { .. }).then(|| id.clone());
        lock(&self.pending).iter().filter_map(is_waiting).collect()
    }

    /// The last deletion that can be undone, and for how long.
    pub(super) fn last(&self) -> Option<(String, Duration)> {
        let now = Instant::now();
        let left = |(id, deletion): (&String, &Deletion)| match deletion {
            Deletion::Waiting { since, .. } => Some((id.clone(), UNDO_TIME.saturating_sub(now - *since))),
            Deletion::Deleting => None,
        };
        lock(&self.pending).iter().filter_map(left).max_by_key(|(_, left)| *left)
    }

    /// Begins a deletion that `timer` carries out, unless one is under way.
    pub(super) fn begin(&self, id: String, digest: String, timer: AbortHandle) {
        lock(&self.failures).remove(&id);
        let mut pending = lock(&self.pending);
        match pending.get(&id) {
            Some(Deletion::Deleting) => timer.abort(),
            earlier => {
                if let Some(Deletion::Waiting { timer, .. }) = earlier {
                    timer.abort();
                }
                pending.insert(id, Deletion::Waiting { since: Instant::now(), timer, digest });
            }
        }
    }

    /// Takes a deletion back. Returns whether it was still waiting.
    pub(super) fn undo(&self, id: &str) -> bool {
        let mut pending = lock(&self.pending);
        match pending.get(id) {
            Some(Deletion::Waiting { timer, .. }) => timer.abort(),
            _ => return false,
        }
        pending.remove(id).is_some()
    }

    /// Notes that a memory is being deleted now. Returns the digest of its text, or `None` if it was not waiting for that.
    pub(super) fn start(&self, id: &str) -> Option<String> {
        let mut pending = lock(&self.pending);
        let deletion = pending.get_mut(id)?;
        match std::mem::replace(deletion, Deletion::Deleting) {
            Deletion::Waiting { digest, .. } => Some(digest),
            Deletion::Deleting => None,
        }
    }

    pub(super) fn finish(&self, id: &str) {
        lock(&self.pending).remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_can_be_undone_until_it_starts() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let timer = || tokio::spawn(std::future::pending::<()>()).abort_handle();
            let deletions = PendingDeletions::default();
            for id in ["a", "b"] {
                deletions.begin(id.to_owned(), format!("digest of {id}"), timer());
            }
            assert!(deletions.undo("a") && !deletions.undo("a"));
            assert_eq!(deletions.waiting(), ["b"]);
            assert_eq!(deletions.start("b").as_deref(), Some("digest of b"));
            assert_eq!(deletions.start("b"), None);
            assert!(!deletions.undo("b"), "it is being deleted");
            assert_eq!(deletions.last(), None);
            assert!(deletions.hidden().contains("b"), "it stays hidden until it is deleted");
            deletions.finish("b");
            assert!(deletions.hidden().is_empty());
        });
    }
}
