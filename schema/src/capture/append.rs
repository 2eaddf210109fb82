//! Appends entries to the log of their day, without waiting for a program that is writing it.

use std::path::PathBuf;

use chrono::NaiveDate;

use crate::daily_log::{Ending, LogKind, Tail, find, may_hold, rest_of_interrupted};
use crate::forgotten::Forgotten;
use crate::layout::Layout;
use crate::log_file::{self, Look, now};
use crate::memory::Memory;
use crate::store::{Row, Rows, StoreError, Written};

/// How long another program may keep writing a log before the day goes on in the next file, in milliseconds.
const NEXT_FILE: i64 = 10_000;

/// A log that is about to be appended to, under the store lock and within a transaction.
pub(crate) struct Log {
    day: NaiveDate,
    name: String,
    path: PathBuf,
    look: Look,
    /// Whether the rows matched the log at that time.
    is_in_step: bool,
    /// When another program saved it last, in milliseconds since 1970.
    saved_at: Option<i64>,
    /// All of it, if it had to be read.
    content: Option<Vec<u8>>,
    added: Vec<Memory>,
}

/// The file that a day's entries go to now.
pub(crate) enum Turn {
    Append(Log),
    /// Another program is writing the file with this name.
    Wait(String),
}

impl Log {
    /// Chooses the file of a day: the first one that no other program is writing, or has been writing for so long that a later one takes
    /// its place.
    pub(crate) fn choose(rows: Rows<'_>, layout: &Layout, day: NaiveDate) -> Result<Turn, StoreError> {
        let names = LogKind::Daily(day).file_names();
        for (number, name) in names.iter().enumerate() {
            let path = layout.file(name);
            let (look, known) = (Look::at(&path), rows.known_log(name)?);
            let is_in_step = known.as_ref().map(|known| known.stamp) == look.stamp;
            let saved_at = known.as_ref().map_or_else(|| look.saved_at(), |known| known.saved_at(&look));
            let (name, added) = (name.clone(), Vec::new());
            let mut log = Self { day, name, path, look, is_in_step, saved_at, content: None, added };
            let is_being_rewritten = look.is_being_rewritten(known.map(|known| known.stamp.size));
            let lost = if is_being_rewritten { Vec::new() } else { log.overwritten(rows)? };
            // A program that overwrote our entries may do it again.
            if is_being_rewritten || !lost.is_empty() && !log.is_settled() {
                if now() - rows.note_disturbed(&log.name, now())? < NEXT_FILE {
                    return Ok(Turn::Wait(log.name));
                }
                continue;
            }
            if number > 0 {
                let fault = |source| StoreError::Io { doing: "write", path: layout.gitignore(), source };
                layout.ignore_later_files().map_err(fault)?;
            }
            let forgotten = if lost.is_empty() { Forgotten::default() } else { Forgotten::read(layout)? };
            for row in lost {
                if !forgotten.holds_entry(&log.name, &row.memory) {
                    rows.settle(row.seq, &log.name, Written::Found)?;
                    log.add(row.memory);
                }
            }
            return Ok(Turn::Append(log));
        }
        Ok(Turn::Wait(names[0].clone()))
    }

    /// The memories whose entries another program overwrote.
    fn overwritten(&mut self, rows: Rows<'_>) -> Result<Vec<Row>, StoreError> {
        if self.is_in_step {
            return Ok(Vec::new());
        }
        let (name, kind) = (self.name.clone(), LogKind::Daily(self.day));
        let (path, content) = (self.path.clone(), self.content()?);
        Ok(rows.overwritten(&name, &path, |memory| may_hold(content, memory, kind))?)
    }

    /// All of the log.
    fn content(&mut self) -> Result<&[u8], StoreError> {
        if self.content.is_none() {
            self.content = Some(log_file::read(&self.path)?);
        }
        Ok(self.content.as_deref().unwrap_or_default())
    }

    /// Whether no other program has changed the file lately.
    pub(crate) fn is_settled(&self) -> bool {
        let quiet = 0..log_file::QUIET.as_millis() as i64;
        self.saved_at.is_none_or(|at| !quiet.contains(&(now() - at)))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the log has the entry of a memory already, for which a process that was killed wrote no row.
    pub(crate) fn has(&mut self, memory: &Memory) -> Result<bool, StoreError> {
        if self.is_in_step {
            return Ok(false);
        }
        let (name, kind) = (self.name.clone(), LogKind::Daily(self.day));
        let content = self.content()?;
        // A last line without an end may be half an entry.
        let whole = content.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let content = &content[..whole];
        Ok(may_hold(content, memory, kind) && find(content, memory, &name, kind).is_some())
    }

    /// Adds an entry to what is written.
    pub(crate) fn add(&mut self, memory: Memory) {
        self.added.push(memory);
    }

    /// Makes the next reader read the log, although no other program has changed it.
    pub(crate) fn must_be_read(&mut self) {
        self.is_in_step = false;
    }

    /// Appends what was added, and notes the log's stamp then.
    pub(crate) fn write(self, rows: Rows<'_>) -> Result<(), StoreError> {
        if self.added.is_empty() {
            return Ok(());
        }
        let mut is_half = false;
        let make = |tail: Tail<'_>| {
            is_half = tail.is_half();
            self.text(tail)
        };
        let appended = log_file::append(&self.path, self.look, make)?;
        let (before, after) = appended.ok_or(StoreError::BeingRewritten(self.path))?;
        // Half an entry may have a row, which is of a whole one now.
        let is_in_step = self.is_in_step && !is_half && self.look.stamp.is_none_or(|stamp| stamp == before);
        Ok(rows.note_change(&self.name, after, self.saved_at, is_in_step)?)
    }

    /// The text to append.
    fn text(&self, tail: Tail<'_>) -> Vec<u8> {
        let (mut text, mut ending, mut added) = (Vec::new(), Ending::of(tail), self.added.iter());
        let first = added.as_slice().first();
        if let Some(rest) = first.and_then(|memory| rest_of_interrupted(tail, memory, self.day)) {
            ending = tail.followed_by(&rest);
            text = rest;
            added.next();
        }
        added.for_each(|memory| text.extend(ending.add(memory, self.day)));
        text
    }
}

#[cfg(test)]
mod tests;
