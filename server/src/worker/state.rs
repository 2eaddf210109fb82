//! The state of the worker. It opens the engine on demand and again after an error.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chrono::NaiveDate;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::control::Control;
use tools::embed::remote::Network;
use tools::engine::Engine;
use tools::error::ToolError;

use super::embedding_jobs::EmbeddingJobs;
use crate::change_feed::{ChangeFeed, StoreChange};
use crate::network::ReqwestNetwork;
use crate::request::{EngineOwner, ReadAvailability, Readiness, Work, catch_panic, is_internal_error};
use crate::watcher::StoreWatcher;

pub(crate) struct WorkerSetup {
    pub(crate) project: PathBuf,
    pub(crate) session_id: Option<String>,
    pub(crate) changes: ChangeFeed,
    pub(crate) ending: CancellationToken,
    pub(crate) can_save: watch::Sender<bool>,
    /// Whether this server indexes changes.
    pub(crate) is_owner: Arc<AtomicBool>,
    pub(crate) readiness: watch::Sender<Readiness>,
    /// The worker's own inbox, for the watcher and embedding jobs.
    pub(crate) work: mpsc::WeakSender<Work>,
}

pub(super) struct WorkerState {
    pub(super) setup: WorkerSetup,
    network: Arc<dyn Network>,
    pub(super) jobs: EmbeddingJobs,
    /// Whether files may have changed since the last indexing.
    pub(super) must_refresh: bool,
    pub(super) open: Option<OpenEngine>,
    /// The day on which old memories were last deleted.
    pub(super) last_cleanup_day: Option<NaiveDate>,
    /// Time of the last check of the write-ahead logs.
    pub(super) wals_checked_at: Instant,
    /// Whether a log that is too long was reported and still is.
    pub(super) is_long_wal_reported: bool,
    /// Whether another refresh is scheduled.
    pub(super) is_refresh_scheduled: Arc<AtomicBool>,
}

pub(super) struct OpenEngine {
    pub(super) engine: Engine,
    /// Reports changed files. Only the server that owns the queue has a watcher. If that server cannot watch, it checks for changes at
    /// every request.
    watcher: Option<StoreWatcher>,
}

impl WorkerState {
    pub(super) fn new(setup: WorkerSetup) -> Self {
        Self {
            network: Arc::new(ReqwestNetwork::default()),
            jobs: EmbeddingJobs { sender: setup.work.clone(), is_running: false },
            setup,
            must_refresh: false,
            open: None,
            last_cleanup_day: None,
            wals_checked_at: Instant::now(),
            is_long_wal_reported: false,
            is_refresh_scheduled: Arc::default(),
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        self.setup.ending.is_cancelled()
    }

    pub(super) fn is_owner(&self) -> bool {
        self.setup.is_owner.load(Ordering::Relaxed)
    }

    /// The open engine. Opens it if it is closed, or if its files were deleted.
    pub(super) fn engine(&mut self) -> Result<&mut Engine, ToolError> {
        if self.open.take_if(|open| !open.engine.is_current()).is_some() {
            // No reader may take the new files for the old ones, which were indexed.
            self.setup.readiness.send_replace(Readiness::default());
        }
        self.open_engine()
    }

    /// The open engine, without looking at its files again. Opens it if it is closed.
    pub(super) fn open_engine(&mut self) -> Result<&mut Engine, ToolError> {
        match &mut self.open {
            Some(open) => Ok(&mut open.engine),
            none => {
                let setup = &self.setup;
                let opened = Engine::open(&setup.project, setup.session_id.clone(), Some(Arc::clone(&self.network)));
                let mut engine = opened.inspect_err(|_| setup.report_not_open())?;
                engine.find_renamed_in_background();
                let common = engine.share();
                // Other processes cannot watch a store in memory.
                let is_mine = common.is_none() || setup.is_owner.load(Ordering::Relaxed);
                let watcher = is_mine.then(|| setup.watch(&engine)).flatten();
                let common = common.filter(|_| watcher.is_some() || !is_mine);
                self.must_refresh = common.is_some();
                if common.is_none() {
                    if let Err(error) =
                        engine.refresh(&mut Control::default().cancelled_if(|| setup.ending.is_cancelled()))
                    {
                        tracing::warn!("cannot index changes: {error}");
                    }
                    setup.can_save.send_replace(engine.is_writable());
                }
                setup.readiness.send_replace(Readiness {
                    is_catching_up: common.is_some(),
                    reading: common
                        .map_or(ReadAvailability::ByWorker, |common| ReadAvailability::ByReaders(Arc::new(common))),
                    step: None,
                });
                Ok(&mut none.insert(OpenEngine { engine, watcher }).engine)
            }
        }
    }

    /// Starts watching and indexing, as the server that owns the queue.
    pub(super) fn take_over(&mut self) {
        // Nobody reported changes made before the watcher started.
        self.must_refresh = true;
        if let Some(OpenEngine { engine, watcher: watcher @ None }) = &mut self.open {
            *watcher = self.setup.watch(engine);
            if watcher.is_none() {
                self.setup.readiness.send_modify(|now| now.reading = ReadAvailability::ByWorker);
            }
        }
    }

    /// Runs `work`. After a panic or a database error, it closes the engine.
    pub(super) fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let outcome = catch_panic(|| work(self));
        if is_internal_error(&outcome) {
            self.close();
        }
        outcome
    }
}

impl EngineOwner for WorkerState {
    fn ending(&self) -> CancellationToken {
        self.setup.ending.clone()
    }

    fn engine_in_sync(&mut self, control: &mut Control<'_>) -> Result<&mut Engine, ToolError> {
        let is_owner = self.is_owner();
        self.engine()?;
        let is_watched =
            self.open.as_ref().is_some_and(|open| open.watcher.is_some() || !is_owner && open.engine.is_shared());
        if self.must_refresh || !is_watched {
            self.engine()?.refresh_to_read(control)?;
        }
        self.engine()
    }

    fn close(&mut self) {
        self.open = None;
    }
}

impl WorkerSetup {
    /// Reports that the store could not be opened. Reads then go to the worker, which tries again.
    pub(super) fn report_not_open(&self) {
        self.can_save.send_if_modified(std::mem::take);
        self.readiness.send_replace(Readiness { reading: ReadAvailability::ByWorker, ..Readiness::default() });
    }

    fn watch(&self, engine: &Engine) -> Option<StoreWatcher> {
        let watcher = StoreWatcher::start(engine.store().layout(), self.work.clone(), self.changes.clone());
        // Nobody reported changes made before the watcher started.
        self.changes.publish(StoreChange::Anything);
        watcher.inspect_err(|error| tracing::warn!("cannot watch the store: {error}")).ok()
    }
}
