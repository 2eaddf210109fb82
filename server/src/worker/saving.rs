//! What is to be kept, together: all of it that waits is kept under one lock and in one transaction, whoever asked for it. Of several
//! servers on a store those that do not answer the queue hand it to the one that does.

use std::ops::Range;

use schema::capture::Prepared;
use schema::crash;
use schema::queue::handover::Kept;
use schema::tool::SaveOutput;
use tokio::sync::mpsc;
use tools::engine::Engine;
use tools::error::ToolError;

use super::colleague::{self, Sent};
use super::state::WorkerState;
use crate::guard::is_fault;
use crate::request::{Reply, Save, Work, Write};

/// Requests that are saved at once. More of them would hold the lock for longer than a hook waits.
const TOGETHER: usize = 64;

/// Who waits for memories to be saved.
enum Waiting {
    Tool(Reply<SaveOutput>),
    Hook(Reply<()>),
    Server(Reply<Vec<Kept>>),
}

/// The memories of a batch that one request brought.
struct Wish {
    range: Range<usize>,
    reply: Waiting,
}

impl WorkerState {
    /// Saves what `first` and the requests behind it in the inbox bring. Returns the work that comes next, if it was taken out.
    pub(super) fn save_together(&mut self, first: Save, inbox: &mut mpsc::Receiver<Work>) -> Option<Work> {
        // A store that could not be written when it was opened may be writable by now.
        if self.open.as_ref().is_some_and(|open| !open.engine.is_writable()) {
            self.open = None;
        }
        let (mut memories, mut wishes, mut next) = (Vec::new(), Vec::new(), Some(first));
        let mut other = None;
        while let Some(save) = next.take() {
            let start = memories.len();
            let reply = self.unpack(save, &mut memories);
            wishes.extend(reply.map(|reply| Wish { range: start..memories.len(), reply }));
            match (wishes.len() < TOGETHER).then(|| inbox.try_recv()) {
                Some(Ok(Work::Write(Write::Save(save)))) => next = Some(save),
                Some(Ok(work)) => other = Some(work),
                Some(Err(_)) | None => {}
            }
        }
        let mut outcomes = self.keep(&memories).into_iter();
        for Wish { range, reply } in wishes {
            answer(reply, outcomes.by_ref().take(range.len()).collect());
        }
        other
    }

    /// Adds the memories of a request. Returns who waits for them, and nobody if there is nothing to save.
    fn unpack(&mut self, save: Save, memories: &mut Vec<Prepared>) -> Option<Waiting> {
        match save {
            Save::Tool { reply, .. } if reply.is_closed() => None,
            Save::Tool { input, reply } => match self.guarded(|worker| worker.engine()?.prepare(&input)) {
                Ok(prepared) => {
                    memories.push(prepared);
                    Some(Waiting::Tool(reply))
                }
                Err(error) => {
                    let _ = reply.send(Err(error));
                    None
                }
            },
            Save::Hook { memories: captured, reply } => {
                memories.extend(captured);
                Some(Waiting::Hook(reply))
            }
            // By now the other server has saved it without this one.
            Save::Server { since, .. } if since.elapsed() > colleague::PATIENCE => None,
            Save::Server { memories: handed, reply, .. } => {
                memories.extend(handed);
                Some(Waiting::Server(reply))
            }
        }
    }

    fn keep(&mut self, memories: &[Prepared]) -> Vec<Result<Kept, ToolError>> {
        let sent = if self.is_owner() || memories.is_empty() { Sent::Not } else { self.colleague.keep(memories) };
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
        match self.guarded(|worker| Ok(worker.engine()?.keep(memories))) {
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

fn answer(reply: Waiting, outcomes: Vec<Result<Kept, ToolError>>) {
    let outcomes: Result<Vec<Kept>, ToolError> = outcomes.into_iter().collect();
    match reply {
        Waiting::Tool(reply) => {
            let kept = outcomes.map(|kept| kept.into_iter().next());
            let told = kept.and_then(|kept| kept.ok_or_else(|| ToolError::Internal("nothing was saved".to_owned())));
            let _ = reply.send(told.map(Engine::told));
        }
        Waiting::Hook(reply) => {
            crash::point("queue.kept");
            let _ = reply.send(outcomes.map(drop));
        }
        Waiting::Server(reply) => drop(reply.send(outcomes)),
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
    use crate::dispatcher::Dispatcher;

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
        let started = Dispatcher::start(project.path().to_owned(), None, Changes::new(), ending, || {});
        let (dispatcher, ..) = started.expect("threads");
        let now = Instant::now();
        let long_ago = now.checked_sub(colleague::PATIENCE * 2).expect("the machine has run for longer");
        for (since, is_kept) in [(long_ago, false), (now + colleague::PATIENCE * 100, true)] {
            let save = |reply| Write::Save(Save::Server { memories: vec![memory()], since, reply });
            let kept = dispatcher.write(save).await;
            assert_eq!(kept.ok().map(|kept| kept[0].was_known), is_kept.then_some(false));
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
