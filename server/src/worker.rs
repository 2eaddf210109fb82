//! The one thread that owns the engine. Calls come through a bounded channel and are done one after the other, so that
//! nothing that serves a host ever waits for SQLite.

mod call;
mod question;

pub(crate) use call::{Answer, Call};
pub(crate) use question::{Found, Question};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use schema::moment::Moment;
use schema::queue::{Reply, Request};
use schema::tool::{QueueServer, StatsOutput};
use tokio::sync::{mpsc, oneshot, watch};
use tools::engine::{Engine, Progress};
use tools::error::ToolError;

use crate::changes::Changes;
use crate::queue::Standing;
use crate::watcher::Watcher;

/// Calls that may wait; a host that sends more has to wait itself.
const QUEUE: usize = 64;

/// A turn that takes longer is worth a warning.
const SLOW: Duration = Duration::from_millis(500);

/// What the worker is asked to do.
pub(crate) enum Work {
    /// Do a call and say what came of it, and before that how far it has come. It is left out, or stopped where that can be done, when
    /// nobody waits for the answer any more.
    Call { call: Call, progress: watch::Sender<Option<Progress>>, reply: oneshot::Sender<Result<Answer, ToolError>> },
    /// Say what there is, for those who read memory as documents.
    Question { question: Question, reply: oneshot::Sender<Result<Found, ToolError>> },
    /// Do what a hook asks through the queue.
    Event { request: Request, reply: oneshot::Sender<Reply> },
    /// Files of the store changed.
    FilesChanged,
}

/// The worker's handle: where work is sent, and the thread to wait for.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) work: mpsc::Sender<Work>,
    pub(crate) thread: JoinHandle<()>,
    pub(crate) standing: Standing,
}

/// Starts the worker. It opens the store by itself, so that a host is answered before that is done.
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
    let standing = Standing { can_keep: told, is_answering: Arc::clone(&is_answering) };
    let thread = thread::Builder::new().name("engine".to_owned()).spawn(move || {
        let mut bench = Bench {
            project,
            session_id,
            for_watcher,
            changes,
            ending,
            can_keep,
            is_answering,
            open: None,
            cleared: None,
        };
        bench.run(inbox);
    })?;
    Ok(Worker { work, thread, standing })
}

struct Bench {
    project: PathBuf,
    session_id: Option<String>,
    for_watcher: mpsc::WeakSender<Work>,
    changes: Changes,
    ending: watch::Receiver<bool>,
    can_keep: watch::Sender<bool>,
    is_answering: Arc<AtomicBool>,
    open: Option<Open>,
    /// The day on which it was looked for what is to be cleared.
    cleared: Option<NaiveDate>,
}

struct Open {
    engine: Engine,
    /// Tells of changed files for as long as it lives; without one every call looks for changes itself.
    watcher: Option<Watcher>,
}

impl Bench {
    fn run(&mut self, mut inbox: mpsc::Receiver<Work>) {
        if let Err(error) = self.engine() {
            tracing::error!("cannot open the store: {error}");
        }
        // Vectors are made while nobody asks for anything, a batch at a time.
        let mut may_embed = true;
        loop {
            let work = match inbox.try_recv() {
                Ok(work) => work,
                Err(mpsc::error::TryRecvError::Disconnected) => break,
                Err(mpsc::error::TryRecvError::Empty) if may_embed && !*self.ending.borrow() => {
                    may_embed = self.embed();
                    continue;
                }
                Err(mpsc::error::TryRecvError::Empty) if self.clear_daily() => continue,
                Err(mpsc::error::TryRecvError::Empty) => match inbox.blocking_recv() {
                    Some(work) => work,
                    None => break,
                },
            };
            // After events it waits until the files have been quiet, so that no hook waits for a vector of the event before it.
            may_embed |= !matches!(work, Work::Event { .. });
            let started = Instant::now();
            match work {
                Work::Call { reply, .. } if reply.is_closed() => {}
                Work::Call { call, progress, reply } => {
                    let outcome = self.guarded(|bench| bench.call(call, &progress, &reply));
                    // First, so that the last step is told before the answer.
                    drop(progress);
                    let _ = reply.send(outcome);
                }
                Work::Question { reply, .. } if reply.is_closed() => {}
                Work::Question { question, reply } => {
                    let outcome = self.guarded(|bench| bench.question(question));
                    let _ = reply.send(outcome);
                }
                Work::Event { request, reply } => {
                    let outcome = self.guarded(|bench| bench.event(&request));
                    let _ = reply.send(outcome.unwrap_or_else(|error| Reply::Refused(error.to_string())));
                }
                Work::FilesChanged => {
                    if let Err(error) = self.guarded(Self::refresh) {
                        tracing::warn!("cannot index what changed: {error}");
                    }
                }
            }
            if started.elapsed() > SLOW {
                tracing::warn!("a turn took {} ms", started.elapsed().as_millis());
            }
        }
    }

    /// Gives vectors to some of what waits for them; whether more does.
    fn embed(&mut self) -> bool {
        match self.guarded(|bench| bench.engine()?.engine.embed_some()) {
            Ok(worked) => worked.is_more,
            Err(error) => {
                tracing::warn!("cannot embed: {error}");
                false
            }
        }
    }

    /// Clears up as the settings say, when nothing else is asked for; whether there was anything to do.
    fn clear_daily(&mut self) -> bool {
        let now = Moment::now();
        let today = Some(now.date());
        if self.cleared == today || self.open.is_none() || *self.ending.borrow() {
            return false;
        }
        self.cleared = today;
        let outcome = self.guarded(|bench| {
            let engine = &mut bench.engine()?.engine;
            engine.finish_forgetting()?;
            engine.clear_daily(&now)
        });
        if let Err(error) = outcome {
            tracing::warn!("cannot clear up: {error}");
        }
        true
    }

    fn refresh(&mut self) -> Result<(), ToolError> {
        let ending = self.ending.clone();
        self.engine()?.engine.refresh_while(&|| !*ending.borrow()).map(drop)
    }

    fn call(
        &mut self,
        call: Call,
        progress: &watch::Sender<Option<Progress>>,
        reply: &oneshot::Sender<Result<Answer, ToolError>>,
    ) -> Result<Answer, ToolError> {
        // What could not be written when the store was opened may be writable by now.
        if matches!(call, Call::Save(_)) && self.open.as_ref().is_some_and(|open| !open.engine.is_writable()) {
            self.open = None;
        }
        let ending = self.ending.clone();
        let may_go_on = || !*ending.borrow() && !reply.is_closed();
        let open = self.engine()?;
        if open.watcher.is_none() {
            open.engine.refresh_while(&may_go_on)?;
        }
        let mut answer = call.run(&mut open.engine, progress, &may_go_on)?;
        if let Answer::Stats(output) = &mut answer {
            self.complete(output);
        }
        Ok(answer)
    }

    fn question(&mut self, question: Question) -> Result<Found, ToolError> {
        let mut found = question.answer(&mut self.engine()?.engine)?;
        if let Found::Stats(output) = &mut found {
            self.complete(output);
        }
        Ok(found)
    }

    /// Adds to the statistics what only a server knows.
    fn complete(&self, output: &mut StatsOutput) {
        if self.is_answering.load(Ordering::Relaxed) {
            output.queue_answered_by = QueueServer::ThisServer;
        }
    }

    fn event(&mut self, request: &Request) -> Result<Reply, ToolError> {
        let engine = &mut self.engine()?.engine;
        match request {
            Request::Capture(memories) => engine.keep(memories).map(|()| Reply::Captured),
            Request::Recall { query, session_id } => engine.recall(query, session_id).map(Reply::Recalled),
        }
    }

    /// The open engine; one that could not be opened, failed, or whose files were deleted, is opened again.
    fn engine(&mut self) -> Result<&mut Open, ToolError> {
        self.open.take_if(|open| !open.engine.is_current());
        match &mut self.open {
            Some(open) => Ok(open),
            none => {
                let opened = Engine::open(&self.project, self.session_id.clone());
                self.can_keep.send_if_modified(|can_keep| opened.is_err() && std::mem::take(can_keep));
                let mut engine = opened?;
                let ending = self.ending.clone();
                if let Err(error) = engine.refresh_while(&|| !*ending.borrow()) {
                    tracing::warn!("cannot index what changed: {error}");
                }
                let watcher = Watcher::start(engine.store().layout(), self.for_watcher.clone(), self.changes.clone());
                let watcher = watcher.inspect_err(|error| tracing::warn!("cannot watch the store: {error}")).ok();
                self.can_keep.send_replace(engine.is_writable());
                Ok(none.insert(Open { engine, watcher }))
            }
        }
    }

    /// Does something so that neither a panic nor a fault of a database outlives it.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(self)));
        let outcome = outcome.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(ToolError::Internal(format!("a fault in jikime-memory: {text}")))
        });
        if let Err(ToolError::Damaged(_) | ToolError::Internal(_)) = outcome {
            self.open = None;
        }
        outcome
    }
}
