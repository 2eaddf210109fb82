//! The vectors in memory once for all who search in this process, each of whom has an index of its own open.

use std::sync::{Arc, Mutex, PoisonError};

use schema::database;

use super::{Index, Place, Vectors};
use crate::embed::Identity;
use crate::error::ToolError;

/// Where the vectors of an index lie for those who search in it.
#[derive(Debug, Clone, Default)]
pub struct Shelf(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// Of which database they are.
    of: database::Identity,
    vectors: Option<Arc<Vectors>>,
}

impl Shelf {
    /// Puts the vectors away, because the index that they are of is made anew.
    pub(super) fn clear(&self) {
        *self.kept() = Kept::default();
    }

    /// Whether the vectors of a file lie there.
    pub(super) fn holds(&self, file: database::Identity) -> bool {
        let kept = self.kept();
        kept.of == file && kept.vectors.is_some()
    }

    /// The vectors of a file, which are read when there are none. Whoever else wants them waits meanwhile.
    pub(super) fn of_file(
        &self,
        file: database::Identity,
        read: impl FnOnce() -> Result<Vectors, ToolError>,
    ) -> Result<Arc<Vectors>, ToolError> {
        let mut kept = self.kept();
        if let Some(vectors) = kept.vectors.as_ref().filter(|_| kept.of == file) {
            return Ok(Arc::clone(vectors));
        }
        let vectors = Arc::new(read()?);
        *kept = Kept { of: file, vectors: Some(Arc::clone(&vectors)) };
        Ok(vectors)
    }

    /// A fault of another thread leaves at worst no vectors, which are read again.
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// The vectors of a model, up to date and held once by all indexes that share a shelf; `None` when those in use are of another.
    pub fn shared_vectors(&mut self, identity: &Identity) -> Result<Option<Arc<Vectors>>, ToolError> {
        if self.place == Place::Memory {
            return self.vectors(identity);
        }
        let shelf = self.shelf.clone();
        let mut kept = shelf.kept();
        if kept.of != self.db.identity() {
            if !self.is_current() {
                // This search goes on in an index whose place another one has taken: no one else needs its vectors.
                drop(kept);
                return self.vectors(identity);
            }
            *kept = Kept { of: self.db.identity(), vectors: None };
        }
        self.vectors = match kept.vectors.take() {
            // While others look at them they are not changed.
            Some(vectors) if Arc::strong_count(&vectors) > 1 => {
                if self.uses(identity)? && self.is_up_to_date(&vectors)? {
                    kept.vectors = Some(Arc::clone(&vectors));
                    return Ok(Some(vectors));
                }
                Some(Arc::new(Vectors::clone(&vectors)))
            }
            taken => taken,
        };
        let outcome = self.vectors(identity);
        kept.vectors = self.vectors.take();
        outcome
    }

    fn is_up_to_date(&self, vectors: &Vectors) -> Result<bool, ToolError> {
        let sql = "SELECT model, (SELECT coalesce(max(seq), 0) FROM embeddings),
             (SELECT coalesce(max(n), 0) FROM unvectored) FROM progress";
        let mark = vectors.mark;
        Ok(self.db.prepare_cached(sql)?.query_row([], |row| {
            let (model, seq, removed): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(model == mark.model && seq <= mark.last_seq && removed <= mark.last_removed)
        })?)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use schema::capture::{Destination, Draft, capture};
    use schema::database::Patience;
    use schema::memory::{Attributes, MemoryType};
    use schema::moment::Moment;
    use schema::screen::Screen;
    use schema::store::Store;

    use super::*;
    use crate::embed::{Embedder as _, LocalModel};
    use crate::index::{Loader, Urgency};

    struct Bench {
        _project: tempfile::TempDir,
        store: Store,
        writer: Index,
        model: LocalModel,
    }

    impl Bench {
        fn new() -> Self {
            let project = tempfile::tempdir().unwrap();
            let store = Store::open(project.path(), Patience::Server).unwrap();
            let writer = Index::open(&store).unwrap();
            Self { _project: project, store, writer, model: LocalModel::built_in() }
        }

        fn remember(&mut self, content: &str) {
            let draft = Draft {
                session_id: "s".to_owned(),
                kind: MemoryType::Learning,
                content: content.to_owned(),
                at: Moment::now(),
                attributes: Attributes::default(),
                destination: Destination::DailyLog,
            };
            capture(&mut self.store, draft, &Screen::default()).unwrap();
            let lock = self.writer.lock(Urgency::Patient).unwrap().unwrap();
            self.writer.take_in_memories(self.store.rows(), &lock).unwrap();
            self.writer.use_model(Some(self.model.identity()), &lock).unwrap();
            self.writer.embed_waiting(self.store.rows(), &self.model, &str::to_owned, 10, &lock).unwrap();
        }

        /// Remembers so much that the vectors lie in blocks.
        fn remember_many(&mut self) {
            (0..40).for_each(|number| self.remember(&format!("Release {number} was tagged by the build.")));
            let lock = self.writer.lock(Urgency::Patient).unwrap().unwrap();
            while self.writer.tend(&lock).unwrap() {}
        }

        fn make_anew(&mut self) {
            let lock = self.writer.lock(Urgency::Patient).unwrap().unwrap();
            let (store, model) = (&self.store, &self.model);
            let fill = |index: &mut Index| {
                index.take_in_memories(store.rows(), &lock)?;
                index.use_model(Some(model.identity()), &lock)?;
                index.embed_waiting(store.rows(), model, &str::to_owned, 1, &lock)
            };
            self.writer.refill(&lock, fill).unwrap();
        }

        fn loader(&self, index: &Index) -> Option<Loader> {
            index.loader(self.model.identity()).unwrap()
        }

        fn reader(&self) -> Index {
            let mut reader = Index::open(&self.store).unwrap();
            reader.share(&self.writer.shelf);
            reader
        }

        fn vectors(&self, index: &mut Index) -> Arc<Vectors> {
            index.shared_vectors(self.model.identity()).unwrap().unwrap()
        }
    }

    #[test]
    fn two_who_search_hold_the_vectors_once_and_see_what_is_new() {
        let mut bench = Bench::new();
        bench.remember("The scheduler runs at night.");
        let (mut one, mut other) = (bench.reader(), bench.reader());
        let (held, again) = (bench.vectors(&mut one), bench.vectors(&mut other));
        assert!(Arc::ptr_eq(&held, &again) && held.len() == 1);
        bench.remember("The watcher sees what editors replace.");
        let newer = bench.vectors(&mut other);
        assert_eq!((held.len(), newer.len()), (1, 2), "what is looked at stays as it is");
        drop((held, again, newer));
        bench.remember("Tokens are cached in Redis.");
        let first = bench.vectors(&mut one).scripts().as_ptr();
        assert_eq!(first, bench.vectors(&mut other).scripts().as_ptr(), "and is changed in place when nobody looks");
        assert_eq!(bench.vectors(&mut one).len(), 3);
    }

    #[test]
    fn every_reader_sees_the_vectors_of_a_rebuilt_index() {
        let mut bench = Bench::new();
        bench.remember("The scheduler runs at night.");
        bench.remember("The watcher sees what editors replace.");
        let mut old = bench.reader();
        assert_eq!(bench.vectors(&mut old).len(), 2);
        bench.make_anew();
        let mut new = bench.reader();
        assert!(old.is_current());
        assert_eq!((bench.vectors(&mut new).len(), bench.vectors(&mut old).len()), (1, 1));
    }

    #[test]
    fn a_first_search_reads_the_vectors_beside_its_index_and_once_for_all() {
        let mut bench = Bench::new();
        bench.remember("Few vectors are read by whoever wants them.");
        let mut reader = bench.reader();
        assert!(bench.loader(&reader).is_none());
        bench.remember_many();
        let [one, other] = [(); 2].map(|()| bench.loader(&reader).unwrap());
        bench.remember("What came meanwhile is read as well.");
        let read = thread::spawn(move || one.load().unwrap()).join().unwrap();
        assert!(Arc::ptr_eq(&read, &other.load().unwrap()) && Arc::ptr_eq(&read, &bench.vectors(&mut reader)));
        assert_eq!(read.len(), 42);
        assert!(bench.loader(&reader).is_none(), "they are there");
        let question = bench.model.embed("Who tagged release 7?").unwrap();
        let cosines = read.scan(&question);
        let exact = |document| reader.cosine_with(document, &question).unwrap().unwrap();
        let documents = read.greatest(42, |row| cosines[row]);
        assert!(documents.iter().all(|d| (cosines[read.row(*d).unwrap()] - exact(*d)).abs() < 0.01));
    }

    #[test]
    fn vectors_loaded_during_a_rebuild_are_those_of_the_rebuilt_index() {
        let mut bench = Bench::new();
        bench.remember_many();
        let loader = bench.loader(&bench.reader()).unwrap();
        bench.make_anew();
        assert_eq!(loader.load().unwrap().len(), 1);
        let mut new = bench.reader();
        assert_eq!(bench.vectors(&mut new).len(), 1);
    }
}
