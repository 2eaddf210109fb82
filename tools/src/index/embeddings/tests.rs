//! Embedding work: the queue, the cache, and changes of models and documents.

use std::sync::atomic::{AtomicUsize, Ordering};

use schema::files::database::LockTimeout;
use schema::intake::capture::capture;
use schema::intake::forget::forget_rows;
use schema::intake::prepare::Draft;
use schema::model::memory::{MemoryId, MemoryType};
use schema::privacy::sanitizer::Sanitizer;
use schema::store::Store;
use tempfile::TempDir;

use super::*;
use crate::control::Control;
use crate::embed::{EmbedError, EmbeddingLocation, Vector};
use crate::index::{CompactScope, IndexLockWait, vector_blocks};

/// Counts texts. A vector is made of a text's length and first letter. Texts with a snowman have none, and those with a
/// cross are rejected.
#[derive(Debug)]
struct CountingEmbedder {
    identity: ModelIdentity,
    texts: AtomicUsize,
}

impl CountingEmbedder {
    fn new(model: &str) -> Self {
        let identity = ModelIdentity { provider: "test".to_owned(), model: model.to_owned(), dims: 2 };
        Self { identity, texts: AtomicUsize::new(0) }
    }

    fn embed_one(&self, text: &str) -> Result<EmbeddingResult, EmbedError> {
        Ok(if text.contains('✗') { EmbeddingResult::Refused } else { self.embed_query(text)?.into() })
    }

    fn count(&self) -> usize {
        self.texts.load(Ordering::Relaxed)
    }
}

impl Embedder for CountingEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn location(&self) -> EmbeddingLocation {
        EmbeddingLocation::InProcess
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<EmbeddingResult>, EmbedError> {
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        texts.iter().map(|text| self.embed_one(text)).collect()
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        let angle = text.len() as f32;
        Ok((!text.contains('☃')).then(|| vec![angle.cos(), angle.sin()]))
    }
}

struct EmbeddingFixture {
    _project: TempDir,
    store: Store,
    index: Index,
}

impl EmbeddingFixture {
    fn new(contents: &[&str]) -> Self {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let index = Index::open(&store).unwrap();
        let mut fixture = Self { _project: project, store, index };
        contents.iter().for_each(|content| fixture.remember(content));
        fixture
    }

    fn remember(&mut self, content: &str) {
        let draft = Draft::new("s", MemoryType::Learning, content, Moment::now());
        capture(&mut self.store, draft, &Sanitizer::default()).unwrap();
        let lock = self.index.lock(IndexLockWait::Long).unwrap().unwrap();
        self.index.index_memories(self.store.rows(), &lock, &mut Control::default()).unwrap();
    }

    fn embed(&mut self, embedder: &CountingEmbedder, limit: usize) -> BatchOutcome {
        let lock = self.index.lock(IndexLockWait::Long).unwrap().unwrap();
        self.index.use_model(&embedder.identity, &lock).unwrap();
        self.index.embed_pending(self.store.rows(), embedder, limit, &lock).unwrap()
    }

    fn vectors(&mut self, embedder: &CountingEmbedder) -> usize {
        self.index.vectors(&embedder.identity).unwrap().map_or(0, |vectors| vectors.len())
    }
}

fn forget(store: &mut Store, id: &MemoryId) {
    let row = store.rows().by_id(id).unwrap().unwrap();
    forget_rows(store, &[row]).unwrap();
}

#[test]
fn embedding_resumes_where_it_stopped() {
    let mut fixture = EmbeddingFixture::new(&["first", "second one", "a third"]);
    let model = CountingEmbedder::new("a");
    assert_eq!(fixture.embed(&model, 2), BatchOutcome { embedded: 2, has_more: true });
    assert_eq!(
        fixture.index.coverage().unwrap(),
        EmbeddingCoverage { documents: 3, with_vector: 2, without: 0, refused: 0, pending: 1 }
    );
    assert_eq!(fixture.vectors(&model), 2);
    assert_eq!(fixture.embed(&model, 2), BatchOutcome { embedded: 1, has_more: false });
    assert_eq!((fixture.vectors(&model), model.count()), (3, 3));
    assert!(!fixture.index.has_pending_vectors().unwrap());
}

#[test]
fn first_model_returns_from_the_cache() {
    let mut fixture = EmbeddingFixture::new(&["first", "second one"]);
    let (a, b) = (CountingEmbedder::new("a"), CountingEmbedder::new("b"));
    fixture.embed(&a, 10);
    assert_eq!(fixture.vectors(&b), 0);
    fixture.embed(&b, 10);
    assert_eq!((fixture.vectors(&a), fixture.vectors(&b)), (0, 2));
    fixture.embed(&a, 10);
    assert_eq!((fixture.vectors(&a), a.count(), b.count()), (2, 2, 2));
}

#[test]
fn a_text_without_a_vector_waits_no_longer_and_is_counted() {
    let mut fixture = EmbeddingFixture::new(&["☃ of another script", "second one"]);
    let model = CountingEmbedder::new("a");
    fixture.embed(&model, 10);
    assert_eq!(
        fixture.index.coverage().unwrap(),
        EmbeddingCoverage { documents: 2, with_vector: 1, without: 1, refused: 0, pending: 0 }
    );
    assert_eq!(fixture.vectors(&model), 1);
}

#[test]
fn rejected_text_is_retried_only_after_a_rebuild() {
    let mut fixture = EmbeddingFixture::new(&["✗ of a kind that nobody takes", "second one"]);
    let model = CountingEmbedder::new("a");
    fixture.embed(&model, 10);
    let expected = EmbeddingCoverage { documents: 2, with_vector: 1, without: 1, refused: 1, pending: 0 };
    assert_eq!(fixture.index.coverage().unwrap(), expected);
    assert_eq!(fixture.vectors(&model), 1);
    let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
    let rows = fixture.store.rows();
    fixture.index.refill(&lock, |index| index.index_memories(rows, &lock, &mut Control::default())).unwrap();
    drop(lock);
    fixture.embed(&model, 10);
    assert_eq!((fixture.index.coverage().unwrap(), model.count()), (expected, 3));
}

#[test]
fn forgotten_memory_loses_its_vector() {
    let mut fixture = EmbeddingFixture::new(&["first", "second one"]);
    let model = CountingEmbedder::new("a");
    fixture.embed(&model, 10);
    assert_eq!(fixture.vectors(&model), 2);
    let id = fixture.store.rows().inserted_after(-1, 1).unwrap()[0].memory.id.clone();
    forget(&mut fixture.store, &id);
    fixture.remember("a third");
    assert_eq!(fixture.vectors(&model), 1);
    fixture.embed(&model, 10);
    assert_eq!((fixture.vectors(&model), model.count()), (2, 3));
}

#[test]
fn damaged_vector_counts_as_missing() {
    // Wrong length; NaN and infinity; no blob.
    for spoiled in ["x'00'", "x'007e003c'", "x'003c007c'", "'text'"] {
        let mut fixture = EmbeddingFixture::new(&["first", "second one"]);
        let model = CountingEmbedder::new("a");
        fixture.embed(&model, 10);
        let sql = format!("UPDATE embedding_cache SET embedding = {spoiled} WHERE id = 1");
        fixture.index.db.execute(&sql, []).unwrap();
        assert_eq!(fixture.vectors(&model), 1, "{spoiled}");
    }
}

#[test]
fn vectors_made_elsewhere_are_kept_by_their_texts() {
    let mut fixture = EmbeddingFixture::new(&["first", "second one", "first"]);
    let model = CountingEmbedder::new("a");
    let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
    fixture.index.use_model(&model.identity, &lock).unwrap();
    let gather = |fixture: &mut EmbeddingFixture| {
        let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
        fixture.index.gather_batch(fixture.store.rows(), &model, &str::to_owned, 10, &lock).unwrap()
    };
    drop(lock);
    let gathered = gather(&mut fixture);
    let texts: Vec<&str> = gathered.texts.iter().map(|(_, text)| text.as_str()).collect();
    // A text that arrives meanwhile is queued.
    fixture.remember("a third");
    let vectors = model.embed_documents(&texts).unwrap();
    let made: Vec<_> = gathered.texts.iter().map(|(hash, _)| *hash).zip(vectors).collect();
    let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
    fixture.index.store_vectors(&model.identity, &made, &lock).unwrap();
    drop(lock);
    let again = gather(&mut fixture);
    assert_eq!(again.outcome, BatchOutcome { embedded: 2, has_more: false });
    assert_eq!(again.texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["a third"]);
    assert_eq!(fixture.vectors(&model), 2);
}

#[test]
fn rebuilt_index_keeps_remote_vectors() {
    let mut fixture = EmbeddingFixture::new(&["first", "second one"]);
    let model = CountingEmbedder::new("a");
    fixture.embed(&model, 10);
    let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
    let rows = fixture.store.rows();
    fixture.index.refill(&lock, |index| index.index_memories(rows, &lock, &mut Control::default())).unwrap();
    drop(lock);
    assert_eq!(fixture.vectors(&model), 0);
    fixture.embed(&model, 10);
    assert_eq!((fixture.vectors(&model), model.count()), (2, 2));
}

#[test]
fn vectors_read_in_blocks_are_those_read_one_by_one() {
    let texts: Vec<String> = (1..=20).map(|length| "x".repeat(length)).collect();
    let mut fixture = EmbeddingFixture::new(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let model = CountingEmbedder::new("a");
    // Vectors after a fresh load, and those of a search for the sixth text.
    let fresh = |fixture: &mut EmbeddingFixture| {
        fixture.index.vectors = None;
        let vectors = fixture.index.vectors(&model.identity).unwrap().unwrap();
        let cosines = vectors.cosines_with(&model.embed_query("xxxxxx").unwrap().unwrap());
        (vectors.greatest(cosines.len(), |row| cosines[row]), vectors.watermark)
    };
    let block = |fixture: &mut EmbeddingFixture| {
        let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
        while fixture.index.merge_step(&lock).unwrap() {}
        vector_blocks::last_blocked(&fixture.index.db).unwrap()
    };
    let forget = |fixture: &mut EmbeddingFixture, place: usize| {
        let id = fixture.store.rows().inserted_after(-1, 30).unwrap()[place].memory.id.clone();
        forget(&mut fixture.store, &id);
        fixture.remember("more");
    };
    fixture.embed(&model, 12);
    forget(&mut fixture, 15);
    let first = block(&mut fixture);
    assert!(first >= 8, "{first}");
    // Remove one from a block and one without a block, before and after the next block.
    forget(&mut fixture, 13);
    fixture.embed(&model, 30);
    assert!(block(&mut fixture) >= first + 8);
    forget(&mut fixture, 12);
    assert!(vector_blocks::load_blocks(&fixture.index.db, 2, 1).unwrap().unwrap().len() > 12);
    let in_blocks = fresh(&mut fixture);
    assert_eq!(in_blocks.0.len(), fixture.index.coverage().unwrap().with_vector as usize);
    fixture.index.db.execute("DELETE FROM vector_blocks", []).unwrap();
    assert_eq!(fresh(&mut fixture), in_blocks);
}

/// Files of cached vectors that no passage uses.
fn unused_vectors(fixture: &EmbeddingFixture) -> Vec<String> {
    let sql = "SELECT path FROM embedding_cache WHERE id NOT IN (SELECT embedding FROM embeddings) ORDER BY path";
    let mut statement = fixture.index.db.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

fn write_file(fixture: &mut EmbeddingFixture, name: &str, text: Option<&str>) {
    let path = fixture.store.layout().store_path(name);
    match text {
        Some(text) => std::fs::write(path, text).unwrap(),
        None => std::fs::remove_file(path).unwrap(),
    }
    let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
    fixture.index.index_file(name, None, &lock).unwrap();
}

fn compact_index(fixture: &mut EmbeddingFixture, gone: CompactScope<'_>) {
    let lock = fixture.index.lock(IndexLockWait::Long).unwrap().unwrap();
    fixture.index.compact(gone, &lock).unwrap();
}

#[test]
fn renamed_file_keeps_its_paid_vectors() {
    let mut fixture = EmbeddingFixture::new(&[]);
    let model = CountingEmbedder::new("a");
    write_file(&mut fixture, "old.md", Some("# Notes\n\nThe queue listens on a socket.\n"));
    write_file(&mut fixture, "other.md", Some("# Others\n\nBread needs flour.\n"));
    fixture.embed(&model, 10);
    assert_eq!(model.count(), 2);
    write_file(&mut fixture, "old.md", None);
    write_file(&mut fixture, "other.md", None);
    compact_index(&mut fixture, CompactScope::Sources(&["other.md"]));
    assert_eq!(unused_vectors(&fixture), ["old.md"], "what was in a file in which something was forgotten goes");
    write_file(&mut fixture, "new.md", Some("# Notes\n\nThe queue listens on a socket.\n"));
    fixture.embed(&model, 10);
    assert_eq!((fixture.vectors(&model), model.count()), (1, 2));
}

#[test]
fn edited_note_leaves_one_vector() {
    let mut fixture = EmbeddingFixture::new(&[]);
    let mut free = CountingEmbedder::new("static");
    free.identity.provider = "local".to_owned();
    write_file(&mut fixture, "other.md", Some("Version 3 of a note."));
    for version in 0..10 {
        write_file(&mut fixture, "note.md", Some(&format!("Version {version} of a note.")));
        fixture.embed(&free, 10);
    }
    let kept = "SELECT count(*) FROM embedding_cache";
    assert_eq!(fixture.index.db.query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    assert_eq!(fixture.vectors(&free), 2);
}

#[test]
fn unused_vectors_expire_by_cost_and_age() {
    let mut fixture = EmbeddingFixture::new(&[]);
    let mut free = CountingEmbedder::new("static");
    free.identity.provider = "local".to_owned();
    for (name, model) in
        [("paid.md", &CountingEmbedder::new("a")), ("old.md", &CountingEmbedder::new("a")), ("free.md", &free)]
    {
        write_file(&mut fixture, name, Some(&format!("A note in {name}.")));
        fixture.embed(model, 10);
        write_file(&mut fixture, name, None);
    }
    let sql = "UPDATE embedding_cache SET created_at = '2020-01-01T00:00:00Z' WHERE path = 'old.md'";
    fixture.index.db.execute(sql, []).unwrap();
    assert_eq!(unused_vectors(&fixture), ["old.md", "paid.md"]);
    compact_index(&mut fixture, CompactScope::Sources(&[]));
    assert_eq!(unused_vectors(&fixture), ["paid.md"]);
    compact_index(&mut fixture, CompactScope::All);
    assert_eq!(unused_vectors(&fixture), Vec::<String>::new());
}
