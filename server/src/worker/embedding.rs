//! Vectors, made while nobody asks for anything. What takes long, a service or a large model, is asked on threads of their own: the
//! engine's thread sends errands out and takes in what they bring.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::WeakSender;
use tools::embed::EmbedError;
use tools::engine::{Errand, Failed, Made, Step};

use super::{Bench, Work};

/// After this time it is looked again whether another process has vectors made, or keeps vectors from being stored.
const IN_A_MOMENT: Duration = Duration::from_secs(2);
const AT_ONCE: Duration = Duration::from_millis(50);

/// What comes back from an errand.
#[derive(Debug)]
pub(crate) enum Returned {
    With(Made),
    Without(Failed),
    /// After a failure and some rest.
    Rested,
}

/// One errand at a time.
#[derive(Debug)]
pub(super) struct Errands {
    back: WeakSender<Work>,
    is_out: bool,
}

impl Errands {
    pub(super) fn new(back: WeakSender<Work>) -> Self {
        Self { back, is_out: false }
    }

    fn send(&mut self, errand: Errand) {
        self.out(move |back| match catch_unwind(AssertUnwindSafe(|| errand.run())) {
            Ok(Ok(made)) => bring(back, Returned::With(made)),
            Ok(Err(failed)) => rest_after(back, failed),
            Err(_) => {
                let error = EmbedError::Unavailable("a fault in jikime-memory while vectors were made".to_owned());
                rest_after(back, Failed { error, is_news: true });
            }
        });
    }

    fn look_again(&mut self, after: Duration, bringing: Returned) {
        self.out(move |back| {
            thread::sleep(after);
            bring(back, bringing);
        });
    }

    fn out(&mut self, errand: impl FnOnce(&WeakSender<Work>) + Send + 'static) {
        let back = self.back.clone();
        let started = thread::Builder::new().name("embedding".to_owned()).spawn(move || errand(&back));
        self.is_out = started.inspect_err(|error| tracing::warn!("cannot start a thread: {error}")).is_ok();
    }
}

fn rest_after(back: &WeakSender<Work>, failed: Failed) {
    let rest = failed.error.rest();
    bring(back, Returned::Without(failed));
    thread::sleep(rest);
    bring(back, Returned::Rested);
}

/// Nobody takes it when the server has ended.
fn bring(back: &WeakSender<Work>, returned: Returned) {
    if let Some(back) = back.upgrade() {
        let _ = back.blocking_send(Work::Returned(returned));
    }
}

impl Bench {
    /// Does a step of what there is to embed; whether the next can be done at once.
    pub(super) fn embed(&mut self) -> bool {
        if self.errands.is_out {
            return false;
        }
        match self.guarded(|bench| bench.engine()?.engine.embedding_step()) {
            Ok(Step::Done) => false,
            Ok(Step::More) => true,
            Ok(Step::Errand(errand)) => {
                self.errands.send(errand);
                false
            }
            Ok(Step::Elsewhere) => {
                self.errands.look_again(IN_A_MOMENT, Returned::Rested);
                false
            }
            Err(error) => {
                tracing::warn!("cannot embed: {error}");
                false
            }
        }
    }

    /// Does a step of what makes searching faster; whether there is another.
    pub(super) fn tend(&mut self) -> bool {
        let outcome = self.guarded(|bench| bench.engine()?.engine.tending_step());
        outcome.inspect_err(|error| tracing::warn!("cannot tend the index: {error}")).unwrap_or(false)
    }

    pub(super) fn take_back(&mut self, returned: Returned) {
        match returned {
            Returned::Rested => self.errands.is_out = false,
            Returned::Without(Failed { error, is_news: true }) => {
                tracing::warn!("cannot embed: {error}; search goes by text, and it is tried again");
            }
            Returned::Without(_) => {}
            Returned::With(made) => {
                self.errands.is_out = false;
                match self.guarded(|bench| bench.engine()?.engine.keep_vectors(&made)) {
                    Ok(true) if made.refused() > 0 => {
                        tracing::warn!(
                            "{} texts are refused by who makes the vectors; they are found by words",
                            made.refused()
                        );
                    }
                    Ok(true) => {}
                    Ok(false) => self.errands.look_again(AT_ONCE, Returned::With(made)),
                    Err(error) => tracing::warn!("cannot keep vectors: {error}"),
                }
            }
        }
    }
}
