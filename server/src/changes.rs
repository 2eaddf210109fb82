//! Tells those who follow the store which of its files changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Changes that a follower may be behind; one that is further behind is told that anything may have changed.
const KEPT: usize = 64;

/// Something that changed in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Files {
        /// Relative to the store.
        changed: BTreeSet<String>,
        /// Whether there are other logs than before.
        logs_differ: bool,
    },
    /// More than can be told.
    Anything,
}

/// Where changes are told, and from where they are followed.
#[derive(Debug, Clone)]
pub(crate) struct Changes(broadcast::Sender<Arc<Change>>);

/// The changes from now on.
#[derive(Debug)]
pub(crate) struct Following(broadcast::Receiver<Arc<Change>>);

impl Changes {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }

    pub(crate) fn tell(&self, change: Change) {
        // It is an error when nobody follows, and no fault.
        let _ = self.0.send(Arc::new(change));
    }

    pub(crate) fn is_followed(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn follow(&self) -> Following {
        Following(self.0.subscribe())
    }
}

impl Following {
    /// The next change, or `None` when there will be none.
    pub(crate) async fn next(&mut self) -> Option<Arc<Change>> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(Arc::new(Change::Anything)),
            Err(RecvError::Closed) => None,
        }
    }
}
