//! Several engines on one store in a process: one writes, the others answer in parallel.

use schema::files::database::LockTimeout;
use schema::files::file_stamp::file_identity;
use schema::files::layout::Layout;
use schema::settings::LoadedSettings;
use schema::store::Store;

use super::repair_messages::RepairMessages;
use super::{Engine, open_index};
use crate::embed::EmbeddingModel;
use crate::error::ToolError;
use crate::index::VectorCache;

/// The shared part of engines on one store. An engine opened from it keeps the settings of the first.
#[derive(Debug, Clone)]
pub struct SharedEngine {
    layout: Layout,
    databases: DatabaseFiles,
    session_id: Option<String>,
    loaded: LoadedSettings,
    /// Shared, so that a model is loaded once and a failed provider is paused for all.
    model: Option<EmbeddingModel>,
    vector_cache: VectorCache,
    repair_messages: RepairMessages,
}

impl Engine {
    /// Whether others see its writes: rows and index are on disk, not in memory.
    pub fn is_shared(&self) -> bool {
        self.is_writable() && self.index.is_shared()
    }

    /// The shared part; `None` if rows or index are only in memory.
    pub fn share(&self) -> Option<SharedEngine> {
        self.is_shared().then(|| SharedEngine {
            layout: self.store.layout().clone(),
            databases: database_files(self.store.layout()),
            session_id: Some(self.session_id.clone()),
            loaded: self.loaded.clone(),
            model: self.model.clone(),
            vector_cache: self.index.vector_cache().clone(),
            repair_messages: self.repair_messages.clone(),
        })
    }
}

impl SharedEngine {
    /// Opens another engine. It must not index files. If a database was replaced, opening fails, because the indexing
    /// process fills the new one.
    pub fn open_reader(&self) -> Result<Engine, ToolError> {
        // Asked before, so that opening does not create a missing one, and after it.
        self.verify_databases()?;
        let store = Store::open(self.layout.project(), LockTimeout::Server)?;
        let (session_id, loaded, model) = (self.session_id.clone(), self.loaded.clone(), self.model.clone());
        let mut engine = Engine::open_as(store, session_id, loaded, model, open_index)?;
        engine.index.share_vectors(&self.vector_cache);
        engine.find_renamed_in_background();
        let own = std::mem::replace(&mut engine.repair_messages, self.repair_messages.clone());
        own.all().into_iter().for_each(|message| engine.repair_messages.add(message));
        self.verify_databases()?;
        Ok(engine)
    }

    fn verify_databases(&self) -> Result<(), ToolError> {
        if database_files(&self.layout) == self.databases {
            return Ok(());
        }
        Err(ToolError::Unavailable("a database was replaced".to_owned()))
    }
}

/// The identities of `memory.db` and `index.db`.
type DatabaseFiles = [Option<(u64, u64)>; 2];

fn database_files(layout: &Layout) -> DatabaseFiles {
    [layout.memory_db(), layout.index_db()].map(|path| file_identity(&path))
}

#[cfg(test)]
mod tests {
    use schema::model::memory::MemoryType;
    use schema::tool::{GetInput, ReindexInput, SaveInput, SearchInput};

    use super::*;
    use crate::control::Control;

    #[test]
    fn a_rebuild_by_another_process_is_seen_at_once() {
        let project = tempfile::tempdir().unwrap();
        let open = || Engine::open(project.path(), None, None).unwrap();
        let (mut first, mut second) = (open(), open());
        let note = |text: &str| std::fs::write(project.path().join(".jikime/memory/note.md"), text).unwrap();
        note("# Note\n\nThe walrus guards the vault.\n");
        second.reindex(&ReindexInput { full: true, path: None }, &mut Control::default()).unwrap();
        assert!(first.index.is_current());
        let mut found = |query: &str| {
            let input = SearchInput { query: query.to_owned(), ..SearchInput::default() };
            first.search(&input).unwrap().count
        };
        assert_eq!(found("walrus"), 1);
        note("# Note\n\nThe ocelot guards the vault now.\n");
        assert_eq!(second.refresh(&mut Control::default()).unwrap().unwrap().files, 1);
        assert_eq!((found("ocelot"), found("walrus")), (1, 0));
    }

    #[test]
    fn second_engine_answers_like_the_first() {
        let project = tempfile::tempdir().unwrap();
        let mut writer = Engine::open(project.path(), Some("s".to_owned()), None).unwrap();
        let mut reader = writer.share().unwrap().open_reader().unwrap();
        let saved = |writer: &mut Engine, text: &str| {
            writer.save(&SaveInput::new(MemoryType::Decision, text.to_owned())).unwrap().id
        };
        for n in 0..50 {
            saved(&mut writer, &format!("Part {n} keeps its rows in a table of its own."));
        }
        let id = saved(&mut writer, "Tokens are cached in Redis for five minutes.");
        let query = SearchInput { query: "where are tokens cached?".to_owned(), ..SearchInput::default() };
        let (own, beside) = (writer.search(&query).unwrap(), reader.search(&query).unwrap());
        assert_eq!(own, beside);
        assert_eq!(beside.results[0].id, id);
        assert!(reader.get(&GetInput { id: Some(id), ..GetInput::default() }).unwrap().content.contains("Redis"));
        writer.repair_messages.add("something was repaired".to_owned());
        assert_eq!(
            (reader.take_repair_messages(), writer.take_repair_messages()),
            (vec!["something was repaired".to_owned()], vec![])
        );
    }
}
