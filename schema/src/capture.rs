//! The one way in: a text becomes a memory here, whoever saw it, and nothing of it reaches disk before secrets are out.
//!
//! `prepare` makes a text fit to be kept; `commit` keeps it. Between the two it may travel or wait in the spool.

mod append;

pub(crate) use append::{Log, Turn};

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::crash;
use crate::daily_log::{LONG_TERM_FILE, LogKind, find, insertion, may_hold};
use crate::forgotten::{self, Forgotten};
use crate::layout::Layout;
use crate::log_file::{self, LastChange, Look, now};
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::private::strip_private;
use crate::screen::Screen;
use crate::spool;
use crate::stamp::Stamp;
use crate::store::{KnownLog, Row, Rows, Store, StoreError, Waiting, Written};

/// The longest text that is kept of one event, in bytes. Of a longer one its start and end stay.
pub const LIMIT: usize = 64 * 1024;

/// The longest text that is looked at whole, in bytes. A hook has a second.
const REACH: usize = 16 * LIMIT;

/// The longest metadata that is kept of one memory, in bytes of JSON.
pub const METADATA_LIMIT: usize = 16 * 1024;

/// How deep metadata may be nested, itself included.
pub const METADATA_DEPTH: usize = 16;

/// How long the same text of one session is the same memory, in seconds.
pub(crate) const WINDOW: i64 = 60;

/// A text as it was seen, before anything was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The host's session, empty when there is none.
    pub session_id: String,
    pub kind: MemoryType,
    pub content: String,
    pub at: Moment,
    pub attributes: Attributes,
    pub destination: Destination,
}

/// Which file a memory is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The log of its day.
    DailyLog,
    /// `MEMORY.md`.
    LongTerm,
}

/// A text that may be kept: private parts and secrets are out, it is in NFC and not too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    draft: Draft,
    redactions: usize,
    delivery: Delivery,
}

/// How a text comes to `commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is said now: what was once forgotten may be said again.
    Live,
    /// It waited or was imported: what was forgotten stays forgotten.
    Replay,
}

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Captured {
    /// It is a new memory.
    Saved { id: MemoryId, path: String },
    /// It is a new memory, and waits in the spool because another program is writing its file.
    Waiting { id: MemoryId, path: String },
    /// It is remembered already.
    Duplicate(Box<Row>),
    /// It was deleted on purpose and stays so.
    Forgotten,
}

/// Makes a text fit to be kept and keeps it. `None` when nothing of it is left to keep.
pub fn capture(store: &mut Store, draft: Draft, screen: &Screen) -> Result<Option<Captured>, StoreError> {
    prepare(draft, screen).map(|prepared| commit(store, &prepared)).transpose()
}

/// Takes out what is private or secret, and what is too long, of every text of a draft. `None` when nothing is left.
pub fn prepare(draft: Draft, screen: &Screen) -> Option<Prepared> {
    let open = within_reach(&draft.content);
    let first = screen.clean(&open);
    let trimmed = first.text.trim();
    // What a value is at the very end may show only without the space behind it.
    let second = (trimmed.len() < first.text.len()).then(|| screen.clean(trimmed));
    let (content, more) = second.as_ref().map_or((trimmed, 0), |second| (second.text.trim(), second.count));
    if content.is_empty() {
        return None;
    }
    let content = shorten(content, LIMIT).into_owned();
    let session_id = screen.clean(&draft.session_id).text.into_owned();
    let origin = draft.attributes.origin.map(|origin| screen.clean(&origin).text.into_owned());
    let metadata = match refusal(&draft.attributes.metadata) {
        Some(reason) => Map::from_iter([("metadata_left_out".to_owned(), reason.into())]),
        None => draft.attributes.metadata,
    };
    let (metadata, in_metadata) = screen.clean_fields(metadata);
    let attributes = Attributes { origin, metadata, ..draft.attributes };
    let redactions = first.count + more + in_metadata;
    Some(Prepared { draft: Draft { session_id, content, attributes, ..draft }, redactions, delivery: Delivery::Live })
}

/// Why metadata is not kept, in words, or `None` when it is.
pub fn refusal(metadata: &Map<String, Value>) -> Option<String> {
    if 1 + metadata.values().map(depth).max().unwrap_or_default() > METADATA_DEPTH {
        return Some(format!("nested deeper than {METADATA_DEPTH} levels"));
    }
    let bytes = serde_json::to_string(metadata).map_or(usize::MAX, |json| json.len());
    (bytes > METADATA_LIMIT).then(|| format!("{bytes} bytes, at most {METADATA_LIMIT} are kept"))
}

/// Levels of objects and arrays. What came as JSON is at most 128 deep, which recursion can bear.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

impl Prepared {
    /// What was prepared elsewhere, and came through the queue or out of the spool.
    pub(crate) fn delivered(draft: Draft, redactions: usize, delivery: Delivery) -> Self {
        Self { draft, redactions, delivery }
    }

    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    pub fn redactions(&self) -> usize {
        self.redactions
    }

    /// The id that it gets, unless the same second of its session holds the same text of its type already.
    pub fn id(&self) -> MemoryId {
        let Draft { session_id, kind, content, at, .. } = &self.draft;
        MemoryId::derive(session_id, *kind, at, content, 0)
    }
}

/// Keeps a memory: its entry in its log and its row, under the store's lock.
///
/// Doing it again changes nothing: the id says that it is there, and so does the log when the row is missing.
pub fn commit(store: &mut Store, prepared: &Prepared) -> Result<Captured, StoreError> {
    // One memory has one outcome.
    Ok(keep(store, std::slice::from_ref(prepared))?.swap_remove(0))
}

/// Keeps memories in their order and answers what became of each. Those of one log are written at once.
pub fn commit_all(store: &mut Store, memories: &[Prepared]) -> Vec<Result<Captured, StoreError>> {
    let mut outcomes = Vec::with_capacity(memories.len());
    while let [first, rest @ ..] = &memories[outcomes.len()..] {
        let same = 1 + rest.iter().take_while(|other| other.log() == first.log()).count();
        match keep(store, &memories[outcomes.len()..][..same]) {
            Ok(kept) => outcomes.extend(kept.into_iter().map(Ok)),
            // An error of the whole batch is reported for each memory that causes it.
            Err(_) if same > 1 => outcomes.push(commit(store, first)),
            Err(error) => outcomes.push(Err(error)),
        }
    }
    outcomes
}

/// Keeps memories of one log.
fn keep(store: &mut Store, memories: &[Prepared]) -> Result<Vec<Captured>, StoreError> {
    store.require_writable()?;
    let Some(kind) = memories.first().map(Prepared::log) else { return Ok(Vec::new()) };
    let _lock = store.lock()?;
    let layout = store.layout().clone();
    let kept = store.transact_with_log(|rows| {
        let mut keeper = Keeper::new(rows, &layout, kind)?;
        let captured = memories.iter().map(|prepared| keeper.keep(prepared)).collect::<Result<Vec<Captured>, _>>()?;
        keeper.finish()?;
        crash::point("capture.logged");
        Ok(captured)
    })?;
    crash::point("capture.done");
    Ok(kept)
}

/// Keeps memories of one log within one transaction.
struct Keeper<'k> {
    rows: Rows<'k>,
    layout: &'k Layout,
    kind: LogKind,
    turn: Option<Turn>,
    redactions: usize,
}

impl<'k> Keeper<'k> {
    fn new(rows: Rows<'k>, layout: &'k Layout, kind: LogKind) -> Result<Self, StoreError> {
        let turn = match kind {
            LogKind::Daily(day) => Some(Log::choose(rows, layout, day)?),
            LogKind::LongTerm => None,
        };
        Ok(Self { rows, layout, kind, turn, redactions: 0 })
    }

    fn keep(&mut self, prepared: &Prepared) -> Result<Captured, StoreError> {
        let mut memory = prepared.memory();
        let is_replay = prepared.delivery == Delivery::Replay;
        // A waiting memory was accepted before; only a new one can be a duplicate.
        let waiting = self.rows.by_id(&memory.id)?.filter(|row| is_replay && row.is_waiting());
        if waiting.is_none() {
            if is_replay && forgotten::holds(self.layout, &memory.content)? {
                return Ok(Captured::Forgotten);
            }
            if let Some(row) = duplicate(self.rows, &mut memory, self.kind)?
                && still_stands(self.rows, self.layout, &row)?
            {
                return Ok(Captured::Duplicate(Box::new(row)));
            }
        }
        let is_again = waiting.as_ref().is_some_and(|row| row.waiting == Waiting::Again);
        match self.place(&memory, is_again)? {
            Ok(path) => {
                if !is_replay {
                    forgotten::take_back(self.layout, &path, &memory)?;
                }
                self.note(&memory, &path, if is_again { Written::Found } else { Written::At(now()) }, waiting)?;
                self.redactions += prepared.redactions;
                Ok(Captured::Saved { id: memory.id, path })
            }
            Err(path) => {
                if waiting.is_none() {
                    if !is_replay {
                        spool::put(self.layout, prepared)?;
                    }
                    self.note(&memory, &path, Written::Waiting, None)?;
                }
                Ok(Captured::Waiting { id: memory.id, path })
            }
        }
    }

    /// Puts an entry into its file, or into what is written to it in the end, and answers the file. The inner error is the file that
    /// another program is writing. Overwritten entries are appended again only after that program has finished.
    fn place(&mut self, memory: &Memory, is_again: bool) -> Result<Result<String, String>, StoreError> {
        match &mut self.turn {
            Some(Turn::Append(log)) if is_again && !log.is_settled() => Ok(Err(log.name().to_owned())),
            Some(Turn::Append(log)) => {
                if !log.has(memory)? {
                    log.add(memory.clone());
                }
                Ok(Ok(log.name().to_owned()))
            }
            Some(Turn::Wait(name)) => Ok(Err(name.clone())),
            None => self.insert(memory),
        }
    }

    /// Puts an entry into `MEMORY.md`.
    fn insert(&self, memory: &Memory) -> Result<Result<String, String>, StoreError> {
        let (name, path) = (LONG_TERM_FILE.to_owned(), self.layout.file(LONG_TERM_FILE));
        let known = self.rows.known_log(&name)?;
        let look = Look::at(&path);
        if look.is_being_rewritten(known.as_ref().map(|known| known.stamp.size)) {
            self.rows.note_disturbed(&name, now())?;
            return Ok(Err(name));
        }
        let last = KnownLog::last_change(known.as_ref(), &look);
        let kind = LogKind::LongTerm;
        let is_there =
            |bytes: &[u8], memory: &Memory| may_hold(bytes, memory, kind) && find(bytes, memory, &name, kind).is_some();
        let lost = match last {
            LastChange::Ours(_) => Vec::new(),
            LastChange::None | LastChange::Unknown => {
                let bytes = log_file::read(&path)?;
                self.rows.overwritten(&name, &path, |memory| may_hold(&bytes, memory, kind))?
            }
        };
        let forgotten = if lost.is_empty() { Forgotten::default() } else { Forgotten::read(self.layout)? };
        let lost: Vec<Row> = lost.into_iter().filter(|row| !forgotten.holds_entry(&name, &row.memory)).collect();
        let inserted = log_file::rewrite(&path, last, Duration::ZERO, |bytes| {
            let memories = lost.iter().map(|row| &row.memory).chain([memory]);
            let missing: Vec<&Memory> = memories.filter(|memory| !is_there(bytes, memory)).collect();
            let add = || missing.iter().fold(bytes.to_vec(), |file, memory| insertion(&file, memory));
            (!missing.is_empty()).then(add)
        });
        match inserted {
            Err(error) if error.is_being_rewritten() => return Ok(Err(name)),
            Ok(true) => {
                lost.iter().try_for_each(|row| self.rows.settle(row.seq, &name, Written::Found))?;
                self.rows.note_rewrite(&name, Stamp::of(&path))?;
            }
            inserted => drop(inserted?),
        }
        Ok(Ok(name))
    }

    fn note(&self, memory: &Memory, path: &str, written: Written, waiting: Option<Row>) -> Result<(), StoreError> {
        match waiting {
            Some(row) => self.rows.settle(row.seq, path, written)?,
            None => {
                self.rows.insert(memory, path, written)?;
                self.rows.add_to_session(memory)?;
            }
        }
        Ok(())
    }

    /// Writes what was added to the log.
    fn finish(self) -> Result<(), StoreError> {
        if self.redactions > 0 {
            self.rows.count("redactions", self.redactions)?;
        }
        match self.turn {
            Some(Turn::Append(log)) => log.write(self.rows),
            Some(Turn::Wait(_)) | None => Ok(()),
        }
    }
}

impl Prepared {
    pub(crate) fn memory(&self) -> Memory {
        let Draft { session_id, kind, content, at, attributes, .. } = self.draft.clone();
        Memory { id: self.id(), session_id, kind, content, at, attributes }
    }

    /// The log that it goes to.
    fn log(&self) -> LogKind {
        match self.draft.destination {
            Destination::DailyLog => LogKind::Daily(self.draft.at.date()),
            Destination::LongTerm => LogKind::LongTerm,
        }
    }
}

/// The memory that this text already is: the same event, the same text a moment ago in this session, an answer that nobody
/// has said anything after (hosts end a turn again when a hook or a background task made it go on), or, for what was concluded,
/// the same conclusion at any time. What is to be long-term memory is none while only a log holds it.
fn duplicate(rows: Rows<'_>, memory: &mut Memory, kind: LogKind) -> rusqlite::Result<Option<Row>> {
    let long_term = kind == LogKind::LongTerm;
    for ordinal in 0.. {
        memory.id = MemoryId::derive(&memory.session_id, memory.kind, &memory.at, &memory.content, ordinal);
        match rows.by_id(&memory.id)? {
            // A log of this very second holds it, so that the id is taken.
            Some(row) if long_term && row.path != LONG_TERM_FILE => {}
            Some(row) => return Ok(Some(row)),
            None => break,
        }
    }
    let bound = |seconds| Moment::from_unix(memory.at.unix() + seconds, Some(0)).map(|at| at.utc()).unwrap_or_default();
    let places = if long_term { &[true][..] } else { &[false, true] };
    for in_long_term in places {
        if let Some(row) = rows.duplicate(memory, *in_long_term, &bound(-WINDOW), &bound(WINDOW))? {
            return Ok(Some(row));
        }
    }
    if memory.kind == MemoryType::AssistantResponse && !memory.session_id.is_empty() {
        let is_same = |row: &Row| row.memory.kind == memory.kind && row.memory.content == memory.content;
        let Some(same) = rows.last_said(&memory.session_id)?.filter(is_same) else { return Ok(None) };
        // What came in since may be dated before it, when the clock went back.
        return Ok((!rows.is_prompted_since(&memory.session_id, same.seq)?).then_some(same));
    }
    if memory.kind.is_session_data() {
        return Ok(None);
    }
    rows.same_conclusion(memory, long_term)
}

/// Whether a memory is still in its file. Somebody may have deleted that, and nobody have missed it yet.
fn still_stands(rows: Rows<'_>, layout: &Layout, row: &Row) -> Result<bool, StoreError> {
    let Some(kind) = LogKind::of(&row.path) else { return Ok(true) };
    let path = layout.file(&row.path);
    let known = rows.known_log(&row.path)?;
    let look = Look::at(&path);
    let is_in_step = known.as_ref().map(|known| known.stamp) == look.stamp;
    if is_in_step || row.is_waiting() || look.is_being_rewritten(known.as_ref().map(|known| known.stamp.size)) {
        return Ok(true);
    }
    // What cannot be read now is taken to hold what it held.
    let Ok(bytes) = log_file::read(&path) else { return Ok(true) };
    Ok(find(&bytes, &row.memory, &row.path, kind).is_some())
}

/// What of a text is looked at for secrets: far more than is kept of it, so that none is kept because it was cut through.
fn within_reach(text: &str) -> Cow<'_, str> {
    if text.len() <= REACH {
        return Cow::Borrowed(text);
    }
    Cow::Owned(shorten(&strip_private(text), REACH).into_owned())
}

/// Keeps start and end of a text over `limit` bytes, and says how much is gone.
fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(limit * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - (limit / 4 - 64));
    let gone = text[head..tail].chars().count();
    Cow::Owned(format!("{}\n[… {gone} characters left out …]\n{}", &text[..head], &text[tail..]))
}

#[cfg(test)]
mod tests;
