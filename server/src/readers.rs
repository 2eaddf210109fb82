//! A few threads that answer what only reads, each with an engine of its own beside the worker's, so that no question waits for
//! another or for indexing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tools::engine::{Common, Engine};
use tools::error::ToolError;

use crate::guard::guarded;
use crate::request::{EngineOwner, Read, Readiness, Reading, Work};

/// Threads at most. They are started when all others are at work.
const THREADS: usize = 4;

/// A read that takes longer is logged.
const SLOW: Duration = Duration::from_millis(500);

/// Reads that may wait; a host that sends more has to wait itself.
const QUEUE: usize = 64;

/// The readers' handle. They end with the last of these.
#[derive(Debug, Clone)]
pub(crate) struct Readers {
    reads: mpsc::Sender<Read>,
    crew: Crew,
}

/// What the threads share.
#[derive(Debug, Clone)]
struct Crew {
    inbox: Arc<Mutex<mpsc::Receiver<Read>>>,
    /// Runs what readers cannot.
    worker: mpsc::WeakSender<Work>,
    readiness: watch::Receiver<Readiness>,
    ending: watch::Receiver<bool>,
    threads: Arc<AtomicUsize>,
    /// Reads that wait or run.
    load: Arc<AtomicUsize>,
}

/// Tells how many threads there are.
#[derive(Debug)]
pub(crate) struct Alive(Arc<AtomicUsize>);

impl Alive {
    pub(crate) fn is_any(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl Readers {
    pub(crate) fn new(
        worker: mpsc::WeakSender<Work>,
        readiness: watch::Receiver<Readiness>,
        ending: watch::Receiver<bool>,
    ) -> Self {
        let (reads, inbox) = mpsc::channel(QUEUE);
        let inbox = Arc::new(Mutex::new(inbox));
        let (threads, load) = (Arc::default(), Arc::default());
        Self { reads, crew: Crew { inbox, worker, readiness, ending, threads, load } }
    }

    pub(crate) fn alive(&self) -> Alive {
        Alive(Arc::clone(&self.crew.threads))
    }

    /// Hands in a read, waiting for room. Returns whether a reader will take it.
    pub(crate) async fn send(&self, read: Read) -> bool {
        // Room first: a caller that gives up waiting for it has handed in nothing.
        let Ok(room) = self.reads.reserve().await else { return false };
        let load = self.crew.load.fetch_add(1, Ordering::SeqCst) + 1;
        let threads = self.crew.threads.load(Ordering::SeqCst);
        if load > threads && threads < THREADS && !self.crew.start() && threads == 0 {
            self.crew.load.fetch_sub(1, Ordering::SeqCst);
            return false;
        }
        room.send(read);
        true
    }
}

impl Crew {
    /// Starts a thread. Reads are handed in by one thread, so there are never more threads than wanted.
    fn start(&self) -> bool {
        self.threads.fetch_add(1, Ordering::SeqCst);
        let crew = self.clone();
        let started = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let present = Present(Arc::clone(&crew.threads));
            Reader { crew, open: None }.run();
            drop(present);
        });
        if let Err(error) = &started {
            self.threads.fetch_sub(1, Ordering::SeqCst);
            tracing::warn!("cannot start a thread that answers: {error}");
        }
        started.is_ok()
    }

    fn next(&self) -> Option<Read> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv()
    }
}

/// Counts a thread for as long as it lives.
struct Present(Arc<AtomicUsize>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Reader {
    crew: Crew,
    open: Option<Open>,
}

struct Open {
    engine: Engine,
    /// What it was opened with. When the worker opens its engine anew, there is another.
    common: Arc<Common>,
}

impl Reader {
    fn run(&mut self) {
        while let Some(read) = self.crew.next() {
            let started = Instant::now();
            if self.is_open() {
                read.run(self);
            } else if let Some(worker) = self.crew.worker.upgrade() {
                // The caller waits for the result, and keeps the worker alive.
                let _ = worker.blocking_send(Work::Read(read));
            }
            self.crew.load.fetch_sub(1, Ordering::SeqCst);
            if started.elapsed() > SLOW {
                tracing::debug!("a read took {} ms", started.elapsed().as_millis());
            }
        }
    }

    /// Whether there is an engine beside the worker's. One of before the worker opened its own anew, or whose files were replaced, is
    /// opened again.
    fn is_open(&mut self) -> bool {
        let common = match &self.crew.readiness.borrow().reading {
            Reading::Beside(common) => Arc::clone(common),
            Reading::NotYet | Reading::ByWorker => return false,
        };
        let is_of_before = |open: &mut Open| !Arc::ptr_eq(&open.common, &common) || !open.engine.is_current();
        self.open.take_if(is_of_before);
        if self.open.is_none() {
            match guarded(|| common.open()) {
                // Whatever is wrong with the store, its deletion included, is found, mended and told by the worker.
                Ok(engine) if engine.is_shared() => self.open = Some(Open { engine, common }),
                Ok(_) => {}
                Err(error) => tracing::debug!("cannot read beside the worker: {error}"),
            }
        }
        self.open.is_some()
    }
}

impl EngineOwner for Reader {
    fn ending(&self) -> watch::Receiver<bool> {
        self.crew.ending.clone()
    }

    fn engine_in_sync(&mut self, _may_go_on: &dyn Fn() -> bool) -> Result<&mut Engine, ToolError> {
        self.open.as_mut().map(|open| &mut open.engine).ok_or(ToolError::Interrupted)
    }

    fn close(&mut self) {
        self.open = None;
    }
}
