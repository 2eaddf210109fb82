//! Gives a session what the memory knows: the brief, memories that fit a prompt or a file, and the reminder.

use std::path::Path;

use schema::files::database::LockTimeout;
use schema::host::brief::{Brief, BriefRequest, brief};
use schema::host::code::anchored::checkout_root;
use schema::host::hook::{ContextEvent, SessionSource, add_context, continue_turn, warn_at_start};
use schema::host::recall::{memories_naming, recall_context};
use schema::host::session_context::{self, Given};
use schema::host::transcript::last_context_tokens;
use schema::intake::queue;
use schema::settings::BriefMode;
use schema::store::{StoreError, hook_log};

use crate::hook_session::HookSession;

/// The most bytes of changed logs that a brief reads first, and of the files of a team. The rest is left to servers and commands, because
/// a hook has one second.
const CATCH_UP_LIMIT: u64 = 4 * 1024 * 1024;

/// The tokens from which a session counts as long. Hosts compact contexts of 200,000 tokens at about 160,000.
const LONG_CONTEXT: u64 = 120_000;

const REMINDER: &str = "This session has become long and may be compacted soon. If it has decisions, preferences, conventions, fixes or open \
     steps that are not in the project's memory yet, save them now with memory_save, one at a time. Otherwise just stop. This reminder \
     comes once.";

impl HookSession<'_> {
    /// Returns the context for a session that begins, in the form that the host expects.
    pub(crate) fn start_context(
        &mut self,
        source: SessionSource,
        problems: &[String],
    ) -> Result<Option<String>, StoreError> {
        let settings = self.settings;
        if let Err(refused) = self.layout.verify_dirs() {
            // A refused store has no error log either.
            return Ok(warn_at_start(self.host, &format!("The project's memory is not used: {refused}")));
        }
        let is_wanted = match settings.brief {
            BriefMode::Always => true,
            BriefMode::AfterCompaction => source == SessionSource::Compact,
            BriefMode::Never => false,
        };
        if !is_wanted {
            return Ok(None);
        }
        // Create no store before there is something to record or to read.
        let has_files = || self.layout.markdown_files().is_ok_and(|files| !files.is_empty());
        if !self.layout.memory_db().exists() && !has_files() {
            return Ok(None);
        }
        let checkout = checkout_root(self.directory, self.layout.project());
        let session_id = self.session_id.clone();
        let store = self.open_store()?;
        // The databases may have been deleted, the logs edited, or the project cloned with them.
        if store.require_writable().is_ok()
            && let Err(error) = store.catch_up_within(CATCH_UP_LIMIT, LockTimeout::Hook.duration())
        {
            // The brief then uses the rows of the last synchronisation.
            hook_log::append_error(store.layout(), &error);
        }
        // A store that can only be read has no rows yet, so report why.
        let mut problems = problems.to_vec();
        problems.extend(store.require_writable().err().iter().map(ToString::to_string));
        let request = BriefRequest {
            checkout: &checkout,
            session_id: &session_id,
            source,
            problems: &problems,
            has_personal: settings.other_projects,
            finds_conclusions: settings.conclusions,
            size: settings.brief_size,
        };
        Ok(brief(store, &request)?.and_then(|Brief { text, ids }| {
            if source == SessionSource::Compact {
                self.log_unless_busy(session_context::record_compaction(self.layout, &session_id));
            }
            let ids = ids.iter().map(String::as_str);
            self.log_unless_busy(session_context::record_given(self.layout, &session_id, Given::Brief, ids));
            add_context(self.host, ContextEvent::SessionStart, &text)
        }))
    }

    /// Returns the memories that fit a prompt and that the session has not seen, in the form that the host expects.
    pub(crate) fn prompt_context(&self, prompt: &str) -> Option<String> {
        // Without a place for the answer, do not ask the server.
        ContextEvent::UserPromptSubmit.name_in(self.host)?;
        let found = queue::recall(self.layout, self.sanitizer, prompt, &self.session_id)?;
        let new = session_context::take_unshown(self.layout, &self.session_id, found).ok()?;
        recall_context(&new).and_then(|text| add_context(self.host, ContextEvent::UserPromptSubmit, &text))
    }

    /// Returns the memories that name a file and that the session has not seen, in the form that the host expects.
    pub(crate) fn file_context(&mut self, path: &str) -> Result<Option<String>, StoreError> {
        if !self.layout.memory_db().exists() || self.layout.verify_dirs().is_err() {
            return Ok(None);
        }
        let found = memories_naming(self.open_store()?.rows(), path)?;
        let new = session_context::take_unshown(self.layout, &self.session_id, found)?;
        Ok(recall_context(&new).and_then(|text| add_context(self.host, ContextEvent::PreToolUse, &text)))
    }

    /// Returns the reminder to save memories if the session has become long, once a session.
    pub(crate) fn reminder(&self, transcript: &str) -> Option<String> {
        let tokens = last_context_tokens(Path::new(transcript)).ok().flatten()?;
        let is_due = tokens >= LONG_CONTEXT && session_context::take_reminder(self.layout, &self.session_id).ok()?;
        is_due.then(|| continue_turn(REMINDER))
    }
}
