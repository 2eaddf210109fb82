//! Writes entries into the log of their day or into `MEMORY.md`, without waiting for another program that is writing the file.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use memchr::{memmem, memrchr};

use crate::files::file_stamp::FileStamp;
use crate::files::layout::Layout;
use crate::log::log_file::{self, FileState, LastChange, now_millis};
use crate::log::{LogEnd, LogKind, LogTail, complete_interrupted, find_entry, insert_long_term, may_contain, parse};
use crate::model::memory::Memory;
use crate::model::moment::Moment;
use crate::model::state_note::StateNote;
use crate::store::{EntryState, LogState, Rows, Store, StoreError};

/// For how many seconds the same text in a session counts as the same memory.
pub const REPEAT_SECONDS: i64 = 60;

/// How many milliseconds another program may keep writing a log before the day continues in the next file.
const MAX_DISTURBANCE: i64 = 10_000;

/// A log that is about to be written, under the store lock and within a transaction.
pub(crate) struct LogWriter {
    kind: LogKind,
    name: String,
    path: PathBuf,
    file_state: FileState,
    last_change: LastChange,
    /// Whether the rows matched the log when its state was read.
    is_in_sync: bool,
    /// When another program last saved it, in milliseconds since 1970.
    saved_at: Option<i64>,
    /// The whole log, if it had to be read.
    content: Option<Vec<u8>>,
    added: Vec<Memory>,
    notes: Vec<StateNote>,
}

/// The file that entries go to now.
pub(crate) enum WriteTarget {
    Write(LogWriter),
    /// Another program is writing the file with this name.
    Wait(String),
}

impl LogWriter {
    /// Chooses the file of this kind: the first one that no other program is writing. If another program has been writing it for too long,
    /// the next file is used instead.
    pub(crate) fn choose_file(rows: Rows<'_>, layout: &Layout, kind: LogKind) -> Result<WriteTarget, StoreError> {
        let names = kind.file_names();
        for (number, name) in names.iter().enumerate() {
            let path = layout.store_path(name);
            let (file_state, known) = (FileState::read(&path), rows.log_state(name)?);
            let mut log = Self {
                kind,
                name: name.clone(),
                path,
                file_state,
                last_change: LogState::last_change(known.as_ref(), &file_state),
                is_in_sync: known.as_ref().map(|known| known.stamp) == file_state.stamp,
                saved_at: known.as_ref().map_or_else(|| file_state.saved_at(), |known| known.saved_at(&file_state)),
                content: None,
                added: Vec::new(),
                notes: Vec::new(),
            };
            if log.is_being_written(rows, known.as_ref())? {
                if now_millis() - rows.record_disturbance(name, now_millis())? < MAX_DISTURBANCE {
                    return Ok(WriteTarget::Wait(log.name));
                }
                continue;
            }
            if number > 0 {
                layout.ignore_continued_days().map_err(StoreError::io("write", layout.gitignore()))?;
            }
            return Ok(WriteTarget::Write(log));
        }
        Ok(WriteTarget::Wait(names[0].clone()))
    }

    /// Whether another program is writing the file. Marks the memories whose entries it overwrote, to write them again later.
    fn is_being_written(&mut self, rows: Rows<'_>, known: Option<&LogState>) -> Result<bool, StoreError> {
        if self.file_state.is_being_rewritten(known.map(|known| known.stamp.size)) {
            return Ok(true);
        }
        let mut lost = Vec::new();
        if !self.is_in_sync && !matches!(self.last_change, LastChange::Ours(_)) {
            let (name, path, kind) = (self.name.clone(), self.path.clone(), self.kind);
            let content = self.content()?;
            lost = rows.overwritten_rows(&name, &path, |memory| may_contain(content, memory, kind))?;
        }
        lost.iter().try_for_each(|row| rows.set_entry_state(row.seq, &self.name, EntryState::Overwritten))?;
        // A program that overwrote our entries may do it again, and one that has the file open would not see that it is replaced.
        Ok((!lost.is_empty() || self.kind == LogKind::LongTerm) && !self.is_quiet())
    }

    /// Returns the whole log.
    fn content(&mut self) -> Result<&[u8], StoreError> {
        if self.content.is_none() {
            self.content = Some(log_file::read(&self.path)?);
        }
        Ok(self.content.as_deref().unwrap_or_default())
    }

    /// Whether no other program has changed the file lately.
    pub(crate) fn is_quiet(&self) -> bool {
        let recent = 0..log_file::QUIET_TIME.as_millis() as i64;
        self.saved_at.is_none_or(|at| !recent.contains(&(now_millis() - at)))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time of an entry that says the same in the same session at most [`REPEAT_SECONDS`] earlier or later, if the log may have
    /// entries without rows. A killed process left it there, and its event is sent again.
    pub(crate) fn time_of_repeat(&mut self, memory: &Memory) -> Result<Option<Moment>, StoreError> {
        if self.is_in_sync {
            return Ok(None);
        }
        let kind = self.kind;
        let content = self.complete_lines()?;
        // No escape changes a word, and a search for one is cheaper than parsing.
        let longest = memory.content.split(|next: char| !next.is_alphanumeric()).max_by_key(|word| word.len());
        if longest.is_some_and(|word| memmem::find(content, word.as_bytes()).is_none()) {
            return Ok(None);
        }
        let is_same = |other: &Memory| {
            (&other.session_id, other.kind, &other.content) == (&memory.session_id, memory.kind, &memory.content)
                && (other.at.unix() - memory.at.unix()).abs() <= REPEAT_SECONDS
        };
        let entries = parse(&String::from_utf8_lossy(content), kind).entries;
        Ok(entries.into_iter().map(|entry| entry.memory).find(is_same).map(|other| other.at))
    }

    /// Returns the log without an unterminated last line, which may be half an entry, but not in a file that is replaced as a whole.
    fn complete_lines(&mut self) -> Result<&[u8], StoreError> {
        let is_replaced = self.kind == LogKind::LongTerm;
        let content = self.content()?;
        let end = if is_replaced { content.len() } else { memrchr(b'\n', content).map_or(0, |newline| newline + 1) };
        Ok(&content[..end])
    }

    /// Adds the entry of a memory to be written, unless the log has it because a killed process wrote no row for it.
    pub(crate) fn add_entry(&mut self, memory: &Memory) -> Result<(), StoreError> {
        if !self.is_in_sync {
            let (name, kind) = (self.name.clone(), self.kind);
            let content = self.complete_lines()?;
            if may_contain(content, memory, kind) && find_entry(content, memory, &name, kind).is_some() {
                return Ok(());
            }
        }
        self.added.push(memory.clone());
        Ok(())
    }

    /// Adds a note to be written to the log of a day, with its row. Returns `false` if a log has the note already.
    pub(crate) fn add_note(&mut self, rows: Rows<'_>, note: StateNote) -> rusqlite::Result<bool> {
        if rows.has_note(&note)? {
            return Ok(false);
        }
        rows.add_note(&self.name, &note)?;
        self.notes.push(note);
        Ok(true)
    }

    /// Whether an entry of this memory was added.
    pub(crate) fn has_added(&self, memory: &Memory) -> bool {
        self.added.iter().any(|added| added.id == memory.id)
    }

    /// Writes what was added, and records the log's stamp.
    pub(crate) fn write(self, rows: Rows<'_>) -> Result<(), StoreError> {
        match self.kind {
            _ if self.added.is_empty() && self.notes.is_empty() => Ok(()),
            LogKind::Daily(day) => self.append_entries(rows, day),
            LogKind::LongTerm | LogKind::Team => self.rewrite_file(rows),
        }
    }

    fn append_entries(self, rows: Rows<'_>, day: NaiveDate) -> Result<(), StoreError> {
        let mut is_half = false;
        let make = |tail: LogTail<'_>| {
            is_half = tail.ends_mid_line();
            self.text_to_append(tail, day)
        };
        let appended = log_file::append_bytes(&self.path, self.file_state, make)?;
        let after = appended.ok_or(StoreError::BeingRewritten(self.path))?;
        // An incomplete entry may have a row, and is completed now.
        Ok(rows.record_change(&self.name, after, self.saved_at, self.is_in_sync && !is_half)?)
    }

    fn rewrite_file(mut self, rows: Rows<'_>) -> Result<(), StoreError> {
        let before = self.content()?.to_vec();
        let insert_all = || self.added.iter().fold(before.clone(), |file, memory| insert_long_term(&file, memory));
        let edit = |bytes: &[u8]| (bytes == before).then(insert_all);
        match log_file::rewrite_with(&self.path, self.last_change, Duration::ZERO, edit) {
            Ok(true) => Ok(rows.record_rewrite(&self.name, FileStamp::read(&self.path))?),
            Err(error) if !error.is_being_rewritten() => Err(error.into()),
            Ok(false) | Err(_) => Err(StoreError::BeingRewritten(self.path)),
        }
    }

    /// Returns the text to append.
    fn text_to_append(&self, tail: LogTail<'_>, day: NaiveDate) -> Vec<u8> {
        let (mut text, mut ending, mut added) = (Vec::new(), LogEnd::from_tail(tail), self.added.iter());
        let first = added.as_slice().first();
        if let Some(rest) = first.and_then(|memory| complete_interrupted(tail, memory, day)) {
            ending = tail.end_after(&rest);
            text = rest;
            added.next();
        }
        added.for_each(|memory| text.extend(ending.append_entry(memory, day)));
        self.notes.iter().for_each(|note| text.extend(ending.append_note(note, day)));
        text
    }
}

/// Appends memories to one log, except those that a crash left there without rows, and inserts the rows whose ids are free. Waits a moment
/// for another program that is writing the log. The caller holds the store lock.
pub fn append_all(store: &mut Store, kind: LogKind, memories: &[Memory]) -> Result<(), StoreError> {
    let deadline = Instant::now() + log_file::MAX_WAIT;
    let layout = store.layout().clone();
    loop {
        let written = store.with_log_transaction(|rows| {
            let mut log = match LogWriter::choose_file(rows, &layout, kind)? {
                WriteTarget::Write(log) => log,
                WriteTarget::Wait(name) => return Err(StoreError::BeingRewritten(layout.store_path(&name))),
            };
            for memory in memories {
                log.add_entry(memory)?;
            }
            let entry = EntryState::At(now_millis());
            for memory in memories {
                if rows.by_id(&memory.id)?.is_none() {
                    rows.insert(memory, log.name(), entry)?;
                } else {
                    // An entry has the id of another one. Reading the log decides which of the two gets it.
                    log.is_in_sync = false;
                }
            }
            log.write(rows)
        });
        match written {
            Err(StoreError::BeingRewritten(_)) if Instant::now() < deadline => thread::sleep(log_file::PAUSE),
            written => return written,
        }
    }
}

#[cfg(test)]
mod tests;
