//! Requests to the worker and the readers. An [`EngineRequest`] that changes memories goes to the worker: only `Dispatcher::change` sends it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schema::intake::prepare::PreparedMemory;
use schema::tool::{ReindexInput, ReindexOutput, SaveInput, SaveOutput};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tools::control::{Control, IndexProgress};
use tools::engine::{EmbeddedTexts, Engine, FailedJob, SharedEngine};
use tools::error::ToolError;

/// Receives the result of a request.
pub(crate) type ReplySender<T> = oneshot::Sender<Result<T, ToolError>>;

/// Receives the progress of a request.
pub(crate) type ProgressSender = watch::Sender<Option<IndexProgress>>;

/// A request to the worker.
pub(crate) enum Work {
    /// A read that no reader can run, or a change of memories by a person.
    Run(EngineRequest),
    Save(SaveRequest),
    Reindex {
        input: ReindexInput,
        progress: ProgressSender,
        reply: ReplySender<ReindexOutput>,
    },
    Signal(Signal),
}

/// A function to run with an engine: a read for a reader, or for the worker if there is no reader; or a change for the worker.
pub(crate) struct EngineRequest(Box<RunWithEngine>);

type RunWithEngine = dyn FnOnce(&mut dyn EngineOwner) + Send;

/// Memories to save. The worker saves all waiting ones in one turn.
pub(crate) enum SaveRequest {
    Tool {
        input: SaveInput,
        reply: ReplySender<SaveOutput>,
    },
    /// Memories that a hook sent through the queue.
    Hook {
        memories: Vec<PreparedMemory>,
        reply: ReplySender<()>,
    },
}

/// A message for the worker that gets no reply.
pub(crate) enum Signal {
    FilesChanged,
    /// An embedding job ended.
    Returned(JobReturn),
    /// This server now owns the queue: it watches files and indexes changes.
    TakeOver,
}

#[derive(Debug)]
pub(crate) enum JobReturn {
    WithVectors(EmbeddedTexts),
    WithoutVectors(FailedJob),
    /// The pause after a failure, or while another process embeds, is over.
    CooldownOver,
}

pub(crate) trait EngineOwner {
    /// Is cancelled when the server ends.
    fn ending(&self) -> CancellationToken;

    /// Synchronises the engine with the files, until it is stopped, and returns it.
    fn engine_in_sync(&mut self, control: &mut Control<'_>) -> Result<&mut Engine, ToolError>;

    /// Closes the engine after an error that may have left it invalid.
    fn close(&mut self);
}

impl EngineRequest {
    /// A request and the receiver of its result. If the receiver is gone, the request is skipped, or `work` should stop early: its second
    /// argument says so.
    pub(crate) fn new<T: Send + 'static>(
        work: impl FnOnce(&mut Engine, Control<'_>) -> Result<T, ToolError> + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, ToolError>>) {
        let (reply, result) = oneshot::channel();
        let run = move |owner: &mut dyn EngineOwner| {
            if reply.is_closed() {
                return;
            }
            let ending = owner.ending();
            let mut control = Control::default().cancelled_if(|| ending.is_cancelled() || reply.is_closed());
            let outcome = catch_panic(|| work(owner.engine_in_sync(&mut control)?, control));
            if is_internal_error(&outcome) {
                owner.close();
            }
            let _ = reply.send(outcome);
        };
        (Self(Box::new(run)), result)
    }

    pub(crate) fn run(self, owner: &mut dyn EngineOwner) {
        (self.0)(owner);
    }
}

/// The state of the store, as far as reads depend on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness {
    pub(crate) reading: ReadAvailability,
    /// Whether changes from before the server's start are still being indexed, and the progress.
    pub(crate) is_catching_up: bool,
    pub(crate) step: Option<IndexProgress>,
}

impl Readiness {
    /// Stores the progress of indexing. Returns whether reads may wait for it.
    pub(crate) fn note_progress(&mut self, step: IndexProgress) -> bool {
        if self.is_catching_up {
            self.step = Some(step);
        }
        self.is_catching_up
    }
}

/// The threads that can run reads.
#[derive(Debug, Clone, Default)]
pub(crate) enum ReadAvailability {
    /// No thread; the store is being opened.
    #[default]
    NotYet,
    /// Readers, which open their own engines from this.
    ByReaders(Arc<SharedEngine>),
    /// Only the worker: the store is in memory, cannot be opened, or must be checked for changes before every read.
    ByWorker,
}

impl ReadAvailability {
    /// Whether readers may use engines opened from `shared`.
    pub(crate) fn is_by(&self, shared: &Arc<SharedEngine>) -> bool {
        matches!(self, Self::ByReaders(current) if Arc::ptr_eq(current, shared))
    }
}

/// State that the queue and the worker share.
#[derive(Debug, Clone)]
pub(crate) struct QueueState {
    /// Whether the worker can save. False until the store is open.
    pub(crate) can_save: watch::Receiver<bool>,
    /// Whether this server receives events from hooks.
    pub(crate) is_answering: Arc<AtomicBool>,
    /// Whether this server owns the queue, and therefore indexes changes.
    pub(crate) is_owner: Arc<AtomicBool>,
}

/// Turns a panic of `work` into an error. The caller must discard the state that `work` used.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(ToolError::Internal(format!("internal error in jikime-memory: {text}")))
    })
}

/// Locks a value that stays valid if another thread panics while it holds the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// After such an error the engine may be in an invalid state.
pub(crate) fn is_internal_error<T>(outcome: &Result<T, ToolError>) -> bool {
    matches!(outcome, Err(ToolError::Damaged(_) | ToolError::Internal(_)))
}
