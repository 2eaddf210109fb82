//! Forgets memories for good: removes them from logs, databases and every place that may hold a copy.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use crate::control::Control;
use crate::curation::residue;
use crate::curation::scrub::{ScrubOutcome, ScrubScope, scrub};
use crate::import::IMPORT_MARK_PREFIX;
use schema::files::store_file;
use schema::host::session_record::composed_summaries;
use schema::host::track_buffer::{self, BufferedUse};
use schema::intake::forget::forget_rows;
use schema::model::memory::MemoryType;
use schema::model::sharing::team_author;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings;
use schema::store::forgotten;
use schema::store::hook_log;
use schema::store::{MemoryRow, StoreError};

use super::{Engine, SelectedMemories, Selection};
use crate::error::ToolError;
use crate::index::CompactScope;

/// Set in `memory.db` during a deletion, so that the next process finishes it after a crash.
const DELETION_PENDING: &str = "forgetting";

/// Whether databases that were set aside, and the backup of an upgrade, are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldDatabases {
    Remove,
    Keep,
}

/// The scope of forgetting everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgetExtent {
    /// Memories and queued events; people's prose stays.
    Memories,
    /// Also `MEMORY.md`, notes, prose in logs, and the list of forgotten memories.
    Everything,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    pub memories: usize,
    /// Deleted old databases.
    pub removed: Vec<String>,
    /// Descriptions of places that may still hold a copy.
    pub leftovers: Vec<String>,
}

impl Engine {
    /// Databases that were set aside or kept as a backup, and still hold old memories.
    pub fn old_databases(&self) -> Vec<String> {
        residue::old_databases(self.store.layout())
    }

    /// Forgets memories for good.
    ///
    /// If everything is selected, this also deletes queued events, and with [`ForgetExtent::Everything`] people's prose.
    pub fn forget(
        &mut self,
        selected: &SelectedMemories,
        extent: ForgetExtent,
        old: OldDatabases,
    ) -> Result<ForgetOutcome, ToolError> {
        self.store.require_writable()?;
        self.begin_forgetting()?;
        if let Some(session) = &selected.session {
            let _lock = self.store.lock().map_err(StoreError::from)?;
            forgotten::add_texts(self.store.layout(), [forgotten::session_key(session).as_str()])?;
        }
        self.forget_day_summaries(&selected.rows)?;
        let (shared, own): (Vec<MemoryRow>, Vec<MemoryRow>) =
            selected.rows.iter().cloned().partition(|row| team_author(&row.path).is_some());
        let of_team = self.forget_shared(&shared)?;
        let deleted = self.with_repair(|engine| Ok(forget_rows(&mut engine.store, &own)?))?;
        self.forget_summaries(&selected.rows)?;
        if let Some(selection) = &selected.selection {
            self.forget_in_buffers(selection, selected)?;
            let texts: Vec<&str> = selected.rows.iter().map(|row| row.memory.content.as_str()).collect();
            residue::remove_unreadable_spool_files(self.store.layout(), &texts)?;
        }
        if selected.is_unlimited() {
            self.delete_everything_else(extent)?;
        }
        let logs: BTreeSet<&str> = selected.rows.iter().map(|row| row.path.as_str()).collect();
        let logs = Vec::from_iter(logs);
        let scope = if selected.is_unlimited() { CompactScope::All } else { CompactScope::Sources(&logs) };
        let mut forgot = self.remove_traces_or_report(old, scope)?;
        let changed = own.len() - deleted;
        if changed > 0 {
            forgot.leftovers.push(format!("{changed} of the memories, whose text was changed meanwhile"));
        }
        Ok(ForgetOutcome { memories: of_team + deleted, ..forgot })
    }

    /// Deletes the composed summaries of the sessions of deleted memories, which repeat their texts. The next session start composes missing
    /// ones again.
    fn forget_summaries(&mut self, gone: &[MemoryRow]) -> Result<(), ToolError> {
        let sessions: BTreeSet<&str> = gone.iter().map(|row| row.memory.session_id.as_str()).collect();
        self.with_repair(|engine| {
            let mut rows = Vec::new();
            for session in sessions.iter().filter(|session| !session.is_empty()) {
                rows.extend(composed_summaries(engine.store.rows(), session)?);
            }
            forget_rows(&mut engine.store, &rows)?;
            Ok(())
        })
    }

    /// Deletes everything outside logs and rows.
    fn delete_everything_else(&mut self, extent: ForgetExtent) -> Result<(), ToolError> {
        let layout = self.store.layout().clone();
        let mut files = vec![layout.hook_log_file(), layout.hook_times_file()];
        for folder in [layout.track_dir(), layout.spool_dir()] {
            if store_file::verify(&folder.join("file")).is_ok() {
                let listing = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
                files.extend(listing.map(|item| item.path()));
            }
        }
        if extent == ForgetExtent::Everything {
            let notes = layout
                .markdown_files()
                .map_err(|error| ToolError::cannot(&format!("list {}", layout.store_dir().display()), &error))?;
            // The files of the team belong to all members.
            let own = notes.iter().filter(|path| team_author(path).is_none());
            files.extend(own.map(|path| layout.store_path(path)));
            files.push(layout.forgotten_file());
            // Forgotten memories may be imported again, so transcripts must be read again.
            self.with_repair(|engine| {
                Ok(engine.store.with_transaction(|rows| rows.delete_meta(IMPORT_MARK_PREFIX))?)
            })?;
        }
        files.iter().try_for_each(|path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(ToolError::cannot(&format!("delete {}", path.display()), &error))
            }
            _ => Ok(()),
        })
    }

    /// Redacts stored memories with today's rules.
    pub fn scrub(&mut self, scope: ScrubScope, old: OldDatabases) -> Result<(ScrubOutcome, ForgetOutcome), ToolError> {
        let sanitizer = settings::load(self.store.layout()).sanitizer;
        if scope == ScrubScope::ReportOnly {
            return Ok((scrub(&mut self.store, &sanitizer, scope)?, ForgetOutcome::default()));
        }
        self.begin_forgetting()?;
        let scrubbed = self.with_repair(|engine| Ok(scrub(&mut engine.store, &sanitizer, scope)?))?;
        self.scrub_buffers(&sanitizer)?;
        hook_log::redact_messages(self.store.layout(), &sanitizer);
        let old = if scrubbed.changed.is_empty() { OldDatabases::Keep } else { old };
        let forgot = self.remove_traces_or_report(old, CompactScope::All)?;
        Ok((scrubbed, forgot))
    }

    /// Finishes a deletion that a killed process began.
    pub fn finish_forgetting(&mut self) -> Result<(), ToolError> {
        if self.is_writable() && self.store.rows().meta(DELETION_PENDING)?.is_some_and(|due| due == "1") {
            self.remove_traces(OldDatabases::Keep, CompactScope::All)?;
        }
        Ok(())
    }

    fn begin_forgetting(&mut self) -> Result<(), ToolError> {
        Ok(self.store.with_transaction(|rows| rows.set_meta(DELETION_PENDING, "1"))?)
    }

    /// Deletes copies. If another process keeps the databases busy, it reports the leftovers, and the next call deletes
    /// them.
    fn remove_traces_or_report(
        &mut self,
        old: OldDatabases,
        gone: CompactScope<'_>,
    ) -> Result<ForgetOutcome, ToolError> {
        match self.remove_traces(old, gone) {
            Err(ToolError::Unavailable(cause)) => {
                let text = format!("the databases, until the next forget or the server's daily cleanup: {cause}");
                Ok(ForgetOutcome { leftovers: vec![text], ..ForgetOutcome::default() })
            }
            done => done,
        }
    }

    /// Synchronises the index and deletes copies of forgotten texts from free pages, old databases and files of killed
    /// processes.
    pub(super) fn remove_traces(
        &mut self,
        old: OldDatabases,
        gone: CompactScope<'_>,
    ) -> Result<ForgetOutcome, ToolError> {
        self.refresh(&mut Control::default())?;
        let mut forgot = ForgetOutcome::default();
        let lock = self.lock_index(&Control::default())?;
        let is_index_done = self.index.compact(gone, &lock)?;
        drop(lock);
        let is_store_done = self.store.compact()?;
        for (is_done, name) in [(is_store_done, "memory.db"), (is_index_done, "index.db")] {
            if !is_done {
                let text =
                    format!("{name}-wal, because another process is reading it; it is emptied when that process ends");
                forgot.leftovers.push(text);
            }
        }
        residue::remove_partial_files(&self.store)?;
        let names = self.old_databases();
        match old {
            OldDatabases::Remove => {
                residue::remove_databases(self.store.layout(), &names)?;
                forgot.removed = names;
            }
            OldDatabases::Keep => forgot.leftovers.extend(names),
        }
        self.store.with_transaction(|rows| rows.set_meta(DELETION_PENDING, "0"))?;
        Ok(forgot)
    }

    /// Removes the selected tool uses of turns that have not ended, and the names of the files whose changes were saved.
    fn forget_in_buffers(&self, selection: &Selection, selected: &SelectedMemories) -> Result<(), ToolError> {
        let selects_tool_use = selection.kinds.is_empty() || selection.kinds.contains(&MemoryType::ToolUsage);
        if !selects_tool_use {
            return Ok(());
        }
        // A buffered use has no id yet.
        let may_match = selection.ids.is_empty();
        let matches = self.buffered_use_matcher(selection)?;
        let edit = |mut line: BufferedUse, is_own: bool| {
            // A session without memories has no resolved id, and then no buffer is its own.
            let is_in_reach = selection.session.is_none() || is_own;
            if is_in_reach {
                line.recorded.clear();
            }
            (!(may_match && is_in_reach && matches(&line))).then_some(line)
        };
        Ok(track_buffer::rewrite_uses(self.store.layout(), selected.session.as_deref(), &edit)?)
    }

    fn scrub_buffers(&self, sanitizer: &Sanitizer) -> Result<(), ToolError> {
        let clean = |text: Option<String>| text.map(|text| sanitizer.clean(&text).text.into_owned());
        let edit = |line: BufferedUse, _| {
            Some(BufferedUse {
                file: clean(line.file),
                command: clean(line.command),
                change: clean(line.change),
                recorded: line.recorded.into_iter().filter_map(|file| clean(Some(file))).collect(),
                ..line
            })
        };
        Ok(track_buffer::rewrite_uses(self.store.layout(), None, &edit)?)
    }
}
