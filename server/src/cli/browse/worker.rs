//! The engine's thread. It skips requests that a later one replaces.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;
use schema::log::LONG_TERM_FILE;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::store::{MemoryFilter, MemoryRow};
use schema::tool::{GetInput, Hit, SearchInput};
use tools::engine::{Engine, ForgetExtent, HistoryFilter, OldDatabases, Selection};
use tools::error::ToolError;

use super::message::{BrowseEffect, BrowseReply, BrowseRequest, ListItem, MAX_ITEMS, OpenedItem, ReadMode};
use crate::cli::terminal_text::{clean_for_terminal, one_line};
use crate::network::ReqwestNetwork;

/// Pause in typing before a search starts.
const PAUSE: Duration = Duration::from_millis(60);

/// The engine's maximum number of hits.
const MAX_HITS: i64 = 50;

/// Newest memories to check for incomplete words.
const MAX_SCANNED: usize = 5_000;

/// Maximum characters of an item's text.
const LINE: usize = 400;

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
        let told = Arc::clone(&is_ending);
        let work = move || match Engine::open(&project, None, Some(Arc::new(ReqwestNetwork::default()))) {
            Ok(engine) => WorkerThread { engine, is_ending: told }.run(&asked, &tell),
            // The other side may have ended.
            Err(fault) => drop(tell.send(BrowseReply::Ended(fault))),
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work).context("cannot start a thread")?;
        Ok(Self { requests: Some(requests), answers, is_ending, thread: Some(thread) })
    }

    /// Sends a request. If the thread has ended, `answer` reports it.
    pub(super) fn send(&self, request: BrowseRequest) {
        let _ = self.requests.as_ref().map(|requests| requests.send(request));
    }

    pub(super) fn send_all(&self, effects: Vec<BrowseEffect>) {
        for effect in effects {
            if let BrowseEffect::Ask(request) = effect {
                self.send(request);
            }
        }
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
            let pause = if matches!(request, BrowseRequest::Find { .. }) { PAUSE } else { Duration::ZERO };
            match asked.recv_timeout(pause) {
                Ok(later) if later.replaces(&request) => {
                    next = Some(later);
                    continue;
                }
                Ok(later) => next = Some(later),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if request.is_change() || !self.is_ending.load(Ordering::Relaxed) {
                let answer = self.handle_guarded(request);
                // The receiver may have ended, but waiting changes must still run.
                let _ = tell.send(answer.unwrap_or_else(|fault| BrowseReply::Failed(one_line(&fault.to_string()))));
            }
            next = next.or_else(|| asked.recv().ok());
        }
    }

    /// Synchronises the engine with the files.
    fn refresh(&mut self) -> Result<(), ToolError> {
        let is_ending = &self.is_ending;
        self.engine.refresh_while(&|| !is_ending.load(Ordering::Relaxed)).map(drop)
    }
}

impl BrowseRequest {
    fn replaces(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Find { .. }, Self::Find { .. }) => true,
            (Self::Open { .. }, Self::Open { mode, .. }) => *mode == ReadMode::Preview,
            _ => false,
        }
    }

    fn is_change(&self) -> bool {
        match self {
            Self::Find { .. } | Self::Open { .. } | Self::Locate { .. } => false,
            Self::Delete { .. } | Self::Promote { .. } | Self::Supersede { .. } | Self::Pin { .. } => true,
        }
    }
}

impl WorkerThread {
    fn handle_guarded(&mut self, request: BrowseRequest) -> Result<BrowseReply, ToolError> {
        if matches!(request, BrowseRequest::Find { .. } | BrowseRequest::Locate { .. }) {
            // Other processes write too, and lines move.
            self.refresh()?;
        }
        handle_request(&mut self.engine, request)
    }
}

fn handle_request(engine: &mut Engine, request: BrowseRequest) -> Result<BrowseReply, ToolError> {
    match request {
        BrowseRequest::Find { generation, query, kind, since } => {
            let (items, mut notice) = find_items(engine, &query, kind, since)?;
            let news = engine.take_repair_notes();
            if !news.is_empty() {
                notice = Some(news.join("; "));
            }
            Ok(BrowseReply::Results { generation, items, notice: notice.map(|notice| one_line(&notice)) })
        }
        BrowseRequest::Open { id, mode } => open_item(engine, id, mode),
        BrowseRequest::Locate { id } => locate_item(engine, id),
        BrowseRequest::Delete { id } => {
            let selected = engine.select(&Selection { ids: vec![id], ..Selection::default() })?;
            engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Keep, &mut |_| {})?;
            let place = selected.rows.first().map(|row| one_line(&row.path)).unwrap_or_default();
            Ok(BrowseReply::Done(format!("Deleted from {place}")))
        }
        BrowseRequest::Promote { id, kind } => {
            let row = engine.promote(&id, kind)?;
            Ok(BrowseReply::Done(format!("Saved in {} as {}", one_line(&row.path), row.memory.kind.label())))
        }
        BrowseRequest::Supersede { old, new } => {
            engine.supersede(&old, &new)?;
            Ok(BrowseReply::Done("Marked as superseded".to_owned()))
        }
        BrowseRequest::Pin { id, pinned } => {
            engine.set_pinned(&id, pinned)?;
            Ok(BrowseReply::Done(if pinned { "Pinned" } else { "No longer pinned" }.to_owned()))
        }
    }
}

fn find_items(
    engine: &mut Engine,
    query: &str,
    kind: Option<MemoryType>,
    since: Option<Moment>,
) -> Result<(Vec<ListItem>, Option<String>), ToolError> {
    let filter = MemoryFilter { kind, since: since.map(|at| at.utc()), ..MemoryFilter::default() };
    let wanted = HistoryFilter { filter, ..HistoryFilter::default() };
    if query.is_empty() {
        return Ok((engine.list_history(&wanted, MAX_ITEMS)?.iter().map(ListItem::from_row).collect(), None));
    }
    let input = SearchInput {
        query: query.to_owned(),
        kind,
        since: since.map(|at| at.rfc3339()),
        max_results: Some(MAX_HITS),
        max_tokens: Some(i64::from(u16::MAX)),
        ..SearchInput::default()
    };
    let output = engine.search(&input)?;
    let mut items: Vec<ListItem> = output.results.iter().map(ListItem::from_hit).collect();
    // Incomplete words are found by comparing letters.
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let holds_words = |row: &MemoryRow| {
        let text = row.memory.content.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    for row in engine.list_history(&wanted, MAX_SCANNED)?.iter().filter(|row| holds_words(row)) {
        if items.len() >= MAX_ITEMS {
            break;
        }
        if !items.iter().any(|item| item.id == row.memory.id.as_str()) {
            items.push(ListItem::from_row(row));
        }
    }
    let notice = output.notice.filter(|_| items.is_empty());
    Ok((items, notice))
}

fn open_item(engine: &mut Engine, id: String, mode: ReadMode) -> Result<BrowseReply, ToolError> {
    let row = engine.peek(&id)?;
    if let Some(row) = row.as_ref().filter(|_| mode == ReadMode::Preview) {
        let about = describe_row(row);
        return Ok(BrowseReply::Opened(OpenedItem { id, about, content: clean_for_terminal(&row.memory.content) }));
    }
    let input = GetInput { id: Some(id.clone()), max_tokens: Some(i64::from(u16::MAX)), ..GetInput::default() };
    let output = engine.get(&input)?;
    let about = row.as_ref().map_or_else(|| one_line(&format!("{}:{}", output.path, output.start_line)), describe_row);
    Ok(BrowseReply::Opened(OpenedItem { id, about, content: clean_for_terminal(&output.content) }))
}

fn describe_row(row: &MemoryRow) -> String {
    let MemoryRow { memory, path, superseded_by, access_count, .. } = row;
    let mut about = format!("{}, {}", memory.kind.label(), memory.at.local_second().replace('T', " "));
    about.push_str(&format!(", {path}"));
    if !memory.session_id.is_empty() {
        let short: String = memory.session_id.chars().take(8).collect();
        about.push_str(&format!(", session {short}"));
    }
    let short = |id: &str| id.get(..8).unwrap_or(id).to_owned();
    let supersedes = memory.attributes.supersedes.as_ref();
    about.extend(supersedes.map(|id| format!(", supersedes {}", short(id.as_str()))));
    about.extend(superseded_by.as_ref().map(|id| format!(", superseded by {}", short(id.as_str()))));
    if memory.attributes.pinned {
        about.push_str(", pinned");
    }
    if *access_count > 0 {
        about.push_str(&format!(", opened {access_count}×"));
    }
    one_line(&about)
}

fn locate_item(engine: &mut Engine, id: String) -> Result<BrowseReply, ToolError> {
    if let Some(row) = engine.peek(&id)? {
        let path = format!("{}/{}", schema::files::layout::STORE_DIR, row.path);
        return Ok(BrowseReply::Location { path, line: engine.locator().find_lines(&row).0 });
    }
    let output = engine.get(&GetInput { id: Some(id), ..GetInput::default() })?;
    Ok(BrowseReply::Location { path: output.path, line: output.start_line })
}

impl ListItem {
    fn from_row(row: &MemoryRow) -> Self {
        let text: String = row.memory.content.chars().take(LINE).collect();
        Self {
            id: row.memory.id.to_string(),
            kind: Some(row.memory.kind),
            date: row.memory.at.local_second().replace('T', " "),
            text: one_line(&text),
            is_pinned: row.memory.attributes.pinned,
            is_superseded: row.superseded_by.is_some(),
            is_long_term: row.path == LONG_TERM_FILE,
        }
    }

    fn from_hit(hit: &Hit) -> Self {
        let has = |flag: &str| hit.flags.iter().any(|known| known == flag);
        let place = Path::new(&hit.path).file_name().map(|name| name.to_string_lossy().into_owned());
        let text = match (hit.kind, place) {
            (None, Some(place)) => format!("{place}: {}", hit.snippet),
            _ => hit.snippet.clone(),
        };
        Self {
            id: hit.id.clone(),
            kind: hit.kind,
            date: one_line(hit.date.as_deref().unwrap_or_default()),
            text: one_line(&text),
            is_pinned: has("pinned"),
            is_superseded: has("superseded"),
            is_long_term: has("long_term"),
        }
    }
}

#[cfg(test)]
mod tests;
