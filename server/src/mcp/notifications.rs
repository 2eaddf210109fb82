//! Notifies hosts of changed resources. Hosts of the current protocol listen on a stream; hosts of earlier protocols subscribe on their
//! connection.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::resources::ResourceUri;
use crate::change_feed::{ChangeFeed, ChangeSubscription, StoreChange};
use crate::request::lock;

/// The part of a requested filter that the server supports.
pub(super) fn accepted_filter(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let uris = requested.resource_subscriptions.iter().flatten().filter(|uri| ResourceUri::parse(uri).is_some());
    SubscriptionFilter::builder().resources_list_changed().resource_subscriptions(uris).build()
}

/// Notifies a listening host until it cancels or the server ends.
pub(super) async fn notify_listener(context: SubscriptionContext, changes: &ChangeFeed, ending: &CancellationToken) {
    let mut subscription = changes.subscribe();
    let accepted = context.accepted().clone();
    let uris = accepted.resource_subscriptions.unwrap_or_default();
    let delivered = async {
        while let Some(change) = subscription.next().await {
            let lists = accepted.resources_list_changed == Some(true) && logs_may_differ(&change);
            if lists && context.sink().notify_resource_list_changed().await.is_err() {
                return;
            }
            for uri in concerned_uris(&uris, &change) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = delivered => {}
        () = context.cancelled() => {}
        () = ending.cancelled() => {}
    }
}

/// The subscriptions of a host with an earlier protocol.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    uris: Arc<Mutex<BTreeSet<String>>>,
    notifier_task: Mutex<Option<JoinHandle<()>>>,
}

impl Subscriptions {
    pub(super) fn add(&self, uri: String) {
        lock(&self.uris).insert(uri);
    }

    pub(super) fn remove(&self, uri: &str) {
        lock(&self.uris).remove(uri);
    }

    /// Notifies the host of changes from now on, until the connection ends.
    pub(super) fn start_notifying(&self, peer: Peer<RoleServer>, changes: &ChangeFeed) {
        let task = tokio::spawn(notify_host(peer, Arc::clone(&self.uris), changes.subscribe()));
        if let Some(earlier) = lock(&self.notifier_task).replace(task) {
            earlier.abort();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.notifier_task).take() {
            task.abort();
        }
    }
}

async fn notify_host(peer: Peer<RoleServer>, uris: Arc<Mutex<BTreeSet<String>>>, mut subscription: ChangeSubscription) {
    while let Some(change) = subscription.next().await {
        if logs_may_differ(&change) && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
        let uris: Vec<String> = lock(&uris).iter().cloned().collect();
        for uri in concerned_uris(&uris, &change) {
            if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                return;
            }
        }
    }
}

fn logs_may_differ(change: &StoreChange) -> bool {
    !matches!(change, StoreChange::Files { logs_differ: false, .. })
}

fn concerned_uris<'u>(uris: &'u [String], change: &StoreChange) -> Vec<&'u str> {
    let is_concerned = |uri: &&String| ResourceUri::parse(uri).is_some_and(|uri| uri.may_be_changed_by(change));
    uris.iter().filter(is_concerned).map(String::as_str).collect()
}
