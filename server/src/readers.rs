//! Threads that run read requests, each with its own engine, so that no read waits for indexing or for another read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tools::control::Control;
use tools::engine::{Engine, SharedEngine};
use tools::error::ToolError;

use crate::request::{EngineOwner, EngineRequest, Readiness, Work, catch_panic, lock};

/// Maximum number of threads. A thread starts when all others are busy.
const MAX_THREADS: usize = 4;

const SLOW_READ: Duration = Duration::from_millis(500);

/// Reads that can wait. When the queue is full, the host waits.
const MAX_WAITING: usize = 64;

/// Sends reads to the threads, which end when the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct ReaderPool {
    reads: mpsc::Sender<PooledRead>,
    shared: PoolState,
}

/// A read, and the engine whose readiness it waited for.
struct PooledRead {
    read: EngineRequest,
    shared: Arc<SharedEngine>,
}

/// State that the threads share.
#[derive(Debug, Clone)]
struct PoolState {
    inbox: Arc<Mutex<mpsc::Receiver<PooledRead>>>,
    /// Runs reads that readers cannot run.
    worker: mpsc::WeakSender<Work>,
    readiness: watch::Receiver<Readiness>,
    ending: CancellationToken,
    threads: Arc<AtomicUsize>,
    /// Waiting and running reads.
    load: Arc<AtomicUsize>,
}

impl ReaderPool {
    pub(crate) fn new(
        worker: mpsc::WeakSender<Work>,
        readiness: watch::Receiver<Readiness>,
        ending: CancellationToken,
    ) -> Self {
        let (reads, inbox) = mpsc::channel(MAX_WAITING);
        let inbox = Arc::new(Mutex::new(inbox));
        let (threads, load) = (Arc::default(), Arc::default());
        Self { reads, shared: PoolState { inbox, worker, readiness, ending, threads, load } }
    }

    /// The number of running threads.
    pub(crate) fn thread_count(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.shared.threads)
    }

    /// Sends a read, waiting for room. Returns false if no reader can run it.
    pub(crate) async fn send(&self, read: EngineRequest, shared: Arc<SharedEngine>) -> bool {
        // Reserves room first. If the caller stops waiting, nothing was sent.
        let Ok(room) = self.reads.reserve().await else { return false };
        let load = self.shared.load.fetch_add(1, Ordering::SeqCst) + 1;
        let threads = self.shared.threads.load(Ordering::SeqCst);
        if load > threads && threads < MAX_THREADS && !self.shared.start_thread() && threads == 0 {
            self.shared.load.fetch_sub(1, Ordering::SeqCst);
            return false;
        }
        room.send(PooledRead { read, shared });
        true
    }
}

impl PoolState {
    /// Starts a thread. Only one thread calls this, so there are never more threads than the maximum.
    fn start_thread(&self) -> bool {
        self.threads.fetch_add(1, Ordering::SeqCst);
        let (present, readers) = (ThreadGuard(Arc::clone(&self.threads)), self.clone());
        let started = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            ReaderThread { readers, open: None }.run();
            drop(present);
        });
        started.inspect_err(|error| tracing::warn!("cannot start a reader thread: {error}")).is_ok()
    }

    fn next_read(&self) -> Option<PooledRead> {
        lock(&self.inbox).blocking_recv()
    }
}

/// Counts a thread until it ends, or if it cannot be started.
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
        while let Some(PooledRead { read, shared }) = self.readers.next_read() {
            let started = Instant::now();
            if self.ensure_open(&shared) {
                read.run(self);
            } else if let Some(worker) = self.readers.worker.upgrade() {
                // The caller waits for the result and keeps the worker alive.
                let _ = worker.blocking_send(Work::Run(read));
            }
            self.readers.load.fetch_sub(1, Ordering::SeqCst);
            if started.elapsed() > SLOW_READ {
                tracing::debug!("a read took {} ms", started.elapsed().as_millis());
            }
        }
    }

    /// Whether this reader has an engine for `shared`. Opens it if needed. While the worker reopens a store that was deleted, only the
    /// worker knows how much of the new one is indexed.
    fn ensure_open(&mut self, shared: &Arc<SharedEngine>) -> bool {
        let is_of_before = |open: &mut OpenReader| !Arc::ptr_eq(&open.shared, shared) || !open.engine.is_current();
        self.open.take_if(is_of_before);
        if self.open.is_none() {
            match catch_panic(|| shared.open_reader()) {
                // The worker detects, repairs and reports problems of the store.
                Ok(engine) if engine.is_shared() => self.open = Some(OpenReader { engine, shared: Arc::clone(shared) }),
                Ok(_) => {}
                Err(error) => tracing::debug!("a reader cannot open the store: {error}"),
            }
        }
        // Asked last, because the files could be replaced while they were opened.
        self.open.is_some() && self.readers.readiness.borrow().reading.is_by(shared)
    }
}

impl EngineOwner for ReaderThread {
    fn ending(&self) -> CancellationToken {
        self.readers.ending.clone()
    }

    fn engine_in_sync(&mut self, _control: &mut Control<'_>) -> Result<&mut Engine, ToolError> {
        self.open.as_mut().map(|open| &mut open.engine).ok_or(ToolError::Interrupted)
    }

    fn close(&mut self) {
        self.open = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ReadAvailability;

    /// Which thread runs a read that waited for `shared` when the state has become `reading`.
    fn is_run_by_reader(shared: &Arc<SharedEngine>, reading: ReadAvailability) -> bool {
        let (worker, mut inbox) = mpsc::channel(1);
        let (_sender, readiness) = watch::channel(Readiness { reading, ..Readiness::default() });
        let readers = ReaderPool::new(worker.downgrade(), readiness, CancellationToken::new());
        let (read, result) = EngineRequest::new(|_, _| Ok(()));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            assert!(readers.send(read, Arc::clone(shared)).await);
            tokio::select! {
                outcome = result => outcome.is_ok(),
                work = inbox.recv() => !matches!(work, Some(Work::Run(_))),
            }
        })
    }

    #[test]
    fn worker_runs_reads_that_waited_for_a_replaced_store() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let share = || Engine::open(folder.path(), None, None).expect("an engine").share().expect("a shared store");
        let (old, new) = (Arc::new(share()), Arc::new(share()));
        assert!(is_run_by_reader(&new, ReadAvailability::ByReaders(Arc::clone(&new))));
        assert!(!is_run_by_reader(&old, ReadAvailability::ByReaders(new)));
        assert!(!is_run_by_reader(&old, ReadAvailability::NotYet));
        std::fs::remove_file(folder.path().join(".jikime/memory/index.db")).expect("an index");
        assert!(!is_run_by_reader(&old, ReadAvailability::ByReaders(Arc::clone(&old))));
    }
}
