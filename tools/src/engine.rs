//! The engine: one open store with its index, and the six tools as functions on it.
//!
//! Synchronous and for one thread; whoever serves gives it a thread of its own.

mod file_access;
mod get;
mod load;
mod recall;
mod reindex;
mod save;
mod stats;

use std::path::Path;

use schema::capture::{Prepared, commit};
use schema::database::Patience;
use schema::forget;
use schema::memory::MemoryId;
use schema::moment::Moment;
use schema::queue::Recalled;
use schema::spool;
use schema::store::{Access, Filter, Row, Store};
use schema::tool::{
    GetInput, GetOutput, LoadInput, LoadOutput, ReindexInput, ReindexOutput, SaveInput, SaveOutput, SearchInput,
    SearchOutput, StatsOutput,
};

use crate::error::ToolError;
use crate::index::Index;
use crate::search;

pub use reindex::Progress;

/// Waiting memories that are taken from the spool at once.
const SPOOLED: usize = 10_000;

/// An open store and its index.
#[derive(Debug)]
pub struct Engine {
    store: Store,
    index: Index,
    /// The host's session, when it told us.
    session_id: String,
    /// What opening had to mend, told once with an answer and kept for the statistics.
    untold: Vec<String>,
}

impl Engine {
    /// Opens the store of a project. Nothing is indexed yet; [`Engine::refresh`] does that.
    pub fn open(project: &Path, session_id: Option<String>) -> Result<Self, ToolError> {
        let store = Store::open(project, Patience::Server)?;
        let mut untold = store.notes().to_vec();
        let index = match Index::open(&store) {
            Err(ToolError::Unavailable(cause)) => {
                untold.push(format!("the index is kept in memory for now: {cause}"));
                Index::in_memory(&store)?
            }
            opened => opened?,
        };
        Ok(Self { store, index, session_id: session_id.unwrap_or_default(), untold })
    }

    /// Where the store lies and what is in it.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Brings rows and chunks in step with every file that changed, and keeps what waits in the spool.
    pub fn refresh(&mut self) -> Result<ReindexOutput, ToolError> {
        self.keep_waiting();
        self.reindex_changed(&mut |_| {})
    }

    fn keep_waiting(&mut self) {
        if *self.store.access() == Access::Full {
            // What cannot be kept now waits on; it must not keep search from working.
            let _ = spool::drain(&mut self.store, SPOOLED);
        }
    }

    /// Whether memories can be saved.
    pub fn is_writable(&self) -> bool {
        *self.store.access() == Access::Full
    }

    /// Whether the databases are still the files that were opened.
    pub fn is_current(&self) -> bool {
        self.store.is_current() && self.index.is_current()
    }

    /// `memory_search`.
    pub fn search(&mut self, input: &SearchInput) -> Result<SearchOutput, ToolError> {
        let mut output = search::search(&mut self.store, &mut self.index, input, &Moment::now())?;
        self.tell(&mut output.notice);
        Ok(output)
    }

    /// `memory_get`.
    pub fn get(&mut self, input: &GetInput) -> Result<GetOutput, ToolError> {
        get::get(&mut self.store, &self.index, input)
    }

    /// `memory_load`.
    pub fn load(&mut self, input: &LoadInput) -> Result<LoadOutput, ToolError> {
        let mut output = load::load(self.store.layout(), input, &Moment::now())?;
        self.tell(&mut output.notice);
        Ok(output)
    }

    /// `memory_save`.
    pub fn save(&mut self, input: &SaveInput) -> Result<SaveOutput, ToolError> {
        save::save(&mut self.store, input, &self.session_id, Moment::now())
    }

    /// Keeps what a hook prepared.
    pub fn keep(&mut self, memories: &[Prepared]) -> Result<(), ToolError> {
        for memory in memories {
            commit(&mut self.store, memory)?;
        }
        Ok(())
    }

    /// The few memories that fit a prompt well.
    pub fn recall(&mut self, prompt: &str, session_id: &str) -> Result<Vec<Recalled>, ToolError> {
        recall::recall(&mut self.store, &mut self.index, prompt, session_id)
    }

    /// `memory_stats`.
    pub fn stats(&mut self) -> Result<StatsOutput, ToolError> {
        stats::stats(&self.store, &self.index)
    }

    /// `memory_reindex`; `progress` hears of every file.
    pub fn reindex(
        &mut self,
        input: &ReindexInput,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ReindexOutput, ToolError> {
        self.keep_waiting();
        self.reindex_as_asked(input, progress)
    }

    /// The newest memories that pass a filter.
    pub fn list(&self, filter: &Filter, limit: usize) -> Result<Vec<Row>, ToolError> {
        Ok(self.store.rows().list(filter, limit)?)
    }

    /// Deletes a memory for good and answers what it was.
    pub fn delete(&mut self, id: &str) -> Result<Row, ToolError> {
        let missing = || ToolError::NotFound(format!("there is no memory with the id {id:?}"));
        let id = MemoryId::parse(&self.whole_id(id)?).ok_or_else(missing)?;
        forget::forget(&mut self.store, &id)?.ok_or_else(missing)
    }

    /// The id that begins so, if only one does. What is no beginning of any is answered as it came.
    pub fn whole_id(&self, beginning: &str) -> Result<String, ToolError> {
        let beginning = beginning.trim();
        match self.store.rows().ids_beginning_with(beginning)?.as_slice() {
            [only] => Ok(only.clone()),
            [first, second, ..] if first != beginning => Err(ToolError::Invalid(format!(
                "{beginning:?} is the beginning of {first} and {second}: give more of it"
            ))),
            _ => Ok(beginning.to_owned()),
        }
    }

    /// What opening had to mend; told once.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }

    fn tell(&mut self, notice: &mut Option<String>) {
        if !self.untold.is_empty() {
            let news = self.take_news().join("; ");
            *notice = Some(notice.take().map_or(news.clone(), |notice| format!("{notice}; {news}")));
        }
    }
}
