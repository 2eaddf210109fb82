//! Where requests of hosts and hooks are handed in: readers get what reads, the worker what writes.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tools::engine::Engine;
use tools::error::ToolError;

use crate::changes::Changes;
use crate::readers::{Alive, Readers};
use crate::request::{QueueState, Read, Readiness, Reading, Reply, Signal, Steps, Work, Write};
use crate::worker::{self, WorkerSetup};

/// Requests that may wait for the worker; a host that sends more has to wait itself.
const QUEUE: usize = 64;

/// The longest time that a read waits for a store to be opened and synchronised. After it, the read uses what is indexed and says so.
const START: Duration = Duration::from_secs(10);

/// Files that change between two sessions and are indexed before anybody notices. More of them are not waited for.
const FEW: usize = 64;

/// Hands requests to the threads. The worker and the readers end with the last of these.
#[derive(Debug, Clone)]
pub(crate) struct Dispatcher {
    worker: mpsc::Sender<Work>,
    /// The thread of the worker, which opens the store when it is first needed.
    thread: Thread,
    readers: Readers,
    readiness: watch::Receiver<Readiness>,
    is_answering: Arc<AtomicBool>,
}

/// What a read needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The files of the store, and rows and index as they are.
    Store,
    /// Rows and index in sync with the files.
    Index,
}

/// The threads of the worker and the readers.
#[derive(Debug)]
pub(crate) struct Threads {
    worker: JoinHandle<()>,
    readers: Alive,
}

impl Threads {
    /// The worker stops to wait for its first request.
    pub(crate) fn end(&self) {
        self.worker.thread().unpark();
    }

    pub(crate) fn are_finished(&self) -> bool {
        self.worker.is_finished() && !self.readers.is_any()
    }
}

impl Dispatcher {
    /// Starts the threads. Changes in the store are reported to `changes`. Once the server is `ending`, indexing stops, and all other
    /// requests are finished. `prepare` runs on the worker's thread before the store is opened.
    pub(crate) fn start(
        project: PathBuf,
        session_id: Option<String>,
        changes: Changes,
        ending: watch::Receiver<bool>,
        prepare: fn(),
    ) -> io::Result<(Self, Threads, QueueState)> {
        let (work, inbox) = mpsc::channel(QUEUE);
        let (can_save, saving) = watch::channel(false);
        let (tell_readiness, readiness) = watch::channel(Readiness::default());
        let (is_answering, is_owner) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let readers = Readers::new(work.downgrade(), readiness.clone(), ending.clone());
        let setup = WorkerSetup {
            project,
            session_id,
            changes,
            ending,
            can_save,
            is_owner: Arc::clone(&is_owner),
            readiness: tell_readiness,
            work: work.downgrade(),
        };
        let thread = worker::start(setup, inbox, prepare)?;
        let threads = Threads { readers: readers.alive(), worker: thread };
        let state = QueueState { can_save: saving, is_answering: Arc::clone(&is_answering), is_owner };
        let thread = threads.worker.thread().clone();
        Ok((Self { worker: work, thread, readers, readiness, is_answering }, threads, state))
    }

    /// Runs a read. Progress towards what it needs is reported to `steps`.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        need: Need,
        steps: Option<Steps>,
        work: impl FnOnce(&mut Engine, &dyn Fn() -> bool) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let (read, result) = Read::new(work);
        self.open_store();
        let is_sent = match self.may_be_read(need, steps.as_ref()).await {
            true => self.readers.send(read).await,
            false => self.worker.send(Work::Read(read)).await.is_ok(),
        };
        drop(steps);
        arrived(is_sent, result).await
    }

    /// Has the worker run a request that writes.
    pub(crate) async fn write<T>(&self, request: impl FnOnce(Reply<T>) -> Write) -> Result<T, ToolError> {
        let (reply, result) = oneshot::channel();
        self.open_store();
        let is_sent = self.worker.send(Work::Write(request(reply))).await.is_ok();
        arrived(is_sent, result).await
    }

    /// Signals the worker, which may have ended.
    pub(crate) async fn signal(&self, signal: Signal) {
        self.open_store();
        let _ = self.worker.send(Work::Signal(signal)).await;
    }

    /// Whether this server answers the queue.
    pub(crate) fn is_answering(&self) -> bool {
        self.is_answering.load(Ordering::Relaxed)
    }

    /// Why a search may have missed something, while changes from before the start are indexed.
    pub(crate) fn indexing_notice(&self) -> Option<String> {
        let now = self.readiness.borrow();
        let far = now.step.as_ref().map(|step| format!(" ({} of {} files)", step.done, step.total));
        let notice = || format!("indexing is under way{}: more may be found later", far.unwrap_or_default());
        now.is_catching_up.then(notice)
    }

    fn open_store(&self) {
        if matches!(self.readiness.borrow().reading, Reading::NotYet) {
            self.thread.unpark();
        }
    }

    /// Waits for what a read needs, and returns whether readers can run it.
    async fn may_be_read(&self, need: Need, steps: Option<&Steps>) -> bool {
        let mut readiness = self.readiness.clone();
        let deadline = Instant::now() + START;
        loop {
            let (can_be_read, is_enough, step) = {
                let now = readiness.borrow_and_update();
                match &now.reading {
                    Reading::ByWorker => return false,
                    Reading::NotYet => (false, false, None),
                    Reading::Beside(_) => {
                        let is_long = now.step.as_ref().is_some_and(|step| step.total - step.done > FEW);
                        (true, need == Need::Store || !now.is_catching_up || is_long, now.step.clone())
                    }
                }
            };
            if is_enough {
                return can_be_read;
            }
            if let (Some(steps), Some(step)) = (steps, step) {
                steps.send_replace(Some(step));
            }
            match timeout_at(deadline, readiness.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return false,
                Err(_) => return can_be_read,
            }
        }
    }
}

/// The result of a request, unless the threads have ended.
async fn arrived<T>(is_sent: bool, result: oneshot::Receiver<Result<T, ToolError>>) -> Result<T, ToolError> {
    let is_ending = || ToolError::Unavailable("the server is ending".to_owned());
    if !is_sent {
        return Err(is_ending());
    }
    result.await.map_err(|_| is_ending())?
}

#[cfg(test)]
mod tests;
