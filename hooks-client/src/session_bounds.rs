//! Records where sessions begin and end, and their summaries.

use std::path::Path;
use std::thread;
use std::time::Duration;

use schema::host::hook::HookPayload;
use schema::host::session_context;
use schema::host::session_record::{SessionMetadata, closing_summary, missing_summaries};
use schema::host::transcript::last_model;
use schema::model::moment::Moment;
use schema::store::StoreError;

use crate::hook_session::HookSession;

/// Seconds without an event after which a session has ended. People may come back after lunch.
const SESSION_IDLE_SECONDS: i64 = 6 * 60 * 60;

/// How long the end of a server may hold the database.
const END_OF_SERVER: Duration = Duration::from_millis(150);

impl HookSession<'_> {
    /// Records where a session begins, and summarises sessions that never reported their end.
    pub(crate) fn begin_session(&mut self, payload: &HookPayload) {
        if !self.settings.capture || !self.layout.memory_db().exists() || self.layout.verify_dirs().is_err() {
            return;
        }
        self.record_start(payload.model.clone());
        let before = Moment::from_unix(self.now.unix() - SESSION_IDLE_SECONDS, Some(self.now.offset_seconds()));
        let session_id = self.session_id.clone();
        let missing = self
            .open_store()
            .ok()
            .zip(before)
            .and_then(|(store, before)| missing_summaries(store.rows(), &session_id, before).ok());
        let saved = self.save_drafts(missing.unwrap_or_default());
        self.log_unless_busy(saved);
    }

    /// Records where a session begins, if the store did not exist when it started.
    pub(crate) fn record_missing_start(&self) {
        if !session_context::has_recorded_start(self.layout, &self.session_id) {
            self.record_start(None);
        }
    }

    fn record_start(&self, model: Option<String>) {
        let metadata =
            SessionMetadata { model, ..SessionMetadata::checked_out(self.directory) }.cleaned(self.sanitizer);
        self.log_unless_busy(session_context::record_start(self.layout, &self.session_id, &metadata));
    }

    /// Records the summary of a session that ends.
    pub(crate) fn close_session(&mut self, payload: &HookPayload) -> Result<(), StoreError> {
        if !self.layout.memory_db().exists() {
            return Ok(());
        }
        let model = payload.transcript_path.as_deref().and_then(|path| last_model(Path::new(path)).ok().flatten());
        let end = SessionMetadata {
            model,
            end_reason: payload.reason.clone(),
            ..SessionMetadata::checked_out(self.directory)
        }
        .cleaned(self.sanitizer);
        let metadata = SessionMetadata {
            acknowledgements: session_context::count_acknowledgements(self.layout, &self.session_id),
            ..end.begun_at(session_context::recorded_start(self.layout, &self.session_id))
        };
        let (session_id, now) = (self.session_id.clone(), self.now);
        // Codex ends the server at the same time, which then holds the database for a moment.
        if self.open_store().is_err_and(|error| error.is_busy()) {
            thread::sleep(END_OF_SERVER);
        }
        let summary = closing_summary(self.open_store()?.rows(), &session_id, &metadata, now)?;
        self.save_drafts(summary)
    }
}
