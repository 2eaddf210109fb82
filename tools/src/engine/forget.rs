//! Forgetting for good: out of logs and databases, and out of every place where a copy may lie.

use std::fs;
use std::io;
use std::path::Path;

use schema::forget::forget_all;
use schema::forgotten;
use schema::import::READ_BEFORE;
use schema::own_file;
use schema::residue;
use schema::screen::Screen;
use schema::scrub::{Reach, Scrubbed, scrub};
use schema::store::Row;
use schema::track::{self, Line};
use schema::{hook_log, settings};

use super::{Engine, Selected, Selection};
use crate::error::ToolError;
use crate::index::Gone;

/// Set in `memory.db` while something is being forgotten, so that a process that is killed leaves nothing behind for good.
const DUE: &str = "forgetting";

/// What becomes of databases that were set aside, and of the copy that an upgrade left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldDatabases {
    Remove,
    Keep,
}

/// How much goes when everything is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Memories and what waits to be one; prose of people stays.
    Memories,
    /// `MEMORY.md`, notes, what people wrote into logs, and the list of what was forgotten as well.
    Everything,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgot {
    pub memories: usize,
    /// Old databases that are gone.
    pub removed: Vec<String>,
    /// In words: where a copy may still lie.
    pub left: Vec<String>,
}

impl Engine {
    /// The databases that were set aside or kept as a copy: each holds what was remembered when it was made.
    pub fn old_databases(&self) -> Vec<String> {
        residue::old_databases(self.store.layout())
    }

    /// Forgets memories for good: the one way out. `done` hears how many are gone.
    ///
    /// If everything was asked for, what waits goes as well, and with [`Extent::Everything`] also what people wrote.
    pub fn forget(
        &mut self,
        selected: &Selected,
        extent: Extent,
        old: OldDatabases,
        done: &mut dyn FnMut(usize),
    ) -> Result<Forgot, ToolError> {
        self.store.require_writable()?;
        self.begin_forgetting()?;
        if let Some(session) = &selected.session {
            let _lock = self.store.lock().map_err(schema::store::StoreError::from)?;
            forgotten::add(self.store.layout(), [forgotten::of_session(session).as_str()])?;
        }
        let memories = self.mending(|engine| Ok(forget_all(&mut engine.store, &selected.rows, done)?))?;
        if let Some(selection) = &selected.selection {
            self.forget_buffers(selection, selected)?;
            let texts: Vec<&str> = selected.rows.iter().map(|row| row.memory.content.as_str()).collect();
            residue::remove_unreadable(self.store.layout(), &texts)?;
        }
        if selected.is_unlimited() {
            self.empty(extent)?;
        }
        let gone = files_of(&selected.rows);
        let gone = if selected.is_unlimited() { Gone::Anything } else { Gone::Of(&gone) };
        let forgot = self.leave_nothing_now_or_later(old, gone)?;
        Ok(Forgot { memories, ..forgot })
    }

    /// Deletes what lies beside logs and rows.
    fn empty(&mut self, extent: Extent) -> Result<(), ToolError> {
        let layout = self.store.layout().clone();
        let mut files = vec![layout.hook_log()];
        for folder in
            [layout.track(), layout.spool()].into_iter().filter(|folder| own_file::verify(&folder.join("file")).is_ok())
        {
            let listing = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
            files.extend(listing.map(|item| item.path()));
        }
        if extent == Extent::Everything {
            let notes = layout.markdown_files().map_err(|error| fault("list", layout.dir(), &error))?;
            files.extend(notes.iter().map(|path| layout.file(path)));
            files.push(layout.forgotten());
            // What went may come in again, so transcripts are to be read once more.
            self.mending(|engine| Ok(engine.store.transact(|rows| rows.drop_meta(READ_BEFORE))?))?;
        }
        files.iter().try_for_each(|path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault("delete", path, &error)),
            _ => Ok(()),
        })
    }

    /// Takes secrets that are known today out of what was remembered before.
    pub fn scrub(&mut self, reach: Reach, old: OldDatabases) -> Result<(Scrubbed, Forgot), ToolError> {
        let screen = settings::load(self.store.layout()).screen;
        if reach == Reach::Nothing {
            return Ok((scrub(&mut self.store, &screen, reach)?, Forgot::default()));
        }
        self.begin_forgetting()?;
        let scrubbed = self.mending(|engine| Ok(scrub(&mut engine.store, &screen, reach)?))?;
        self.scrub_buffers(&screen)?;
        hook_log::scrub(self.store.layout(), &screen);
        let nothing = Forgot { left: self.old_databases(), ..Forgot::default() };
        let forgot = match scrubbed.changed.is_empty() {
            true => nothing,
            false => self.leave_nothing_now_or_later(old, Gone::Anything)?,
        };
        self.finish_forgetting()?;
        Ok((scrubbed, forgot))
    }

    /// Finishes what a process that was killed began to forget.
    pub fn finish_forgetting(&mut self) -> Result<(), ToolError> {
        if self.is_writable() && self.store.rows().meta(DUE)?.is_some_and(|due| due == "1") {
            self.leave_nothing(OldDatabases::Keep, Gone::Anything)?;
        }
        Ok(())
    }

    fn begin_forgetting(&mut self) -> Result<(), ToolError> {
        Ok(self.store.transact(|rows| rows.set_meta(DUE, "1"))?)
    }

    /// The same, and where another process is at the databases for longer, it is told that copies are left until the next time.
    fn leave_nothing_now_or_later(&mut self, old: OldDatabases, gone: Gone<'_>) -> Result<Forgot, ToolError> {
        match self.leave_nothing(old, gone) {
            Err(ToolError::Unavailable(cause)) => {
                let text = format!("the databases, until the next forget or a server's daily look: {cause}");
                Ok(Forgot { left: vec![text], ..Forgot::default() })
            }
            done => done,
        }
    }

    /// Brings the index in step and leaves nothing of what is gone in free pages, old databases and files of killed processes.
    pub(super) fn leave_nothing(&mut self, old: OldDatabases, gone: Gone<'_>) -> Result<Forgot, ToolError> {
        self.mending(|engine| engine.take_in(&mut |_| {}, &|| true, &|| true).map(drop))?;
        let mut forgot = Forgot::default();
        let lock = self.index_lock()?;
        let is_index_done = self.index.compact(gone, &lock)?;
        drop(lock);
        let is_store_done = self.store.compact()?;
        for (is_done, name) in [(is_store_done, "memory.db"), (is_index_done, "index.db")] {
            if !is_done {
                let text = format!("{name}-wal, which another process reads just now; it empties it at its end");
                forgot.left.push(text);
            }
        }
        residue::sweep(&self.store)?;
        let names = self.old_databases();
        match old {
            OldDatabases::Remove => {
                residue::remove(self.store.layout(), &names)?;
                forgot.removed = names;
            }
            OldDatabases::Keep => forgot.left.extend(names),
        }
        self.store.transact(|rows| rows.set_meta(DUE, "0"))?;
        Ok(forgot)
    }

    /// Takes out what waits of a turn that has not ended, where the selection means it.
    fn forget_buffers(&self, selection: &Selection, selected: &Selected) -> Result<(), ToolError> {
        if selection.kinds.iter().any(|kind| *kind != schema::memory::MemoryType::ToolUsage)
            || !selection.ids.is_empty()
        {
            return Ok(());
        }
        let judge = self.judge_of_uses(selection)?;
        let edit = |line: Line, is_own: bool| {
            let is_meant = (selected.session.is_none() || is_own) && judge(&line);
            (!is_meant).then_some(line)
        };
        Ok(track::rewrite(self.store.layout(), selected.session.as_deref(), &edit)?)
    }

    fn scrub_buffers(&self, screen: &Screen) -> Result<(), ToolError> {
        let clean = |text: Option<String>| text.map(|text| screen.clean(&text).text.into_owned());
        let edit = |line: Line, _| Some(Line { file: clean(line.file), command: clean(line.command), at: line.at });
        Ok(track::rewrite(self.store.layout(), None, &edit)?)
    }
}

fn fault(doing: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::Unavailable(format!("cannot {doing} {}: {error}", path.display()))
}

/// The files in which memories stand, each once.
fn files_of(rows: &[Row]) -> Vec<&str> {
    let mut files: Vec<&str> = rows.iter().map(|row| row.path.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    files
}
