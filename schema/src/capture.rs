//! The one way in: a text becomes a memory here, whoever saw it, and nothing of it reaches disk before secrets are out.
//!
//! `prepare` makes a text fit to be kept; `commit` keeps it. Between the two it may travel or wait in the spool.

mod together;

pub use together::commit_all;

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};

use crate::crash;
use crate::daily_log::{LONG_TERM_FILE, LogKind, Shift, Tail, extension, first_line, insertion, parse};
use crate::forget::is_it;
use crate::forgotten;
use crate::hook_log;
use crate::log_file::{self, As};
use crate::memory::{Attributes, Memory, MemoryId, MemoryType};
use crate::moment::Moment;
use crate::private::strip_private;
use crate::screen::Screen;
use crate::stamp::Stamp;
use crate::store::{Place, Row, Rows, Store, StoreError};

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
    Saved { id: MemoryId, place: Place },
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

/// Writes the memory into its log and its row beside it, both under the store's lock.
///
/// Doing it again changes nothing: the id says that it is there, and so does the log when the row is missing.
pub fn commit(store: &mut Store, prepared: &Prepared) -> Result<Captured, StoreError> {
    store.require_writable()?;
    let mut memory = prepared.memory();
    let kind = match prepared.draft.destination {
        Destination::DailyLog => LogKind::Daily(memory.at.date()),
        Destination::LongTerm => LogKind::LongTerm,
    };
    let _lock = store.lock()?;
    if prepared.delivery == Delivery::Replay && forgotten::holds(store.layout(), &memory.content)? {
        return Ok(Captured::Forgotten);
    }
    if let Some(row) = duplicate(store.rows(), &mut memory, kind)?
        && still_stands(store, &row)?
    {
        return Ok(Captured::Duplicate(Box::new(row)));
    }
    forgotten::take_back(store.layout(), &kind.file_name(), &memory)?;
    let Written { place, end, shift } = write(store, &memory, kind)?;
    crash::point("capture.logged");
    // The log holds it, so it is kept. A row that cannot be written now comes with the next reading of the log, which is no
    // longer as it was when it was read last.
    let inserted = store.transact(|rows| {
        if let Some(shift) = shift {
            rows.shift(&place.path, shift)?;
        }
        rows.insert(&memory, &place)?;
        if prepared.redactions > 0 {
            rows.count("redactions", prepared.redactions)?;
        }
        if let Some((stamp, tail)) = &end {
            rows.note_tail(&place.path, *stamp, tail)?;
        }
        rows.add_to_session(&memory)
    });
    if let Some(error) = inserted.err().filter(|error| !error.is_busy()) {
        hook_log::note_error(store.layout(), &error);
    }
    crash::point("capture.done");
    Ok(Captured::Saved { id: memory.id, place })
}

impl Prepared {
    pub(crate) fn memory(&self) -> Memory {
        let Draft { session_id, kind, content, at, attributes, .. } = self.draft.clone();
        Memory { id: self.id(), session_id, kind, content, at, attributes }
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
            Some(row) if long_term && row.place.path != LONG_TERM_FILE => {}
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
fn still_stands(store: &Store, row: &Row) -> Result<bool, StoreError> {
    let path = &row.place.path;
    let Some(kind) = LogKind::of(path) else { return Ok(true) };
    if !store.is_stale(path)? {
        return Ok(true);
    }
    // What cannot be read now is taken to hold what it held.
    let Ok(bytes) = log_file::read(&store.layout().file(path)) else { return Ok(true) };
    Ok(parse(&String::from_utf8_lossy(&bytes), kind).entries.iter().any(|entry| is_it(entry, row)))
}

/// Where an entry was written.
struct Written {
    place: Place,
    /// The end of its log then, if every other entry has its row.
    end: Option<(Stamp, Tail)>,
    /// How the rows of those behind it move.
    shift: Option<Shift>,
}

/// Puts the entry into its log, unless a crash left it there without its row.
fn write(store: &Store, memory: &Memory, kind: LogKind) -> Result<Written, StoreError> {
    let name = kind.file_name();
    let path = store.layout().file(&name);
    let before = Stamp::of(&path);
    let mut known = before.map(|stamp| store.tail(&name, stamp)).transpose()?.flatten();
    let at_the_end = known.as_ref().and_then(|tail| tail.extension(memory, kind));
    if let (Some(stamp), Some((splice, after))) = (before, at_the_end) {
        if log_file::append(&path, As::Stamped(stamp), &splice.bytes)? {
            let (start_line, end_line) = splice.lines.into_inner();
            let end = end_of(&path, after);
            return Ok(Written { place: Place { path: name, start_line, end_line }, end, shift: None });
        }
        // Somebody changed it just now.
        known = None;
    }
    let may_be_extended = is_event(memory, kind) && known.as_ref().is_none_or(|tail| !tail.has_sections());
    // A link in the place of a log has no stamp either, and is refused below.
    let has_rows = known.is_some() || !store.is_stale(&name)?;
    // Asked after a text was read: then it is that of the stamp, and not what somebody saved meanwhile.
    let is_as_known = || has_rows && Stamp::of(&path) == before;
    let (mut found, mut shift, mut tail, mut is_known) = (None, None, None, false);
    let appended = match may_be_extended {
        true => log_file::extend(&path, |file| {
            let splice = extension(file, memory, kind)?;
            is_known = is_as_known();
            Ok(splice)
        })?,
        false => None,
    };
    let splice = match appended {
        None => log_file::change(&path, |bytes| {
            found = find(bytes, memory, kind);
            let splice = found.is_none().then(|| insertion(bytes, memory, kind))?;
            // What has no end of its line may be half an entry, and the row of that half is of no entry any more.
            let is_known = is_as_known() && (bytes.is_empty() || bytes.ends_with(b"\n"));
            let moved = if is_known { Shift::of(&splice, bytes) } else { None };
            tail = moved.and_then(|_| Tail::of(&splice.apply(bytes)));
            shift = moved.filter(|_| !splice.is_append(bytes.len()));
            Some(splice)
        })?,
        Some(splice) if is_known => {
            let length = splice.start + splice.bytes.len();
            tail = Tail::of(&log_file::read(&path)?).filter(|tail| tail.length() == length);
            Some(splice)
        }
        appended => appended,
    };
    let (start_line, end_line) = match (splice, found) {
        (Some(splice), _) => splice.lines.into_inner(),
        (None, Some(lines)) => lines,
        (None, None) => unreachable!("the change was refused only because the entry was found"),
    };
    let end = tail.and_then(|tail| end_of(&path, tail));
    Ok(Written { place: Place { path: name, start_line, end_line }, end, shift })
}

/// The end of a log with the stamp of its file, unless somebody changed it since.
fn end_of(path: &Path, tail: Tail) -> Option<(Stamp, Tail)> {
    let stamp = Stamp::of(path)?;
    (i64::try_from(tail.length()) == Ok(stamp.size)).then_some((stamp, tail))
}

/// The lines of an entry that the log already holds. Parses only when what tells it apart stands in the log at all: its id
/// or, as an event carries none, its first line.
pub(crate) fn find(bytes: &[u8], memory: &Memory, kind: LogKind) -> Option<(usize, usize)> {
    let mark = if is_event(memory, kind) { first_line(memory, kind) } else { memory.id.to_string() };
    memchr::memmem::find(bytes, mark.as_bytes())?;
    let parsed = parse(&String::from_utf8_lossy(bytes), kind);
    let entry = parsed.entries.into_iter().find(|entry| entry.memory.id == memory.id)?;
    Some((entry.start_line, entry.end_line))
}

/// Whether a memory is written as an event, in the order of time and without an id.
pub(crate) fn is_event(memory: &Memory, kind: LogKind) -> bool {
    kind != LogKind::LongTerm && memory.kind.is_session_data()
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
