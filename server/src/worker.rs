//! The one thread that writes: it owns the engine that indexes, saves and keeps. Work comes through a bounded channel and is done one
//! after the other, so that nothing that serves a host ever waits for SQLite. What only reads is answered by the readers beside it.

mod bench;
mod call;
mod colleague;
mod embedding;
mod question;
mod saving;

pub(crate) use call::{Answer, Call};
pub(crate) use question::{Found, Question};

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use schema::capture::Prepared;
use schema::layout::Layout;
use schema::queue::handover::Kept;
use schema::queue::{Reply, Request};
use tokio::sync::{mpsc, oneshot, watch};
use tools::engine::{Common, Progress};
use tools::error::ToolError;

use crate::changes::Changes;
use crate::desk::Desk;
use crate::mcp;
use crate::network::Http;
use crate::queue::Standing;
use crate::readers::{Alive, Readers, Surroundings};
use bench::Bench;
use colleague::Colleague;
use embedding::{Errands, Returned};

/// Calls that may wait; a host that sends more has to wait itself.
const QUEUE: usize = 64;

/// A turn that takes longer is worth a warning.
pub(crate) const SLOW: Duration = Duration::from_millis(500);

/// How long a host that has just started the server is left alone with its first questions, which need no store. Opening one beside
/// the answers takes a part of their time, and the more the larger it is.
const HEAD_START: Duration = Duration::from_millis(50);

/// What the worker is asked to do.
pub(crate) enum Work {
    /// Do a call and say what came of it, and before that how far it has come. It is left out, or stopped where that can be done, when
    /// nobody waits for the answer any more.
    Call { call: Call, progress: watch::Sender<Option<Progress>>, reply: oneshot::Sender<Result<Answer, ToolError>> },
    /// Say what there is, for those who read memory as documents.
    Question { question: Question, reply: oneshot::Sender<Result<Found, ToolError>> },
    /// Do what a hook asks through the queue.
    Event { request: Request, reply: oneshot::Sender<Reply> },
    /// Keep what another server hands over, since when, and say what became of it, if it could be kept.
    Handed { memories: Vec<Prepared>, since: Instant, reply: oneshot::Sender<Option<Vec<Kept>>> },
    /// Files of the store changed.
    FilesChanged,
    /// Somebody who was sent out for vectors is back.
    Returned(Returned),
    /// This server is the one of its store that watches files and indexes what changes.
    TakeOver,
}

/// What readers can do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Readiness {
    pub(crate) reading: Reading,
    /// Whether what changed while no server ran is still being indexed, and how far that is.
    pub(crate) is_catching_up: bool,
    pub(crate) step: Option<Progress>,
}

impl Readiness {
    /// Notes how far indexing has come, if anybody may wait for it.
    fn note(&mut self, step: Progress) -> bool {
        if self.is_catching_up {
            self.step = Some(step);
        }
        self.is_catching_up
    }
}

/// Who can answer what only reads.
#[derive(Debug, Clone, Default)]
pub(crate) enum Reading {
    /// Nobody; the store is being opened.
    #[default]
    NotYet,
    /// Whoever opens an engine with this.
    Beside(Arc<Common>),
    /// Only the worker: what is read is in its memory, cannot be opened, or has to be looked through before every answer.
    ByWorker,
}

/// The worker's handle: where work is handed in, and the threads to wait for.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) desk: Desk,
    pub(crate) threads: Threads,
    pub(crate) standing: Standing,
}

/// The threads of the worker and the readers.
#[derive(Debug)]
pub(crate) struct Threads {
    worker: JoinHandle<()>,
    readers: Alive,
}

impl Threads {
    /// Nothing more is waited for that has not begun.
    pub(crate) fn end(&self) {
        self.worker.thread().unpark();
    }

    pub(crate) fn are_finished(&self) -> bool {
        self.worker.is_finished() && !self.readers.is_any()
    }
}

/// Starts the worker. It opens the store by itself when it is needed or soon, so that a host is answered before that is done.
/// What changes in the store is told to `changes`. Once the server is `ending`, indexing stops, and what else was asked for is done.
pub(crate) fn start(
    project: PathBuf,
    session_id: Option<String>,
    changes: Changes,
    ending: watch::Receiver<bool>,
) -> std::io::Result<Worker> {
    let (work, inbox) = mpsc::channel(QUEUE);
    let for_watcher = work.downgrade();
    let (can_keep, told) = watch::channel(false);
    let is_answering = Arc::new(AtomicBool::new(false));
    let is_owner = Arc::new(AtomicBool::new(false));
    let standing =
        Standing { can_keep: told, is_answering: Arc::clone(&is_answering), is_owner: Arc::clone(&is_owner) };
    let (tell_readiness, readiness) = watch::channel(Readiness::default());
    let readers = Readers::new(Surroundings {
        worker: work.downgrade(),
        readiness: readiness.clone(),
        ending: ending.clone(),
        is_answering: Arc::clone(&is_answering),
    });
    let alive = readers.alive();
    let worker = thread::Builder::new().name("engine".to_owned()).spawn(move || {
        let readiness = tell_readiness;
        let errands = Errands::new(for_watcher.clone());
        let network = Arc::new(Http::default());
        let mut bench = Bench {
            colleague: Colleague::new(Layout::new(&project)),
            project,
            session_id,
            network,
            for_watcher,
            errands,
            changes,
            ending,
            can_keep,
            is_answering,
            is_owner,
            readiness,
            must_refresh: false,
            open: None,
            cleared: None,
            looked_at_logs: Instant::now(),
        };
        mcp::prepare();
        // Whoever hands in work ends this.
        thread::park_timeout(HEAD_START);
        bench.run(inbox);
    })?;
    let desk = Desk::new(work, worker.thread().clone(), readers, readiness);
    Ok(Worker { desk, threads: Threads { worker, readers: alive }, standing })
}
