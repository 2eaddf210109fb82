//! The engine: an open store with its index, and the six tools as functions.
//!
//! Synchronous and single-threaded; the server gives it its own thread.

mod compact;
mod curate;
mod day_summaries;
mod embedding;
mod file_access;
mod forget;
mod get;
mod history;
mod ids;
mod insights;
mod load;
mod logs;
mod personal;
mod recall;
mod reindex;
mod repair;
mod repair_messages;
mod retention;
mod review;
mod save;
mod search;
mod selection;
mod shared;
mod stats;
mod tasks;
mod team;
mod team_exchange;
mod usage;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schema::files::database::{self, LockTimeout};
use schema::files::layout::Layout;
use schema::host::code::anchored::checkout_root;
use schema::host::code::changes::ChangeDetector;
use schema::host::code::renamed::{ListingPlace, RenamedFiles};
use schema::intake::capture::{CaptureOutcome, append_notes, commit, commit_all};
use schema::intake::drain::drain;
use schema::intake::prepare::PreparedMemory;
use schema::intake::spool;
use schema::model::moment::Moment;
use schema::model::state_note::StateNote;
use schema::settings::{self, LoadedSettings, Settings};
use schema::store::hook_log;
use schema::store::{Locator, MemoryFilter, MemoryRow, Store, StoreAccess, has_less_space_than};
use schema::tool::{ReindexInput, ReindexOutput};

use crate::control::Control;
use crate::curation::residue;
use crate::embed::remote::Network;
use crate::embed::{self, EmbeddingModel};
use crate::error::{ToolError, join_causes};
use crate::index::Index;
use crate::search::append_notice;

#[cfg(test)]
mod tests;

pub use curate::{ConfirmedMemory, EditedMemory};
pub use embedding::{EmbeddedTexts, EmbeddingJob, EmbeddingStep, FailedJob};
use file_access::LineCounter;
pub use forget::{ForgetExtent, ForgetOutcome, OldDatabases};
pub use history::{HistoryFilter, SessionDay, TimelineDay};
pub use insights::Insight;
use repair_messages::RepairMessages;
pub use retention::RetentionPolicy;
pub use review::{REVIEW_PAUSE_DAYS, ReviewCandidate, ReviewKind, ReviewReport};
pub use selection::{SelectedMemories, Selection};
pub use shared::SharedEngine;
pub use tasks::{Task, TaskState};
pub use team::{ShareOptions, TeamFinding, TeamOutcome, personal_data};
pub use team_exchange::TeamLine;
pub use usage::{DiskUsage, FilteredUsage, StoreUsage};

/// Events imported from the spool in one batch.
const MAX_DRAINED: usize = 10_000;

/// Notice after the index file was reset.
const INDEX_RESET: &str = "index.db was damaged and is rebuilt; unreadable vectors are computed again";

/// The consequence if changed files cannot be read into the databases.
const NOT_INDEXED: &str = "recent changes are not searched yet";

/// Free bytes below which a deleting command makes room first: about a long log plus SQLite's files next to `memory.db`.
const SPACE_TO_DELETE: u64 = 4 * 1024 * 1024;

#[derive(Debug)]
pub struct Engine {
    store: Store,
    index: Index,
    /// `None` if the settings turn it off.
    model: Option<EmbeddingModel>,
    /// The host's session, if known.
    session_id: String,
    /// The settings when the engine was opened.
    loaded: LoadedSettings,
    /// Repairs since opening.
    repair_messages: RepairMessages,
    line_counter: LineCounter,
    /// Where the files are that memories are about.
    checkout: PathBuf,
    change_detector: ChangeDetector,
    /// The user's personal memory, opened when a search needs it.
    personal: Option<Box<Engine>>,
}

impl Engine {
    /// Opens a project's store without indexing; [`Engine::refresh`] does that. Embedding services are called through
    /// `network` if the settings name one.
    pub fn open(
        project: &Path,
        session_id: Option<String>,
        network: Option<Arc<dyn Network>>,
    ) -> Result<Self, ToolError> {
        let loaded = settings::load(&Layout::new(project));
        let model = embed::open_model(&loaded.settings, network);
        Self::open_as(Store::open(project, LockTimeout::Server)?, session_id, loaded, model, open_index)
    }

    /// Opens a store for a command that deletes memories. On a full disk it first deletes both databases, because changing a
    /// log needs space. They are rebuilt from Markdown later.
    pub fn open_to_delete(project: &Path, network: Option<Arc<dyn Network>>) -> Result<Self, ToolError> {
        let layout = Layout::new(project);
        if !has_less_space_than(layout.store_dir(), SPACE_TO_DELETE) || layout.verify_dirs().is_err() {
            return Self::open(project, None, network);
        }
        Index::delete(&layout)?;
        let mut store = Store::open(project, LockTimeout::Server)?;
        if *store.access() == StoreAccess::Full {
            store = store.without_database()?;
        }
        let loaded = settings::load(&layout);
        let model = embed::open_model(&loaded.settings, network);
        let engine = Self::open_as(store, None, loaded, model, |store, _| Index::in_memory(store))?;
        engine
            .repair_messages
            .add("the disk is full: the databases were deleted to make room and are rebuilt later".to_owned());
        Ok(engine)
    }

    /// Opens a store with these settings instead of the project's, for tests and measurements. It has no network.
    pub fn open_with_settings(project: &Path, settings: &Settings) -> Result<Self, ToolError> {
        let loaded = LoadedSettings::from(settings.clone());
        let model = embed::open_model(settings, None);
        Self::open_as(Store::open(project, LockTimeout::Server)?, None, loaded, model, open_index)
    }

    fn open_as(
        mut store: Store,
        session_id: Option<String>,
        loaded: LoadedSettings,
        model: Option<EmbeddingModel>,
        open_index: impl FnOnce(&Store, &RepairMessages) -> Result<Index, ToolError>,
    ) -> Result<Self, ToolError> {
        let repair_messages = RepairMessages::default();
        store.take_messages().into_iter().for_each(|message| repair_messages.add(message));
        if *store.access() == StoreAccess::Full
            && let Err(error) = residue::remove_partial_files(&store)
        {
            repair_messages.add(format!("cannot delete files of a killed process: {}", join_causes(&error)));
        }
        let index = open_index(&store, &repair_messages)?;
        let project = store.layout().project().to_owned();
        let checkout =
            env::current_dir().map_or_else(|_| project.clone(), |directory| checkout_root(&directory, &project));
        let mut change_detector = ChangeDetector::new(&checkout);
        change_detector.renamed = Some(RenamedFiles::new(&checkout, loaded.sanitizer.clone()));
        Ok(Self {
            store,
            index,
            model,
            session_id: session_id.unwrap_or_default(),
            loaded,
            repair_messages,
            line_counter: LineCounter::default(),
            change_detector,
            checkout,
            personal: None,
        })
    }

    /// Lists the files of the project on another thread, when new names of missing files are looked for.
    pub fn find_renamed_in_background(&mut self) {
        if let Some(renamed) = &mut self.change_detector.renamed {
            renamed.place = ListingPlace::Background;
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Synchronises rows and chunks with changed files, and stores the events in the spool. Returns `None` if it was stopped; the next
    /// call does the rest.
    pub fn refresh(&mut self, control: &mut Control<'_>) -> Result<Option<ReindexOutput>, ToolError> {
        match self.with_repair(|engine| engine.index_changes(control)) {
            Ok(output) => {
                self.repair_messages.set_problem(None);
                Ok(Some(output))
            }
            Err(ToolError::Interrupted) => Ok(None),
            Err(error) => {
                if let ToolError::Unavailable(cause) = &error {
                    self.repair_messages.set_problem(Some(format!("{NOT_INDEXED}: {cause}")));
                }
                Err(error)
            }
        }
    }

    /// Does what [`Engine::refresh`] does for a caller that only reads. If the changes cannot be stored, as on a full disk, it reads the rows
    /// at hand, and the messages report the reason.
    pub fn refresh_to_read(&mut self, control: &mut Control<'_>) -> Result<(), ToolError> {
        match self.refresh(control) {
            Ok(_) | Err(ToolError::Unavailable(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn index_changes(&mut self, control: &mut Control<'_>) -> Result<ReindexOutput, ToolError> {
        self.drain_spool()?;
        self.reindex_changed(control)
    }

    fn drain_spool(&mut self) -> Result<(), ToolError> {
        if self.is_writable() {
            match drain(&mut self.store, MAX_DRAINED) {
                Err(error) if error.is_damage() => return Err(error.into()),
                // Events that cannot be stored stay in the spool. This must not block search.
                Err(error) if !error.is_busy() => hook_log::append_error(self.store.layout(), &error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether events wait in the spool, or entries wait until another program finishes a log.
    pub fn has_waiting_work(&self) -> Result<bool, ToolError> {
        let store = &self.store;
        Ok(spool::count(store.layout()) > 0 || store.rows().has_pending()? || store.is_any_log_being_rewritten()?)
    }

    /// Checkpoints the databases, so that the next process opens them faster. Call it when idle.
    pub fn checkpoint(&self) -> Result<(), ToolError> {
        self.store.checkpoint()?;
        self.index.checkpoint()
    }

    /// Truncates the write-ahead logs, which constant readers would let grow. Returns a message about each log that another program keeps
    /// from being truncated.
    pub fn truncate_long_wals(&self) -> Result<Vec<String>, ToolError> {
        let layout = self.store.layout();
        let mut blocked = Vec::new();
        for (is_short, path) in [
            (self.store.truncate_long_wal()?, layout.memory_db()),
            (self.index.truncate_long_wal()?, layout.index_db()),
        ] {
            if !is_short {
                let (name, size) =
                    (path.file_name().unwrap_or_default().to_string_lossy(), database::wal_length(&path) >> 20);
                blocked.push(format!(
                    "{name}-wal has grown to {size} MiB, because another program keeps reading {name}: end that program, for example a \
                     database viewer"
                ));
            }
        }
        Ok(blocked)
    }

    pub fn is_writable(&self) -> bool {
        *self.store.access() == StoreAccess::Full
    }

    /// Whether a job that runs at most once a day is due. Notes the day under `key` first, so that a failure is not repeated
    /// all day.
    fn begin_daily(&mut self, key: &str, now: &Moment) -> Result<bool, ToolError> {
        let today = now.date().to_string();
        if !self.is_writable() || self.store.rows().meta(key)?.as_deref() == Some(&today) {
            return Ok(false);
        }
        self.store.with_transaction(|rows| rows.set_meta(key, &today))?;
        Ok(true)
    }

    /// Whether the database files were not replaced since opening.
    pub fn is_current(&self) -> bool {
        self.store.is_current() && self.index.is_current()
    }

    /// Stores prepared memories, in one batch if possible, and returns each one's result.
    pub fn commit(&mut self, memories: &[PreparedMemory]) -> Vec<Result<CaptureOutcome, ToolError>> {
        let pairs = memories.iter().zip(commit_all(&mut self.store, memories));
        pairs
            .map(|(memory, outcome)| match outcome {
                // Memories stored before the damage are in their log, so they are not stored twice.
                Err(error) if error.is_damage() => self.with_repair(|engine| Ok(commit(&mut engine.store, memory)?)),
                outcome => Ok(outcome?),
            })
            .collect()
    }

    /// Notes changes of states.
    pub fn append_notes(&mut self, notes: &[StateNote]) -> Result<(), ToolError> {
        self.with_repair(|engine| Ok(append_notes(&mut engine.store, notes).map(drop)?))
    }

    /// Finds the lines of memories in their files.
    pub fn locator(&self) -> Locator {
        self.store.locator()
    }

    /// `memory_reindex`. Reports each file and then each batch of vectors, and may be stopped before each.
    pub fn reindex(&mut self, input: &ReindexInput, control: &mut Control<'_>) -> Result<ReindexOutput, ToolError> {
        self.with_repair(|engine| {
            engine.drain_spool()?;
            let mut output = engine.reindex_requested(input, control)?;
            output.embedded = engine.embed_locally(output.files, control)?;
            engine.merge_segments(control)?;
            Ok(output)
        })
    }

    /// The newest memories that match a filter.
    pub fn list(&mut self, filter: &MemoryFilter, limit: usize) -> Result<Vec<MemoryRow>, ToolError> {
        self.read_rows(|rows| rows.list(filter, limit))
    }

    /// Newest ids with this prefix.
    pub fn newest_ids(&mut self, beginning: &str, limit: usize) -> Result<Vec<String>, ToolError> {
        self.read_rows(|rows| rows.newest_ids(beginning, limit))
    }

    /// Repairs that were not reported yet.
    pub fn take_repair_messages(&mut self) -> Vec<String> {
        self.repair_messages.take()
    }

    fn add_notice(&mut self, notice: &mut Option<String>) {
        let repairs = self.take_repair_messages().join("; ");
        if !repairs.is_empty() {
            append_notice(notice, &repairs);
        }
    }
}

fn open_index(store: &Store, repair_messages: &RepairMessages) -> Result<Index, ToolError> {
    match Index::open(store) {
        Err(ToolError::Unavailable(cause)) => {
            repair_messages.add(format!("the index is temporarily in memory: {cause}"));
            Index::in_memory(store)
        }
        Ok(index) if index.was_reset() => {
            repair_messages.add(INDEX_RESET.to_owned());
            Ok(index)
        }
        opened => opened,
    }
}
