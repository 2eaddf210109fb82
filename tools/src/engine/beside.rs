//! Several engines on one store in one process: one that writes, and others that answer beside it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schema::layout::Layout;
use schema::screen::Screen;
use schema::settings::{Provider, Settings};
use schema::stamp::identity;

use super::Engine;
use crate::embed::Meaning;
use crate::error::ToolError;
use crate::index::Shelf;

/// What engines on one store have in common. An engine made of it answers like the one that it is of, whatever settings say by then.
#[derive(Debug, Clone)]
pub struct Common {
    project: PathBuf,
    /// Which file `memory.db` was.
    database: Option<(u64, u64)>,
    session_id: Option<String>,
    settings: Settings,
    screen: Screen,
    /// One for all: a model is loaded once, and a provider that failed is left alone by all.
    meaning: Option<Meaning>,
    shelf: Shelf,
    news: News,
}

impl Engine {
    /// Whether others see what it writes; else rows or index are in its memory alone.
    pub fn is_shared(&self) -> bool {
        self.is_writable() && self.index.is_shared()
    }

    /// What another engine needs to answer beside this one; `None` when rows or index are in this one's memory alone.
    pub fn common(&self) -> Option<Common> {
        self.is_shared().then(|| Common {
            project: self.store.layout().project().to_owned(),
            database: identity(&self.store.layout().memory_db()),
            session_id: Some(self.session_id.clone()),
            settings: self.settings.clone(),
            screen: self.screen.clone(),
            meaning: self.meaning.clone(),
            shelf: self.index.shelf().clone(),
            news: self.news.clone(),
        })
    }
}

impl Common {
    /// Opens another engine. It is not to index files; what it searches it takes in as every search does. Where `memory.db` was deleted or
    /// replaced it is not opened: the rows of a new one come from whoever indexes files.
    pub fn open(&self) -> Result<Engine, ToolError> {
        if identity(&Layout::new(&self.project).memory_db()) != self.database {
            return Err(ToolError::Unavailable("memory.db is another file than it was".to_owned()));
        }
        // Neither a model nor a service is opened once more.
        let settings = Settings { embedding_provider: Provider::None, ..self.settings.clone() };
        let mut engine = Engine::open_with(&self.project, self.session_id.clone(), &settings)?;
        engine.settings = self.settings.clone();
        engine.screen = self.screen.clone();
        engine.meaning = self.meaning.clone();
        engine.index.share(&self.shelf);
        let own = std::mem::replace(&mut engine.news, self.news.clone());
        own.all().into_iter().for_each(|note| engine.news.add(note));
        Ok(engine)
    }
}

/// Notes that are kept.
const NOTES: usize = 32;

/// What opening and later damage made engines mend. It is kept for the statistics, and told once.
#[derive(Debug, Clone, Default)]
pub(super) struct News(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    notes: Vec<String>,
    /// How many of them were told.
    told: usize,
}

impl News {
    pub(super) fn of(notes: &[String]) -> Self {
        Self(Arc::new(Mutex::new(Notes { notes: notes.to_vec(), told: 0 })))
    }

    /// Takes in a note. One that is known comes last again, and is told again; of too many the oldest go.
    pub(super) fn add(&self, note: String) {
        let mut notes = self.notes();
        let known = notes.notes.iter().position(|known| *known == note);
        if let Some(at) = known.or((notes.notes.len() >= NOTES).then_some(0)) {
            notes.notes.remove(at);
            notes.told -= usize::from(at < notes.told);
        }
        notes.notes.push(note);
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.notes().notes.clone()
    }

    pub(super) fn take(&self) -> Vec<String> {
        let mut notes = self.notes();
        let known = notes.notes.len();
        let told = std::mem::replace(&mut notes.told, known);
        notes.notes[told..].to_vec()
    }

    /// A fault of another thread leaves a list of texts as good as it was.
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use schema::memory::MemoryType;
    use schema::tool::{GetInput, ReindexInput, SaveInput, SearchInput};

    use super::*;

    #[test]
    fn a_rebuild_by_another_process_is_seen_at_once() {
        let project = tempfile::tempdir().unwrap();
        let open = || Engine::open(project.path(), None, None).unwrap();
        let (mut first, mut second) = (open(), open());
        let note = |text: &str| std::fs::write(project.path().join(".jikime/memory/note.md"), text).unwrap();
        note("# Note\n\nThe walrus guards the vault.\n");
        second.reindex(&ReindexInput { full: true, path: None }, &mut |_| {}, &|| true).unwrap();
        assert!(first.index.is_current());
        let mut found = |query: &str| {
            let input = SearchInput { query: query.to_owned(), ..SearchInput::default() };
            first.search(&input).unwrap().count
        };
        assert_eq!(found("walrus"), 1);
        note("# Note\n\nThe ocelot guards the vault now.\n");
        assert_eq!(second.refresh().unwrap().files, 1);
        assert_eq!((found("ocelot"), found("walrus")), (1, 0));
    }

    #[test]
    fn news_stay_few_however_often_something_is_mended() {
        let news = News::of(&["opened".to_owned()]);
        assert_eq!(news.take(), ["opened"]);
        for n in 0..1_000 {
            news.add(format!("mended part {n}"));
            assert_eq!(news.take(), [format!("mended part {n}")]);
            news.add("made again".to_owned());
            assert_eq!(news.take(), ["made again"], "what happens again is told again");
        }
        assert_eq!(news.all().len(), NOTES);
        assert_eq!(news.all().iter().filter(|note| *note == "made again").count(), 1);
    }

    #[test]
    fn one_beside_answers_like_the_one_that_it_is_of() {
        let project = tempfile::tempdir().unwrap();
        let mut writer = Engine::open(project.path(), Some("s".to_owned()), None).unwrap();
        let mut reader = writer.common().unwrap().open().unwrap();
        let saved = |writer: &mut Engine, text: &str| {
            let input = SaveInput {
                kind: MemoryType::Decision,
                content: text.to_owned(),
                metadata: None,
                long_term: false,
                supersedes: None,
            };
            writer.save(&input).unwrap().id
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
        writer.news.add("something was mended".to_owned());
        assert_eq!((reader.take_news(), writer.take_news()), (vec!["something was mended".to_owned()], vec![]));
    }
}
