//! Limits sessions of hosts with a protocol before 2026-07-28. A new session closes the one that was silent for longest, and its host
//! starts a new one.

use std::sync::Mutex;
use std::time::Duration;

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::request::lock;

const MAX_SESSIONS: usize = 64;

/// Idle limit of a session: a host that is open overnight keeps its session.
const IDLE_TIMEOUT: Duration = Duration::from_hours(24);

#[derive(Debug)]
pub(super) struct LimitedSessions {
    all: LocalSessionManager,
    /// Ordered by last activity, latest last.
    order: Mutex<Vec<SessionId>>,
}

impl LimitedSessions {
    pub(super) fn new() -> Self {
        let mut all = LocalSessionManager::default();
        all.session_config.keep_alive = Some(IDLE_TIMEOUT);
        Self { all, order: Mutex::new(Vec::new()) }
    }

    fn mark_active(&self, id: &SessionId) {
        let mut order = lock(&self.order);
        if let Some(at) = order.iter().position(|known| known == id) {
            let id = order.remove(at);
            order.push(id);
        }
    }

    /// Adds a session. Returns the sessions to close for it.
    fn add(&self, id: &SessionId) -> Vec<SessionId> {
        let mut order = lock(&self.order);
        order.push(id.clone());
        let too_many = order.len().saturating_sub(MAX_SESSIONS);
        order.drain(..too_many).collect()
    }
}

impl SessionManager for LimitedSessions {
    type Error = <LocalSessionManager as SessionManager>::Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.all.create_session().await?;
        for silent in self.add(&id) {
            tracing::debug!("closed the most idle session for a new one");
            self.all.close_session(&silent).await?;
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.all.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.all.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        lock(&self.order).retain(|known| known != id);
        self.all.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.mark_active(id);
        self.all.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.mark_active(id);
        self.all.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.mark_active(id);
        self.all.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.mark_active(id);
        self.all.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn new_session_closes_the_most_idle_one() {
        let sessions = LimitedSessions::new();
        let mut open = Vec::new();
        for _ in 0..MAX_SESSIONS {
            open.push(sessions.create_session().await.unwrap());
        }
        sessions.mark_active(&open[0].0);
        open.push(sessions.create_session().await.unwrap());
        let mut there = Vec::new();
        for (id, _) in &open {
            there.push(sessions.has_session(id).await.unwrap());
        }
        let expected: Vec<bool> = (0..=MAX_SESSIONS).map(|n| n != 1).collect();
        assert_eq!(there, expected);
        for (id, _) in &open {
            sessions.close_session(id).await.unwrap();
        }
        assert!(lock(&sessions.order).is_empty());
    }
}
