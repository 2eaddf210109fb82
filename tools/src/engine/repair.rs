//! Handles database errors during a call: repairs only what is damaged, then retries once.

use super::{Engine, INDEX_RESET, open_index};
use crate::control::Control;
use crate::error::ToolError;
use crate::index::Index;
use schema::files::database::LockTimeout;
use schema::store::{Rows, Store};

impl Engine {
    /// Runs an operation. If a database is damaged, repairs it and runs the operation again. Several readers may do so at the same time.
    pub(super) fn with_repair<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        match self.unless_replaced(&mut work) {
            Err(ToolError::Damaged(_)) => {
                self.unless_replaced(&mut Self::repair_and_index)?;
                self.unless_replaced(&mut work)
            }
            outcome => outcome,
        }
    }

    /// Reads rows, and repairs a damaged database first.
    pub(super) fn read_rows<T>(&mut self, read: impl Fn(Rows<'_>) -> rusqlite::Result<T>) -> Result<T, ToolError> {
        self.with_repair(|engine| Ok(read(engine.store.rows())?))
    }

    /// Runs an operation, and once more if it failed because another process or thread replaced a database.
    fn unless_replaced<T>(&mut self, work: &mut impl FnMut(&mut Self) -> Result<T, ToolError>) -> Result<T, ToolError> {
        let is_of_database = |error: &ToolError| {
            matches!(error, ToolError::Damaged(_) | ToolError::Unavailable(_) | ToolError::Internal(_))
        };
        match work(self) {
            Err(error) if is_of_database(&error) && !self.is_current() => {
                self.reopen()?;
                work(self)
            }
            outcome => outcome,
        }
    }

    fn repair_and_index(&mut self) -> Result<(), ToolError> {
        if !self.repair_databases()? && self.is_writable() {
            self.store.delete_unreadable_rows()?;
            self.collect_store_messages();
        }
        self.index_changes(&mut Control::default()).map(drop)
    }

    /// Resets each database in which SQLite finds damage, and returns whether it did. Reads both completely.
    pub(super) fn repair_databases(&mut self) -> Result<bool, ToolError> {
        let is_store_repaired = self.store.repair()?;
        self.collect_store_messages();
        // A newer version may own the store now. Then the shared index must not change.
        if !self.is_writable() {
            self.index = Index::in_memory(&self.store)?;
            return Ok(is_store_repaired);
        }
        let is_index_repaired = self.index.repair()?;
        if is_index_repaired {
            self.repair_messages.add(INDEX_RESET.to_owned());
        }
        Ok(is_store_repaired || is_index_repaired)
    }

    fn reopen(&mut self) -> Result<(), ToolError> {
        self.store = Store::open(self.store.layout().project(), LockTimeout::Server)?;
        self.collect_store_messages();
        let cache = self.index.vector_cache().clone();
        self.index = open_index(&self.store, &self.repair_messages)?;
        self.index.share_vectors(&cache);
        self.index_changes(&mut Control::default()).map(drop)
    }

    fn collect_store_messages(&mut self) {
        self.store.take_messages().into_iter().for_each(|message| self.repair_messages.add(message));
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::engine::tests::engine_without_vectors;

    #[test]
    fn an_error_after_a_deletion_is_met_by_reopening() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine_without_vectors(project.path());
        for name in ["memory.db", "index.db"] {
            let mut attempts = 0;
            let path = project.path().join(".jikime/memory").join(name);
            let is_current = engine.with_repair(|engine| {
                attempts += 1;
                if attempts > 1 {
                    return Ok(engine.is_current());
                }
                std::fs::remove_file(&path).unwrap();
                Err(ToolError::Internal("no such table".to_owned()))
            });
            assert_eq!((is_current.unwrap(), attempts), (true, 2), "{name}");
        }
        assert_eq!(engine.repair_messages.all(), [""; 0], "nothing was repaired");
    }

    #[test]
    fn search_survives_repair_by_another_reader() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine_without_vectors(project.path());
        let path = project.path().join(".jikime/memory/index.db");
        let mut attempts = 0;
        let found = engine.with_repair(|engine| {
            attempts += 1;
            match attempts {
                1 => Err(ToolError::Damaged("a page".to_owned())),
                2 => {
                    std::fs::remove_file(&path).unwrap();
                    Err(ToolError::Unavailable("the index was rebuilt".to_owned()))
                }
                _ => Ok(engine.is_current()),
            }
        });
        assert_eq!((found.unwrap(), attempts), (true, 3));
    }

    #[test]
    fn error_without_damage_repairs_nothing() {
        let project = tempfile::tempdir().unwrap();
        let mut engine = engine_without_vectors(project.path());
        for error in [ToolError::Unavailable, ToolError::Internal, ToolError::Invalid] {
            let mut attempts = 0;
            let failed = engine.with_repair(|_| {
                attempts += 1;
                Err::<(), _>(error("no such column: the disk is full".to_owned()))
            });
            assert_eq!((failed.is_err(), attempts, engine.is_current()), (true, 1, true));
        }
        // Damage that SQLite does not confirm is reported.
        assert!(engine.with_repair(|_| Err::<(), _>(ToolError::Damaged("it looks odd".to_owned()))).is_err());
        assert_eq!(engine.repair_messages.all(), [""; 0]);
    }
}
