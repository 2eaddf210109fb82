//! Threads that run read requests, each with its own engine, so that no read waits for indexing or for another read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tools::engine::{Engine, SharedEngine};
use tools::error::ToolError;

use crate::request::{EngineOwner, ReadAvailability, ReadRequest, Readiness, Work, catch_panic};

/// Maximum number of threads. A thread starts when all others are busy.
const THREADS: usize = 4;

const SLOW_READ: Duration = Duration::from_millis(500);

/// Reads that can wait. When the queue is full, the host waits.
const QUEUE: usize = 64;

/// Sends reads to the threads, which end when the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPool {
    reads: mpsc::Sender<ReadRequest>,
    shared: PoolState,
}

/// State that the threads share.
#[derive(Debug, Clone)]
struct PoolState {
    inbox: Arc<Mutex<mpsc::Receiver<ReadRequest>>>,
    /// Runs reads that readers cannot run.
    worker: mpsc::WeakSender<Work>,
    readiness: watch::Receiver<Readiness>,
    ending: watch::Receiver<bool>,
    threads: Arc<AtomicUsize>,
    /// Waiting and running reads.
    load: Arc<AtomicUsize>,
}

/// Knows whether any thread is running.
#[derive(Debug)]
pub(crate) struct LiveThreads(Arc<AtomicUsize>);

impl LiveThreads {
    pub(crate) fn is_any_left(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl ReaderPool {
    pub(crate) fn new(
        worker: mpsc::WeakSender<Work>,
        readiness: watch::Receiver<Readiness>,
        ending: watch::Receiver<bool>,
    ) -> Self {
        let (reads, inbox) = mpsc::channel(QUEUE);
        let inbox = Arc::new(Mutex::new(inbox));
        let (threads, load) = (Arc::default(), Arc::default());
        Self { reads, shared: PoolState { inbox, worker, readiness, ending, threads, load } }
    }

    pub(crate) fn live_threads(&self) -> LiveThreads {
        LiveThreads(Arc::clone(&self.shared.threads))
    }

    /// Sends a read, waiting for room. Returns false if no reader can run it.
    pub(crate) async fn send(&self, read: ReadRequest) -> bool {
        // Reserves room first. If the caller stops waiting, nothing was sent.
        let Ok(room) = self.reads.reserve().await else { return false };
        let load = self.shared.load.fetch_add(1, Ordering::SeqCst) + 1;
        let threads = self.shared.threads.load(Ordering::SeqCst);
        if load > threads && threads < THREADS && !self.shared.start_thread() && threads == 0 {
            self.shared.load.fetch_sub(1, Ordering::SeqCst);
            return false;
        }
        room.send(read);
        true
    }
}

impl PoolState {
    /// Starts a thread. Only one thread calls this, so there are never more threads than the maximum.
    fn start_thread(&self) -> bool {
        self.threads.fetch_add(1, Ordering::SeqCst);
        let readers = self.clone();
        let started = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let present = ThreadGuard(Arc::clone(&readers.threads));
            ReaderThread { readers, open: None }.run();
            drop(present);
        });
        if let Err(error) = &started {
            self.threads.fetch_sub(1, Ordering::SeqCst);
            tracing::warn!("cannot start a reader thread: {error}");
        }
        started.is_ok()
    }

    fn next_read(&self) -> Option<ReadRequest> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv()
    }
}

/// Counts a thread while it lives.
struct ThreadGuard(Arc<AtomicUsize>);

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct ReaderThread {
    readers: PoolState,
    open: Option<OpenReader>,
}

struct OpenReader {
    engine: Engine,
    /// The worker creates another one when it reopens its engine.
    shared: Arc<SharedEngine>,
}

impl ReaderThread {
    fn run(&mut self) {
        while let Some(read) = self.readers.next_read() {
            let started = Instant::now();
            if self.ensure_open() {
                read.run(self);
            } else if let Some(worker) = self.readers.worker.upgrade() {
                // The caller waits for the result and keeps the worker alive.
                let _ = worker.blocking_send(Work::Read(read));
            }
            self.readers.load.fetch_sub(1, Ordering::SeqCst);
            if started.elapsed() > SLOW_READ {
                tracing::debug!("a read took {} ms", started.elapsed().as_millis());
            }
        }
    }

    /// Whether this reader has an engine. Opens it if needed, also when the worker reopened its own engine or files were replaced.
    fn ensure_open(&mut self) -> bool {
        let common = match &self.readers.readiness.borrow().reading {
            ReadAvailability::ByReaders(common) => Arc::clone(common),
            ReadAvailability::NotYet | ReadAvailability::ByWorker => return false,
        };
        let is_of_before = |open: &mut OpenReader| !Arc::ptr_eq(&open.shared, &common) || !open.engine.is_current();
        self.open.take_if(is_of_before);
        if self.open.is_none() {
            match catch_panic(|| common.open_reader()) {
                // The worker detects, repairs and reports problems of the store.
                Ok(engine) if engine.is_shared() => self.open = Some(OpenReader { engine, shared: common }),
                Ok(_) => {}
                Err(error) => tracing::debug!("a reader cannot open the store: {error}"),
            }
        }
        self.open.is_some()
    }
}

impl EngineOwner for ReaderThread {
    fn ending(&self) -> watch::Receiver<bool> {
        self.readers.ending.clone()
    }

    fn engine_in_sync(&mut self, _may_go_on: &dyn Fn() -> bool) -> Result<&mut Engine, ToolError> {
        self.open.as_mut().map(|open| &mut open.engine).ok_or(ToolError::Interrupted)
    }

    fn close(&mut self) {
        self.open = None;
    }
}
