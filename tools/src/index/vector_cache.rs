//! Shares one copy of the vectors among all searches of this process, which each have their own index.

use std::sync::{Arc, Mutex, PoisonError};

use schema::files::database;

use super::Vectors;
use crate::error::ToolError;

/// The shared vectors of an index.
#[derive(Debug, Clone, Default)]
pub struct VectorCache(Arc<Mutex<CachedVectors>>);

#[derive(Debug, Default)]
pub(super) struct CachedVectors {
    /// The database that they belong to.
    pub(super) file: database::DatabaseIdentity,
    pub(super) vectors: Option<Arc<Vectors>>,
}

impl VectorCache {
    /// Drops the vectors before a rebuild of the index.
    pub(super) fn clear(&self) {
        *self.lock() = CachedVectors::default();
    }

    /// Whether it has the vectors of a file.
    pub(super) fn is_for_file(&self, file: database::DatabaseIdentity) -> bool {
        let cached = self.lock();
        cached.file == file && cached.vectors.is_some()
    }

    /// The vectors of a file, read if missing. Other callers wait meanwhile.
    pub(super) fn of_file(
        &self,
        file: database::DatabaseIdentity,
        read: impl FnOnce() -> Result<Vectors, ToolError>,
    ) -> Result<Arc<Vectors>, ToolError> {
        let mut cached = self.lock();
        if let Some(vectors) = cached.vectors.as_ref().filter(|_| cached.file == file) {
            return Ok(Arc::clone(vectors));
        }
        let vectors = Arc::new(read()?);
        *cached = CachedVectors { file, vectors: Some(Arc::clone(&vectors)) };
        Ok(vectors)
    }

    /// After a panic in another thread the vectors are missing at worst, and are read again.
    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, CachedVectors> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use schema::files::database::LockTimeout;
    use schema::intake::capture::capture;
    use schema::intake::prepare::Draft;
    use schema::model::memory::MemoryType;
    use schema::model::moment::Moment;
    use schema::privacy::sanitizer::Sanitizer;
    use schema::store::Store;

    use super::*;
    use crate::control::Control;
    use crate::embed::{Embedder as _, LocalModel};
    use crate::index::Index;
    use crate::index::{IndexLockWait, VectorLoader};

    struct CacheFixture {
        _project: tempfile::TempDir,
        store: Store,
        writer: Index,
        model: LocalModel,
    }

    impl CacheFixture {
        fn new() -> Self {
            let project = tempfile::tempdir().unwrap();
            let store = Store::open(project.path(), LockTimeout::Server).unwrap();
            let writer = Index::open(&store).unwrap();
            Self { _project: project, store, writer, model: LocalModel::built_in() }
        }

        fn remember(&mut self, content: &str) {
            let draft = Draft::new("s", MemoryType::Learning, content, Moment::now());
            capture(&mut self.store, draft, &Sanitizer::default()).unwrap();
            let lock = self.writer.lock(IndexLockWait::Long).unwrap().unwrap();
            self.writer.index_memories(self.store.rows(), &lock, &mut Control::default()).unwrap();
            self.writer.use_model(self.model.identity(), &lock).unwrap();
            self.writer.embed_pending(self.store.rows(), &self.model, 10, &lock).unwrap();
        }

        fn remember_many(&mut self) {
            (0..40).for_each(|number| self.remember(&format!("Release {number} was tagged by the build.")));
            let lock = self.writer.lock(IndexLockWait::Long).unwrap().unwrap();
            while self.writer.merge_step(&lock).unwrap() {}
        }

        fn rebuild(&mut self) {
            let lock = self.writer.lock(IndexLockWait::Long).unwrap().unwrap();
            let (store, model) = (&self.store, &self.model);
            let fill = |index: &mut Index| {
                index.index_memories(store.rows(), &lock, &mut Control::default())?;
                index.use_model(model.identity(), &lock)?;
                index.embed_pending(store.rows(), model, 1, &lock)
            };
            self.writer.refill(&lock, fill).unwrap();
        }

        fn loader(&self, index: &Index) -> Option<VectorLoader> {
            index.loader(self.model.identity()).unwrap()
        }

        fn reader(&self) -> Index {
            let mut reader = Index::open(&self.store).unwrap();
            reader.share_vectors(&self.writer.vector_cache);
            reader
        }

        fn vectors(&self, index: &mut Index) -> Arc<Vectors> {
            index.shared_vectors(self.model.identity()).unwrap().unwrap()
        }
    }

    #[test]
    fn searches_share_vectors_and_see_updates() {
        let mut fixture = CacheFixture::new();
        fixture.remember("The scheduler runs at night.");
        let (mut one, mut other) = (fixture.reader(), fixture.reader());
        let (held, again) = (fixture.vectors(&mut one), fixture.vectors(&mut other));
        assert!(Arc::ptr_eq(&held, &again) && held.len() == 1);
        fixture.remember("The watcher sees what editors replace.");
        let newer = fixture.vectors(&mut other);
        assert_eq!((held.len(), newer.len()), (1, 2), "what is looked at stays as it is");
        drop((held, again, newer));
        fixture.remember("Tokens are cached in Redis.");
        let first = fixture.vectors(&mut one).scripts().as_ptr();
        assert_eq!(first, fixture.vectors(&mut other).scripts().as_ptr(), "and is changed in place when nobody looks");
        assert_eq!(fixture.vectors(&mut one).len(), 3);
    }

    #[test]
    fn every_reader_sees_the_vectors_of_a_rebuilt_index() {
        let mut fixture = CacheFixture::new();
        fixture.remember("The scheduler runs at night.");
        fixture.remember("The watcher sees what editors replace.");
        let mut old = fixture.reader();
        assert_eq!(fixture.vectors(&mut old).len(), 2);
        fixture.rebuild();
        let mut new = fixture.reader();
        assert!(old.is_current());
        assert_eq!((fixture.vectors(&mut new).len(), fixture.vectors(&mut old).len()), (1, 1));
    }

    #[test]
    fn first_search_loads_vectors_once_for_all() {
        let mut fixture = CacheFixture::new();
        fixture.remember("A few vectors are read directly.");
        let mut reader = fixture.reader();
        assert!(fixture.loader(&reader).is_none());
        fixture.remember_many();
        let [one, other] = [(); 2].map(|()| fixture.loader(&reader).unwrap());
        fixture.remember("Newer vectors are read as well.");
        let read = thread::spawn(move || one.load().unwrap()).join().unwrap();
        assert!(Arc::ptr_eq(&read, &other.load().unwrap()) && Arc::ptr_eq(&read, &fixture.vectors(&mut reader)));
        assert_eq!(read.len(), 42);
        assert!(fixture.loader(&reader).is_none(), "they are there");
        let question = fixture.model.embed("Who tagged release 7?").unwrap();
        let cosines = read.cosines_with(&question);
        let exact = |document| reader.cosine_with(document, &question).unwrap().unwrap();
        let documents = read.greatest(42, |row| cosines[row]);
        assert!(documents.iter().all(|d| (cosines[read.row(*d).unwrap()] - exact(*d)).abs() < 0.01));
    }

    #[test]
    fn load_during_rebuild_returns_the_new_vectors() {
        let mut fixture = CacheFixture::new();
        fixture.remember_many();
        let loader = fixture.loader(&fixture.reader()).unwrap();
        fixture.rebuild();
        assert_eq!(loader.load().unwrap().len(), 1);
        let mut new = fixture.reader();
        assert_eq!(fixture.vectors(&mut new).len(), 1);
    }
}
