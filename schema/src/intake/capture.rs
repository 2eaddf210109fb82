//! The one way in: a text becomes a memory here, whoever saw it, and nothing of it reaches disk before secrets are out.
//!
//! `prepare` makes a text fit to be kept; `commit` keeps it. Between the two it may travel or wait in the spool.

mod failures;
mod finished;
mod log_writer;
mod note;

pub use failures::{COPY, repeated_by, settled_by};
pub use log_writer::append_all;
use log_writer::{LogWriter, WriteTarget};
pub use note::{Noted, clean_note};

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::files::crash_point;
use crate::files::layout::Layout;
use crate::intake::spool;
use crate::log::log_file::{self, FileState, now_millis};
use crate::log::{LONG_TERM_FILE, LogKind, find_entry};
use crate::model::failure::Success;
use crate::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::{Settlement, StateChange, StateNote};
use crate::privacy::private_tags::strip_private;
use crate::privacy::sanitizer::Sanitizer;
use crate::store::forgotten::{self, ForgottenHashes};
use crate::store::{EntryState, MemoryRow, PendingWrite, Rows, Store, StoreError};

/// The longest text that is kept of one event, in bytes. Of a longer one its start and end stay.
pub const LIMIT: usize = 64 * 1024;

/// The longest text that is looked at whole, in bytes. A hook has a second.
const REDACTION_WINDOW: usize = 16 * LIMIT;

/// The longest metadata that is kept of one memory, in bytes of JSON.
pub const METADATA_LIMIT: usize = 16 * 1024;

/// The most characters that are kept of the words by which a memory will be asked for.
pub const ALSO_LIMIT: usize = 200;

/// How deep metadata may be nested, itself included.
pub const METADATA_DEPTH: usize = 16;

/// How long the same text of one session is the same memory, in seconds.
pub const WINDOW: i64 = 60;

/// A text as it was seen, before anything was done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The host's session, empty when there is none.
    pub session_id: String,
    pub kind: MemoryType,
    pub content: String,
    pub at: Moment,
    pub attributes: MemoryAttributes,
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
pub struct PreparedMemory {
    draft: Draft,
    redactions: usize,
    delivery: Delivery,
    /// What succeeded in the turn of this memory after it had failed.
    succeeded: Vec<Success>,
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
pub enum CaptureOutcome {
    /// It is a new memory.
    Saved { id: MemoryId, path: String },
    /// It is a new memory, and waits in the spool because another program is writing its file.
    Waiting { id: MemoryId, path: String },
    /// It is remembered already.
    Duplicate(Box<MemoryRow>),
    /// It was deleted on purpose and stays so.
    Forgotten,
}

/// Makes a text fit to be kept and keeps it. `None` when nothing of it is left to keep.
pub fn capture(store: &mut Store, draft: Draft, screen: &Sanitizer) -> Result<Option<CaptureOutcome>, StoreError> {
    prepare(draft, screen).map(|prepared| commit(store, &prepared)).transpose()
}

/// Takes out what is private or secret, and what is too long, of every text of a draft. `None` when nothing is left.
pub fn prepare(draft: Draft, screen: &Sanitizer) -> Option<PreparedMemory> {
    let open = redaction_window(&draft.content);
    let first = screen.clean(&open);
    let trimmed = first.text.trim();
    // What a value is at the very end may show only without the space behind it.
    let second = (trimmed.len() < first.text.len()).then(|| screen.clean(trimmed));
    let (content, more) = second.as_ref().map_or((trimmed, 0), |second| (second.text.trim(), second.count));
    if content.is_empty() {
        return None;
    }
    let content = truncate_middle(content, LIMIT).into_owned();
    let session_id = screen.clean(&draft.session_id).text.into_owned();
    let origin = draft.attributes.origin.map(|origin| screen.clean(&origin).text.into_owned());
    let metadata = match metadata_error(&draft.attributes.metadata) {
        Some(reason) => Map::from_iter([("metadata_left_out".to_owned(), reason.into())]),
        None => draft.attributes.metadata,
    };
    let (metadata, in_metadata) = screen.clean_fields(metadata);
    let also = draft.attributes.also.as_deref().map(|also| screen.clean(also));
    let in_also = also.as_ref().map_or(0, |also| also.count);
    let also = also.map(|also| one_line(&also.text, ALSO_LIMIT)).filter(|also| !also.is_empty());
    let attributes = MemoryAttributes { origin, metadata, also, ..draft.attributes };
    let redactions = first.count + more + in_metadata + in_also;
    Some(PreparedMemory {
        draft: Draft { session_id, content, attributes, ..draft },
        redactions,
        delivery: Delivery::Live,
        succeeded: Vec::new(),
    })
}

/// The first characters of a text on one line.
fn one_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(limit).collect();
    line.trim_end().to_owned()
}

/// Why metadata is not kept, in words, or `None` when it is.
pub fn metadata_error(metadata: &Map<String, Value>) -> Option<String> {
    if 1 + metadata.values().map(json_depth).max().unwrap_or_default() > METADATA_DEPTH {
        return Some(format!("nested deeper than {METADATA_DEPTH} levels"));
    }
    let bytes = serde_json::to_string(metadata).map_or(usize::MAX, |json| json.len());
    (bytes > METADATA_LIMIT).then(|| format!("{bytes} bytes, at most {METADATA_LIMIT} are kept"))
}

/// Levels of objects and arrays. What came as JSON is at most 128 deep, which recursion can bear.
fn json_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(json_depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(json_depth).max().unwrap_or_default(),
        _ => 0,
    }
}

impl PreparedMemory {
    /// What was prepared elsewhere, and came through the queue or out of the spool.
    pub(crate) fn from_delivery(draft: Draft, redactions: usize, delivery: Delivery) -> Self {
        Self { draft, redactions, delivery, succeeded: Vec::new() }
    }

    /// The same memory, whose entry also settles the failures of these attempts.
    pub fn with_succeeded(self, succeeded: Vec<Success>) -> Self {
        Self { succeeded, ..self }
    }

    pub fn succeeded(&self) -> &[Success] {
        &self.succeeded
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
pub fn commit(store: &mut Store, prepared: &PreparedMemory) -> Result<CaptureOutcome, StoreError> {
    // One memory has one outcome.
    Ok(commit_to_log(store, std::slice::from_ref(prepared))?.swap_remove(0))
}

/// Appends notes to the logs of their days, or lays them aside while another program is writing these. Doing it again changes nothing.
pub fn note(store: &mut Store, notes: &[StateNote]) -> Result<Noted, StoreError> {
    note::append_notes(store, notes, &spool::put_note)
}

/// Keeps memories in their order and answers what became of each. Those of one log are written at once.
pub fn commit_all(store: &mut Store, memories: &[PreparedMemory]) -> Vec<Result<CaptureOutcome, StoreError>> {
    let mut outcomes = Vec::with_capacity(memories.len());
    while let [first, rest @ ..] = &memories[outcomes.len()..] {
        let same = 1 + rest.iter().take_while(|other| other.log_kind() == first.log_kind()).count();
        match commit_to_log(store, &memories[outcomes.len()..][..same]) {
            Ok(kept) => outcomes.extend(kept.into_iter().map(Ok)),
            // An error of the whole batch is reported for each memory that causes it.
            Err(_) if same > 1 => outcomes.push(commit(store, first)),
            Err(error) => outcomes.push(Err(error)),
        }
    }
    outcomes
}

/// Keeps memories of one log.
fn commit_to_log(store: &mut Store, memories: &[PreparedMemory]) -> Result<Vec<CaptureOutcome>, StoreError> {
    let Some(kind) = memories.first().map(PreparedMemory::log_kind) else { return Ok(Vec::new()) };
    let kept = with_capture_transaction(store, kind, |keeper| {
        memories.iter().map(|prepared| keeper.capture(prepared)).collect()
    })?;
    crash_point::crash_if_armed("capture.done");
    Ok(kept)
}

/// Appends entries again that another program overwrote, at most `limit` of them and once that program has finished. Returns how many.
pub(crate) fn restore_overwritten(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    let waiting = store.rows().pending_rows()?.into_iter();
    let mut restored = 0;
    for row in waiting.filter(|row| row.pending_write == PendingWrite::Overwritten).take(limit) {
        let Some(kind) = LogKind::from_path(&row.path) else { continue };
        restored += usize::from(with_capture_transaction(store, kind, |keeper| keeper.restore_entry(row.seq))?);
    }
    Ok(restored)
}

/// Does something with one log under the store lock and within one transaction.
fn with_capture_transaction<T>(
    store: &mut Store,
    kind: LogKind,
    mut work: impl FnMut(&mut CaptureTransaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    store.require_writable()?;
    let _lock = store.lock()?;
    let layout = store.layout().clone();
    store.with_log_transaction(|rows| {
        let turn = LogWriter::choose_file(rows, &layout, kind)?;
        let mut keeper = CaptureTransaction { rows, layout: &layout, kind, target: turn, redactions: 0 };
        let outcome = work(&mut keeper)?;
        keeper.finish()?;
        crash_point::crash_if_armed("capture.logged");
        Ok(outcome)
    })
}

/// Keeps memories of one log within one transaction.
struct CaptureTransaction<'k> {
    rows: Rows<'k>,
    layout: &'k Layout,
    kind: LogKind,
    target: WriteTarget,
    redactions: usize,
}

impl CaptureTransaction<'_> {
    fn capture(&mut self, prepared: &PreparedMemory) -> Result<CaptureOutcome, StoreError> {
        let mut memory = prepared.to_memory();
        let is_replay = prepared.delivery == Delivery::Replay;
        // A waiting memory was accepted before; only a new one can be a duplicate.
        let waiting = self.rows.by_id(&memory.id)?.filter(|row| is_replay && row.is_pending());
        if waiting.is_none() {
            if is_replay && forgotten::is_forgotten(self.layout, &memory.content)? {
                return Ok(CaptureOutcome::Forgotten);
            }
            if let Some(row) = self.repeated(&memory)? {
                return Ok(CaptureOutcome::Duplicate(Box::new(row)));
            }
            if let Some(row) = find_duplicate(self.rows, &mut memory, self.kind)? {
                if self.is_in_file(&row)? {
                    return Ok(CaptureOutcome::Duplicate(Box::new(row)));
                }
                if row.memory.id == memory.id {
                    self.rows.delete(row.seq)?;
                    self.rows.refresh_session(&row.memory.session_id)?;
                }
            }
        }
        match self.write_entry(&memory)? {
            Ok(path) => {
                if !is_replay {
                    forgotten::unforget(self.layout, &path, &memory)?;
                }
                self.record_row(&memory, &path, EntryState::At(now_millis()), waiting)?;
                self.redactions += prepared.redactions;
                self.settle_failures(&memory.id, prepared)?;
                self.close_tasks(&memory)?;
                Ok(CaptureOutcome::Saved { id: memory.id, path })
            }
            Err(path) => {
                if waiting.is_none() {
                    if !is_replay {
                        spool::write_memory(self.layout, prepared)?;
                    }
                    self.record_row(&memory, &path, EntryState::Pending, None)?;
                }
                Ok(CaptureOutcome::Waiting { id: memory.id, path })
            }
        }
    }

    /// The failure of which a memory is a repeat. That it happened again is noted. A log that another program is writing gets the whole
    /// memory later.
    fn repeated(&mut self, memory: &Memory) -> Result<Option<MemoryRow>, StoreError> {
        let WriteTarget::Write(_) = &self.target else { return Ok(None) };
        if self.rows.by_id(&memory.id)?.is_some() {
            return Ok(None);
        }
        let Some(row) = failures::repeated_by(self.rows, memory)? else { return Ok(None) };
        if !self.is_in_file(&row)? {
            return Ok(None);
        }
        self.add_note(StateNote { about: row.memory.id.clone(), at: memory.at, change: StateChange::Repeated })?;
        Ok(Some(row))
    }

    /// Notes that failures are over whose attempts succeeded in the turn of the memory with this id.
    fn settle_failures(&mut self, id: &MemoryId, prepared: &PreparedMemory) -> Result<(), StoreError> {
        for success in &prepared.succeeded {
            for (about, at) in failures::settled_by(self.rows, success)? {
                let change = StateChange::Resolved(Settlement::DoneBy(id.to_string()));
                self.add_note(StateNote { about, at, change })?;
            }
        }
        Ok(())
    }

    /// Notes that tasks are done which a memory reports as finished.
    fn close_tasks(&mut self, memory: &Memory) -> Result<(), StoreError> {
        for about in finished::finished_by(self.rows, memory)? {
            let change = StateChange::Closed(Settlement::DoneBy(memory.id.to_string()));
            self.add_note(StateNote { about, at: memory.at, change })?;
        }
        Ok(())
    }

    fn add_note(&mut self, note: StateNote) -> Result<(), StoreError> {
        if let WriteTarget::Write(log) = &mut self.target
            && !self.rows.has_note(&note)?
        {
            self.rows.add_note(log.name(), &note)?;
            log.add_note(note);
        }
        Ok(())
    }

    /// Appends an overwritten entry again, unless that program may go on writing. Returns whether it did.
    fn restore_entry(&mut self, seq: i64) -> Result<bool, StoreError> {
        let is_settled = matches!(&self.target, WriteTarget::Write(log) if log.is_quiet());
        let row = self.rows.by_seq(seq)?.filter(|row| is_settled && row.pending_write == PendingWrite::Overwritten);
        let Some(MemoryRow { memory, path, .. }) = row else { return Ok(false) };
        if ForgottenHashes::read(self.layout)?.contains_entry(&path, &memory) {
            self.rows.delete(seq)?;
            self.rows.refresh_session(&memory.session_id)?;
            return Ok(false);
        }
        let Ok(path) = self.write_entry(&memory)? else { return Ok(false) };
        // Without a time, so that it does not come back a second time.
        self.rows.set_entry_state(seq, &path, EntryState::Found)?;
        Ok(true)
    }

    /// Puts an entry into what is written to its file in the end, and returns the file. The inner error is the file that another program
    /// is writing.
    fn write_entry(&mut self, memory: &Memory) -> Result<Result<String, String>, StoreError> {
        match &mut self.target {
            WriteTarget::Write(log) => {
                if !log.has_entry(memory)? {
                    log.add_entry(memory.clone());
                }
                Ok(Ok(log.name().to_owned()))
            }
            WriteTarget::Wait(name) => Ok(Err(name.clone())),
        }
    }

    /// Whether a memory is still in its file. Somebody may have deleted that, and nobody have missed it yet.
    fn is_in_file(&self, row: &MemoryRow) -> Result<bool, StoreError> {
        let Some(kind) = LogKind::from_path(&row.path) else { return Ok(true) };
        let path = self.layout.store_path(&row.path);
        let known = self.rows.log_state(&row.path)?;
        let look = FileState::read(&path);
        let is_in_step = known.as_ref().map(|known| known.stamp) == look.stamp;
        let is_added = matches!(&self.target, WriteTarget::Write(log) if log.has_added(&row.memory));
        let is_being_rewritten = look.is_being_rewritten(known.as_ref().map(|known| known.stamp.size));
        if is_in_step || is_added || row.is_pending() || is_being_rewritten {
            return Ok(true);
        }
        // What cannot be read now is taken to hold what it held.
        let Ok(bytes) = log_file::read(&path) else { return Ok(true) };
        Ok(find_entry(&bytes, &row.memory, &row.path, kind).is_some())
    }

    fn record_row(
        &self,
        memory: &Memory,
        path: &str,
        written: EntryState,
        waiting: Option<MemoryRow>,
    ) -> Result<(), StoreError> {
        match waiting {
            Some(row) => self.rows.set_entry_state(row.seq, path, written)?,
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
            self.rows.add_to_counter("redactions", self.redactions)?;
        }
        match self.target {
            WriteTarget::Write(log) => log.write(self.rows),
            WriteTarget::Wait(_) => Ok(()),
        }
    }
}

impl PreparedMemory {
    pub fn to_memory(&self) -> Memory {
        let Draft { session_id, kind, content, at, attributes, .. } = self.draft.clone();
        Memory { id: self.id(), session_id, kind, content, at, attributes }
    }

    /// The log that it goes to.
    fn log_kind(&self) -> LogKind {
        match self.draft.destination {
            Destination::DailyLog => LogKind::Daily(self.draft.at.date()),
            Destination::LongTerm => LogKind::LongTerm,
        }
    }
}

/// The memory that this text already is: the same event, the same text a moment ago in this session, an answer that nobody
/// has said anything after (hosts end a turn again when a hook or a background task made it go on), or, for what was concluded,
/// the same conclusion at any time. What is to be long-term memory is none while only a log holds it.
fn find_duplicate(rows: Rows<'_>, memory: &mut Memory, kind: LogKind) -> rusqlite::Result<Option<MemoryRow>> {
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
        if let Some(row) = rows.find_duplicate(memory, *in_long_term, &bound(-WINDOW), &bound(WINDOW))? {
            return Ok(Some(row));
        }
    }
    if memory.kind == MemoryType::AssistantResponse && !memory.session_id.is_empty() {
        let is_same = |row: &MemoryRow| row.memory.kind == memory.kind && row.memory.content == memory.content;
        let Some(same) = rows.last_utterance(&memory.session_id)?.filter(is_same) else { return Ok(None) };
        // What came in since may be dated before it, when the clock went back.
        return Ok((!rows.has_prompt_since(&memory.session_id, same.seq)?).then_some(same));
    }
    if memory.kind.is_event() {
        return Ok(None);
    }
    rows.find_same_conclusion(memory, long_term)
}

/// What of a text is looked at for secrets: far more than is kept of it, so that none is kept because it was cut through.
fn redaction_window(text: &str) -> Cow<'_, str> {
    if text.len() <= REDACTION_WINDOW {
        return Cow::Borrowed(text);
    }
    Cow::Owned(truncate_middle(&strip_private(text), REDACTION_WINDOW).into_owned())
}

/// Keeps start and end of a text over `limit` bytes, and says how much is gone.
fn truncate_middle(text: &str, limit: usize) -> Cow<'_, str> {
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
