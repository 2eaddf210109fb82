//! `memory_reindex`, and automatic indexing.

use std::collections::BTreeSet;
use std::thread;
use std::time::Instant;

use schema::files::database::LockTimeout;
use schema::log::LogKind;
use schema::log::log_file;
use schema::store::CatchUpOutcome;
use schema::tool::{ReindexInput, ReindexOutput};

use super::Engine;
use super::file_access::{confine_path, display_path};
use crate::control::Control;
use crate::error::ToolError;
use crate::index::{Index, IndexLock, IndexLockWait};

/// Which unchanged files are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForcedReread {
    Nothing,
    /// The files, into the existing index.
    Files,
    /// The files, into an emptied index.
    Index,
}

impl Engine {
    pub(super) fn reindex_requested(
        &mut self,
        input: &ReindexInput,
        control: &mut Control<'_>,
    ) -> Result<ReindexOutput, ToolError> {
        self.drain_spool_patiently(control)?;
        if let Some(path) = &input.path {
            let inside = confine_path(self.store.layout(), path)?;
            if !self.store.layout().store_path(&inside).exists() && !self.index.changed_files()?.contains(&inside) {
                return Err(ToolError::NotFound(format!("there is no file {}", display_path(&inside))));
            }
            if input.full {
                let lock = self.lock_index(control)?;
                self.index.invalidate_file(&inside, &lock)?;
            }
            let file = BTreeSet::from([inside]);
            let forced = if input.full { ForcedReread::Files } else { ForcedReread::Nothing };
            return self.reindex_files(&file, &file, forced, control);
        }
        if !input.full {
            return self.reindex_changed(control);
        }
        self.repair_databases()?;
        let logs = self.store.all_logs()?;
        let mut files: BTreeSet<String> =
            logs.iter().filter(|path| LogKind::from_path(path).is_some()).cloned().collect();
        files.extend(self.markdown_files()?);
        self.reindex_files(&files, &logs, ForcedReread::Index, control)
    }

    /// Synchronises all changed files.
    pub(super) fn reindex_changed(&mut self, control: &mut Control<'_>) -> Result<ReindexOutput, ToolError> {
        let logs: BTreeSet<String> = self.store.changed_logs()?.into_iter().collect();
        let mut files = logs.clone();
        files.extend(self.index.changed_files()?);
        self.reindex_files(&files, &logs, ForcedReread::Nothing, control)
    }

    /// Stores the events in the spool. Waits briefly for a program that is writing their logs.
    fn drain_spool_patiently(&mut self, control: &Control<'_>) -> Result<(), ToolError> {
        let deadline = Instant::now() + log_file::MAX_WAIT;
        self.drain_spool()?;
        while self.store.rows().has_pending()? && Instant::now() < deadline && !control.is_cancelled() {
            thread::sleep(log_file::PAUSE);
            self.drain_spool()?;
        }
        Ok(())
    }

    /// Updates the rows of a log. Waits briefly for a program that is writing it.
    fn catch_up_log(&mut self, path: &str, control: &Control<'_>) -> Result<CatchUpOutcome, ToolError> {
        let deadline = Instant::now() + log_file::MAX_WAIT;
        loop {
            match self.store.catch_up(path, LockTimeout::Server.duration())? {
                CatchUpOutcome::Busy if Instant::now() < deadline && control.may_wait() => {
                    thread::sleep(log_file::PAUSE);
                }
                caught_up => return Ok(caught_up),
            }
        }
    }

    /// Updates rows from `logs` first, then chunks and full text from `files`. A log that only had entries appended together with their rows
    /// is not read again. If stopped, finished files stay indexed, but a rebuild is discarded.
    fn reindex_files(
        &mut self,
        files: &BTreeSet<String>,
        logs: &BTreeSet<String>,
        forced: ForcedReread,
        control: &mut Control<'_>,
    ) -> Result<ReindexOutput, ToolError> {
        let started = Instant::now();
        let mut output = ReindexOutput { files: files.len(), ..ReindexOutput::default() };
        if let Some(first) = files.first() {
            // Reports the total before the first file.
            control.report(0, files.len(), display_path(first));
        }
        for path in logs {
            control.check()?;
            output.removed += match (forced, self.catch_up_log(path, control)?) {
                (ForcedReread::Files | ForcedReread::Index, _) => self.store.sync_log(path)?.removed,
                (ForcedReread::Nothing, CatchUpOutcome::SyncedByReading(report)) => report.removed,
                (ForcedReread::Nothing, _) => 0,
            };
        }
        let lock = self.lock_index(control)?;
        let (store, rows) = (&self.store, self.store.rows());
        let mut fill = |index: &mut Index| {
            for (done, path) in files.iter().enumerate() {
                control.check()?;
                let chunked = index.index_file(path, store.synced_log(path)?.as_ref(), &lock)?;
                output.chunks += chunked.added;
                output.removed += chunked.removed;
                control.report(done + 1, files.len(), display_path(path));
            }
            output.memories = index.index_memories(rows, &lock, &mut control.without_progress())?;
            Ok(())
        };
        match forced {
            ForcedReread::Nothing | ForcedReread::Files => fill(&mut self.index)?,
            ForcedReread::Index => self.index.refill(&lock, fill)?,
        }
        output.milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(output)
    }

    /// Waits for the index lock as long as [`IndexLockWait::Long`], unless it must yield.
    pub(super) fn lock_index(&mut self, control: &Control<'_>) -> Result<IndexLock, ToolError> {
        let deadline = Instant::now() + IndexLockWait::Long.duration();
        loop {
            if let Some(lock) = self.index.lock(IndexLockWait::Brief)? {
                return Ok(lock);
            }
            if !control.may_wait() {
                return Err(ToolError::Interrupted);
            }
            if Instant::now() >= deadline {
                return Err(ToolError::Unavailable("another process is indexing; try again in a moment".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use schema::files::lock::FileLock;
    use schema::intake::capture::capture;
    use schema::intake::prepare::Draft;
    use schema::model::memory::MemoryType;
    use schema::model::moment::Moment;
    use schema::privacy::sanitizer::Sanitizer;
    use schema::store::Store;

    use super::*;
    use crate::engine::tests::engine_without_vectors;

    #[test]
    fn index_lock_yields_to_requests() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine_without_vectors(project.path());
        let layout = engine.store().layout().clone();
        std::fs::write(layout.store_path("note.md"), "# Note\n\nThe walrus guards the vault.\n").unwrap();
        let lock = FileLock::acquire(&layout.index_lock(), Duration::ZERO).unwrap();
        // It may continue, but there is nothing that it can do.
        let mut refresh = || engine.refresh(&mut Control::default().yielding_if(|| true)).unwrap();
        assert_eq!(refresh(), None);
        drop(lock);
        assert_eq!(refresh().unwrap().files, 1);
    }

    #[test]
    fn appended_log_is_not_read_again() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine_without_vectors(project.path());
        let log = "# 2026-01-28\n\nA person wrote of the walrus.\n\n- [10:00:00] **User Prompt**: the first\n";
        std::fs::write(engine.store().layout().store_path("2026-01-28.md"), log).unwrap();
        let mut index = || {
            let output = engine.reindex_changed(&mut Control::default()).unwrap();
            (output.files, output.chunks)
        };
        let mut hook = Store::open(project.path(), LockTimeout::Hook).unwrap();
        assert_eq!(index(), (1, 1));
        append_prompt(&mut hook, "the second");
        assert_eq!(index(), (1, 0));
        // A deleted row without a change of its log would return when the log is read again.
        let db = rusqlite::Connection::open(hook.layout().memory_db()).unwrap();
        assert_eq!(db.execute("DELETE FROM memories WHERE content = 'the second'", []).unwrap(), 1);
        append_prompt(&mut hook, "the third");
        assert_eq!(index(), (1, 0));
        assert_eq!(hook.rows().count_after(0).unwrap(), 2);
    }

    #[test]
    fn appended_log_is_not_scanned_for_prose() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine_without_vectors(project.path());
        let mut hook = Store::open(project.path(), LockTimeout::Hook).unwrap();
        append_prompt(&mut hook, "the first");
        capture_text(&mut hook, MemoryType::Decision, "use redis");
        let index = |engine: &mut Engine| {
            let output = engine.reindex_changed(&mut Control::default()).unwrap();
            (output.files, output.chunks, output.memories)
        };
        assert_eq!(index(&mut engine), (1, 0, 2));
        append_prompt(&mut hook, "an event behind the decision");
        let log = "2026-01-28.md";
        let synced = hook.synced_log(log).unwrap();
        assert!(synced.is_some());
        // Prose is added without any notice.
        let file = hook.layout().store_path(log);
        std::fs::write(&file, format!("A person wrote of the walrus.\n{}", std::fs::read_to_string(&file).unwrap()))
            .unwrap();
        let lock = engine.lock_index(&Control::default()).unwrap();
        assert_eq!(engine.index.index_file(log, synced.as_ref(), &lock).unwrap().added, 0);
        drop(lock);
        assert_eq!((hook.synced_log(log).unwrap(), index(&mut engine)), (None, (1, 1, 1)));
        // A log that was read again has another stamp, and its prose is unchanged.
        append_prompt(&mut hook, "one more");
        let later = hook.synced_log(log).unwrap();
        assert_ne!(later.unwrap().read_mark, synced.unwrap().read_mark);
        assert_eq!(index(&mut engine), (1, 0, 1));
    }

    #[test]
    fn prose_is_found_after_the_database_was_replaced() {
        let project = tempfile::tempdir().unwrap();
        let open = || engine_without_vectors(project.path());
        let index = |engine: &mut Engine| engine.reindex_changed(&mut Control::default()).unwrap().chunks;
        let mut engine = open();
        let layout = engine.store().layout().clone();
        let file = layout.store_path("2026-01-28.md");
        let log = "- [10:00:00] **User Prompt**: the first\n";
        std::fs::write(&file, log).unwrap();
        assert_eq!(index(&mut engine), 0);
        drop(engine);
        std::fs::remove_file(layout.memory_db()).unwrap();
        std::fs::write(&file, format!("A person wrote of the walrus.\n{log}")).unwrap();
        assert_eq!(index(&mut open()), 1);
    }

    fn append_prompt(store: &mut Store, text: &str) {
        capture_text(store, MemoryType::UserPrompt, text);
    }

    fn capture_text(store: &mut Store, kind: MemoryType, text: &str) {
        let draft = Draft::new("s", kind, text, Moment::parse_rfc3339("2026-01-28T10:00:01Z").unwrap());
        capture(store, draft, &Sanitizer::default()).unwrap();
    }
}
