//! Memories that wait are saved together: under one lock and in one transaction.

use schema::capture::{Captured, Prepared};
use schema::crash;
use schema::tool::SaveOutput;
use tokio::sync::mpsc;
use tools::error::ToolError;

use super::state::WorkerState;
use crate::guard::is_fault;
use crate::request::{Reply, Save, Work, Write};

/// Requests that are saved at once. More of them would hold the lock for longer than a hook waits.
const TOGETHER: usize = 64;

/// Who waits for memories to be saved.
enum Waiting {
    Tool(Reply<SaveOutput>),
    Hook(Reply<()>),
}

impl WorkerState {
    /// Saves what `first` and the requests behind it in the inbox bring. Returns the work that comes next, if it was taken out.
    pub(super) fn save_together(&mut self, first: Save, inbox: &mut mpsc::Receiver<Work>) -> Option<Work> {
        // A store that could not be written when it was opened may be writable by now.
        if self.open.as_ref().is_some_and(|open| !open.engine.is_writable()) {
            self.open = None;
        }
        let (mut memories, mut waiting, mut save) = (Vec::new(), Vec::new(), first);
        let next = loop {
            let start = memories.len();
            let reply = self.unpack(save, &mut memories);
            waiting.extend(reply.map(|reply| (memories.len() - start, reply)));
            if waiting.len() == TOGETHER {
                break None;
            }
            match inbox.try_recv() {
                Ok(Work::Write(Write::Save(another))) => save = another,
                Ok(other) => break Some(other),
                Err(_) => break None,
            }
        };
        let mut outcomes = self.save(&memories).into_iter();
        for (count, reply) in waiting {
            self.answer(reply, outcomes.by_ref().take(count).collect());
        }
        next
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
        }
    }

    fn save(&mut self, memories: &[Prepared]) -> Vec<Result<Captured, ToolError>> {
        match self.guarded(|worker| Ok(worker.engine()?.keep(memories))) {
            Ok(outcomes) => {
                if outcomes.iter().any(is_fault) {
                    self.open = None;
                }
                outcomes
            }
            // A memory that makes saving fail must not make the others fail.
            Err(_) if memories.len() > 1 => {
                memories.iter().flat_map(|memory| self.save(std::slice::from_ref(memory))).collect()
            }
            Err(error) => vec![Err(error)],
        }
    }

    fn answer(&mut self, reply: Waiting, outcomes: Vec<Result<Captured, ToolError>>) {
        let saved: Result<Vec<Captured>, ToolError> = outcomes.into_iter().collect();
        match reply {
            Waiting::Tool(reply) => {
                let nothing = || ToolError::Internal("nothing was saved".to_owned());
                let saved = saved.and_then(|saved| saved.into_iter().next().ok_or_else(nothing));
                let told = |saved| match &mut self.open {
                    Some(open) => open.engine.told(saved),
                    None => self.engine()?.told(saved),
                };
                let _ = reply.send(saved.and_then(told));
            }
            Waiting::Hook(reply) => {
                crash::point("queue.kept");
                let _ = reply.send(saved.map(drop));
            }
        }
    }
}
