//! A few threads that answer what only reads, each with an engine of its own beside the worker's, so that no question waits for
//! another or for indexing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use schema::queue::{Reply, Request};
use schema::tool::QueueServer;
use tokio::sync::{mpsc, watch};
use tools::engine::{Common, Engine};
use tools::error::ToolError;

use crate::guard::{guarded, is_fault};
use crate::worker::{Answer, Found, Readiness, Reading, SLOW, Work};

/// Threads at most. They are started when all others are at work.
const THREADS: usize = 4;

/// Questions that may wait; a host that sends more has to wait itself.
const QUEUE: usize = 64;

/// What readers have to know of their server.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    /// Does what readers cannot do.
    pub(crate) worker: mpsc::WeakSender<Work>,
    pub(crate) readiness: watch::Receiver<Readiness>,
    pub(crate) ending: watch::Receiver<bool>,
    /// Whether this server answers the queue.
    pub(crate) is_answering: Arc<AtomicBool>,
}

/// The readers' handle. They end with the last of these.
#[derive(Debug, Clone)]
pub(crate) struct Readers {
    questions: mpsc::Sender<Work>,
    crew: Crew,
}

/// What the threads share.
#[derive(Debug, Clone)]
struct Crew {
    inbox: Arc<Mutex<mpsc::Receiver<Work>>>,
    surroundings: Surroundings,
    threads: Arc<AtomicUsize>,
    /// Questions that wait or are answered.
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
    pub(crate) fn new(surroundings: Surroundings) -> Self {
        let (questions, inbox) = mpsc::channel(QUEUE);
        let inbox = Arc::new(Mutex::new(inbox));
        Self { questions, crew: Crew { inbox, surroundings, threads: Arc::default(), load: Arc::default() } }
    }

    pub(crate) fn alive(&self) -> Alive {
        Alive(Arc::clone(&self.crew.threads))
    }

    /// Hands in a question, waiting for room. It comes back when nobody can take it.
    pub(crate) async fn send(&self, work: Work) -> Result<(), mpsc::error::SendError<Work>> {
        // Room first: whoever gives up waiting for it has handed in nothing.
        let Ok(room) = self.questions.reserve().await else { return Err(mpsc::error::SendError(work)) };
        let load = self.crew.load.fetch_add(1, Ordering::SeqCst) + 1;
        let threads = self.crew.threads.load(Ordering::SeqCst);
        if load > threads && threads < THREADS && !self.crew.start() && threads == 0 {
            self.crew.load.fetch_sub(1, Ordering::SeqCst);
            return Err(mpsc::error::SendError(work));
        }
        room.send(work);
        Ok(())
    }
}

impl Crew {
    /// Starts a thread. Questions are handed in by one thread, so there are never more than wanted.
    fn start(&self) -> bool {
        self.threads.fetch_add(1, Ordering::SeqCst);
        let crew = self.clone();
        let started = thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let present = Present(Arc::clone(&crew.threads));
            Reader { surroundings: crew.surroundings.clone(), open: None }.run(&crew);
            drop(present);
        });
        if let Err(error) = &started {
            self.threads.fetch_sub(1, Ordering::SeqCst);
            tracing::warn!("cannot start a thread that answers: {error}");
        }
        started.is_ok()
    }

    fn next(&self) -> Option<Work> {
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
    surroundings: Surroundings,
    open: Option<Open>,
}

struct Open {
    engine: Engine,
    /// What it was opened with. When the worker opens its engine anew, there is another.
    common: Arc<Common>,
}

impl Reader {
    fn run(&mut self, crew: &Crew) {
        while let Some(work) = crew.next() {
            let started = Instant::now();
            self.serve(work);
            crew.load.fetch_sub(1, Ordering::SeqCst);
            if started.elapsed() > SLOW {
                tracing::debug!("a question took {} ms", started.elapsed().as_millis());
            }
        }
    }

    fn serve(&mut self, work: Work) {
        if !self.is_open() {
            return self.pass_on(work);
        }
        match work {
            Work::Call { reply, .. } if reply.is_closed() => {}
            Work::Call { call, progress, reply } => {
                let ending = self.surroundings.ending.clone();
                let may_go_on = || !*ending.borrow() && !reply.is_closed();
                let outcome = self.guarded(|engine| call.run(engine, &progress, &may_go_on));
                let outcome = outcome.map(|answer| self.completed(answer));
                // First, so that the last step is told before the answer.
                drop(progress);
                let _ = reply.send(outcome);
            }
            Work::Question { reply, .. } if reply.is_closed() => {}
            Work::Question { question, reply } => {
                let mut outcome = self.guarded(|engine| question.answer(engine));
                if let Ok(Found::Stats(output)) = &mut outcome {
                    self.tell_queue(&mut output.queue_answered_by);
                }
                let _ = reply.send(outcome);
            }
            Work::Event { request: Request::Recall { query, session_id }, reply } => {
                let outcome = self.guarded(|engine| engine.recall(&query, &session_id));
                let outcome = outcome.map(Reply::Recalled);
                let _ = reply.send(outcome.unwrap_or_else(|error| Reply::Refused(error.to_string())));
            }
            work @ (Work::Event { .. }
            | Work::Handed { .. }
            | Work::FilesChanged
            | Work::TakeOver
            | Work::Returned(_)) => self.pass_on(work),
        }
    }

    /// Adds to an answer what only the server knows.
    fn completed(&self, mut answer: Answer) -> Answer {
        match &mut answer {
            Answer::Stats(output) => self.tell_queue(&mut output.queue_answered_by),
            Answer::Search(output) => {
                let now = self.surroundings.readiness.borrow();
                if now.is_catching_up {
                    let far = now.step.as_ref().map(|step| format!(" ({} of {} files)", step.done, step.total));
                    let text = format!("indexing is under way{}: more may be found later", far.unwrap_or_default());
                    output.notice =
                        Some(output.notice.take().map_or(text.clone(), |notice| format!("{notice}; {text}")));
                }
            }
            Answer::Get(_) | Answer::Load(_) | Answer::Save(_) | Answer::Reindex(_) => {}
        }
        answer
    }

    fn tell_queue(&self, answered_by: &mut QueueServer) {
        if self.surroundings.is_answering.load(Ordering::Relaxed) {
            *answered_by = QueueServer::ThisServer;
        }
    }

    /// Leaves work to the worker. Whoever waits for the answer keeps that one alive.
    fn pass_on(&self, work: Work) {
        if let Some(worker) = self.surroundings.worker.upgrade() {
            let _ = worker.blocking_send(work);
        }
    }

    /// Whether there is an engine beside the worker's. One of before the worker opened its own anew, or whose files were replaced, is
    /// opened again.
    fn is_open(&mut self) -> bool {
        let common = match &self.surroundings.readiness.borrow().reading {
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

    /// Does something so that neither a panic nor a fault of a database outlives it.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Engine) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let Some(open) = &mut self.open else { return Err(ToolError::Interrupted) };
        let outcome = guarded(|| work(&mut open.engine));
        if is_fault(&outcome) {
            self.open = None;
        }
        outcome
    }
}
