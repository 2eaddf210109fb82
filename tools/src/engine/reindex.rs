//! `memory_reindex`, and the quiet indexing that needs no asking.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use schema::daily_log::LogKind;
use schema::database::Patience;
use schema::log_file;
use schema::store::CaughtUp;
use schema::tool::{ReindexInput, ReindexOutput};

use super::Engine;
use super::file_access::{confine, shown};
use crate::error::ToolError;
use crate::index::{Index, IndexLock, Urgency};

/// How long indexing waits for another process that indexes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How far indexing has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Files done so far, and then passages that have their vector.
    pub done: usize,
    /// Files in all; once vectors are made, with the passages that wait for one.
    pub total: usize,
    /// The file that was just done, relative to the project, or what is counted.
    pub path: String,
}

/// What is brought in step.
struct Scope {
    /// What chunks and full text are made of.
    files: BTreeSet<String>,
    /// What rows are made of.
    logs: BTreeSet<String>,
    again: Again,
}

/// What is read again although it did not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Nothing,
    /// The files, into the index that is there.
    Files,
    /// The files, into an index that is emptied before.
    Index,
}

/// How long to rest between two looks at a log that another program is writing.
const PAUSE: Duration = Duration::from_millis(20);

impl Engine {
    pub(super) fn reindex_as_asked(
        &mut self,
        input: &ReindexInput,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<ReindexOutput, ToolError> {
        self.keep_patiently(may_go_on)?;
        if let Some(path) = &input.path {
            let inside = confine(self.store.layout(), path)?;
            if !self.store.layout().file(&inside).exists() && !self.index.changed_files()?.contains(&inside) {
                return Err(ToolError::NotFound(format!("there is no file {}", shown(&inside))));
            }
            if input.full {
                let lock = self.index_lock()?;
                self.index.distrust_file(&inside, &lock)?;
            }
            let file = BTreeSet::from([inside]);
            let again = if input.full { Again::Files } else { Again::Nothing };
            let scope = Scope { files: file.clone(), logs: file, again };
            return self.reindex_files(&scope, progress, may_go_on, may_go_on);
        }
        if !input.full {
            return self.reindex_changed(progress, may_go_on, may_go_on);
        }
        self.repair_files()?;
        let logs = self.store.all_logs()?;
        let mut files: BTreeSet<String> = logs.iter().filter(|path| LogKind::of(path).is_some()).cloned().collect();
        let listing = self.store.layout().markdown_files();
        files.extend(listing.map_err(|error| ToolError::Unavailable(format!("cannot list the store: {error}")))?);
        let scope = Scope { files, logs, again: Again::Index };
        self.reindex_files(&scope, progress, may_go_on, may_go_on)
    }

    /// Brings every file that changed in step.
    pub(super) fn reindex_changed(
        &mut self,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
        may_wait: &dyn Fn() -> bool,
    ) -> Result<ReindexOutput, ToolError> {
        let logs: BTreeSet<String> = self.store.changed_logs()?.into_iter().collect();
        let mut files = logs.clone();
        files.extend(self.index.changed_files()?);
        self.reindex_files(&Scope { files, logs, again: Again::Nothing }, progress, may_go_on, may_wait)
    }

    /// Keeps what waits in the spool, and waits a moment for another program that is writing the files it belongs to.
    fn keep_patiently(&mut self, may_go_on: &dyn Fn() -> bool) -> Result<(), ToolError> {
        let deadline = Instant::now() + log_file::PATIENCE;
        self.keep_waiting()?;
        while self.store.rows().is_anything_waiting()? && Instant::now() < deadline && may_go_on() {
            thread::sleep(PAUSE);
            self.keep_waiting()?;
        }
        Ok(())
    }

    /// Updates the rows of a log. Waits a moment for another program that is writing it.
    fn caught_up(&mut self, path: &str, may_wait: &dyn Fn() -> bool) -> Result<CaughtUp, ToolError> {
        let deadline = Instant::now() + log_file::PATIENCE;
        loop {
            match self.store.catch_up(path, Patience::Server.limit())? {
                CaughtUp::NotYet if Instant::now() < deadline && may_wait() => thread::sleep(PAUSE),
                caught_up => return Ok(caught_up),
            }
        }
    }

    /// Rows first, then what is derived from files and rows. A log whose every change was an entry with its row is not read for its rows.
    /// What is done stays when it is stopped, but of a rebuild nothing.
    fn reindex_files(
        &mut self,
        Scope { files, logs, again }: &Scope,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
        may_wait: &dyn Fn() -> bool,
    ) -> Result<ReindexOutput, ToolError> {
        let started = Instant::now();
        let go_on = || if may_go_on() { Ok(()) } else { Err(ToolError::Interrupted) };
        let mut output = ReindexOutput { files: files.len(), ..ReindexOutput::default() };
        if let Some(first) = files.first() {
            // Whoever would wait for all of them hears how many they are.
            progress(Progress { done: 0, total: files.len(), path: shown(first) });
        }
        for path in logs {
            go_on()?;
            output.removed += match again {
                Again::Nothing => match self.caught_up(path, may_wait)? {
                    CaughtUp::WasInStep | CaughtUp::WithoutReading | CaughtUp::NotYet => 0,
                    CaughtUp::ByReading(report) => report.removed,
                },
                Again::Files | Again::Index => {
                    self.caught_up(path, may_wait)?;
                    self.store.sync_log(path)?.removed
                }
            };
        }
        let lock = self.index_lock_while(may_wait)?;
        let (store, rows) = (&self.store, self.store.rows());
        let mut fill = |index: &mut Index| {
            for (done, path) in files.iter().enumerate() {
                go_on()?;
                let chunked = index.take_in_file(path, store.in_step(path)?.as_ref(), &lock)?;
                output.chunks += chunked.added;
                output.removed += chunked.removed;
                progress(Progress { done: done + 1, total: files.len(), path: shown(path) });
            }
            output.memories = index.take_in_memories_while(rows, &lock, &mut |_, _| may_go_on())?;
            Ok(())
        };
        match again {
            Again::Nothing | Again::Files => fill(&mut self.index)?,
            Again::Index => self.index.refill(&lock, fill)?,
        }
        output.milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(output)
    }

    pub(super) fn index_lock(&mut self) -> Result<IndexLock, ToolError> {
        self.index_lock_while(&|| true)
    }

    /// Waits for the right to write to the index, for as long as it may.
    fn index_lock_while(&mut self, may_wait: &dyn Fn() -> bool) -> Result<IndexLock, ToolError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = self.index.lock(Urgency::Glance)? {
                return Ok(lock);
            }
            if !may_wait() {
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
    use std::path::Path;

    use schema::capture::{Destination, Draft, capture};
    use schema::lock::FileLock;
    use schema::memory::{Attributes, MemoryType};
    use schema::moment::Moment;
    use schema::screen::Screen;
    use schema::settings::{Provider, Settings};
    use schema::store::Store;

    use super::*;

    #[test]
    fn who_waits_for_another_process_that_indexes_gives_way_to_whoever_asks_for_something() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = by_words(project.path());
        let layout = engine.store().layout().clone();
        std::fs::write(layout.file("note.md"), "# Note\n\nThe walrus guards the vault.\n").unwrap();
        let lock = FileLock::acquire(&layout.index_lock(), Duration::ZERO).unwrap();
        // It may go on with what it can do, and there is nothing that it can do.
        let stopped = engine.refresh_telling(&mut |_| {}, &|| true, &|| false);
        assert!(matches!(stopped, Err(ToolError::Interrupted)), "{stopped:?}");
        drop(lock);
        assert_eq!(engine.refresh_telling(&mut |_| {}, &|| true, &|| false).unwrap().files, 1);
    }

    #[test]
    fn a_log_to_which_memories_come_is_not_read_again_for_what_it_held() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = by_words(project.path());
        let log = "# 2026-01-28\n\nA person wrote of the walrus.\n\n- [10:00:00] **User Prompt**: the first\n";
        std::fs::write(engine.store().layout().file("2026-01-28.md"), log).unwrap();
        let mut index = || {
            let output = engine.reindex_changed(&mut |_| {}, &|| true, &|| true).unwrap();
            (output.files, output.chunks)
        };
        let mut hook = Store::open(project.path(), Patience::Hook).unwrap();
        assert_eq!(index(), (1, 1));
        say(&mut hook, "the second");
        assert_eq!(index(), (1, 0));
        // A row that went by itself, of which its log knows nothing, would come back with the next reading of the log.
        let db = rusqlite::Connection::open(hook.layout().memory_db()).unwrap();
        assert_eq!(db.execute("DELETE FROM memories WHERE content = 'the second'", []).unwrap(), 1);
        say(&mut hook, "the third");
        assert_eq!(index(), (1, 0));
        assert_eq!(hook.rows().count_after(0).unwrap(), 2);
    }

    #[test]
    fn a_log_without_prose_to_which_memories_come_is_not_read_for_it() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = by_words(project.path());
        let mut hook = Store::open(project.path(), Patience::Hook).unwrap();
        say(&mut hook, "the first");
        keep(&mut hook, MemoryType::Decision, "use redis");
        let index = |engine: &mut Engine| {
            let output = engine.reindex_changed(&mut |_| {}, &|| true, &|| true).unwrap();
            (output.files, output.chunks, output.memories)
        };
        assert_eq!(index(&mut engine), (1, 0, 2));
        say(&mut hook, "an event behind the decision");
        let log = "2026-01-28.md";
        let in_step = hook.in_step(log).unwrap();
        assert!(in_step.is_some());
        // Nobody looks what it holds by then.
        let file = hook.layout().file(log);
        std::fs::write(&file, format!("A person wrote of the walrus.\n{}", std::fs::read_to_string(&file).unwrap()))
            .unwrap();
        let lock = engine.index_lock().unwrap();
        assert_eq!(engine.index.take_in_file(log, in_step.as_ref(), &lock).unwrap().added, 0);
        drop(lock);
        assert_eq!((hook.in_step(log).unwrap(), index(&mut engine)), (None, (1, 1, 1)));
        // A log that was read again has another mark, and its prose is what it was.
        say(&mut hook, "one more");
        let later = hook.in_step(log).unwrap();
        assert_ne!(later.unwrap().reading, in_step.unwrap().reading);
        assert_eq!(index(&mut engine), (1, 0, 1));
    }

    #[test]
    fn prose_is_found_in_a_log_that_another_database_was_made_of_since() {
        let project = tempfile::tempdir().unwrap();
        let open = || by_words(project.path());
        let index = |engine: &mut Engine| engine.reindex_changed(&mut |_| {}, &|| true, &|| true).unwrap().chunks;
        let mut engine = open();
        let layout = engine.store().layout().clone();
        let file = layout.file("2026-01-28.md");
        let log = "- [10:00:00] **User Prompt**: the first\n";
        std::fs::write(&file, log).unwrap();
        assert_eq!(index(&mut engine), 0);
        drop(engine);
        std::fs::remove_file(layout.memory_db()).unwrap();
        std::fs::write(&file, format!("A person wrote of the walrus.\n{log}")).unwrap();
        assert_eq!(index(&mut open()), 1);
    }

    /// An engine without vectors.
    fn by_words(project: &Path) -> Engine {
        let settings = Settings { embedding_provider: Provider::None, ..Settings::default() };
        Engine::open_with(project, None, &settings).unwrap()
    }

    fn say(store: &mut Store, text: &str) {
        keep(store, MemoryType::UserPrompt, text);
    }

    fn keep(store: &mut Store, kind: MemoryType, text: &str) {
        let draft = Draft {
            session_id: "s".to_owned(),
            kind,
            content: text.to_owned(),
            at: Moment::parse_rfc3339("2026-01-28T10:00:01Z").unwrap(),
            attributes: Attributes::default(),
            destination: Destination::DailyLog,
        };
        capture(store, draft, &Screen::default()).unwrap();
    }
}
