//! Saves waiting memories together, under one lock and in one transaction.

use schema::files::crash_point;
use schema::intake::capture::CaptureOutcome;
use schema::intake::prepare::PreparedMemory;
use schema::tool::SaveOutput;
use tokio::sync::mpsc;
use tools::error::ToolError;

use super::state::WorkerState;
use crate::request::{ReplySender, SaveRequest, Work, is_internal_error};

/// Maximum number of requests saved together. More would hold the lock longer than a hook waits.
const MAX_BATCH: usize = 64;

/// The sender of a save request.
enum SaveReply {
    Tool {
        reply: ReplySender<SaveOutput>,
        /// Whether the memory is also proposed to the team.
        is_shared: bool,
    },
    Hook(ReplySender<()>),
}

impl WorkerState {
    /// Saves the memories of `first` and of the save requests behind it. Returns the next work if it was taken from the inbox.
    pub(super) fn save_together(&mut self, first: SaveRequest, inbox: &mut mpsc::Receiver<Work>) -> Option<Work> {
        // A store that was read-only when it was opened may be writable now.
        if self.open.as_ref().is_some_and(|open| !open.engine.is_writable()) {
            self.open = None;
        }
        let (mut memories, mut waiting, mut save) = (Vec::new(), Vec::new(), first);
        let next = loop {
            let start = memories.len();
            let reply = self.unpack_request(save, &mut memories);
            waiting.extend(reply.map(|reply| (memories.len() - start, reply)));
            if waiting.len() == MAX_BATCH {
                break None;
            }
            match inbox.try_recv() {
                Ok(Work::Save(another)) => save = another,
                Ok(other) => break Some(other),
                Err(_) => break None,
            }
        };
        let mut outcomes = self.save(&memories).into_iter();
        for (count, reply) in waiting {
            self.send_outcomes(reply, outcomes.by_ref().take(count).collect());
        }
        next
    }

    /// Adds the memories of a request. Returns its reply channel, or `None` if there is nothing to save.
    fn unpack_request(&mut self, save: SaveRequest, memories: &mut Vec<PreparedMemory>) -> Option<SaveReply> {
        match save {
            SaveRequest::Tool { reply, .. } if reply.is_closed() => None,
            SaveRequest::Tool { input, reply } => match self.guarded(|worker| worker.open_engine()?.prepare(&input)) {
                Ok(prepared) => {
                    memories.push(prepared);
                    Some(SaveReply::Tool { reply, is_shared: input.share })
                }
                Err(error) => {
                    let _ = reply.send(Err(error));
                    None
                }
            },
            SaveRequest::Hook { memories: captured, reply } => {
                memories.extend(captured);
                Some(SaveReply::Hook(reply))
            }
        }
    }

    fn save(&mut self, memories: &[PreparedMemory]) -> Vec<Result<CaptureOutcome, ToolError>> {
        match self.guarded(|worker| Ok(worker.engine()?.commit(memories))) {
            Ok(outcomes) => {
                if outcomes.iter().any(is_internal_error) {
                    self.open = None;
                }
                outcomes
            }
            // A memory that cannot be saved must not fail the others.
            Err(_) if memories.len() > 1 => {
                memories.iter().flat_map(|memory| self.save(std::slice::from_ref(memory))).collect()
            }
            Err(error) => vec![Err(error)],
        }
    }

    fn send_outcomes(&mut self, reply: SaveReply, outcomes: Vec<Result<CaptureOutcome, ToolError>>) {
        let saved: Result<Vec<CaptureOutcome>, ToolError> = outcomes.into_iter().collect();
        match reply {
            SaveReply::Tool { reply, is_shared } => {
                let nothing = || ToolError::Internal("nothing was saved".to_owned());
                let saved = saved.and_then(|saved| saved.into_iter().next().ok_or_else(nothing));
                let output = saved.and_then(|saved| {
                    let engine = self.open_engine()?;
                    let mut output = engine.compact_save_output(saved)?;
                    if is_shared {
                        output.message = format!("{}; {}", output.message, engine.propose_for_model(&output.id));
                    }
                    Ok(output)
                });
                let _ = reply.send(output);
            }
            SaveReply::Hook(reply) => {
                crash_point::crash_if_armed("queue.kept");
                let _ = reply.send(saved.map(drop));
            }
        }
    }
}
