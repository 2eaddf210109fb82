//! Runs embedding jobs of remote services on their own thread, so that the worker never waits for a network.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::WeakSender;
use tools::embed::EmbedError;
use tools::engine::{EmbeddingJob, FailedJob};

use crate::request::{JobReturn, Signal, Work};

#[derive(Debug)]
pub(super) struct EmbeddingJobs {
    pub(super) sender: WeakSender<Work>,
    pub(super) is_running: bool,
}

impl EmbeddingJobs {
    pub(super) fn start(&mut self, job: EmbeddingJob) {
        self.spawn(move |back| match catch_unwind(AssertUnwindSafe(|| job.run())) {
            Ok(Ok(made)) => signal_return(back, JobReturn::WithVectors(made)),
            Ok(Err(failed)) => report_and_cool_down(back, failed),
            Err(_) => {
                let error = EmbedError::Unavailable("internal error in jikime-memory during embedding".to_owned());
                report_and_cool_down(back, FailedJob { error, is_new_error: true });
            }
        });
    }

    /// Sends `returned` after a pause. No job starts meanwhile.
    pub(super) fn return_after(&mut self, pause: Duration, returned: JobReturn) {
        self.spawn(move |back| {
            thread::sleep(pause);
            signal_return(back, returned);
        });
    }

    fn spawn(&mut self, job: impl FnOnce(&WeakSender<Work>) + Send + 'static) {
        let back = self.sender.clone();
        let started = thread::Builder::new().name("embedding".to_owned()).spawn(move || job(&back));
        self.is_running = started.inspect_err(|error| tracing::warn!("cannot start a thread: {error}")).is_ok();
    }
}

fn report_and_cool_down(back: &WeakSender<Work>, failed: FailedJob) {
    let cooldown = failed.error.cooldown();
    signal_return(back, JobReturn::WithoutVectors(failed));
    thread::sleep(cooldown);
    signal_return(back, JobReturn::CooldownOver);
}

/// Fails if the server has ended, which is fine.
fn signal_return(back: &WeakSender<Work>, returned: JobReturn) {
    if let Some(back) = back.upgrade() {
        let _ = back.blocking_send(Work::Signal(Signal::Returned(returned)));
    }
}
