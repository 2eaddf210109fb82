//! `memory_reindex`, and the quiet indexing that needs no asking.

use std::collections::BTreeSet;
use std::time::Instant;

use schema::store::Access;
use schema::tool::{ReindexInput, ReindexOutput};

use super::Engine;
use super::file_access::{confine, shown};
use crate::error::ToolError;
use crate::index::Urgency;

/// How far indexing has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Files done so far.
    pub done: usize,
    /// Files in all.
    pub total: usize,
    /// The file that was just done, relative to the project.
    pub path: String,
}

impl Engine {
    pub(super) fn reindex_as_asked(
        &mut self,
        input: &ReindexInput,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ReindexOutput, ToolError> {
        if let Some(path) = &input.path {
            let inside = confine(self.store.layout(), path)?;
            let gone = !self.store.layout().file(&inside).exists();
            let known = self.index.changed_files()?.contains(&inside);
            if gone && !known {
                return Err(ToolError::NotFound(format!("there is no file {}", shown(&inside))));
            }
            if input.full {
                self.forget_file(&inside)?;
            }
            return self.reindex_files(&BTreeSet::from([inside]), progress);
        }
        if input.full {
            if *self.store.access() == Access::Full {
                self.store.distrust_rows()?;
            }
            let lock = self.index_lock()?;
            self.index.clear(&lock)?;
        }
        self.reindex_changed(progress)
    }

    /// Brings every file that changed in step.
    pub(super) fn reindex_changed(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<ReindexOutput, ToolError> {
        let mut files: BTreeSet<String> = self.store.changed_logs()?.into_iter().collect();
        files.extend(self.index.changed_files()?);
        self.reindex_files(&files, progress)
    }

    fn reindex_files(
        &mut self,
        files: &BTreeSet<String>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ReindexOutput, ToolError> {
        let started = Instant::now();
        let mut output = ReindexOutput { files: files.len(), ..ReindexOutput::default() };
        for (done, path) in files.iter().enumerate() {
            let synced = self.store.sync_log(path)?;
            let lock = self.index_lock()?;
            let chunked = self.index.take_in_file(path, &lock)?;
            output.memories += synced.added + synced.changed;
            output.chunks += chunked.added;
            output.removed += synced.removed + chunked.removed;
            progress(Progress { done: done + 1, total: files.len(), path: shown(path) });
        }
        let lock = self.index_lock()?;
        self.index.take_in_memories(self.store.rows(), &lock)?;
        output.milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(output)
    }

    fn forget_file(&mut self, inside: &str) -> Result<(), ToolError> {
        let lock = self.index_lock()?;
        self.index.distrust_file(inside, &lock)
    }

    fn index_lock(&self) -> Result<crate::index::IndexLock, ToolError> {
        self.index
            .lock(Urgency::Patient)?
            .ok_or_else(|| ToolError::Unavailable("another process is indexing; try again in a moment".to_owned()))
    }
}
