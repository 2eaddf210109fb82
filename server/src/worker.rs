//! The one thread that writes. It owns the engine that saves and indexes, and runs one request after the other, so that nothing that
//! serves a host ever waits for SQLite. While nobody asks for anything it indexes, embeds and merges in small steps.

mod embedding;
mod saving;
mod state;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use schema::crash;
use schema::log_file;
use schema::moment::Moment;
use schema::tool::{ReindexInput, ReindexOutput};
use tokio::sync::mpsc::{self, error::TryRecvError};
use tools::engine::{Failed, Progress, Step};
use tools::error::ToolError;

use crate::request::{Reply, Returned, Signal, Steps, Work, Write};
use state::WorkerState;

pub(crate) use state::WorkerSetup;

/// A turn that takes longer is worth a warning.
const SLOW: Duration = Duration::from_millis(500);

/// How long a host that has just started the server is left alone with its first questions, which need no store. Opening one at the same
/// time slows the answers down.
const HEAD_START: Duration = Duration::from_millis(50);

/// How often the length of the write-ahead logs is checked.
const CHECK_LOGS: Duration = Duration::from_secs(1);

/// How long indexing goes on at least before it yields to requests.
const TURN: Duration = Duration::from_millis(50);

/// The pause until the next check whether another process still makes vectors, or still keeps vectors from being stored.
const IN_A_MOMENT: Duration = Duration::from_secs(2);
const AT_ONCE: Duration = Duration::from_millis(50);

/// Starts the worker. It opens the store when a request needs it or after a moment, so that a host is answered before that.
pub(crate) fn start(setup: WorkerSetup, inbox: mpsc::Receiver<Work>, prepare: fn()) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("engine".to_owned()).spawn(move || {
        let mut worker = WorkerState::new(setup);
        prepare();
        // The first request ends this.
        thread::park_timeout(HEAD_START);
        worker.run(inbox);
    })
}

impl WorkerState {
    fn run(&mut self, mut inbox: mpsc::Receiver<Work>) {
        let open = |worker: &mut Self| {
            crash::point("engine.open");
            worker.engine().map(drop)
        };
        if !self.is_ending()
            && let Err(error) = self.guarded(open)
        {
            tracing::error!("cannot open the store: {error}");
            // A panic reported nothing.
            self.setup.report_not_open();
        }
        let (mut may_embed, mut may_merge) = (true, true);
        // What was taken out of the inbox behind memories that were saved together.
        let mut next = None;
        loop {
            let work = match next.take().map_or_else(|| inbox.try_recv(), Ok) {
                Ok(work) => work,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) if self.must_refresh && !self.is_ending() => {
                    self.refresh(&inbox);
                    continue;
                }
                Err(TryRecvError::Empty) if may_embed && !self.is_ending() => {
                    may_embed = self.embed();
                    continue;
                }
                Err(TryRecvError::Empty) if may_merge && !self.is_ending() => {
                    may_merge = self.merge();
                    continue;
                }
                Err(TryRecvError::Empty) if self.clear_daily() => continue,
                Err(TryRecvError::Empty) => match inbox.blocking_recv() {
                    Some(work) => work,
                    None => break,
                },
            };
            let started = Instant::now();
            // A memory that was only saved is not in the full text yet, and its vector waits until the files have been quiet.
            let is_save = matches!(work, Work::Write(Write::Save(_)));
            (may_embed, may_merge) = (may_embed || !is_save, may_merge || !is_save);
            match work {
                Work::Read(read) => read.run(self),
                Work::Write(Write::Save(save)) => next = self.save_together(save, &mut inbox),
                Work::Write(Write::Reindex { input, steps, reply }) => self.reindex(&input, steps, reply),
                Work::Signal(Signal::FilesChanged) => self.must_refresh = true,
                Work::Signal(Signal::TakeOver) => self.take_over(),
                Work::Signal(Signal::Returned(returned)) => self.take_back(returned),
            }
            if started.elapsed() > SLOW {
                tracing::warn!("a turn took {} ms", started.elapsed().as_millis());
            }
            self.checkpoint();
        }
    }

    fn reindex(&mut self, input: &ReindexInput, steps: Steps, reply: Reply<ReindexOutput>) {
        if reply.is_closed() {
            return;
        }
        let ending = self.setup.ending.clone();
        let may_go_on = || !*ending.borrow() && !reply.is_closed();
        let mut report = |step: Progress| drop(steps.send_replace(Some(step)));
        let outcome = self.guarded(|worker| worker.engine()?.reindex(input, &mut report, &may_go_on));
        // First, so that the last step is reported before the result.
        drop(steps);
        let _ = reply.send(outcome);
    }

    /// Indexes what changed, a file after the other, and yields to requests.
    fn refresh(&mut self, inbox: &mpsc::Receiver<Work>) {
        let (started, ending) = (Instant::now(), self.setup.ending.clone());
        let may_go_on = || !*ending.borrow() && (inbox.is_empty() || started.elapsed() < TURN);
        let may_wait = || !*ending.borrow() && inbox.is_empty();
        let outcome = self.guarded(|worker| {
            let readiness = worker.setup.readiness.clone();
            let mut progress = |step| {
                readiness.send_if_modified(|now| now.note(step));
            };
            let engine = worker.engine()?;
            engine.refresh_telling(&mut progress, &may_go_on, &may_wait)?;
            engine.tidy()
        });
        // After a fault it waits for the next change, because the cause may last.
        self.must_refresh = matches!(outcome, Err(ToolError::Interrupted));
        match outcome {
            Err(ToolError::Interrupted) => return,
            Err(error) => tracing::warn!("cannot index what changed: {error}"),
            Ok(()) => self.look_again(),
        }
        self.setup.readiness.send_modify(|now| (now.is_catching_up, now.step) = (false, None));
        let is_writable = self.open.as_ref().is_some_and(|open| open.engine.is_writable());
        self.setup.can_save.send_if_modified(|can_save| std::mem::replace(can_save, is_writable) != is_writable);
    }

    /// Refreshes again in a while if memories wait for another program to finish writing a log. No event tells when it has.
    fn look_again(&mut self) {
        let must = self.open.as_ref().is_some_and(|open| open.engine.must_look_again().unwrap_or_default());
        if must && !self.is_looking_again.swap(true, Ordering::Relaxed) {
            let (work, is_looking) = (self.setup.work.clone(), Arc::clone(&self.is_looking_again));
            thread::spawn(move || {
                thread::sleep(log_file::QUIET);
                is_looking.store(false, Ordering::Relaxed);
                if let Some(work) = work.upgrade() {
                    // A full inbox means that a refresh or a call that refreshes is near anyway.
                    let _ = work.try_send(Work::Signal(Signal::FilesChanged));
                }
            });
        }
    }

    /// Keeps the write-ahead logs from growing for as long as there is no idle moment.
    fn checkpoint(&mut self) {
        if self.checked_logs.elapsed() < CHECK_LOGS || self.open.is_none() {
            return;
        }
        self.checked_logs = Instant::now();
        match self.guarded(|worker| worker.engine()?.bound()) {
            Ok(true) => {}
            Ok(false) => tracing::debug!("the write-ahead logs are long, and still read"),
            Err(error) => tracing::warn!("cannot copy the write-ahead logs: {error}"),
        }
    }

    /// Clears old memories as the settings say, once a day. Returns whether there was anything to do.
    fn clear_daily(&mut self) -> bool {
        let now = Moment::now();
        let today = Some(now.date());
        if self.cleared == today || !self.is_owner() || self.open.is_none() || self.is_ending() {
            return false;
        }
        self.cleared = today;
        let outcome = self.guarded(|worker| {
            let engine = worker.engine()?;
            engine.finish_forgetting()?;
            engine.clear_daily(&now)
        });
        if let Err(error) = outcome {
            tracing::warn!("cannot clear up: {error}");
        }
        true
    }

    /// Does a step of what there is to embed. Returns whether the next one can follow at once.
    fn embed(&mut self) -> bool {
        if self.jobs.is_out() {
            return false;
        }
        match self.guarded(|worker| worker.engine()?.embedding_step()) {
            Ok(Step::Done) => false,
            Ok(Step::More) => true,
            Ok(Step::Errand(job)) => {
                self.jobs.start(job);
                false
            }
            Ok(Step::Elsewhere) => {
                self.jobs.return_after(IN_A_MOMENT, Returned::Rested);
                false
            }
            Err(error) => {
                tracing::warn!("cannot embed: {error}");
                false
            }
        }
    }

    /// Merges segments of the full text by a step. Returns whether there is another.
    fn merge(&mut self) -> bool {
        let outcome = self.guarded(|worker| worker.engine()?.tending_step());
        outcome.inspect_err(|error| tracing::warn!("cannot merge the index: {error}")).unwrap_or(false)
    }

    fn take_back(&mut self, returned: Returned) {
        match returned {
            Returned::Rested => self.jobs.have_returned(),
            Returned::Without(Failed { error, is_news: true }) => {
                tracing::warn!("cannot embed: {error}; search goes by text, and it is tried again");
            }
            Returned::Without(_) => {}
            Returned::With(made) => {
                self.jobs.have_returned();
                match self.guarded(|worker| worker.engine()?.keep_vectors(&made)) {
                    Ok(true) if made.refused() > 0 => {
                        tracing::warn!(
                            "{} texts are refused by the provider of vectors; they are found by words",
                            made.refused()
                        );
                    }
                    Ok(true) => {}
                    Ok(false) => self.jobs.return_after(AT_ONCE, Returned::With(made)),
                    Err(error) => tracing::warn!("cannot keep vectors: {error}"),
                }
            }
        }
    }
}
