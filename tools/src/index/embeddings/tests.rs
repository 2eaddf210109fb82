//! Embedding as work: what waits, what is done once, and what becomes of it when models change and documents go.

use std::sync::atomic::{AtomicUsize, Ordering};

use schema::capture::{Destination, Draft, capture};
use schema::database::Patience;
use schema::forget::forget_all;
use schema::memory::{Attributes, MemoryId, MemoryType};
use schema::screen::Screen;
use schema::store::Store;
use tempfile::TempDir;

use super::*;
use crate::embed::{EmbedError, Vector, WorkPlace};
use crate::index::{Gone, Urgency, blocks};

/// Counts texts, and makes vectors of their length and their first letter; none for texts with a snowman, and refuses
/// those with a cross.
#[derive(Debug)]
struct Counting {
    identity: Identity,
    texts: AtomicUsize,
}

impl Counting {
    fn new(model: &str) -> Self {
        let identity = Identity { provider: "test".to_owned(), model: model.to_owned(), dims: 2 };
        Self { identity, texts: AtomicUsize::new(0) }
    }

    fn of(&self, text: &str) -> Result<Embedded, EmbedError> {
        Ok(if text.contains('✗') { Embedded::Refused } else { self.embed_query(text)?.into() })
    }

    fn count(&self) -> usize {
        self.texts.load(Ordering::Relaxed)
    }
}

impl Embedder for Counting {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn place(&self) -> WorkPlace {
        WorkPlace::Here
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Embedded>, EmbedError> {
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        texts.iter().map(|text| self.of(text)).collect()
    }

    fn embed_query(&self, text: &str) -> Result<Vector, EmbedError> {
        let angle = text.len() as f32;
        Ok((!text.contains('☃')).then(|| vec![angle.cos(), angle.sin()]))
    }
}

struct Bench {
    _project: TempDir,
    store: Store,
    index: Index,
}

impl Bench {
    fn new(contents: &[&str]) -> Self {
        let project = tempfile::tempdir().unwrap();
        let store = Store::open(project.path(), Patience::Server).unwrap();
        let index = Index::open(&store).unwrap();
        let mut bench = Self { _project: project, store, index };
        contents.iter().for_each(|content| bench.remember(content));
        bench
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
        let lock = self.index.lock(Urgency::Patient).unwrap().unwrap();
        self.index.take_in_memories(self.store.rows(), &lock).unwrap();
    }

    fn embed(&mut self, embedder: &Counting, limit: usize) -> Worked {
        let lock = self.index.lock(Urgency::Patient).unwrap().unwrap();
        self.index.use_model(Some(&embedder.identity), &lock).unwrap();
        self.index.embed_waiting(self.store.rows(), embedder, &str::to_owned, limit, &lock).unwrap()
    }

    fn vectors(&mut self, embedder: &Counting) -> usize {
        self.index.vectors(&embedder.identity).unwrap().map_or(0, |vectors| vectors.len())
    }
}

fn forget(store: &mut Store, id: &MemoryId) {
    let row = store.rows().by_id(id).unwrap().unwrap();
    forget_all(store, &[row], &mut |_| {}).unwrap();
}

#[test]
fn work_goes_on_where_it_was_left() {
    let mut bench = Bench::new(&["first", "second one", "a third"]);
    let model = Counting::new("a");
    assert_eq!(bench.embed(&model, 2), Worked { embedded: 2, is_more: true });
    assert_eq!(
        bench.index.coverage().unwrap(),
        Coverage { documents: 3, with_vector: 2, without: 0, refused: 0, waiting: 1 }
    );
    assert_eq!(bench.vectors(&model), 2);
    assert_eq!(bench.embed(&model, 2), Worked { embedded: 1, is_more: false });
    assert_eq!((bench.vectors(&model), model.count()), (3, 3));
    assert!(!bench.index.is_anything_waiting().unwrap());
}

#[test]
fn another_model_starts_over_and_the_first_is_taken_from_the_cache() {
    let mut bench = Bench::new(&["first", "second one"]);
    let (a, b) = (Counting::new("a"), Counting::new("b"));
    bench.embed(&a, 10);
    assert_eq!(bench.vectors(&b), 0);
    bench.embed(&b, 10);
    assert_eq!((bench.vectors(&a), bench.vectors(&b)), (0, 2));
    bench.embed(&a, 10);
    assert_eq!((bench.vectors(&a), a.count(), b.count()), (2, 2, 2));
}

#[test]
fn a_text_without_a_vector_waits_no_longer_and_is_counted() {
    let mut bench = Bench::new(&["☃ of another script", "second one"]);
    let model = Counting::new("a");
    bench.embed(&model, 10);
    assert_eq!(
        bench.index.coverage().unwrap(),
        Coverage { documents: 2, with_vector: 1, without: 1, refused: 0, waiting: 0 }
    );
    assert_eq!(bench.vectors(&model), 1);
}

#[test]
fn a_text_that_is_refused_waits_no_longer_is_counted_and_asked_again_in_an_index_made_anew() {
    let mut bench = Bench::new(&["✗ of a kind that nobody takes", "second one"]);
    let model = Counting::new("a");
    bench.embed(&model, 10);
    let expected = Coverage { documents: 2, with_vector: 1, without: 1, refused: 1, waiting: 0 };
    assert_eq!(bench.index.coverage().unwrap(), expected);
    assert_eq!(bench.vectors(&model), 1);
    let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
    bench.index.renew_spoiled(&lock).unwrap();
    assert_eq!(bench.index.coverage().unwrap().waiting, 0, "it is no vector that was spoiled");
    let rows = bench.store.rows();
    bench.index.refill(&lock, |index| index.take_in_memories(rows, &lock)).unwrap();
    drop(lock);
    bench.embed(&model, 10);
    assert_eq!((bench.index.coverage().unwrap(), model.count()), (expected, 3));
}

#[test]
fn what_is_forgotten_loses_its_vector_and_what_is_new_gets_one() {
    let mut bench = Bench::new(&["first", "second one"]);
    let model = Counting::new("a");
    bench.embed(&model, 10);
    assert_eq!(bench.vectors(&model), 2);
    let id = bench.store.rows().after(-1, 1).unwrap()[0].memory.id.clone();
    forget(&mut bench.store, &id);
    bench.remember("a third");
    assert_eq!(bench.vectors(&model), 1);
    bench.embed(&model, 10);
    assert_eq!((bench.vectors(&model), model.count()), (2, 3));
}

#[test]
fn a_vector_that_is_none_in_the_store_is_dropped_and_made_again() {
    // Of another length; the halves of NaN and infinity; no bytes at all.
    for spoiled in ["x'00'", "x'007e003c'", "x'003c007c'", "'text'"] {
        let mut bench = Bench::new(&["first", "second one"]);
        let model = Counting::new("a");
        bench.embed(&model, 10);
        let sql = format!("UPDATE embedding_cache SET embedding = {spoiled} WHERE id = 1");
        bench.index.db.execute(&sql, []).unwrap();
        assert_eq!(bench.vectors(&model), 1, "{spoiled}");
        let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
        bench.index.renew_spoiled(&lock).unwrap();
        drop(lock);
        assert_eq!(bench.index.coverage().unwrap().waiting, 1, "{spoiled}");
        bench.embed(&model, 10);
        assert_eq!((bench.vectors(&model), model.count()), (2, 3), "{spoiled}");
    }
}

#[test]
fn vectors_made_elsewhere_are_kept_by_their_texts() {
    let mut bench = Bench::new(&["first", "second one", "first"]);
    let model = Counting::new("a");
    let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
    bench.index.use_model(Some(&model.identity), &lock).unwrap();
    let gather = |bench: &mut Bench| {
        let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
        bench.index.gather(bench.store.rows(), &model, &str::to_owned, 10, &lock).unwrap()
    };
    drop(lock);
    let gathered = gather(&mut bench);
    let texts: Vec<&str> = gathered.texts.iter().map(|(_, text)| text.as_str()).collect();
    // What comes meanwhile waits for its own.
    bench.remember("a third");
    let vectors = model.embed_documents(&texts).unwrap();
    let made: Vec<_> = gathered.texts.iter().map(|(hash, _)| *hash).zip(vectors).collect();
    let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
    bench.index.keep_vectors(&model.identity, &made, &lock).unwrap();
    drop(lock);
    let again = gather(&mut bench);
    assert_eq!(again.worked, Worked { embedded: 2, is_more: false });
    assert_eq!(again.texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["a third"]);
    assert_eq!(bench.vectors(&model), 2);
}

#[test]
fn an_index_made_anew_takes_over_what_was_embedded_elsewhere() {
    let mut bench = Bench::new(&["first", "second one"]);
    let model = Counting::new("a");
    bench.embed(&model, 10);
    let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
    let rows = bench.store.rows();
    bench.index.refill(&lock, |index| index.take_in_memories(rows, &lock)).unwrap();
    drop(lock);
    assert_eq!(bench.vectors(&model), 0);
    bench.embed(&model, 10);
    assert_eq!((bench.vectors(&model), model.count()), (2, 2));
}

#[test]
fn vectors_read_in_blocks_are_those_read_one_by_one() {
    let texts: Vec<String> = (1..=20).map(|length| "x".repeat(length)).collect();
    let mut bench = Bench::new(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let model = Counting::new("a");
    // Read anew, and as of a search with a vector of the sixth text.
    let fresh = |bench: &mut Bench| {
        bench.index.vectors = None;
        let vectors = bench.index.vectors(&model.identity).unwrap().unwrap();
        let cosines = vectors.scan(&model.embed_query("xxxxxx").unwrap().unwrap());
        (vectors.greatest(cosines.len(), |row| cosines[row]), vectors.mark)
    };
    let block = |bench: &mut Bench| {
        let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
        while bench.index.tend(&lock).unwrap() {}
        blocks::reach(&bench.index.db).unwrap()
    };
    let forget = |bench: &mut Bench, place: usize| {
        let id = bench.store.rows().after(-1, 30).unwrap()[place].memory.id.clone();
        forget(&mut bench.store, &id);
        bench.remember("more");
    };
    bench.embed(&model, 12);
    forget(&mut bench, 15);
    let first = block(&mut bench);
    assert!(first >= 8, "{first}");
    // One of a block and one that is in none, before another block is made and after.
    forget(&mut bench, 13);
    bench.embed(&model, 30);
    assert!(block(&mut bench) >= first + 8);
    forget(&mut bench, 12);
    assert!(blocks::load(&bench.index.db, 2, 1).unwrap().unwrap().len() > 12);
    let in_blocks = fresh(&mut bench);
    assert_eq!(in_blocks.0.len(), bench.index.coverage().unwrap().with_vector as usize);
    bench.index.db.execute("DELETE FROM vector_blocks", []).unwrap();
    assert_eq!(fresh(&mut bench), in_blocks);
}

/// Names of the files whose vectors the cache holds without a passage that has them.
fn unused(bench: &Bench) -> Vec<String> {
    let sql = "SELECT path FROM embedding_cache WHERE id NOT IN (SELECT embedding FROM embeddings) ORDER BY path";
    let mut statement = bench.index.db.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

fn write(bench: &mut Bench, name: &str, text: Option<&str>) {
    let path = bench.store.layout().file(name);
    match text {
        Some(text) => std::fs::write(path, text).unwrap(),
        None => std::fs::remove_file(path).unwrap(),
    }
    let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
    bench.index.take_in_file(name, None, &lock).unwrap();
}

fn compact(bench: &mut Bench, gone: Gone<'_>) {
    let lock = bench.index.lock(Urgency::Patient).unwrap().unwrap();
    bench.index.compact(gone, &lock).unwrap();
}

#[test]
fn a_file_that_is_renamed_is_not_paid_for_twice_whatever_is_forgotten_in_between() {
    let mut bench = Bench::new(&[]);
    let model = Counting::new("a");
    write(&mut bench, "old.md", Some("# Notes\n\nThe queue listens on a socket.\n"));
    write(&mut bench, "other.md", Some("# Others\n\nBread needs flour.\n"));
    bench.embed(&model, 10);
    assert_eq!(model.count(), 2);
    write(&mut bench, "old.md", None);
    write(&mut bench, "other.md", None);
    compact(&mut bench, Gone::Of(&["other.md"]));
    assert_eq!(unused(&bench), ["old.md"], "what was in a file in which something was forgotten goes");
    write(&mut bench, "new.md", Some("# Notes\n\nThe queue listens on a socket.\n"));
    bench.embed(&model, 10);
    assert_eq!((bench.vectors(&model), model.count()), (1, 2));
}

#[test]
fn a_note_that_is_edited_often_leaves_one_vector_and_a_text_that_stands_elsewhere_keeps_its_own() {
    let mut bench = Bench::new(&[]);
    let mut free = Counting::new("static");
    free.identity.provider = "local".to_owned();
    write(&mut bench, "other.md", Some("Version 3 of a note."));
    for version in 0..10 {
        write(&mut bench, "note.md", Some(&format!("Version {version} of a note.")));
        bench.embed(&free, 10);
    }
    let kept = "SELECT count(*) FROM embedding_cache";
    assert_eq!(bench.index.db.query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
    assert_eq!(bench.vectors(&free), 2);
}

#[test]
fn vectors_without_a_passage_go_at_once_when_they_cost_nothing_after_a_while_and_when_nobody_knows_what_was_forgotten()
{
    let mut bench = Bench::new(&[]);
    let mut free = Counting::new("static");
    free.identity.provider = "local".to_owned();
    for (name, model) in [("paid.md", &Counting::new("a")), ("old.md", &Counting::new("a")), ("free.md", &free)] {
        write(&mut bench, name, Some(&format!("A note in {name}.")));
        bench.embed(model, 10);
        write(&mut bench, name, None);
    }
    let sql = "UPDATE embedding_cache SET created_at = '2020-01-01T00:00:00Z' WHERE path = 'old.md'";
    bench.index.db.execute(sql, []).unwrap();
    assert_eq!(unused(&bench), ["old.md", "paid.md"]);
    compact(&mut bench, Gone::Of(&[]));
    assert_eq!(unused(&bench), ["paid.md"]);
    compact(&mut bench, Gone::Anything);
    assert_eq!(unused(&bench), Vec::<String>::new());
}
