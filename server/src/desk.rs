//! Where what hosts and hooks ask is handed in: what only reads goes to the readers, all else to the worker.

use std::thread::Thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tools::engine::Progress;

use crate::readers::Readers;
use crate::worker::{Call, Question, Readiness, Reading, Work};
use schema::queue::Request;

/// How long what needs the index waits at most for a store to be opened and brought up to date. Then it is answered from what there is,
/// and told so.
const START: Duration = Duration::from_secs(10);

/// Files that change between two sessions and are indexed before anybody notices. More of them are not waited for.
const FEW: usize = 64;

/// Hands work to those who do it. The worker and the readers end with the last of these.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    worker: mpsc::Sender<Work>,
    /// The thread of the worker, which opens the store when it is first needed.
    thread: Thread,
    readers: Readers,
    readiness: watch::Receiver<Readiness>,
}

/// Nobody is there any more to do what is asked.
#[derive(Debug)]
pub(crate) struct Ended;

/// What work needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The right to write, which the worker has.
    Writing,
    /// The files of the store and what there is of rows and index.
    Store,
    /// Rows and index in step with the files.
    Index,
}

impl Desk {
    pub(crate) fn new(
        worker: mpsc::Sender<Work>,
        thread: Thread,
        readers: Readers,
        readiness: watch::Receiver<Readiness>,
    ) -> Self {
        Self { worker, thread, readers, readiness }
    }

    /// Hands in work, waiting for room.
    pub(crate) async fn send(&self, work: Work) -> Result<(), Ended> {
        if matches!(self.readiness.borrow().reading, Reading::NotYet) {
            self.thread.unpark();
        }
        let need = need(&work);
        if need != Need::Writing && self.may_be_read(need, &work).await {
            return self.readers.send(work).await.map_err(|_| Ended);
        }
        self.worker.send(work).await.map_err(|_| Ended)
    }

    /// Waits until there is what the work needs, tells how far that is, and answers whether readers can do it.
    async fn may_be_read(&self, need: Need, work: &Work) -> bool {
        let mut readiness = self.readiness.clone();
        let deadline = Instant::now() + START;
        loop {
            let (can_be_read, is_enough, step) = {
                let now = readiness.borrow_and_update();
                match &now.reading {
                    Reading::ByWorker => return false,
                    Reading::NotYet => (false, false, None),
                    Reading::Beside(_) => {
                        let is_long = now.step.as_ref().is_some_and(|step| step.total - step.done > FEW);
                        (true, need == Need::Store || !now.is_catching_up || is_long, now.step.clone())
                    }
                }
            };
            if is_enough {
                return can_be_read;
            }
            tell(work, step);
            match timeout_at(deadline, readiness.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return false,
                Err(_) => return can_be_read,
            }
        }
    }
}

fn tell(work: &Work, step: Option<Progress>) {
    if let (Work::Call { progress, .. }, Some(step)) = (work, step) {
        progress.send_replace(Some(step));
    }
}

fn need(work: &Work) -> Need {
    match work {
        Work::Call { call, .. } => match call {
            Call::Search(_) | Call::Stats => Need::Index,
            Call::Get(input) if input.id.is_some() => Need::Index,
            Call::Get(_) | Call::Load(_) => Need::Store,
            Call::Save(_) | Call::Reindex(_) => Need::Writing,
        },
        Work::Question { question, .. } => match question {
            Question::Memory(_) | Question::Ids(..) | Question::Stats => Need::Index,
            Question::Text(_) | Question::Logs => Need::Store,
        },
        Work::Event { request: Request::Recall { .. }, .. } => Need::Index,
        Work::Event { request: Request::Capture(_), .. } | Work::Handed { .. } => Need::Writing,
        Work::FilesChanged | Work::TakeOver | Work::Returned(_) => Need::Writing,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use schema::tool::SearchInput;
    use tokio::sync::oneshot;
    use tokio::time::timeout;
    use tools::engine::Engine;

    use super::*;
    use crate::readers::Surroundings;

    /// Whether a search is handed in at once while the store is as `readiness` says.
    fn is_handed_in(readiness: Readiness) -> bool {
        let (worker, _inbox) = mpsc::channel(1);
        let (_ending, ending) = watch::channel(false);
        let (_telling, readiness) = watch::channel(readiness);
        let readers = Readers::new(Surroundings {
            worker: worker.downgrade(),
            readiness: readiness.clone(),
            ending,
            is_answering: Arc::new(AtomicBool::new(false)),
        });
        let desk = Desk::new(worker, std::thread::current(), readers, readiness);
        let (reply, _answer) = oneshot::channel();
        let (progress, _steps) = watch::channel(None);
        let work = Work::Call { call: Call::Search(SearchInput::default()), progress, reply };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        // What is ready when it is first asked never waits.
        runtime.block_on(async { timeout(Duration::ZERO, desk.may_be_read(Need::Index, &work)).await.is_ok() })
    }

    #[test]
    fn a_search_waits_for_a_few_changed_files_and_never_for_many() {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = Engine::open(folder.path(), None, None).expect("an engine");
        let common = Arc::new(engine.common().expect("a store that can be shared"));
        let catching_up = |step: Option<(usize, usize)>| Readiness {
            reading: Reading::Beside(Arc::clone(&common)),
            is_catching_up: true,
            step: step.map(|(done, total)| Progress { done, total, path: String::new() }),
        };
        assert!(!is_handed_in(Readiness::default()), "the store is not open");
        assert!(!is_handed_in(catching_up(None)), "nobody knows yet how many files changed");
        assert!(!is_handed_in(catching_up(Some((0, FEW)))));
        assert!(is_handed_in(catching_up(Some((0, FEW + 1)))));
        assert!(!is_handed_in(catching_up(Some((1, FEW + 1)))));
        assert!(is_handed_in(Readiness { is_catching_up: false, ..catching_up(None) }));
    }
}
