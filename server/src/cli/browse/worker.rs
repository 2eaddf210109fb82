//! The thread with the engine: takes requests, and leaves out those that a later one made needless.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;
use schema::daily_log::LONG_TERM_FILE;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::store::{Filter, Row};
use schema::tool::{GetInput, Hit, SearchInput};
use tools::engine::{Engine, Extent, OldDatabases, Selection, Wanted};
use tools::error::ToolError;

use super::model::{Item, Opened};
use super::update::Effect;
use crate::cli::text::{harmless, one_line};
use crate::network::Http;

/// How long typing must rest before a search is worth its while.
const PAUSE: Duration = Duration::from_millis(60);

/// Items of a list.
pub(super) const MOST: usize = 500;

/// Hits of a search; the engine answers no more.
const HITS: i64 = 50;

/// Memories that are looked through for words that are not whole yet.
const LOOKED_THROUGH: usize = 5_000;

/// Characters of an item's text that can be shown.
const LINE: usize = 400;

/// What the engine is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    Find { generation: u64, query: String, kind: Option<MemoryType>, since: Option<Moment> },
    Open { id: String, look: Look },
    Locate { id: String },
    Delete { id: String },
    Promote { id: String, kind: Option<MemoryType> },
    Supersede { old: String, new: String },
    Pin { id: String, pinned: bool },
}

/// Whether something passes by or is read, which is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Glance,
    Read,
}

/// What it answers. Every text is harmless.
#[derive(Debug)]
pub(super) enum Answer {
    Found {
        generation: u64,
        items: Vec<Item>,
        notice: Option<String>,
    },
    Opened(Opened),
    /// Where a memory stands, relative to the project.
    Located {
        path: String,
        line: usize,
    },
    Done(String),
    Failed(String),
    /// The store cannot be opened.
    Ended(ToolError),
}

#[derive(Debug)]
pub(super) struct Worker {
    /// `None` once it is to end.
    requests: Option<Sender<Request>>,
    answers: Receiver<Answer>,
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(super) fn start(project: PathBuf) -> anyhow::Result<Self> {
        let (requests, asked) = mpsc::channel();
        let (tell, answers) = mpsc::channel();
        let is_ending = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_ending);
        let work = move || match Engine::open(&project, None, Some(Arc::new(Http::default()))) {
            Ok(engine) => Desk { engine, is_ending: told }.work(&asked, &tell),
            // The other side may have ended meanwhile.
            Err(fault) => drop(tell.send(Answer::Ended(fault))),
        };
        let thread = thread::Builder::new().name("engine".to_owned()).spawn(work).context("cannot start a thread")?;
        Ok(Self { requests: Some(requests), answers, is_ending, thread: Some(thread) })
    }

    /// Asks for something. An end of the worker is met where answers are awaited.
    pub(super) fn ask(&self, request: Request) {
        let _ = self.requests.as_ref().map(|requests| requests.send(request));
    }

    pub(super) fn ask_all(&self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Ask(request) = effect {
                self.ask(request);
            }
        }
    }

    /// The next answer, if there is one.
    pub(super) fn answer(&self) -> anyhow::Result<Option<Answer>> {
        match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => anyhow::bail!("the thread with the engine has ended"),
        }
    }
}

impl Drop for Worker {
    /// What was asked to be changed is changed; what was asked to be found is not looked for any more.
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        self.requests = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The engine on the thread's side.
struct Desk {
    engine: Engine,
    is_ending: Arc<AtomicBool>,
}

impl Desk {
    /// Answers until nobody asks any more.
    fn work(&mut self, asked: &Receiver<Request>, tell: &Sender<Answer>) {
        let mut next = asked.recv().ok();
        while let Some(request) = next.take() {
            // Typing and moving ask faster than anybody reads.
            let pause = if matches!(request, Request::Find { .. }) { PAUSE } else { Duration::ZERO };
            match asked.recv_timeout(pause) {
                Ok(later) if later.replaces(&request) => {
                    next = Some(later);
                    continue;
                }
                Ok(later) => next = Some(later),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if request.changes() || !self.is_ending.load(Ordering::Relaxed) {
                let answer = self.answer(request);
                // Who asked may have ended; what else waits may still be a change.
                let _ = tell.send(answer.unwrap_or_else(|fault| Answer::Failed(one_line(&fault.to_string()))));
            }
            next = next.or_else(|| asked.recv().ok());
        }
    }

    /// Takes in what changed, for as long as anybody waits.
    fn refresh(&mut self) -> Result<(), ToolError> {
        let is_ending = &self.is_ending;
        self.engine.refresh_while(&|| !is_ending.load(Ordering::Relaxed)).map(drop)
    }
}

impl Request {
    fn replaces(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Find { .. }, Self::Find { .. }) => true,
            (Self::Open { .. }, Self::Open { look, .. }) => *look == Look::Glance,
            _ => false,
        }
    }

    /// Whether it changes what is remembered.
    fn changes(&self) -> bool {
        match self {
            Self::Find { .. } | Self::Open { .. } | Self::Locate { .. } => false,
            Self::Delete { .. } | Self::Promote { .. } | Self::Supersede { .. } | Self::Pin { .. } => true,
        }
    }
}

impl Desk {
    fn answer(&mut self, request: Request) -> Result<Answer, ToolError> {
        if matches!(request, Request::Find { .. } | Request::Locate { .. }) {
            // Others write as well, and lines move.
            self.refresh()?;
        }
        answer(&mut self.engine, request)
    }
}

fn answer(engine: &mut Engine, request: Request) -> Result<Answer, ToolError> {
    match request {
        Request::Find { generation, query, kind, since } => {
            let (items, mut notice) = found(engine, &query, kind, since)?;
            let news = engine.take_news();
            if !news.is_empty() {
                notice = Some(news.join("; "));
            }
            Ok(Answer::Found { generation, items, notice: notice.map(|notice| one_line(&notice)) })
        }
        Request::Open { id, look } => opened(engine, id, look),
        Request::Locate { id } => located(engine, id),
        Request::Delete { id } => {
            let selected = engine.select(&Selection { ids: vec![id], ..Selection::default() })?;
            engine.forget(&selected, Extent::Memories, OldDatabases::Keep, &mut |_| {})?;
            let place = selected.rows.first().map(|row| one_line(&row.path)).unwrap_or_default();
            Ok(Answer::Done(format!("Deleted from {place}")))
        }
        Request::Promote { id, kind } => {
            let row = engine.promote(&id, kind)?;
            Ok(Answer::Done(format!("Kept in {} as {}", one_line(&row.path), row.memory.kind.label())))
        }
        Request::Supersede { old, new } => {
            engine.supersede(&old, &new)?;
            Ok(Answer::Done("Marked as superseded".to_owned()))
        }
        Request::Pin { id, pinned } => {
            engine.set_pinned(&id, pinned)?;
            Ok(Answer::Done(if pinned { "Pinned" } else { "No longer pinned" }.to_owned()))
        }
    }
}

fn found(
    engine: &mut Engine,
    query: &str,
    kind: Option<MemoryType>,
    since: Option<Moment>,
) -> Result<(Vec<Item>, Option<String>), ToolError> {
    let filter = Filter { kind, since: since.map(|at| at.utc()), ..Filter::default() };
    let wanted = Wanted { filter, ..Wanted::default() };
    if query.is_empty() {
        return Ok((engine.history(&wanted, MOST)?.iter().map(Item::of_row).collect(), None));
    }
    let input = SearchInput {
        query: query.to_owned(),
        kind,
        since: since.map(|at| at.rfc3339()),
        max_results: Some(HITS),
        max_tokens: Some(i64::from(u16::MAX)),
        ..SearchInput::default()
    };
    let output = engine.search(&input)?;
    let mut items: Vec<Item> = output.results.iter().map(Item::of_hit).collect();
    // A word that is not typed to its end is found by its letters.
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let holds_words = |row: &Row| {
        let text = row.memory.content.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    for row in engine.history(&wanted, LOOKED_THROUGH)?.iter().filter(|row| holds_words(row)) {
        if items.len() >= MOST {
            break;
        }
        if !items.iter().any(|item| item.id == row.memory.id.as_str()) {
            items.push(Item::of_row(row));
        }
    }
    let notice = output.notice.filter(|_| items.is_empty());
    Ok((items, notice))
}

fn opened(engine: &mut Engine, id: String, look: Look) -> Result<Answer, ToolError> {
    let row = engine.peek(&id)?;
    if let Some(row) = row.as_ref().filter(|_| look == Look::Glance) {
        let about = about(row);
        return Ok(Answer::Opened(Opened { id, about, content: harmless(&row.memory.content) }));
    }
    let input = GetInput { id: Some(id.clone()), max_tokens: Some(i64::from(u16::MAX)), ..GetInput::default() };
    let output = engine.get(&input)?;
    let about = row.as_ref().map_or_else(|| one_line(&format!("{}:{}", output.path, output.start_line)), about);
    Ok(Answer::Opened(Opened { id, about, content: harmless(&output.content) }))
}

fn about(row: &Row) -> String {
    let Row { memory, path, superseded_by, access_count, .. } = row;
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

fn located(engine: &mut Engine, id: String) -> Result<Answer, ToolError> {
    if let Some(row) = engine.peek(&id)? {
        let path = format!("{}/{}", schema::layout::STORE_DIR, row.path);
        return Ok(Answer::Located { path, line: engine.locator().lines(&row).0 });
    }
    let output = engine.get(&GetInput { id: Some(id), ..GetInput::default() })?;
    Ok(Answer::Located { path: output.path, line: output.start_line })
}

impl Item {
    fn of_row(row: &Row) -> Self {
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

    fn of_hit(hit: &Hit) -> Self {
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
