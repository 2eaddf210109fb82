//! What the threads of the server are asked to do: requests that read, requests that write, and signals. Each kind is a type of its
//! own, so that no thread can be given what it cannot do.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use schema::capture::Prepared;
use schema::tool::{ReindexInput, ReindexOutput, SaveInput, SaveOutput};
use tokio::sync::{oneshot, watch};
use tools::engine::{Common, Engine, Failed, Made, Progress};
use tools::error::ToolError;

use crate::guard::{guarded, is_fault};

/// Takes the result of a request.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, ToolError>>;

/// Takes the progress of a request.
pub(crate) type Steps = watch::Sender<Option<Progress>>;

/// What the worker does.
pub(crate) enum Work {
    Read(Read),
    Write(Write),
    Signal(Signal),
}

/// A request that only reads. Readers run it; without one the worker does.
pub(crate) struct Read(Box<RunRead>);

type RunRead = dyn FnOnce(&mut dyn EngineOwner) + Send;

/// A request that writes. Only the worker runs it.
pub(crate) enum Write {
    Save(Save),
    Reindex { input: ReindexInput, steps: Steps, reply: Reply<ReindexOutput> },
}

/// Memories to save. All that wait are saved together.
pub(crate) enum Save {
    /// `memory_save`.
    Tool { input: SaveInput, reply: Reply<SaveOutput> },
    /// What a hook sent through the queue.
    Hook { memories: Vec<Prepared>, reply: Reply<()> },
}

/// News for the worker, to which nobody waits for a reply.
pub(crate) enum Signal {
    /// Files of the store changed.
    FilesChanged,
    /// An embedding job returned.
    Returned(Returned),
    /// This server became the one of its store that watches files and indexes what changes.
    TakeOver,
}

/// The outcome of an embedding job.
#[derive(Debug)]
pub(crate) enum Returned {
    With(Made),
    Without(Failed),
    /// After a failure and a pause.
    Rested,
}

/// A thread that has an engine.
pub(crate) trait EngineOwner {
    /// Whether the server ends.
    fn ending(&self) -> watch::Receiver<bool>;

    /// The engine, after it was brought in sync with the files for as long as `may_go_on` allows.
    fn engine_in_sync(&mut self, may_go_on: &dyn Fn() -> bool) -> Result<&mut Engine, ToolError>;

    /// Closes the engine, because a fault may have broken it.
    fn close(&mut self);
}

impl Read {
    /// A read, and where its result arrives. It is skipped if nobody waits for the result any more, and `work` is asked to stop early by
    /// its second argument.
    pub(crate) fn new<T: Send + 'static>(
        work: impl FnOnce(&mut Engine, &dyn Fn() -> bool) -> Result<T, ToolError> + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, ToolError>>) {
        let (reply, result) = oneshot::channel();
        let run = move |owner: &mut dyn EngineOwner| {
            if reply.is_closed() {
                return;
            }
            let ending = owner.ending();
            let may_go_on = || !*ending.borrow() && !reply.is_closed();
            let outcome = guarded(|| work(owner.engine_in_sync(&may_go_on)?, &may_go_on));
            if is_fault(&outcome) {
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

/// What can be read at present.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness {
    pub(crate) reading: Reading,
    /// Whether changes from before the start of the server are still being indexed, and the progress of that.
    pub(crate) is_catching_up: bool,
    pub(crate) step: Option<Progress>,
}

impl Readiness {
    /// Notes the progress of indexing. Returns whether anybody may wait for it.
    pub(crate) fn note(&mut self, step: Progress) -> bool {
        if self.is_catching_up {
            self.step = Some(step);
        }
        self.is_catching_up
    }
}

/// Who can run requests that read.
#[derive(Debug, Clone, Default)]
pub(crate) enum Reading {
    /// Nobody; the store is being opened.
    #[default]
    NotYet,
    /// Readers, which open an engine of their own with this.
    Beside(Arc<Common>),
    /// Only the worker: the store is in its memory, cannot be opened, or must be checked for changes before every read.
    ByWorker,
}

/// What the queue and the worker have to know of each other.
#[derive(Debug, Clone)]
pub(crate) struct QueueState {
    /// Whether the worker can save. `false` until it has opened the store.
    pub(crate) can_save: watch::Receiver<bool>,
    /// Whether this server answers the queue.
    pub(crate) is_answering: Arc<AtomicBool>,
    /// Whether this server owns the queue, and so also indexes what changes in the store.
    pub(crate) is_owner: Arc<AtomicBool>,
}
