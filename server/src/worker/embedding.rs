//! Vectors of a service are made on a thread of their own, one job at a time, so that the worker never waits for a network.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::WeakSender;
use tools::embed::EmbedError;
use tools::engine::{Errand, Failed};

use crate::request::{Returned, Signal, Work};

/// At most one job at a time.
#[derive(Debug)]
pub(super) struct EmbeddingJobs {
    back: WeakSender<Work>,
    is_out: bool,
}

impl EmbeddingJobs {
    pub(super) fn new(back: WeakSender<Work>) -> Self {
        Self { back, is_out: false }
    }

    pub(super) fn is_out(&self) -> bool {
        self.is_out
    }

    pub(super) fn have_returned(&mut self) {
        self.is_out = false;
    }

    pub(super) fn start(&mut self, job: Errand) {
        self.spawn(move |back| match catch_unwind(AssertUnwindSafe(|| job.run())) {
            Ok(Ok(made)) => signal(back, Returned::With(made)),
            Ok(Err(failed)) => rest_after(back, failed),
            Err(_) => {
                let error = EmbedError::Unavailable("a fault in jikime-memory while vectors were made".to_owned());
                rest_after(back, Failed { error, is_news: true });
            }
        });
    }

    /// Returns something after a pause, in which no job is started.
    pub(super) fn return_after(&mut self, pause: Duration, returned: Returned) {
        self.spawn(move |back| {
            thread::sleep(pause);
            signal(back, returned);
        });
    }

    fn spawn(&mut self, job: impl FnOnce(&WeakSender<Work>) + Send + 'static) {
        let back = self.back.clone();
        let started = thread::Builder::new().name("embedding".to_owned()).spawn(move || job(&back));
        self.is_out = started.inspect_err(|error| tracing::warn!("cannot start a thread: {error}")).is_ok();
    }
}

fn rest_after(back: &WeakSender<Work>, failed: Failed) {
    let rest = failed.error.rest();
    signal(back, Returned::Without(failed));
    thread::sleep(rest);
    signal(back, Returned::Rested);
}

/// Nobody takes it when the server has ended.
fn signal(back: &WeakSender<Work>, returned: Returned) {
    if let Some(back) = back.upgrade() {
        let _ = back.blocking_send(Work::Signal(Signal::Returned(returned)));
    }
}
