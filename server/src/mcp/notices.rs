//! Tells hosts that resources changed: those of today on the stream that they listen to, those of the time before on the connection.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::resources::Uri;
use crate::changes::{Change, Changes, Following};

/// What of a requested filter can be promised.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let uris = requested.resource_subscriptions.iter().flatten().filter(|uri| Uri::parse(uri).is_some());
    SubscriptionFilter::builder().resources_list_changed().resource_subscriptions(uris).build()
}

/// Tells a listening host of changes until it stops to listen or the server ends.
pub(super) async fn listen(context: SubscriptionContext, changes: &Changes, mut ending: watch::Receiver<bool>) {
    let mut following = changes.follow();
    let accepted = context.accepted().clone();
    let uris = accepted.resource_subscriptions.unwrap_or_default();
    let told = async {
        while let Some(change) = following.next().await {
            let lists = accepted.resources_list_changed == Some(true) && logs_may_differ(&change);
            if lists && context.sink().notify_resource_list_changed().await.is_err() {
                return;
            }
            for uri in concerned(&uris, &change) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        () = told => {}
        () = context.cancelled() => {}
        _ = ending.wait_for(|ending| *ending) => {}
    }
}

/// The resources that a host of an earlier protocol subscribed to, on its one connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    uris: Arc<Mutex<BTreeSet<String>>>,
    telling: Mutex<Option<JoinHandle<()>>>,
}

impl Subscriptions {
    pub(super) fn add(&self, uri: String) {
        locked(&self.uris).insert(uri);
    }

    pub(super) fn remove(&self, uri: &str) {
        locked(&self.uris).remove(uri);
    }

    /// Tells the host of changes from now on, for as long as its connection lives.
    pub(super) fn begin(&self, peer: Peer<RoleServer>, changes: &Changes) {
        let telling = tokio::spawn(tell(peer, Arc::clone(&self.uris), changes.follow()));
        if let Some(earlier) = locked(&self.telling).replace(telling) {
            earlier.abort();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        if let Some(telling) = locked(&self.telling).take() {
            telling.abort();
        }
    }
}

async fn tell(peer: Peer<RoleServer>, uris: Arc<Mutex<BTreeSet<String>>>, mut following: Following) {
    while let Some(change) = following.next().await {
        if logs_may_differ(&change) && peer.notify_resource_list_changed().await.is_err() {
            return;
        }
        let uris: Vec<String> = locked(&uris).iter().cloned().collect();
        for uri in concerned(&uris, &change) {
            if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                return;
            }
        }
    }
}

fn logs_may_differ(change: &Change) -> bool {
    !matches!(change, Change::Files { logs_differ: false, .. })
}

fn concerned<'u>(uris: &'u [String], change: &Change) -> impl Iterator<Item = &'u str> {
    let is_concerned = |uri: &&String| Uri::parse(uri).is_some_and(|uri| uri.may_be_changed_by(change));
    uris.iter().filter(is_concerned).map(String::as_str).collect::<Vec<_>>().into_iter()
}

/// A fault of another thread leaves a set of texts as good as it was.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
