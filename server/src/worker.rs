//! The thread that saves memories and indexes files. It owns its engine and runs one request after the other, so that threads that serve
//! hosts never wait for SQLite. When idle, it indexes, embeds and merges in small steps. Readers may index new rows under the index lock.

mod embedding_jobs;
mod save_batch;
mod state;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use schema::files::crash_point;
use schema::log::log_file;
use schema::model::moment::Moment;
use schema::tool::{ReindexInput, ReindexOutput};
use tokio::sync::mpsc::{self, error::TryRecvError};
use tools::control::Control;
use tools::engine::{EmbeddingStep, FailedJob};
use tools::error::ToolError;

use crate::request::{JobReturn, ProgressSender, ReplySender, Signal, Work};
use state::WorkerState;

pub(crate) use state::WorkerSetup;

/// A request that takes longer is logged as a warning.
const SLOW_REQUEST: Duration = Duration::from_millis(500);

/// Delay before the store is opened. A host's first requests need no store, and opening it at the same time would slow them down.
const OPEN_DELAY: Duration = Duration::from_millis(50);

/// How often the length of the write-ahead logs is checked.
const CHECK_WALS: Duration = Duration::from_secs(1);

/// Indexing yields to requests only after this time.
const MIN_INDEXING_TIME: Duration = Duration::from_millis(50);

/// Delay before the next check if another process is embedding, or if vectors could not be stored.
const LONG_PAUSE: Duration = Duration::from_secs(2);
const SHORT_PAUSE: Duration = Duration::from_millis(50);

/// Starts the worker. It opens the store on the first request or after [`OPEN_DELAY`], so that it does not delay the handshake.
pub(crate) fn start_worker(
    setup: WorkerSetup,
    inbox: mpsc::Receiver<Work>,
    prepare: fn(),
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("engine".to_owned()).spawn(move || {
        let mut worker = WorkerState::new(setup);
        prepare();
        // The first request wakes it.
        thread::park_timeout(OPEN_DELAY);
        worker.run(inbox);
    })
}

impl WorkerState {
    fn run(&mut self, mut inbox: mpsc::Receiver<Work>) {
        let open = |worker: &mut Self| {
            crash_point::crash_if_armed("engine.open");
            worker.engine().map(drop)
        };
        if !self.is_ending()
            && let Err(error) = self.guarded(open)
        {
            tracing::error!("cannot open the store: {error}");
            // A panic does not report this.
            self.setup.report_not_open();
        }
        let (mut may_embed, mut may_merge) = (true, true);
        // Work that was taken from the inbox after memories that were saved together.
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
                    may_embed = self.embed_step();
                    continue;
                }
                Err(TryRecvError::Empty) if may_merge && !self.is_ending() => {
                    may_merge = self.merge_step();
                    continue;
                }
                Err(TryRecvError::Empty) if self.run_daily_cleanup() => continue,
                Err(TryRecvError::Empty) => match inbox.blocking_recv() {
                    Some(work) => work,
                    None => break,
                },
            };
            let started = Instant::now();
            // A new memory is not in the full text yet. Its vector waits until the files are quiet.
            let is_save = matches!(work, Work::Save(_));
            (may_embed, may_merge) = (may_embed || !is_save, may_merge || !is_save);
            match work {
                Work::Run(request) => request.run(self),
                Work::Save(save) => next = self.save_together(save, &mut inbox),
                Work::Reindex { input, progress, reply } => self.reindex(&input, progress, reply),
                Work::Signal(Signal::FilesChanged) => self.must_refresh = true,
                Work::Signal(Signal::TakeOver) => self.take_over(),
                Work::Signal(Signal::Returned(returned)) => self.handle_job_return(returned),
            }
            if started.elapsed() > SLOW_REQUEST {
                tracing::warn!("a request took {} ms", started.elapsed().as_millis());
            }
            self.truncate_wals_if_due();
        }
    }

    fn reindex(&mut self, input: &ReindexInput, progress: ProgressSender, reply: ReplySender<ReindexOutput>) {
        if reply.is_closed() {
            return;
        }
        let ending = self.setup.ending.clone();
        let mut control = Control::default()
            .with_progress(|step| drop(progress.send_replace(Some(step))))
            .cancelled_if(|| ending.is_cancelled() || reply.is_closed());
        let outcome = self.guarded(|worker| worker.engine()?.reindex(input, &mut control));
        drop(control);
        // Drops the sender first, so that the last progress is reported before the result.
        drop(progress);
        let _ = reply.send(outcome);
    }

    /// Indexes changed files one by one, and yields to requests.
    fn refresh(&mut self, inbox: &mpsc::Receiver<Work>) {
        let (started, ending) = (Instant::now(), self.setup.ending.clone());
        let readiness = self.setup.readiness.clone();
        let mut control = Control::default()
            .with_progress(|step| {
                readiness.send_if_modified(|now| now.note_progress(step));
            })
            .cancelled_if(|| ending.is_cancelled() || !inbox.is_empty() && started.elapsed() >= MIN_INDEXING_TIME)
            .yielding_if(|| !inbox.is_empty());
        let outcome = self.guarded(|worker| {
            let engine = worker.engine()?;
            engine.refresh(&mut control)?.ok_or(ToolError::Interrupted)?;
            engine.checkpoint()
        });
        // After an error it waits for the next change, because the cause may last.
        self.must_refresh = matches!(outcome, Err(ToolError::Interrupted));
        match outcome {
            Err(ToolError::Interrupted) => return,
            Err(error) => tracing::warn!("cannot index changes: {error}"),
            Ok(()) => self.schedule_refresh(),
        }
        self.setup.readiness.send_modify(|now| (now.is_catching_up, now.step) = (false, None));
        let is_writable = self.open.as_ref().is_some_and(|open| open.engine.is_writable());
        self.setup.can_save.send_if_modified(|can_save| std::mem::replace(can_save, is_writable) != is_writable);
    }

    /// Schedules another refresh if events wait in the spool, or entries wait until another program finishes a log. No event reports that.
    fn schedule_refresh(&mut self) {
        let must = self.open.as_ref().is_some_and(|open| open.engine.has_waiting_work().unwrap_or_default());
        if must && !self.is_refresh_scheduled.swap(true, Ordering::Relaxed) {
            let (work, is_scheduled) = (self.setup.work.clone(), Arc::clone(&self.is_refresh_scheduled));
            thread::spawn(move || {
                thread::sleep(log_file::QUIET_TIME);
                is_scheduled.store(false, Ordering::Relaxed);
                if let Some(work) = work.upgrade() {
                    // If the inbox is full, a request that refreshes is waiting anyway.
                    let _ = work.try_send(Work::Signal(Signal::FilesChanged));
                }
            });
        }
    }

    /// Truncates the write-ahead logs, which would grow while the server is never idle.
    fn truncate_wals_if_due(&mut self) {
        if self.wals_checked_at.elapsed() < CHECK_WALS || self.open.is_none() {
            return;
        }
        self.wals_checked_at = Instant::now();
        match self.guarded(|worker| worker.engine()?.truncate_long_wals()) {
            Ok(blocked) => {
                let was_reported = std::mem::replace(&mut self.is_long_wal_reported, !blocked.is_empty());
                blocked.iter().filter(|_| !was_reported).for_each(|text| tracing::warn!("{text}"));
            }
            Err(error) => tracing::warn!("cannot checkpoint the write-ahead logs: {error}"),
        }
    }

    /// Deletes old memories and summarises old days once a day, as the settings say. Returns whether it ran.
    fn run_daily_cleanup(&mut self) -> bool {
        let now = Moment::now();
        let today = Some(now.date());
        if self.last_cleanup_day == today || !self.is_owner() || self.open.is_none() || self.is_ending() {
            return false;
        }
        self.last_cleanup_day = today;
        let outcome = self.guarded(|worker| {
            let engine = worker.engine()?;
            engine.finish_forgetting()?;
            engine.delete_expired_daily(&now)?;
            engine.summarise_days_daily(&now)
        });
        if let Err(error) = outcome {
            tracing::warn!("cannot delete or summarise old memories: {error}");
        }
        true
    }

    /// Runs one step of embedding. Returns whether the next step can follow at once.
    fn embed_step(&mut self) -> bool {
        if self.jobs.is_running {
            return false;
        }
        match self.guarded(|worker| worker.engine()?.embedding_step()) {
            Ok(EmbeddingStep::Done) => {}
            Ok(EmbeddingStep::More) => return true,
            Ok(EmbeddingStep::Job(job)) => self.jobs.start(job),
            Ok(EmbeddingStep::LockedElsewhere) => self.jobs.return_after(LONG_PAUSE, JobReturn::CooldownOver),
            Err(error) => tracing::warn!("cannot embed: {error}"),
        }
        false
    }

    /// Runs one step of merging segments. Returns whether there is another one.
    fn merge_step(&mut self) -> bool {
        let outcome = self.guarded(|worker| worker.engine()?.merge_step());
        outcome.inspect_err(|error| tracing::warn!("cannot merge the index: {error}")).unwrap_or(false)
    }

    fn handle_job_return(&mut self, returned: JobReturn) {
        match returned {
            JobReturn::CooldownOver => self.jobs.is_running = false,
            // The thread still waits for the cooldown; `CooldownOver` ends the job.
            JobReturn::WithoutVectors(FailedJob { error, is_new_error: true }) => {
                tracing::warn!("cannot embed: {error}; search uses the built-in model until a retry succeeds");
            }
            JobReturn::WithoutVectors(_) => {}
            JobReturn::WithVectors(made) => {
                self.jobs.is_running = false;
                match self.guarded(|worker| worker.engine()?.store_vectors(&made)) {
                    Ok(true) if made.count_refused() > 0 => {
                        tracing::warn!(
                            "the embedding provider rejected {} texts; search finds them by words",
                            made.count_refused()
                        );
                    }
                    Ok(true) => {}
                    Ok(false) => self.jobs.return_after(SHORT_PAUSE, JobReturn::WithVectors(made)),
                    Err(error) => tracing::warn!("cannot store vectors: {error}"),
                }
            }
        }
    }
}
