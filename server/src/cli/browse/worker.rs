//! The engine's thread. It skips requests that a later one replaces.

mod listing;
mod reading;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;
use tools::control::Control;
use tools::engine::{Engine, ForgetExtent, OldDatabases, Selection, TaskState};
use tools::error::ToolError;

use super::message::{BrowseReply, BrowseRequest, ItemRef, ReadMode};
use crate::cli::opening::open_quietly;
use crate::cli::terminal_text::{count_of_memories, one_line};
use listing::find_items;
use reading::{locate_item, open_item};

/// Pause in typing before a search starts.
const PAUSE: Duration = Duration::from_millis(60);

#[derive(Debug)]
pub(super) struct BrowseWorker {
    /// `None` ends the thread.
    requests: Option<Sender<BrowseRequest>>,
    answers: Receiver<BrowseReply>,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BrowseWorker {
    pub(super) fn start(project: PathBuf) -> anyhow::Result<Self> {
        let (requests, asked) = mpsc::channel();
        let (tell, answers) = mpsc::channel();
        let is_ending = Arc::new(AtomicBool::new(false));
        let is_ending_there = Arc::clone(&is_ending);
        let work = move || match open_quietly(&project) {
            Ok(engine) => WorkerThread { engine, is_ending: is_ending_there }.run(&asked, &tell),
            // The other side may have ended.
            Err(error) => drop(tell.send(BrowseReply::Ended(error))),
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work).context("cannot start a thread")?;
        Ok(Self { requests: Some(requests), answers, is_ending, thread: Some(thread) })
    }

    /// Sends a request. If the thread has ended, `answer` reports it.
    pub(super) fn send(&self, request: BrowseRequest) {
        let _ = self.requests.as_ref().map(|requests| requests.send(request));
    }

    pub(super) fn try_receive(&self) -> anyhow::Result<Option<BrowseReply>> {
        match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => anyhow::bail!("the engine thread has ended"),
        }
    }
}

impl Drop for BrowseWorker {
    /// Finishes requested changes and skips searches.
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        self.requests = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

struct WorkerThread {
    engine: Engine,
    is_ending: Arc<AtomicBool>,
}

impl WorkerThread {
    /// Handles requests until the channel is closed.
    fn run(&mut self, asked: &Receiver<BrowseRequest>, tell: &Sender<BrowseReply>) {
        let mut next = asked.recv().ok();
        while let Some(request) = next.take() {
            // Typing and moving send requests faster than people read.
            let pause = if matches!(request, BrowseRequest::Find(_)) { PAUSE } else { Duration::ZERO };
            match asked.recv_timeout(pause) {
                Ok(later) if later.replaces(&request) => {
                    next = Some(later);
                    continue;
                }
                Ok(later) => next = Some(later),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if request.is_change() || !self.is_ending.load(Ordering::Relaxed) {
                let failed = if request.is_change() { BrowseReply::ChangeFailed } else { BrowseReply::Failed };
                let answer = self.handle_request(request);
                // The receiver may have ended, but waiting changes must still run.
                let _ = tell.send(answer.unwrap_or_else(|error| failed(one_line(&error.to_string()))));
            }
            next = next.or_else(|| asked.recv().ok());
        }
    }

    /// Synchronises the engine with the files if the answer depends on them, and carries out a request.
    fn handle_request(&mut self, request: BrowseRequest) -> Result<BrowseReply, ToolError> {
        if matches!(request, BrowseRequest::Find(_) | BrowseRequest::Locate { .. }) {
            // Other processes write too, and lines move.
            let is_ending = || self.is_ending.load(Ordering::Relaxed);
            self.engine.refresh_to_read(&mut Control::default().cancelled_if(is_ending))?;
        }
        handle_request(&mut self.engine, request)
    }
}

impl BrowseRequest {
    fn replaces(&self, earlier: &Self) -> bool {
        matches!(
            (self, earlier),
            (Self::Find(_), Self::Find(_)) | (Self::Open { .. }, Self::Open { mode: ReadMode::Preview, .. })
        )
    }

    fn is_change(&self) -> bool {
        !matches!(self, Self::Find(_) | Self::Open { .. } | Self::Locate { .. } | Self::Copy { .. })
    }
}

fn handle_request(engine: &mut Engine, request: BrowseRequest) -> Result<BrowseReply, ToolError> {
    match request {
        BrowseRequest::Find(request) => {
            let (items, mut notice) = find_items(engine, &request)?;
            let messages = engine.take_repair_messages();
            if !messages.is_empty() {
                notice = Some(messages.join("; "));
            }
            let notice = notice.map(|notice| one_line(&notice));
            Ok(BrowseReply::Results { generation: request.generation, items, notice })
        }
        BrowseRequest::Open { item, mode } => open_item(engine, &item, mode).map(BrowseReply::Opened),
        BrowseRequest::Locate { id } => locate_item(engine, id),
        BrowseRequest::Copy { items } => copy_items(engine, &items),
        BrowseRequest::Delete { ids } => delete_items(engine, ids),
        BrowseRequest::Promote { id, kind } => {
            let row = engine.promote(&id, kind)?;
            Ok(BrowseReply::Done(format!("Saved in {} as {}", one_line(&row.path), row.memory.kind)))
        }
        BrowseRequest::Supersede { old, new } => {
            engine.supersede(&old, &new)?;
            Ok(BrowseReply::Done("Marked as superseded".to_owned()))
        }
        BrowseRequest::Pin { ids, pinned } => {
            ids.iter().try_for_each(|id| engine.set_pinned(id, pinned).map(drop))?;
            Ok(BrowseReply::Done(if pinned { "Pinned" } else { "No longer pinned" }.to_owned()))
        }
        BrowseRequest::Close { id, closed } => {
            let task = if closed { engine.close_task(&id, None)? } else { engine.reopen_task(&id)? };
            let is_open = !matches!(task.state, TaskState::Done(_));
            Ok(BrowseReply::Done(if is_open { "Reopened the task" } else { "Closed the task" }.to_owned()))
        }
    }
}

/// Deletes those of the memories that still exist.
fn delete_items(engine: &mut Engine, ids: Vec<String>) -> Result<BrowseReply, ToolError> {
    let mut there = Vec::new();
    for id in ids {
        if engine.peek(&id)?.is_some() {
            there.push(id);
        }
    }
    if there.is_empty() {
        return Ok(BrowseReply::Done("Another program deleted it already".to_owned()));
    }
    let selected = engine.select(&Selection { ids: there, ..Selection::default() })?;
    let forgot = engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Remove)?;
    Ok(BrowseReply::Done(format!("Deleted {}", count_of_memories(forgot.memories as u64))))
}

/// The whole texts of items, separated by empty lines.
fn copy_items(engine: &mut Engine, items: &[ItemRef]) -> Result<BrowseReply, ToolError> {
    let texts = items.iter().map(|item| Ok(open_item(engine, item, ReadMode::Preview)?.content));
    let texts = texts.collect::<Result<Vec<String>, ToolError>>()?;
    Ok(BrowseReply::Copied { count: texts.len(), text: texts.join("\n\n") })
}

#[cfg(test)]
mod tests;
