//! Sessions of hosts of the protocols before 2026-07-28: so many at once, and when one more begins, the one that said nothing for the
//! longest ends. A host that is told so begins anew.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::server_side_http::{ServerSseMessage, SessionId};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// Sessions at once.
const SESSIONS: usize = 64;

/// How long a session may say nothing. A host that is left open over a night finds its session in the morning.
const SILENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// The sessions in memory, with a limit.
#[derive(Debug)]
pub(super) struct Sessions {
    all: LocalSessionManager,
    /// Those that said something last are last.
    order: Mutex<Vec<SessionId>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut all = LocalSessionManager::default();
        all.session_config.keep_alive = Some(SILENCE);
        Self { all, order: Mutex::new(Vec::new()) }
    }

    /// Notes that a session said something.
    fn heard(&self, id: &SessionId) {
        let mut order = self.order();
        if let Some(at) = order.iter().position(|known| known == id) {
            let id = order.remove(at);
            order.push(id);
        }
    }

    /// Takes in a new session, and answers those that have to end for it.
    fn begun(&self, id: &SessionId) -> Vec<SessionId> {
        let mut order = self.order();
        order.push(id.clone());
        let too_many = order.len().saturating_sub(SESSIONS);
        order.drain(..too_many).collect()
    }

    /// A fault of another thread leaves a list of ids as good as it was.
    fn order(&self) -> MutexGuard<'_, Vec<SessionId>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for Sessions {
    type Error = <LocalSessionManager as SessionManager>::Error;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let (id, transport) = self.all.create_session().await?;
        for silent in self.begun(&id) {
            tracing::debug!("a session ends for a new one");
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
        self.order().retain(|known| known != id);
        self.all.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.heard(id);
        self.all.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.heard(id);
        self.all.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.heard(id);
        self.all.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.heard(id);
        self.all.resume(id, last_event_id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_session_that_said_nothing_for_the_longest_ends_when_there_are_too_many() {
        let sessions = Sessions::new();
        let mut open = Vec::new();
        for _ in 0..SESSIONS {
            open.push(sessions.create_session().await.unwrap());
        }
        sessions.heard(&open[0].0);
        open.push(sessions.create_session().await.unwrap());
        let mut there = Vec::new();
        for (id, _) in &open {
            there.push(sessions.has_session(id).await.unwrap());
        }
        let expected: Vec<bool> = (0..=SESSIONS).map(|n| n != 1).collect();
        assert_eq!(there, expected);
        for (id, _) in &open {
            sessions.close_session(id).await.unwrap();
        }
        assert!(sessions.order().is_empty());
    }
}
