//! The engine: one open store with its index, and the six tools as functions on it.
//!
//! Synchronous and for one thread; whoever serves gives it a thread of its own.

mod beside;
mod clear;
mod curate;
mod embedding;
mod errand;
mod file_access;
mod forget;
mod get;
mod history;
mod load;
mod logs;
mod mending;
mod recall;
mod reindex;
mod save;
mod selection;
mod stats;
mod usage;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use schema::capture::{Captured, Prepared, commit, commit_all};
use schema::daily_log::LogKind;
use schema::database::Patience;
use schema::hook_log;
use schema::layout::{Layout, STORE_DIR};
use schema::moment::Moment;
use schema::queue::Recalled;
use schema::residue;
use schema::screen::Screen;
use schema::settings::{self, Loaded, Settings, Weights};
use schema::spool;
use schema::store::{Access, Filter, Locator, Row, Store, has_less_space};
use schema::tool::{
    GetInput, GetOutput, LoadInput, LoadOutput, ReindexInput, ReindexOutput, SaveInput, SaveOutput, SearchInput,
    SearchOutput, StatsOutput,
};

use crate::embed::remote::Network;
use crate::embed::{self, Meaning, WorkPlace};
use crate::error::{ToolError, chain};
use crate::index::Index;
use crate::search::{self, Means, Scoring};

#[cfg(test)]
mod tests;

pub use beside::Common;
use beside::News;
pub use clear::Clearing;
pub use embedding::Step;
pub use errand::{Errand, Failed, Made};
pub use forget::{Extent, Forgot, OldDatabases};
pub use history::{Day, Visit, Wanted};
pub use reindex::Progress;
pub use selection::{Selected, Selection};
pub use usage::{Storage, Usage, UsageOfSome};

/// Waiting memories that are taken from the spool at once.
const SPOOLED: usize = 10_000;

/// What is reported when the file of the index had to be reset.
const INDEX_RESET: &str = "index.db was damaged and is rebuilt; vectors that could not be read are made again";
/// The free space below which a command that deletes makes room first, in bytes: about a long log and what SQLite keeps beside
/// `memory.db`.
const ROOM_TO_DELETE: u64 = 4 * 1024 * 1024;

/// An open store and its index.
#[derive(Debug)]
pub struct Engine {
    store: Store,
    index: Index,
    /// What search by meaning needs; `None` by choice.
    meaning: Option<Meaning>,
    weights: Option<Weights>,
    /// What is taken out of texts before they are sent anywhere.
    screen: Screen,
    /// The host's session, when it told us.
    session_id: String,
    /// What it was opened with.
    settings: Settings,
    /// What opening and later damage made us mend.
    news: News,
    counted: save::Counted,
}

impl Engine {
    /// Opens the store of a project. Nothing is indexed yet; [`Engine::refresh`] does that. Services that make vectors are asked
    /// through `network`, if the settings say so.
    pub fn open(
        project: &Path,
        session_id: Option<String>,
        network: Option<Arc<dyn Network>>,
    ) -> Result<Self, ToolError> {
        let Loaded { settings, screen, .. } = settings::load(&Layout::new(project));
        let mut engine =
            Self::open_as(Store::open(project, Patience::Server)?, session_id, &settings, network, open_index)?;
        engine.screen = screen;
        Ok(engine)
    }

    /// The same for a command that deletes memories. On a full disk both databases go first: they are rebuilt later from Markdown, and
    /// a log that changes needs space.
    pub fn open_to_delete(project: &Path, network: Option<Arc<dyn Network>>) -> Result<Self, ToolError> {
        let layout = Layout::new(project);
        if !has_less_space(layout.dir(), ROOM_TO_DELETE) || layout.verify().is_err() {
            return Self::open(project, None, network);
        }
        Index::delete(&layout)?;
        let mut store = Store::open(project, Patience::Server)?;
        if *store.access() == Access::Full {
            store = store.without_database()?;
        }
        let Loaded { settings, screen, .. } = settings::load(&layout);
        let mut engine = Self::open_as(store, None, &settings, network, |store, _| Index::in_memory(store))?;
        engine.screen = screen;
        engine.news.add("the disk is full: the databases were deleted to make room, and are rebuilt later".to_owned());
        Ok(engine)
    }

    /// The same with these settings, whatever files and the environment say, and without a network.
    pub fn open_with(project: &Path, session_id: Option<String>, settings: &Settings) -> Result<Self, ToolError> {
        Self::open_as(Store::open(project, Patience::Server)?, session_id, settings, None, open_index)
    }

    fn open_as(
        mut store: Store,
        session_id: Option<String>,
        settings: &Settings,
        network: Option<Arc<dyn Network>>,
        open_index: impl FnOnce(&Store, &News) -> Result<Index, ToolError>,
    ) -> Result<Self, ToolError> {
        let news = News::of(&store.take_notes());
        if *store.access() == Access::Full
            && let Err(error) = residue::sweep(&store)
        {
            news.add(format!("files of a killed process are still there: {}", chain(&error)));
        }
        let index = open_index(&store, &news)?;
        Ok(Self {
            store,
            index,
            meaning: embed::open(settings, network),
            weights: settings.search_weights,
            screen: Screen::default(),
            session_id: session_id.unwrap_or_default(),
            settings: settings.clone(),
            news,
            counted: save::Counted::default(),
        })
    }

    /// Where the store lies and what is in it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Brings rows and chunks in step with every file that changed, and keeps what waits in the spool.
    pub fn refresh(&mut self) -> Result<ReindexOutput, ToolError> {
        self.refresh_while(&|| true)
    }

    /// The same for as long as it may go on. What is left is found by the next time.
    pub fn refresh_while(&mut self, may_go_on: &dyn Fn() -> bool) -> Result<ReindexOutput, ToolError> {
        match self.refresh_telling(&mut |_| {}, may_go_on, may_go_on) {
            Err(ToolError::Interrupted) => Ok(ReindexOutput::default()),
            outcome => outcome,
        }
    }

    /// The same; `progress` hears of every file, and the error is [`ToolError::Interrupted`] when something is left. While another process
    /// indexes, nothing is gained by waiting for it when somebody else waits: that is what `may_wait` is asked.
    pub fn refresh_telling(
        &mut self,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
        may_wait: &dyn Fn() -> bool,
    ) -> Result<ReindexOutput, ToolError> {
        self.mending(|engine| engine.take_in(progress, may_go_on, may_wait))
    }

    fn take_in(
        &mut self,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
        may_wait: &dyn Fn() -> bool,
    ) -> Result<ReindexOutput, ToolError> {
        self.keep_waiting()?;
        self.reindex_changed(progress, may_go_on, may_wait)
    }

    fn keep_waiting(&mut self) -> Result<(), ToolError> {
        if *self.store.access() == Access::Full {
            match spool::drain(&mut self.store, SPOOLED) {
                Err(fault) if fault.is_damage() => return Err(fault.into()),
                // What cannot be kept now waits on; it must not keep search from working.
                Err(fault) if !fault.is_busy() => hook_log::note_error(self.store.layout(), &fault),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether something waits until another program has written a log.
    pub fn must_look_again(&self) -> Result<bool, ToolError> {
        Ok(spool::waiting(self.store.layout()) > 0 || self.store.is_any_log_being_rewritten()?)
    }

    /// Copies what was written into the database itself, for whoever opens it next. Best done when nobody waits.
    pub fn tidy(&self) -> Result<(), ToolError> {
        self.store.tidy()?;
        self.index.tidy()
    }

    /// Keeps the write-ahead logs from growing without end where somebody asks at every moment. `false` when it is to be tried again.
    pub fn bound(&self) -> Result<bool, ToolError> {
        Ok(self.store.bound()? & self.index.bound()?)
    }

    /// Whether memories can be saved.
    pub fn is_writable(&self) -> bool {
        *self.store.access() == Access::Full
    }

    /// Whether the databases are still the files that were opened.
    pub fn is_current(&self) -> bool {
        self.store.is_current() && self.index.is_current()
    }

    /// `memory_search`. Asks for the vector of the question by itself, which may take some seconds when it is made elsewhere.
    pub fn search(&mut self, input: &SearchInput) -> Result<SearchOutput, ToolError> {
        self.search_while(input, &mut |_| {}, &|| true)
    }

    /// The same; where many memories wait to be indexed, `progress` hears of them and it is asked whether it may go on.
    pub fn search_while(
        &mut self,
        input: &SearchInput,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<SearchOutput, ToolError> {
        let asked = self.question(input)?.map(|question| question.ask());
        let now = Moment::now();
        let meaning = self.meaning.as_ref().map(|meaning| match meaning.embedder.place() {
            WorkPlace::Here => meaning.clone(),
            WorkPlace::Elsewhere => meaning.with(asked.unwrap_or_else(|| meaning.unasked())),
        });
        let mut go_on = |done: usize, total: usize| {
            progress(Progress { done, total, path: "memories".to_owned() });
            may_go_on()
        };
        let mut output = self.mending(|engine| {
            let means = Means { meaning: meaning.as_ref(), weights: engine.weights, scoring: Scoring::Full };
            search::search_while(&mut engine.store, &mut engine.index, means, input, &now, &mut go_on)
        })?;
        self.tell_encodings(&mut output);
        self.tell(&mut output.notice);
        Ok(output)
    }

    /// `memory_get`.
    pub fn get(&mut self, input: &GetInput) -> Result<GetOutput, ToolError> {
        self.mending(|engine| get::get(&mut engine.store, &engine.index, input))
    }

    /// `memory_load`.
    pub fn load(&mut self, input: &LoadInput) -> Result<LoadOutput, ToolError> {
        let mut output = load::load(self.store.layout(), input, &Moment::now())?;
        self.tell(&mut output.notice);
        Ok(output)
    }

    /// `memory_save`.
    pub fn save(&mut self, input: &SaveInput) -> Result<SaveOutput, ToolError> {
        let prepared = self.prepare(input)?;
        self.mending(|engine| {
            let saved = commit(&mut engine.store, &prepared)?;
            engine.told(saved)
        })
    }

    /// Makes what is to be saved fit to be kept, by [`Engine::keep`].
    pub fn prepare(&mut self, input: &SaveInput) -> Result<Prepared, ToolError> {
        let now = Moment::now();
        self.mending(|engine| save::prepared(&engine.store, input, &engine.session_id, now))
    }

    /// Keeps what was prepared, all of it at once where that can be done, and answers what became of each.
    pub fn keep(&mut self, memories: &[Prepared]) -> Vec<Result<Captured, ToolError>> {
        let outcomes = commit_all(&mut self.store, memories);
        let pairs = memories.iter().zip(outcomes);
        let settled = pairs.map(|(memory, outcome)| match outcome {
            // What was kept before the damage was met is found in its log and not kept twice.
            Err(fault) if fault.is_damage() => self.mending(|engine| Ok(commit(&mut engine.store, memory)?)),
            outcome => Ok(outcome?),
        });
        settled.collect()
    }

    /// What `memory_save` tells of a memory that was kept.
    pub fn told(&mut self, saved: Captured) -> Result<SaveOutput, ToolError> {
        save::output(&self.store, &mut self.counted, saved)
    }

    /// Finds the lines of memories in their files.
    pub fn locator(&self) -> Locator {
        self.store.locator()
    }

    /// The few memories that fit a prompt well.
    pub fn recall(&mut self, prompt: &str, session_id: &str) -> Result<Vec<Recalled>, ToolError> {
        self.mending(|engine| recall::recall(&mut engine.store, &mut engine.index, prompt, session_id))
    }

    /// `memory_stats`.
    pub fn stats(&mut self) -> Result<StatsOutput, ToolError> {
        self.mending(|engine| {
            let mut output = stats::stats(&engine.store, &engine.index, &engine.news.all())?;
            engine.tell_embedding(&mut output)?;
            Ok(output)
        })
    }

    /// `memory_reindex`; `progress` hears of every file and then of batches of vectors, and before each of them it is asked whether it
    /// may go on.
    pub fn reindex(
        &mut self,
        input: &ReindexInput,
        progress: &mut dyn FnMut(Progress),
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<ReindexOutput, ToolError> {
        self.mending(|engine| {
            engine.keep_waiting()?;
            let mut files = 0;
            let mut of_files = |step: Progress| {
                files = step.total;
                progress(step);
            };
            let mut output = engine.reindex_as_asked(input, &mut of_files, may_go_on)?;
            let mut of_vectors = |done: usize, total: usize| {
                progress(Progress { done: files + done, total: files + total, path: "vectors".to_owned() });
            };
            output.embedded = engine.embed_here(&mut of_vectors, may_go_on)?;
            engine.tend(may_go_on)?;
            Ok(output)
        })
    }

    /// The newest memories that pass a filter.
    pub fn list(&mut self, filter: &Filter, limit: usize) -> Result<Vec<Row>, ToolError> {
        self.mending(|engine| Ok(engine.store.rows().list(filter, limit)?))
    }

    /// The text of long-term memory or of a day, all of it unless it is very long.
    pub fn text(&self, log: LogKind) -> Result<String, ToolError> {
        logs::text(self.store.layout(), log)
    }

    /// The logs there are, long-term memory first, then the newest day first.
    pub fn logs(&self) -> Result<Vec<LogKind>, ToolError> {
        logs::logs(self.store.layout())
    }

    /// The ids that begin so, of the newest memories first.
    pub fn newest_ids(&mut self, beginning: &str, limit: usize) -> Result<Vec<String>, ToolError> {
        self.mending(|engine| Ok(engine.store.rows().newest_ids(beginning, limit)?))
    }

    /// The id that begins so, if only one does. What is no beginning of any is answered as it came.
    pub fn whole_id(&mut self, beginning: &str) -> Result<String, ToolError> {
        let beginning = beginning.trim();
        match self.mending(|engine| Ok(engine.store.rows().ids_beginning_with(beginning)?))?.as_slice() {
            [only] => Ok(only.clone()),
            [first, second, ..] if first != beginning => Err(ToolError::Invalid(format!(
                "{beginning:?} is the beginning of {first} and {second}: give more of it"
            ))),
            _ => Ok(beginning.to_owned()),
        }
    }

    /// What had to be mended; told once.
    pub fn take_news(&mut self) -> Vec<String> {
        self.news.take()
    }

    fn tell(&mut self, notice: &mut Option<String>) {
        let news = self.take_news().join("; ");
        if !news.is_empty() {
            add(notice, &news);
        }
    }

    /// Says which hits come from files that could be read only in part.
    fn tell_encodings(&self, output: &mut SearchOutput) {
        let is_doubtful = |text: &str| text.contains(char::REPLACEMENT_CHARACTER);
        let hits = output.results.iter();
        let doubtful = hits.filter(|hit| is_doubtful(&hit.snippet) || hit.heading.as_deref().is_some_and(is_doubtful));
        let files: BTreeSet<&str> = doubtful.filter_map(|hit| hit.path.strip_prefix(STORE_DIR)).collect();
        let about = |path: &str| file_access::read(self.store.layout(), path.trim_start_matches('/')).ok()?.notice;
        for text in files.into_iter().filter_map(about) {
            add(&mut output.notice, &text);
        }
    }
}

fn open_index(store: &Store, news: &News) -> Result<Index, ToolError> {
    match Index::open(store) {
        Err(ToolError::Unavailable(cause)) => {
            news.add(format!("the index is kept in memory for now: {cause}"));
            Index::in_memory(store)
        }
        Ok(index) if index.was_reset() => {
            news.add(INDEX_RESET.to_owned());
            Ok(index)
        }
        opened => opened,
    }
}

fn add(notice: &mut Option<String>, text: &str) {
    *notice = Some(notice.take().map_or(text.to_owned(), |notice| format!("{notice}; {text}")));
}
