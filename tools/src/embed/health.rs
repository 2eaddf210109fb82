//! The embedder's current error: reported in full once, then in short while it stays the same.

use std::sync::{Mutex, MutexGuard, PoisonError};

use schema::model::error_chain::join_causes;

use super::EmbedError;

/// The current error, shared by all searches.
#[derive(Debug, Default)]
pub struct EmbeddingHealth(Mutex<Option<ReportedError>>);

#[derive(Debug)]
struct ReportedError {
    message: String,
    /// Whether a search has reported it.
    is_reported: bool,
}

impl EmbeddingHealth {
    /// Records an error and returns whether it is new.
    pub fn record_error(&self, error: &EmbedError) -> bool {
        let message = join_causes(error);
        let mut last = self.lock();
        let is_new = last.as_ref().is_none_or(|last| last.message != message);
        if is_new {
            *last = Some(ReportedError { message, is_reported: false });
        }
        is_new
    }

    pub fn clear(&self) {
        *self.lock() = None;
    }

    /// The full message.
    pub fn message(&self) -> Option<String> {
        self.lock().as_ref().map(|last| last.message.clone())
    }

    /// The message for a search: in full the first time.
    pub(super) fn take_notice(&self) -> Option<String> {
        let mut last = self.lock();
        let last = last.as_mut()?;
        match std::mem::replace(&mut last.is_reported, true) {
            false => Some(last.message.clone()),
            true => Some("embedding still fails; see memory_stats for the cause".to_owned()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<ReportedError>> {
        // A panic elsewhere leaves the message valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_reported_in_full_once_per_occurrence() {
        let health = EmbeddingHealth::default();
        let error = |text: &str| EmbedError::Unavailable(text.to_owned());
        assert!(health.record_error(&error("no key")));
        assert_eq!(health.take_notice().as_deref(), Some("no key"));
        assert!(!health.record_error(&error("no key")));
        assert_eq!(health.take_notice().as_deref(), Some("embedding still fails; see memory_stats for the cause"));
        assert_eq!(health.message().as_deref(), Some("no key"));
        assert!(health.record_error(&error("no model")));
        assert_eq!(health.take_notice().as_deref(), Some("no model"));
        health.clear();
        assert_eq!((health.take_notice(), health.message()), (None, None));
        assert!(health.record_error(&error("no model")));
        assert_eq!(health.take_notice().as_deref(), Some("no model"));
    }
}
