//! Stores memories. All events and saves come this way.
//!
//! [`prepare`](crate::intake::prepare) removes the secrets of a text before anything else, and [`commit`] stores the result. In between it may
//! travel over the queue or wait in the spool.

mod log_writer;
mod note;
mod settled;

use serde_json::{Map, Value};

use log_writer::{LogWriter, WriteTarget};
pub use log_writer::{REPEAT_SECONDS, append_all};
pub use note::{NoteCounts, append_notes};
pub use settled::{COPY_SECONDS, repeated_by, settled_by};

use crate::files::crash_point;
use crate::files::layout::Layout;
use crate::intake::prepare::{Delivery, Draft, PreparedMemory, prepare};
use crate::intake::spool;
use crate::log::log_file::{self, FileState, now_millis};
use crate::log::{LONG_TERM_FILE, LogKind, find_entry};
use crate::model::code_anchor::CodeContext;
use crate::model::memory::{Memory, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::model::state_note::{SESSION, Settlement, StateChange, StateNote};
use crate::privacy::sanitizer::Sanitizer;
use crate::store::forgotten::{self, ForgottenHashes};
use crate::store::{EntryState, MemoryRow, RESTORED_AGE, Rows, Store, StoreError};

/// The outcome of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CaptureOutcome {
    /// It was saved as a new memory.
    Saved { id: MemoryId, path: String },
    /// It is a new memory in the spool, because another program is writing its file.
    Waiting { id: MemoryId, path: String },
    /// The memory existed already.
    Duplicate(Box<MemoryRow>),
    /// It was deleted on purpose and stays deleted.
    Forgotten,
}

/// Prepares a text and stores it. Returns `None` if nothing of it is left.
pub fn capture(store: &mut Store, draft: Draft, sanitizer: &Sanitizer) -> Result<Option<CaptureOutcome>, StoreError> {
    prepare(draft, sanitizer).map(|prepared| commit(store, &prepared)).transpose()
}

/// Stores a memory under the store lock: its entry in a log, and its row.
///
/// Idempotent: the id shows that the memory exists, or the log does if the row is missing.
pub fn commit(store: &mut Store, prepared: &PreparedMemory) -> Result<CaptureOutcome, StoreError> {
    // One memory has one outcome.
    Ok(commit_to_log(store, std::slice::from_ref(prepared))?.swap_remove(0))
}

/// Stores memories in order and returns the outcome of each. Memories of the same log are written together.
pub fn commit_all(store: &mut Store, memories: &[PreparedMemory]) -> Vec<Result<CaptureOutcome, StoreError>> {
    let mut outcomes = Vec::with_capacity(memories.len());
    while let [first, rest @ ..] = &memories[outcomes.len()..] {
        let same = 1 + rest.iter().take_while(|other| other.log_kind() == first.log_kind()).count();
        match commit_to_log(store, &memories[outcomes.len()..][..same]) {
            Ok(saved) => outcomes.extend(saved.into_iter().map(Ok)),
            // If a batch fails, store its first memory alone and try the rest as a batch again, so that only the faulty ones fail.
            Err(_) if same > 1 => outcomes.push(commit(store, first)),
            Err(error) => outcomes.push(Err(error)),
        }
    }
    outcomes
}

/// Stores memories of one log.
fn commit_to_log(store: &mut Store, memories: &[PreparedMemory]) -> Result<Vec<CaptureOutcome>, StoreError> {
    let Some(kind) = memories.first().map(PreparedMemory::log_kind) else { return Ok(Vec::new()) };
    let outcomes = with_capture_transaction(store, kind, |transaction| {
        memories.iter().map(|prepared| transaction.capture(prepared)).collect()
    })?;
    crash_point::crash_if_armed("capture.done");
    Ok(outcomes)
}

/// Appends entries again that another program overwrote, at most `limit`, and only after that program has finished. Returns how many.
pub(crate) fn restore_overwritten(store: &mut Store, limit: usize) -> Result<usize, StoreError> {
    if !store.rows().has_pending()? {
        return Ok(0);
    }
    let waiting = store.rows().pending_rows()?.into_iter();
    let mut restored = 0;
    for row in waiting.filter(|row| row.entry == EntryState::Overwritten).take(limit) {
        let Some(kind) = LogKind::from_path(&row.path) else { continue };
        restored +=
            usize::from(with_capture_transaction(store, kind, |transaction| transaction.restore_entry(row.seq))?);
    }
    Ok(restored)
}

/// Runs `work` on one log, under the store lock and in one transaction.
fn with_capture_transaction<T>(
    store: &mut Store,
    kind: LogKind,
    mut work: impl FnMut(&mut CaptureTransaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    store.require_writable()?;
    let _lock = store.lock()?;
    let layout = store.layout().clone();
    store.with_log_transaction(|rows| {
        let target = LogWriter::choose_file(rows, &layout, kind)?;
        let mut transaction = CaptureTransaction { rows, layout: &layout, kind, target, redactions: 0 };
        let outcome = work(&mut transaction)?;
        transaction.finish()?;
        crash_point::crash_if_armed("capture.logged");
        Ok(outcome)
    })
}

/// Stores memories of one log within one transaction.
struct CaptureTransaction<'k> {
    rows: Rows<'k>,
    layout: &'k Layout,
    kind: LogKind,
    target: WriteTarget,
    redactions: usize,
}

/// The most repeats of a failure in one second that are counted.
const REPEATS_IN_A_SECOND: u32 = 20;

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
            if let Some(row) = self.repeated(&memory, is_replay)? {
                return Ok(CaptureOutcome::Duplicate(Box::new(row)));
            }
            if let WriteTarget::Write(log) = &mut self.target {
                memory.at = log.time_of_repeat(&memory)?.unwrap_or(memory.at);
            }
            let duplicate = match assign_free_id(self.rows, &mut memory, self.kind)? {
                Some(row) => Some(row),
                None => find_duplicate(self.rows, &memory, self.kind)?,
            };
            if let Some(row) = duplicate {
                if self.is_in_file(&row)? {
                    self.confirm(&row, &memory, prepared)?;
                    if memory.attributes.done && row.is_open_task() && !is_replay {
                        let change = StateChange::Closed(Settlement::Done);
                        self.add_note(StateNote { about: row.memory.id.clone(), at: memory.at, change })?;
                    }
                    return Ok(CaptureOutcome::Duplicate(Box::new(row)));
                }
                if row.memory.id == memory.id {
                    self.rows.delete(row.seq)?;
                    self.rows.refresh_session(&row.memory.session_id)?;
                }
            }
        }
        match &mut self.target {
            WriteTarget::Write(log) => {
                log.add_entry(&memory)?;
                let path = log.name().to_owned();
                if !is_replay {
                    forgotten::unforget(self.layout, &path, &memory)?;
                }
                self.record_row(&memory, &path, EntryState::At(now_millis()), waiting)?;
                self.redactions += prepared.redactions;
                self.settle_failures(&memory.id, prepared)?;
                self.close_tasks(&memory)?;
                Ok(CaptureOutcome::Saved { id: memory.id, path })
            }
            WriteTarget::Wait(path) => {
                let path = path.clone();
                if waiting.is_none() {
                    if !is_replay {
                        spool::write_memory(self.layout, prepared)?;
                    }
                    self.record_row(&memory, &path, EntryState::Waiting, None)?;
                }
                Ok(CaptureOutcome::Waiting { id: memory.id, path })
            }
        }
    }

    /// Returns the failure that a memory repeats, and adds a note about it. If another program is writing the log, the memory is not a
    /// repeat and is stored later as a whole.
    fn repeated(&mut self, memory: &Memory, is_replay: bool) -> Result<Option<MemoryRow>, StoreError> {
        let WriteTarget::Write(_) = &self.target else { return Ok(None) };
        if is_replay && self.rows.by_id(&memory.id)?.is_some() {
            return Ok(None);
        }
        let Some(row) = settled::repeated_by(self.rows, memory)? else { return Ok(None) };
        if !self.is_in_file(&row)? {
            return Ok(None);
        }
        let (about, at) = (row.memory.id.clone(), memory.at);
        let mut note = StateNote { about, at, change: StateChange::Repeated(1) };
        // A failure in a loop may repeat several times in one second. A replay may be one of those that are known.
        for number in 2..=REPEATS_IN_A_SECOND {
            if is_replay || !self.rows.has_note(&note)? {
                break;
            }
            note.change = StateChange::Repeated(number);
        }
        self.add_note(note)?;
        Ok(Some(row))
    }

    /// Notes that failures are over if their attempts succeeded in the turn of the memory with this id.
    fn settle_failures(&mut self, id: &MemoryId, prepared: &PreparedMemory) -> Result<(), StoreError> {
        for success in &prepared.succeeded {
            for (about, at) in settled::settled_by(self.rows, success)? {
                let change = StateChange::Resolved(Settlement::DoneBy(id.to_string()));
                self.add_note(StateNote { about, at, change })?;
            }
        }
        Ok(())
    }

    /// Notes that tasks are done if a memory reports them as finished.
    fn close_tasks(&mut self, memory: &Memory) -> Result<(), StoreError> {
        for about in settled::finished_by(self.rows, memory)? {
            let change = StateChange::Closed(Settlement::DoneBy(memory.id.to_string()));
            self.add_note(StateNote { about, at: memory.at, change })?;
        }
        Ok(())
    }

    /// Notes that a memory still holds if its text is saved again on purpose.
    fn confirm(&mut self, row: &MemoryRow, memory: &Memory, prepared: &PreparedMemory) -> Result<(), StoreError> {
        let is_import = prepared.delivery == Delivery::Replay || memory.attributes.origin.is_some();
        if is_import || memory.attributes.auto || !memory.kind.may_be_confirmed() {
            return Ok(());
        }
        let fields = confirmation(&memory.session_id, &CodeContext::from_fields(&memory.attributes.metadata));
        let (last_at, last) = match self.rows.last_confirmation(&row.memory.id)? {
            Some((at, fields)) => (at, fields),
            None => {
                let Memory { at, session_id, attributes, .. } = &row.memory;
                (*at, confirmation(session_id, &CodeContext::from_fields(&attributes.metadata)))
            }
        };
        // A client that repeats a call confirms nothing, and neither does a memory that is promoted.
        if fields == last || memory.at.unix() < last_at.unix() {
            return Ok(());
        }
        let note = StateNote { about: row.memory.id.clone(), at: memory.at, change: StateChange::Confirmed(fields) };
        self.add_note(note)
    }

    /// Adds a note to the log, or spools it while another program is writing the log. `MEMORY.md` holds no notes, so
    /// these go to the log of their day.
    fn add_note(&mut self, note: StateNote) -> Result<(), StoreError> {
        if self.kind == LogKind::LongTerm {
            return note::append_to_day(self.rows, self.layout, note.at.date(), &[&note]).map(drop);
        }
        match &mut self.target {
            WriteTarget::Write(log) => Ok(log.add_note(self.rows, note).map(drop)?),
            WriteTarget::Wait(_) => spool::write_note(self.layout, &note),
        }
    }

    /// Appends an overwritten entry again, unless that program may still be writing. Returns whether it did.
    fn restore_entry(&mut self, seq: i64) -> Result<bool, StoreError> {
        let WriteTarget::Write(log) = &mut self.target else { return Ok(false) };
        let row = self.rows.by_seq(seq)?.filter(|row| log.is_quiet() && row.entry == EntryState::Overwritten);
        let Some(MemoryRow { memory, path, .. }) = row else { return Ok(false) };
        if ForgottenHashes::read(self.layout)?.contains_entry(&path, &memory) {
            self.rows.delete(seq)?;
            self.rows.refresh_session(&memory.session_id)?;
            return Ok(false);
        }
        log.add_entry(&memory)?;
        // See `RESTORED_AGE`: a later save without it deletes it on purpose.
        self.rows.set_entry_state(seq, log.name(), EntryState::At(now_millis() - RESTORED_AGE))?;
        Ok(true)
    }

    /// Whether a memory is still in its file. Somebody may have deleted it there, and no reader may have noticed yet.
    fn is_in_file(&self, row: &MemoryRow) -> Result<bool, StoreError> {
        let Some(kind) = LogKind::from_path(&row.path) else { return Ok(true) };
        let path = self.layout.store_path(&row.path);
        let known = self.rows.log_state(&row.path)?.map(|known| known.stamp);
        let file_state = FileState::read(&path);
        let is_in_sync = known == file_state.stamp;
        let is_added = matches!(&self.target, WriteTarget::Write(log) if log.has_added(&row.memory));
        let is_being_rewritten = file_state.is_being_rewritten(known.map(|stamp| stamp.size));
        if is_in_sync || is_added || row.is_pending() || is_being_rewritten {
            return Ok(true);
        }
        // If the file cannot be read now, assume that it still has the entry.
        let Ok(bytes) = log_file::read(&path) else { return Ok(true) };
        Ok(find_entry(&bytes, &row.memory, &row.path, kind).is_some())
    }

    fn record_row(
        &self,
        memory: &Memory,
        path: &str,
        entry: EntryState,
        waiting: Option<MemoryRow>,
    ) -> Result<(), StoreError> {
        match waiting {
            Some(row) => self.rows.set_entry_state(row.seq, path, entry)?,
            None => {
                self.rows.insert(memory, path, entry)?;
                self.rows.add_to_session(memory)?;
            }
        }
        Ok(())
    }

    /// Writes what was added.
    fn finish(self) -> Result<(), StoreError> {
        if self.redactions > 0 {
            self.rows.add_redactions(self.redactions)?;
        }
        match self.target {
            WriteTarget::Write(log) => log.write(self.rows),
            WriteTarget::Wait(_) => Ok(()),
        }
    }
}

/// Returns the fields of a note that a memory still holds, according to a session and with the code as it is now.
pub fn confirmation(session_id: &str, code: &CodeContext) -> Map<String, Value> {
    let mut fields = Map::new();
    if !session_id.is_empty() {
        fields.insert(SESSION.to_owned(), session_id.into());
    }
    code.add_to(&mut fields);
    fields
}

/// Sets the first free id of the memory, or returns the row that already has this text in this second.
fn assign_free_id(rows: Rows<'_>, memory: &mut Memory, kind: LogKind) -> rusqlite::Result<Option<MemoryRow>> {
    let long_term = kind == LogKind::LongTerm;
    for ordinal in 0.. {
        memory.id = MemoryId::derive(&memory.session_id, memory.kind, &memory.at, &memory.content, ordinal);
        match rows.by_id(&memory.id)? {
            // A daily log already has this text in the same second, so its id is taken.
            Some(row) if long_term && row.path != LONG_TERM_FILE || replaces_same_text(memory, &row) => {}
            Some(row) => return Ok(Some(row)),
            None => break,
        }
    }
    Ok(None)
}

/// Returns the memory with another id that this text repeats: one with the same text, or an answer without a new prompt, because hosts end a
/// turn again after a hook or a background task continued it.
fn find_duplicate(rows: Rows<'_>, memory: &Memory, kind: LogKind) -> rusqlite::Result<Option<MemoryRow>> {
    let found = find_same_text(rows, memory, kind)?;
    if found.is_some() || memory.kind != MemoryType::AssistantResponse || memory.session_id.is_empty() {
        return Ok(found);
    }
    let is_same = |row: &MemoryRow| row.memory.kind == memory.kind && row.memory.content == memory.content;
    let Some(same) = rows.last_utterance(&memory.session_id)?.filter(is_same) else { return Ok(None) };
    // Compare sequence numbers, because the clock may have gone back.
    Ok((!rows.has_prompt_since(&memory.session_id, same.seq)?).then_some(same))
}

/// Returns the memory with the same text: in this session a moment ago, or the same conclusion at any time. A memory in a log does not
/// count for a text that is saved to long-term memory.
pub fn find_same_text(rows: Rows<'_>, memory: &Memory, kind: LogKind) -> rusqlite::Result<Option<MemoryRow>> {
    let long_term = kind == LogKind::LongTerm;
    let bound = |seconds| Moment::from_unix(memory.at.unix() + seconds, Some(0)).map(|at| at.utc()).unwrap_or_default();
    let places = if long_term { &[true][..] } else { &[false, true] };
    for in_long_term in places {
        if let Some(row) =
            rows.find_duplicate(memory, *in_long_term, &bound(-REPEAT_SECONDS), &bound(REPEAT_SECONDS))?
            && !replaces_same_text(memory, &row)
        {
            return Ok(Some(row));
        }
    }
    if memory.kind.is_event() {
        return Ok(None);
    }
    Ok(rows.find_same_conclusion(memory, long_term)?.filter(|row| !replaces_same_text(memory, row)))
}

/// Whether a composed summary replaces one with the same text because the session ended somewhere else or for another reason.
fn replaces_same_text(memory: &Memory, row: &MemoryRow) -> bool {
    memory.kind == MemoryType::SessionSummary
        && memory.attributes.auto
        && memory.attributes.supersedes.as_ref() == Some(&row.memory.id)
        && memory.attributes.metadata != row.memory.attributes.metadata
}

#[cfg(test)]
mod tests;
