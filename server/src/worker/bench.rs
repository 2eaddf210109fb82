//! What the worker has at hand, and how it does one thing after the other: what was asked first, and in between what nobody asked for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use schema::crash;
use schema::moment::Moment;
use schema::queue::{Reply, Request};
use schema::tool::{QueueServer, StatsOutput};
use tokio::sync::{mpsc, oneshot, watch};
use tools::embed::remote::Network;
use tools::engine::{Engine, Progress};
use tools::error::ToolError;

use super::colleague::Colleague;
use super::embedding::Errands;
use super::saving::is_to_keep;
use super::{Answer, Call, Found, Question, Readiness, Reading, SLOW, Work};
use crate::changes::{Change, Changes};
use crate::guard::{guarded, is_fault};
use crate::watcher::Watcher;

/// How often it is looked whether the write-ahead logs have grown too long.
const LOOK_AT_LOGS: Duration = Duration::from_secs(1);

/// How long indexing goes on at least before it gives way to what was asked meanwhile.
const TURN: Duration = Duration::from_millis(50);

pub(super) struct Bench {
    pub(super) project: PathBuf,
    pub(super) session_id: Option<String>,
    pub(super) network: Arc<dyn Network>,
    pub(super) for_watcher: mpsc::WeakSender<Work>,
    pub(super) errands: Errands,
    /// Who keeps what is to be saved while this server does not answer the queue.
    pub(super) colleague: Colleague,
    pub(super) changes: Changes,
    pub(super) ending: watch::Receiver<bool>,
    pub(super) can_keep: watch::Sender<bool>,
    pub(super) is_answering: Arc<AtomicBool>,
    /// Whether this server indexes what changes.
    pub(super) is_owner: Arc<AtomicBool>,
    pub(super) readiness: watch::Sender<Readiness>,
    /// Whether files may have changed that are not indexed yet.
    pub(super) must_refresh: bool,
    pub(super) open: Option<Open>,
    /// The day on which it was looked for what is to be cleared.
    pub(super) cleared: Option<NaiveDate>,
    pub(super) looked_at_logs: Instant,
}

pub(super) struct Open {
    pub(super) engine: Engine,
    /// Tells of changed files for as long as it lives. Another server watches when this is not the one that does; when this one should
    /// and cannot, every call looks for changes itself.
    pub(super) watcher: Option<Watcher>,
}

impl Bench {
    pub(super) fn run(&mut self, mut inbox: mpsc::Receiver<Work>) {
        let open = |bench: &mut Self| {
            crash::point("engine.open");
            bench.engine().map(drop)
        };
        if !*self.ending.borrow()
            && let Err(error) = self.guarded(open)
        {
            tracing::error!("cannot open the store: {error}");
            // After a panic nobody was told.
            tell_not_open(&self.can_keep, &self.readiness);
        }
        // Vectors are made while nobody asks for anything, a batch at a time.
        let mut may_embed = true;
        // So are parts of the full text put together, a step at a time.
        let mut may_tend = true;
        // What was taken out behind what was kept together.
        let mut next = None;
        loop {
            let work = match next.take().map_or_else(|| inbox.try_recv(), Ok) {
                Ok(work) => work,
                Err(mpsc::error::TryRecvError::Disconnected) => break,
                Err(mpsc::error::TryRecvError::Empty) if self.must_refresh && !*self.ending.borrow() => {
                    self.refresh(&inbox);
                    continue;
                }
                Err(mpsc::error::TryRecvError::Empty) if may_embed && !*self.ending.borrow() => {
                    may_embed = self.embed();
                    continue;
                }
                Err(mpsc::error::TryRecvError::Empty) if may_tend && !*self.ending.borrow() => {
                    may_tend = self.tend();
                    continue;
                }
                Err(mpsc::error::TryRecvError::Empty) if self.clear_daily() => continue,
                Err(mpsc::error::TryRecvError::Empty) => match inbox.blocking_recv() {
                    Some(work) => work,
                    None => break,
                },
            };
            // After what is kept it waits until the files have been quiet, so that nobody waits for a vector of what came before.
            may_embed |= match &work {
                Work::Event { .. } | Work::Handed { .. } | Work::Call { call: Call::Save(_), .. } => false,
                Work::FilesChanged | Work::TakeOver => true,
                Work::Call { .. } | Work::Question { .. } | Work::Returned(_) => true,
            };
            // What was only kept is not in the full text yet.
            may_tend |= !is_to_keep(&work);
            let started = Instant::now();
            match work {
                work if is_to_keep(&work) => next = self.keep_together(work, &mut inbox),
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
                Work::Handed { .. } => unreachable!("it is kept above"),
                Work::Returned(returned) => self.take_back(returned),
                Work::FilesChanged => self.must_refresh = true,
                Work::TakeOver => self.take_over(),
            }
            if started.elapsed() > SLOW {
                tracing::warn!("a turn took {} ms", started.elapsed().as_millis());
            }
            self.bound_logs();
        }
    }

    fn take_over(&mut self) {
        // What changed while nobody watched was told to nobody.
        self.must_refresh = true;
        if let Some(Open { engine, watcher: watcher @ None }) = &mut self.open {
            *watcher = watch(engine, self.for_watcher.clone(), &self.changes);
            if watcher.is_none() {
                self.readiness.send_modify(|now| now.reading = Reading::ByWorker);
            }
        }
    }

    /// Indexes what changed, a file after the other, and gives way to what is asked meanwhile.
    fn refresh(&mut self, inbox: &mpsc::Receiver<Work>) {
        let (started, ending) = (Instant::now(), self.ending.clone());
        let may_go_on = || !*ending.borrow() && (inbox.is_empty() || started.elapsed() < TURN);
        let may_wait = || !*ending.borrow() && inbox.is_empty();
        let outcome = self.guarded(|bench| {
            let readiness = bench.readiness.clone();
            let mut progress = |step| {
                readiness.send_if_modified(|now| now.note(step));
            };
            let open = bench.engine()?;
            open.engine.refresh_telling(&mut progress, &may_go_on, &may_wait)?;
            open.engine.tidy()
        });
        // After a fault it waits for the next change, as what is wrong may be there to stay.
        self.must_refresh = matches!(outcome, Err(ToolError::Interrupted));
        match outcome {
            Err(ToolError::Interrupted) => return,
            Err(error) => tracing::warn!("cannot index what changed: {error}"),
            Ok(()) => {}
        }
        self.readiness.send_modify(|now| (now.is_catching_up, now.step) = (false, None));
        let is_writable = self.open.as_ref().is_some_and(|open| open.engine.is_writable());
        self.can_keep.send_if_modified(|can_keep| std::mem::replace(can_keep, is_writable) != is_writable);
    }

    /// Keeps the write-ahead logs from growing for as long as there is no idle moment.
    fn bound_logs(&mut self) {
        if self.looked_at_logs.elapsed() < LOOK_AT_LOGS || self.open.is_none() {
            return;
        }
        self.looked_at_logs = Instant::now();
        match self.guarded(|bench| bench.engine()?.engine.bound()) {
            Ok(true) => {}
            Ok(false) => tracing::debug!("the write-ahead logs are long, and still read"),
            Err(error) => tracing::warn!("cannot copy the write-ahead logs: {error}"),
        }
    }

    /// Clears up as the settings say, when nothing else is asked for; whether there was anything to do.
    fn clear_daily(&mut self) -> bool {
        let now = Moment::now();
        let today = Some(now.date());
        let may = self.is_owner.load(Ordering::Relaxed) && self.open.is_some() && !*self.ending.borrow();
        if self.cleared == today || !may {
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

    fn call(
        &mut self,
        call: Call,
        progress: &watch::Sender<Option<Progress>>,
        reply: &oneshot::Sender<Result<Answer, ToolError>>,
    ) -> Result<Answer, ToolError> {
        let ending = self.ending.clone();
        let may_go_on = || !*ending.borrow() && !reply.is_closed();
        if !matches!(call, Call::Reindex(_)) {
            self.look_for_changes(&may_go_on)?;
        }
        let open = self.engine()?;
        let mut answer = call.run(&mut open.engine, progress, &may_go_on)?;
        if let Answer::Stats(output) = &mut answer {
            self.complete(output);
        }
        Ok(answer)
    }

    /// Indexes what changed before something is read, unless somebody else has done so or is told of changes.
    fn look_for_changes(&mut self, may_go_on: &dyn Fn() -> bool) -> Result<(), ToolError> {
        let is_owner = self.is_owner.load(Ordering::Relaxed);
        let open = self.engine()?;
        let is_told = open.watcher.is_some() || !is_owner && open.engine.is_shared();
        if self.must_refresh || !is_told {
            // Asked for again, because the engine may just have been opened.
            self.engine()?.engine.refresh_while(may_go_on)?;
        }
        Ok(())
    }

    fn question(&mut self, question: Question) -> Result<Found, ToolError> {
        let ending = self.ending.clone();
        self.look_for_changes(&|| !*ending.borrow())?;
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
        match request {
            Request::Capture(_) => unreachable!("it is kept above"),
            Request::Recall { query, session_id } => {
                self.engine()?.engine.recall(query, session_id).map(Reply::Recalled)
            }
        }
    }

    /// The open engine; one that could not be opened, failed, or whose files were deleted, is opened again.
    pub(super) fn engine(&mut self) -> Result<&mut Open, ToolError> {
        self.open.take_if(|open| !open.engine.is_current());
        match &mut self.open {
            Some(open) => Ok(open),
            none => {
                let opened = Engine::open(&self.project, self.session_id.clone(), Some(Arc::clone(&self.network)));
                let mut engine = opened.inspect_err(|_| tell_not_open(&self.can_keep, &self.readiness))?;
                let common = engine.common();
                // What is in this process alone is watched by it, whoever watches for the others.
                let is_mine = common.is_none() || self.is_owner.load(Ordering::Relaxed);
                let watcher = is_mine.then(|| watch(&engine, self.for_watcher.clone(), &self.changes)).flatten();
                let common = common.filter(|_| watcher.is_some() || !is_mine);
                self.must_refresh = common.is_some();
                if common.is_none() {
                    let ending = self.ending.clone();
                    if let Err(error) = engine.refresh_while(&|| !*ending.borrow()) {
                        tracing::warn!("cannot index what changed: {error}");
                    }
                    self.can_keep.send_replace(engine.is_writable());
                }
                self.readiness.send_replace(Readiness {
                    is_catching_up: common.is_some(),
                    reading: common.map_or(Reading::ByWorker, |common| Reading::Beside(Arc::new(common))),
                    step: None,
                });
                Ok(none.insert(Open { engine, watcher }))
            }
        }
    }

    /// Does something so that neither a panic nor a fault of a database outlives it.
    pub(super) fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let outcome = guarded(|| work(self));
        if is_fault(&outcome) {
            self.open = None;
        }
        outcome
    }
}

/// Tells that the store could not be opened, so that calls come to the worker, which tries again.
fn tell_not_open(can_keep: &watch::Sender<bool>, readiness: &watch::Sender<Readiness>) {
    can_keep.send_if_modified(std::mem::take);
    readiness.send_replace(Readiness { reading: Reading::ByWorker, ..Readiness::default() });
}

fn watch(engine: &Engine, work: mpsc::WeakSender<Work>, changes: &Changes) -> Option<Watcher> {
    let watcher = Watcher::start(engine.store().layout(), work, changes.clone());
    // What changed while nobody watched was told to nobody who follows.
    changes.tell(Change::Anything);
    watcher.inspect_err(|error| tracing::warn!("cannot watch the store: {error}")).ok()
}
