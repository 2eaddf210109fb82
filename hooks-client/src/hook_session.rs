//! [`HookSession`]: the session of an event, and how its memories are saved: through the running server, or directly in the store, or in the
//! spool. `turn` has its methods for prompts, tools and answers, `session_bounds` those for its start and end, and `context` those for what it
//! is given.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use schema::files::database::LockTimeout;
use schema::files::layout::Layout;
use schema::host::hook::HookHost;
use schema::intake::capture::commit;
use schema::intake::drain::drain;
use schema::intake::prepare::{Draft, PreparedMemory, prepare};
use schema::intake::queue;
use schema::intake::spool;
use schema::model::failure::FAILURE_IMPORTANCE;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::Settings;
use schema::store::hook_log;
use schema::store::{Store, StoreError};

/// How many spooled memories a hook saves as well. Few, so that it stays fast after a long outage.
const DRAIN_LIMIT: usize = 4;

/// The memories that are being saved, or wait for it. The deadline spools them.
static UNSAVED: Mutex<Vec<PreparedMemory>> = Mutex::new(Vec::new());

/// Writes the memories that are being saved into the spool. Saving one of them twice is harmless.
pub(crate) fn spool_unsaved(layout: &Layout) -> Result<(), StoreError> {
    let unsaved = UNSAVED.lock().unwrap_or_else(PoisonError::into_inner);
    unsaved.iter().try_for_each(|memory| spool::write_memory(layout, memory))
}

/// Sets what the deadline spools.
pub(crate) fn set_unsaved(memories: &[PreparedMemory]) {
    *UNSAVED.lock().unwrap_or_else(PoisonError::into_inner) = memories.to_vec();
}

/// The session that an event belongs to, and the store that its memories go to.
pub(crate) struct HookSession<'l> {
    /// The host that gets the answer.
    pub(crate) host: HookHost,
    pub(crate) layout: &'l Layout,
    /// The working directory of the session.
    pub(crate) directory: &'l Path,
    pub(crate) session_id: String,
    pub(crate) now: Moment,
    pub(crate) sanitizer: &'l Sanitizer,
    pub(crate) settings: &'l Settings,
    /// Opened when the first memory needs it.
    pub(crate) store: Option<Store>,
}

impl HookSession<'_> {
    /// Returns a memory of the session, or `None` if nothing is left of its text.
    pub(crate) fn prepare_text(&self, kind: MemoryType, content: String, at: Moment) -> Option<PreparedMemory> {
        let mut draft = Draft::new(self.session_id.clone(), kind, content, at);
        draft.attributes.importance = (kind == MemoryType::Error).then_some(FAILURE_IMPORTANCE);
        prepare(draft, self.sanitizer)
    }

    /// Records memories in the first way that works: server, store or spool.
    pub(crate) fn save_drafts(&mut self, drafts: impl IntoIterator<Item = Draft>) -> Result<(), StoreError> {
        self.save_prepared(&drafts.into_iter().filter_map(|draft| prepare(draft, self.sanitizer)).collect::<Vec<_>>())
    }

    pub(crate) fn save_prepared(&mut self, memories: &[PreparedMemory]) -> Result<(), StoreError> {
        set_unsaved(memories);
        let saved = self.save_first_way(memories);
        set_unsaved(&[]);
        saved
    }

    fn save_first_way(&mut self, memories: &[PreparedMemory]) -> Result<(), StoreError> {
        if memories.is_empty() || queue::send_memories(self.layout, memories) {
            return Ok(());
        }
        for (saved, memory) in memories.iter().enumerate() {
            if let Err(error) = self.open_store().and_then(|store| commit(store, memory)) {
                return self.spool(&memories[saved..], error);
            }
        }
        let drained = self.open_store().and_then(|store| drain(store, DRAIN_LIMIT).map(drop));
        self.log_unless_busy(drained);
        Ok(())
    }

    /// Leaves memories to a process with more time or more rights.
    pub(crate) fn spool(&self, memories: &[PreparedMemory], error: StoreError) -> Result<(), StoreError> {
        // The spool can exist without the other directories.
        let _ = self.create_dirs();
        memories.iter().try_for_each(|memory| spool::write_memory(self.layout, memory))?;
        self.log_unless_busy(Err(error));
        Ok(())
    }

    /// Logs an error that lost nothing, unless other processes were just faster.
    pub(crate) fn log_unless_busy(&self, done: Result<(), StoreError>) {
        if let Err(error) = done
            && !error.is_busy()
        {
            hook_log::append_error(self.layout, &error);
        }
    }

    pub(crate) fn create_dirs(&self) -> Result<(), StoreError> {
        self.layout
            .create_dirs_and_gitignore()
            .map_err(|source| StoreError::Unusable { path: self.layout.store_dir().to_owned(), source })
    }

    pub(crate) fn open_store(&mut self) -> Result<&mut Store, StoreError> {
        match &mut self.store {
            Some(store) => Ok(store),
            empty => {
                let store = Store::open(self.layout.project(), LockTimeout::Hook)?;
                store.messages().iter().for_each(|message| hook_log::append_message(self.layout, message));
                Ok(empty.insert(store))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsaved_memories_are_spooled_at_the_deadline() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        let draft = Draft::new("s", MemoryType::UserPrompt, "Check the build", Moment::now());
        set_unsaved(&[prepare(draft, &Sanitizer::default()).unwrap()]);
        spool_unsaved(&layout).unwrap();
        assert_eq!(spool::count(&layout), 1);
        set_unsaved(&[]);
    }
}
