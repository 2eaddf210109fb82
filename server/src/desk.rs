//! Where what hosts and hooks ask is handed in: what only reads goes to the readers, all else to the worker.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tools::engine::Progress;

use crate::readers::Readers;
use crate::worker::{Call, Question, Readiness, Reading, Work};
use schema::queue::Request;

/// How long what needs the index waits for the indexing with which a server starts. Then it is answered from what there is, and told so.
const START: Duration = Duration::from_secs(10);

/// Hands work to those who do it. The worker and the readers end with the last of these.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    worker: mpsc::Sender<Work>,
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
    pub(crate) fn new(worker: mpsc::Sender<Work>, readers: Readers, readiness: watch::Receiver<Readiness>) -> Self {
        Self { worker, readers, readiness }
    }

    /// Hands in work, waiting for room.
    pub(crate) async fn send(&self, work: Work) -> Result<(), Ended> {
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
                    Reading::Beside(_) => (true, need == Need::Store || !now.is_catching_up, now.step.clone()),
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
        Work::Event { request: Request::Capture(_), .. } | Work::FilesChanged | Work::TakeOver | Work::Returned(_) => {
            Need::Writing
        }
    }
}
