//! Beginning anew: a store without memories, with or without what people wrote.

use std::fs;
use std::io;
use std::path::Path;

use schema::daily_log::LONG_TERM_FILE;
use schema::import::READ_BEFORE;

use super::{Engine, Forgot, OldDatabases, Selection};
use crate::error::ToolError;
use crate::index::Gone;

/// How much goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every memory of the daily logs; `MEMORY.md`, notes and what people wrote into logs stay.
    Memories,
    /// `MEMORY.md`, notes and the list of what was forgotten as well.
    Everything,
}

impl Engine {
    /// Empties the store and answers how many memories went.
    pub fn reset(&mut self, extent: Extent) -> Result<Forgot, ToolError> {
        self.store.require_writable()?;
        self.begin_forgetting()?;
        let mut rows = self.select(&Selection::default())?.rows;
        if extent == Extent::Memories {
            rows.retain(|row| row.place.path != LONG_TERM_FILE);
        }
        let memories = self.drop_rows(&rows)?;
        // What went may come in again, so that transcripts are to be read once more.
        self.mending(|engine| Ok(engine.store.transact(|rows| rows.drop_meta(READ_BEFORE))?))?;
        let layout = self.store.layout().clone();
        for folder in [layout.track(), layout.spool()] {
            empty(&folder)?;
        }
        let mut files = vec![layout.hook_log()];
        if extent == Extent::Everything {
            let notes = layout.markdown_files().map_err(|error| fault("list", layout.dir(), &error))?;
            files.extend(notes.iter().map(|path| layout.file(path)));
            files.push(layout.forgotten());
        }
        files.iter().try_for_each(|path| remove(path))?;
        let forgot = self.leave_nothing_now_or_later(OldDatabases::Remove, Gone::Anything)?;
        Ok(Forgot { memories, ..forgot })
    }
}

fn empty(folder: &Path) -> Result<(), ToolError> {
    let Ok(listing) = fs::read_dir(folder) else { return Ok(()) };
    listing.filter_map(Result::ok).try_for_each(|item| remove(&item.path()))
}

fn remove(path: &Path) -> Result<(), ToolError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|error| fault("delete", path, &error)),
    }
}

fn fault(doing: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::Unavailable(format!("cannot {doing} {}: {error}", path.display()))
}
