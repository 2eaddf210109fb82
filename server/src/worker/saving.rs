//! What is to be kept, together: all of it that waits is kept under one lock and in one transaction, whoever asked for it. Of several
//! servers on a store those that do not answer the queue hand it to the one that does.

use std::ops::Range;
use std::sync::atomic::Ordering;

use schema::capture::Prepared;
use schema::crash;
use schema::queue::handover::Kept;
use schema::queue::{Reply, Request};
use tokio::sync::{mpsc, oneshot};
use tools::engine::Engine;
use tools::error::ToolError;

use super::colleague::{self, Sent};
use super::{Answer, Bench, Call, Work};
use crate::guard::is_fault;

/// Wishes that are kept at once. More of them would hold the lock for longer than a hook waits.
const TOGETHER: usize = 64;

/// Whom to tell what became of memories.
enum Teller {
    Host(oneshot::Sender<Result<Answer, ToolError>>),
    Hook(oneshot::Sender<Reply>),
    Colleague(oneshot::Sender<Option<Vec<Kept>>>),
}

/// Memories of a batch that came together.
struct Wish {
    range: Range<usize>,
    reply: Teller,
}

/// Whether some work is nothing but memories to keep.
pub(super) fn is_to_keep(work: &Work) -> bool {
    matches!(
        work,
        Work::Call { call: Call::Save(_), .. } | Work::Event { request: Request::Capture(_), .. } | Work::Handed { .. }
    )
}

impl Bench {
    /// Keeps what `first` and the work behind it in the inbox have to be kept, and answers the work that comes next, if it was taken
    /// out.
    pub(super) fn keep_together(&mut self, first: Work, inbox: &mut mpsc::Receiver<Work>) -> Option<Work> {
        // What could not be written when the store was opened may be writable by now.
        if self.open.as_ref().is_some_and(|open| !open.engine.is_writable()) {
            self.open = None;
        }
        let (mut memories, mut wishes, mut next) = (Vec::new(), Vec::new(), Some(first));
        while let Some(work) = next.take_if(|work| is_to_keep(work) && wishes.len() < TOGETHER) {
            let start = memories.len();
            let reply = self.unpack(work, &mut memories);
            wishes.extend(reply.map(|reply| Wish { range: start..memories.len(), reply }));
            next = inbox.try_recv().ok();
        }
        let mut outcomes = self.keep(&memories).into_iter();
        for Wish { range, reply } in wishes {
            answer(reply, outcomes.by_ref().take(range.len()).collect());
        }
        next
    }

    /// Adds the memories of some work, and answers who is to be told; nobody where there is nothing to keep.
    fn unpack(&mut self, work: Work, memories: &mut Vec<Prepared>) -> Option<Teller> {
        match work {
            Work::Call { reply, .. } if reply.is_closed() => None,
            Work::Call { call: Call::Save(input), reply, .. } => {
                match self.guarded(|bench| bench.engine()?.engine.prepare(&input)) {
                    Ok(prepared) => {
                        memories.push(prepared);
                        Some(Teller::Host(reply))
                    }
                    Err(error) => {
                        let _ = reply.send(Err(error));
                        None
                    }
                }
            }
            Work::Event { request: Request::Capture(captured), reply } => {
                memories.extend(captured);
                Some(Teller::Hook(reply))
            }
            // By now it is kept without this server.
            Work::Handed { since, .. } if since.elapsed() > colleague::PATIENCE => None,
            Work::Handed { memories: handed, reply, .. } => {
                memories.extend(handed);
                Some(Teller::Colleague(reply))
            }
            _ => None,
        }
    }

    fn keep(&mut self, memories: &[Prepared]) -> Vec<Result<Kept, ToolError>> {
        let is_mine = self.is_owner.load(Ordering::Relaxed);
        let sent = if is_mine || memories.is_empty() { Sent::Not } else { self.colleague.keep(memories) };
        match sent {
            Sent::Kept(kept) => kept.into_iter().map(Ok).collect(),
            Sent::Not => self.keep_here(memories),
            Sent::Perhaps => {
                let kept = self.keep_here(memories).into_iter().zip(memories);
                kept.map(|(outcome, memory)| outcome.map(|kept| unless_just_kept(kept, memory))).collect()
            }
        }
    }

    fn keep_here(&mut self, memories: &[Prepared]) -> Vec<Result<Kept, ToolError>> {
        match self.guarded(|bench| Ok(bench.engine()?.engine.keep(memories))) {
            Ok(outcomes) => {
                if outcomes.iter().any(is_fault) {
                    self.open = None;
                }
                outcomes
            }
            // What fails one is not to fail the others.
            Err(_) if memories.len() > 1 => {
                memories.iter().flat_map(|memory| self.keep_here(std::slice::from_ref(memory))).collect()
            }
            Err(error) => vec![Err(error)],
        }
    }
}

/// A memory that another server may have kept a moment ago on behalf of this one is as good as new.
fn unless_just_kept(kept: Kept, memory: &Prepared) -> Kept {
    let was_known = kept.was_known && kept.id != memory.id();
    Kept { was_known, ..kept }
}

fn answer(reply: Teller, outcomes: Vec<Result<Kept, ToolError>>) {
    let outcomes: Result<Vec<Kept>, ToolError> = outcomes.into_iter().collect();
    match reply {
        Teller::Host(reply) => {
            let kept = outcomes.map(|kept| kept.into_iter().next());
            let told = kept.and_then(|kept| kept.ok_or_else(|| ToolError::Internal("nothing was kept".to_owned())));
            let _ = reply.send(told.map(|kept| Answer::Save(Engine::told(kept))));
        }
        Teller::Hook(reply) => {
            crash::point("queue.kept");
            let told = outcomes.map_or_else(|error| Reply::Refused(error.to_string()), |_| Reply::Captured);
            let _ = reply.send(told);
        }
        Teller::Colleague(reply) => {
            let _ = reply.send(outcomes.ok());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use schema::capture::{Destination, Draft, prepare};
    use schema::memory::{Attributes, MemoryId, MemoryType};
    use schema::moment::Moment;
    use schema::screen::Screen;
    use schema::store::Place;
    use tokio::sync::watch;

    use super::*;
    use crate::changes::Changes;
    use crate::worker;

    fn memory() -> Prepared {
        let draft = Draft {
            session_id: "s".to_owned(),
            kind: MemoryType::Decision,
            content: "Somebody listens.".to_owned(),
            at: Moment::from_unix(1_769_563_815, Some(32_400)).expect("a moment"),
            attributes: Attributes::default(),
            destination: Destination::DailyLog,
        };
        prepare(draft, &Screen::default()).expect("there is something to keep")
    }

    #[tokio::test]
    async fn what_was_handed_over_so_long_ago_that_it_was_kept_elsewhere_is_left_alone() {
        let project = tempfile::tempdir().expect("a folder");
        let (_ending, ending) = watch::channel(false);
        let worker = worker::start(project.path().to_owned(), None, Changes::new(), ending).expect("a thread");
        let now = Instant::now();
        let long_ago = now.checked_sub(colleague::PATIENCE * 2).expect("the machine has run for longer");
        for (since, is_kept) in [(long_ago, false), (now + colleague::PATIENCE * 100, true)] {
            let (done, outcome) = oneshot::channel();
            let handed = Work::Handed { memories: vec![memory()], since, reply: done };
            assert!(worker.desk.send(handed).await.is_ok());
            assert_eq!(outcome.await.ok().flatten().map(|kept| kept[0].was_known), is_kept.then_some(false));
        }
    }

    #[test]
    fn what_another_server_may_have_kept_a_moment_ago_is_new_and_what_was_said_before_is_not() {
        let memory = memory();
        let before = MemoryId::parse("00000000000000000000000000000001").expect("an id");
        for (id, is_known) in [(memory.id(), false), (before, true)] {
            let place = Place { path: "2026-01-28.md".to_owned(), start_line: 1, end_line: 1 };
            let kept = unless_just_kept(Kept { id, place, was_known: true }, &memory);
            assert_eq!(kept.was_known, is_known, "{kept:?}");
        }
    }
}
