//! Routes requests of hosts and hooks: reads go to a reader thread, writes to the worker.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tools::control::Control;
use tools::engine::{Engine, SharedEngine};
use tools::error::ToolError;

use crate::change_feed::ChangeFeed;
use crate::readers::ReaderPool;
use crate::request::{
    EngineRequest, ProgressSender, QueueState, ReadAvailability, Readiness, ReplySender, Signal, Work,
};
use crate::worker::{self, WorkerSetup};

/// Requests that can wait for the worker. When the queue is full, the host waits.
const MAX_WAITING: usize = 64;

/// The longest time that a read waits until the store is open and synchronised. After that, the read uses the current index and adds a
/// notice.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// A read waits for this many changed files to be indexed. If there are more, the read does not wait.
const FEW_CHANGES: usize = 64;

/// Sends requests to the threads. The worker and the readers end when the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Dispatcher {
    worker: mpsc::Sender<Work>,
    /// The worker's thread, which each request wakes, because it opens the store on the first one.
    thread: Thread,
    readers: ReaderPool,
    readiness: watch::Receiver<Readiness>,
    is_answering: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadNeed {
    /// The store is open. Rows and index may lag behind the files.
    OpenStore,
    /// Changed files are indexed, unless there are many.
    CaughtUpIndex,
}

#[derive(Debug)]
pub(crate) struct ServiceThreads {
    worker: JoinHandle<()>,
    /// The number of running readers.
    readers: Arc<AtomicUsize>,
}

impl ServiceThreads {
    /// Wakes the worker if it still waits for its first request.
    pub(crate) fn stop(&self) {
        self.worker.thread().unpark();
    }

    pub(crate) fn are_finished(&self) -> bool {
        self.worker.is_finished() && self.readers.load(Ordering::SeqCst) == 0
    }
}

impl Dispatcher {
    /// Starts the threads. The worker reports changes of the store to `changes` and runs `prepare` before it opens the store. When the
    /// server is `ending`, indexing stops, and all other requests are finished.
    pub(crate) fn start(
        project: PathBuf,
        session_id: Option<String>,
        changes: ChangeFeed,
        ending: CancellationToken,
        prepare: fn(),
    ) -> io::Result<(Self, ServiceThreads, QueueState)> {
        let (work, inbox) = mpsc::channel(MAX_WAITING);
        let (can_save, saving) = watch::channel(false);
        let (readiness_sender, readiness) = watch::channel(Readiness::default());
        let (is_answering, is_owner) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let readers = ReaderPool::new(work.downgrade(), readiness.clone(), ending.clone());
        let setup = WorkerSetup {
            project,
            session_id,
            changes,
            ending,
            can_save,
            is_owner: Arc::clone(&is_owner),
            readiness: readiness_sender,
            work: work.downgrade(),
        };
        let threads =
            ServiceThreads { worker: worker::start_worker(setup, inbox, prepare)?, readers: readers.thread_count() };
        let state = QueueState { can_save: saving, is_answering: Arc::clone(&is_answering), is_owner };
        let thread = threads.worker.thread().clone();
        Ok((Self { worker: work, thread, readers, readiness, is_answering }, threads, state))
    }

    /// Runs a read. `progress` gets the progress while the read waits.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        need: ReadNeed,
        progress: Option<ProgressSender>,
        work: impl FnOnce(&mut Engine, Control<'_>) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (read, result) = EngineRequest::new(work);
        self.thread.unpark();
        let is_sent = match self.wait_until_readable(need, progress.as_ref()).await {
            Some(shared) => self.readers.send(read, shared).await,
            None => self.worker.send(Work::Run(read)).await.is_ok(),
        };
        drop(progress);
        receive_result(is_sent, result).await
    }

    /// Runs a change on the worker, also if the caller stops waiting.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let dispatcher = self.clone();
        // A task of its own waits for the result, because the worker skips what nobody waits for.
        let change = tokio::spawn(async move {
            let (change, result) = EngineRequest::new(|engine, _| work(engine));
            dispatcher.thread.unpark();
            let is_sent = dispatcher.worker.send(Work::Run(change)).await.is_ok();
            receive_result(is_sent, result).await
        });
        change.await.unwrap_or_else(|_| Err(ToolError::Unavailable("the server is shutting down".to_owned())))
    }

    /// Sends a request that the worker joins with others or whose progress it reports, and waits for the result.
    pub(crate) async fn write<T>(&self, request: impl FnOnce(ReplySender<T>) -> Work) -> Result<T, ToolError> {
        let (reply, result) = oneshot::channel();
        self.thread.unpark();
        let is_sent = self.worker.send(request(reply)).await.is_ok();
        receive_result(is_sent, result).await
    }

    /// Signals the worker. A worker that has ended ignores it.
    pub(crate) async fn signal(&self, signal: Signal) {
        self.thread.unpark();
        let _ = self.worker.send(Work::Signal(signal)).await;
    }

    pub(crate) fn is_answering(&self) -> bool {
        self.is_answering.load(Ordering::Relaxed)
    }

    /// A notice that search results may be incomplete while the server indexes changes.
    pub(crate) fn indexing_notice(&self) -> Option<String> {
        let now = self.readiness.borrow();
        let far = now.step.as_ref().map(|step| format!(" ({} of {} files)", step.done, step.total));
        let notice = || format!("indexing is in progress{}; more results may be found later", far.unwrap_or_default());
        now.is_catching_up.then(notice)
    }

    /// Waits until the store is ready for a read. Returns the engine that a reader thread can share, if one can run it.
    async fn wait_until_readable(
        &self,
        need: ReadNeed,
        progress: Option<&ProgressSender>,
    ) -> Option<Arc<SharedEngine>> {
        let mut readiness = self.readiness.clone();
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let (shared, is_enough, step) = {
                let now = readiness.borrow_and_update();
                match &now.reading {
                    ReadAvailability::ByWorker => return None,
                    ReadAvailability::NotYet => (None, false, None),
                    ReadAvailability::ByReaders(shared) => {
                        let is_long = now.step.as_ref().is_some_and(|step| step.total - step.done > FEW_CHANGES);
                        let is_enough = need == ReadNeed::OpenStore || !now.is_catching_up || is_long;
                        (Some(Arc::clone(shared)), is_enough, now.step.clone())
                    }
                }
            };
            if is_enough {
                return shared;
            }
            if let (Some(progress), Some(step)) = (progress, step) {
                progress.send_replace(Some(step));
            }
            match timeout_at(deadline, readiness.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return shared,
            }
        }
    }
}

/// The result of a request, or an error if the threads have ended.
async fn receive_result<T>(is_sent: bool, result: oneshot::Receiver<Result<T, ToolError>>) -> Result<T, ToolError> {
    let is_ending = || ToolError::Unavailable("the server is shutting down".to_owned());
    if !is_sent {
        return Err(is_ending());
    }
    result.await.map_err(|_| is_ending())?
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;
    use tools::control::IndexProgress;

    use super::*;

    /// Whether a read of the index starts at once in this state.
    fn is_readable(readiness: Readiness) -> bool {
        let (worker, _inbox) = mpsc::channel(1);
        let (_sender, readiness) = watch::channel(readiness);
        let readers = ReaderPool::new(worker.downgrade(), readiness.clone(), CancellationToken::new());
        let thread = std::thread::current();
        let dispatcher = Dispatcher { worker, thread, readers, readiness, is_answering: Arc::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        // A read that is ready at the first poll does not wait.
        runtime.block_on(async {
            timeout(Duration::ZERO, dispatcher.wait_until_readable(ReadNeed::CaughtUpIndex, None)).await.is_ok()
        })
    }

    #[test]
    fn search_waits_for_few_changed_files_never_for_many() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let engine = Engine::open(folder.path(), None, None).expect("an engine");
        let common = Arc::new(engine.share().expect("a store that can be shared"));
        let catching_up = |step: Option<(usize, usize)>| Readiness {
            reading: ReadAvailability::ByReaders(Arc::clone(&common)),
            is_catching_up: true,
            step: step.map(|(done, total)| IndexProgress { done, total, path: String::new() }),
        };
        assert!(!is_readable(Readiness::default()), "the store is not open");
        assert!(!is_readable(catching_up(None)), "the number of changed files is unknown");
        assert!(!is_readable(catching_up(Some((0, FEW_CHANGES)))));
        assert!(is_readable(catching_up(Some((0, FEW_CHANGES + 1)))));
        assert!(!is_readable(catching_up(Some((1, FEW_CHANGES + 1)))));
        assert!(is_readable(Readiness { is_catching_up: false, ..catching_up(None) }));
    }
}
