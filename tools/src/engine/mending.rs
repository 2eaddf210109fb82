//! What is done when a database fails in the middle of something: only what is damaged is repaired, and the work is done once more.

use super::{Engine, INDEX_RESET, open_index};
use crate::error::ToolError;
use crate::index::Index;
use schema::database::Patience;
use schema::store::Store;

impl Engine {
    /// Does something, and does it once more after another process deleted, reset or upgraded a database, or after a repair.
    pub(super) fn mending<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let is_of_database = |error: &ToolError| {
            matches!(error, ToolError::Damaged(_) | ToolError::Unavailable(_) | ToolError::Internal(_))
        };
        let outcome = match work(self) {
            Err(error) if is_of_database(&error) && !self.is_current() => {
                self.reopen()?;
                work(self)
            }
            outcome => outcome,
        };
        match outcome {
            Err(ToolError::Damaged(_)) => {
                if !self.repair_files()? && self.is_writable() {
                    self.store.delete_unreadable_rows()?;
                    self.tell_of_store();
                }
                self.take_in(&mut |_| {}, &|| true, &|| true)?;
                work(self)
            }
            outcome => outcome,
        }
    }

    /// Resets each database that SQLite finds damage in; whether it did. Reads all of both.
    pub(super) fn repair_files(&mut self) -> Result<bool, ToolError> {
        let is_store_repaired = self.store.repair()?;
        self.tell_of_store();
        // A later version may have taken the store over. The index that others have over it is not changed then.
        if !self.is_writable() {
            self.index = Index::in_memory(&self.store)?;
            return Ok(is_store_repaired);
        }
        let is_index_repaired = self.index.repair()?;
        if is_index_repaired {
            self.news.add(INDEX_RESET.to_owned());
        }
        Ok(is_store_repaired || is_index_repaired)
    }

    fn reopen(&mut self) -> Result<(), ToolError> {
        self.store = Store::open(self.store.layout().project(), Patience::Server)?;
        self.tell_of_store();
        let shelf = self.index.shelf().clone();
        self.index = open_index(&self.store, &self.news)?;
        self.index.share(&shelf);
        self.take_in(&mut |_| {}, &|| true, &|| true).map(drop)
    }

    fn tell_of_store(&mut self) {
        self.store.take_notes().into_iter().for_each(|note| self.news.add(note));
    }
}

#[cfg(test)]
mod tests {
    use schema::settings::{Provider, Settings};

    use super::*;

    fn engine(project: &std::path::Path) -> Engine {
        let settings = Settings { embedding_provider: Provider::None, ..Settings::default() };
        Engine::open_with(project, None, &settings).unwrap()
    }

    #[test]
    fn an_error_after_a_deletion_is_met_by_reopening() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine(project.path());
        for name in ["memory.db", "index.db"] {
            let mut attempts = 0;
            let path = project.path().join(".jikime/memory").join(name);
            let is_current = engine.mending(|engine| {
                attempts += 1;
                if attempts > 1 {
                    return Ok(engine.is_current());
                }
                std::fs::remove_file(&path).unwrap();
                Err(ToolError::Internal("no such table".to_owned()))
            });
            assert_eq!((is_current.unwrap(), attempts), (true, 2), "{name}");
        }
        assert_eq!(engine.news.all(), [""; 0], "nothing was repaired");
    }

    #[test]
    fn an_error_that_is_no_damage_replaces_nothing() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine(project.path());
        for fault in [ToolError::Unavailable, ToolError::Internal, ToolError::Invalid] {
            let mut attempts = 0;
            let failed = engine.mending(|_| {
                attempts += 1;
                Err::<(), _>(fault("no such column: the disk is full".to_owned()))
            });
            assert_eq!((failed.is_err(), attempts, engine.is_current()), (true, 1, true));
        }
        // Damage that SQLite does not find either is reported.
        assert!(engine.mending(|_| Err::<(), _>(ToolError::Damaged("it looks odd".to_owned()))).is_err());
        assert_eq!(engine.news.all(), [""; 0]);
    }
}
