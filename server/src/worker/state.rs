//! What the worker has: its engine, opened when it is needed and again after a fault, and whom it reports to.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chrono::NaiveDate;
use tokio::sync::{mpsc, watch};
use tools::embed::remote::Network;
use tools::engine::Engine;
use tools::error::ToolError;

use super::embedding::EmbeddingJobs;
use crate::changes::{Change, Changes};
use crate::guard::{guarded, is_fault};
use crate::network::Http;
use crate::request::{EngineOwner, Readiness, Reading, Work};
use crate::watcher::Watcher;

/// What the worker is started with.
pub(crate) struct WorkerSetup {
    pub(crate) project: PathBuf,
    pub(crate) session_id: Option<String>,
    pub(crate) changes: Changes,
    pub(crate) ending: watch::Receiver<bool>,
    pub(crate) can_save: watch::Sender<bool>,
    /// Whether this server indexes what changes.
    pub(crate) is_owner: Arc<AtomicBool>,
    pub(crate) readiness: watch::Sender<Readiness>,
    /// The worker's own inbox, for the watcher and embedding jobs.
    pub(crate) work: mpsc::WeakSender<Work>,
}

pub(super) struct WorkerState {
    pub(super) setup: WorkerSetup,
    network: Arc<dyn Network>,
    pub(super) jobs: EmbeddingJobs,
    /// Whether files may have changed that are not indexed yet.
    pub(super) must_refresh: bool,
    pub(super) open: Option<Open>,
    /// The day on which old memories were last cleared.
    pub(super) cleared: Option<NaiveDate>,
    /// When the length of the write-ahead logs was last checked.
    pub(super) checked_logs: Instant,
    /// Whether it will look again what waits until another program has written a log.
    pub(super) is_looking_again: Arc<AtomicBool>,
}

pub(super) struct Open {
    pub(super) engine: Engine,
    /// Reports changed files for as long as it lives. Only the server that owns the queue has one. If that server cannot watch, it
    /// checks for changes at every request.
    watcher: Option<Watcher>,
}

impl WorkerState {
    pub(super) fn new(setup: WorkerSetup) -> Self {
        Self {
            network: Arc::new(Http::default()),
            jobs: EmbeddingJobs::new(setup.work.clone()),
            setup,
            must_refresh: false,
            open: None,
            cleared: None,
            checked_logs: Instant::now(),
            is_looking_again: Arc::default(),
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        *self.setup.ending.borrow()
    }

    pub(super) fn is_owner(&self) -> bool {
        self.setup.is_owner.load(Ordering::Relaxed)
    }

    /// The open engine. It is opened again if that failed before, if a fault closed it, or if its files were deleted.
    pub(super) fn engine(&mut self) -> Result<&mut Engine, ToolError> {
        self.open.take_if(|open| !open.engine.is_current());
        match &mut self.open {
            Some(open) => Ok(&mut open.engine),
            none => {
                let setup = &self.setup;
                let opened = Engine::open(&setup.project, setup.session_id.clone(), Some(Arc::clone(&self.network)));
                let mut engine = opened.inspect_err(|_| setup.report_not_open())?;
                let common = engine.common();
                // A store in the memory of this process is watched by it, whoever owns the queue.
                let is_mine = common.is_none() || setup.is_owner.load(Ordering::Relaxed);
                let watcher = is_mine.then(|| setup.watch(&engine)).flatten();
                let common = common.filter(|_| watcher.is_some() || !is_mine);
                self.must_refresh = common.is_some();
                if common.is_none() {
                    if let Err(error) = engine.refresh_while(&|| !*setup.ending.borrow()) {
                        tracing::warn!("cannot index what changed: {error}");
                    }
                    setup.can_save.send_replace(engine.is_writable());
                }
                setup.readiness.send_replace(Readiness {
                    is_catching_up: common.is_some(),
                    reading: common.map_or(Reading::ByWorker, |common| Reading::Beside(Arc::new(common))),
                    step: None,
                });
                Ok(&mut none.insert(Open { engine, watcher }).engine)
            }
        }
    }

    /// Watches and indexes from now on, as the server that owns the queue.
    pub(super) fn take_over(&mut self) {
        // Changes from the time without a watcher were reported to nobody.
        self.must_refresh = true;
        if let Some(Open { engine, watcher: watcher @ None }) = &mut self.open {
            *watcher = self.setup.watch(engine);
            if watcher.is_none() {
                self.setup.readiness.send_modify(|now| now.reading = Reading::ByWorker);
            }
        }
    }

    /// Runs `work` so that the worker survives a panic and a fault of a database.
    pub(super) fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let outcome = guarded(|| work(self));
        if is_fault(&outcome) {
            self.close();
        }
        outcome
    }
}

impl EngineOwner for WorkerState {
    fn ending(&self) -> watch::Receiver<bool> {
        self.setup.ending.clone()
    }

    fn engine_in_sync(&mut self, may_go_on: &dyn Fn() -> bool) -> Result<&mut Engine, ToolError> {
        let is_owner = self.is_owner();
        self.engine()?;
        let is_watched =
            self.open.as_ref().is_some_and(|open| open.watcher.is_some() || !is_owner && open.engine.is_shared());
        if self.must_refresh || !is_watched {
            self.engine()?.refresh_while(may_go_on)?;
        }
        self.engine()
    }

    fn close(&mut self) {
        self.open = None;
    }
}

impl WorkerSetup {
    /// Reports that the store could not be opened, so that requests come to the worker, which tries again.
    pub(super) fn report_not_open(&self) {
        self.can_save.send_if_modified(std::mem::take);
        self.readiness.send_replace(Readiness { reading: Reading::ByWorker, ..Readiness::default() });
    }

    fn watch(&self, engine: &Engine) -> Option<Watcher> {
        let watcher = Watcher::start(engine.store().layout(), self.work.clone(), self.changes.clone());
        // Changes from the time without a watcher were reported to nobody.
        self.changes.tell(Change::Anything);
        watcher.inspect_err(|error| tracing::warn!("cannot watch the store: {error}")).ok()
    }
}
