//! Reports changed files of the store to subscribers.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Changes that a subscriber may lag behind. A slower subscriber gets [`StoreChange::Anything`].
const CAPACITY: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreChange {
    Files {
        /// Relative to the store.
        changed: BTreeSet<String>,
        /// Whether a log was created or deleted.
        logs_differ: bool,
    },
    /// Any file may have changed.
    Anything,
}

/// Sends changes to all subscribers.
#[derive(Debug, Clone)]
pub(crate) struct ChangeFeed(broadcast::Sender<Arc<StoreChange>>);

/// A subscription. It receives changes from its creation on.
#[derive(Debug)]
pub(crate) struct ChangeSubscription(broadcast::Receiver<Arc<StoreChange>>);

impl ChangeFeed {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    pub(crate) fn publish(&self, change: StoreChange) {
        // Sending fails if nobody subscribes, which is fine.
        let _ = self.0.send(Arc::new(change));
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn subscribe(&self) -> ChangeSubscription {
        ChangeSubscription(self.0.subscribe())
    }
}

impl ChangeSubscription {
    /// The next change, or `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<Arc<StoreChange>> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(RecvError::Lagged(_)) => Some(Arc::new(StoreChange::Anything)),
            Err(RecvError::Closed) => None,
        }
    }
}
