//! Embedding as work for idle moments: a batch at a time, so that whoever calls can do something else in between.

use std::time::Duration;

use schema::causes::chain;
use schema::lock::{FileLock, LockError};
use schema::store::Access;
use schema::tool::{EmbeddingStats, SearchInput, StatsOutput};

use super::Engine;
use super::errand::{Errand, Made};
use crate::embed::{Meaning, Question, Vector, WorkPlace};
use crate::error::ToolError;
use crate::index::{Coverage, Gathered, Urgency, Worked};
use crate::search::query::Query;

/// Documents of a batch: some milliseconds of work here, one request elsewhere.
const BATCH_HERE: usize = 256;
const BATCH_ELSEWHERE: usize = 64;

/// Characters of a question that are embedded. What is longer was pasted, and says what it is about at its beginning.
const QUESTION: usize = 2_000;

/// What is sent to see whether vectors come, and what is wrong when none does.
const PROBE: &str = "memory";
const NO_VECTOR: &str = "an answer came, without a vector";

/// What came of a step.
#[derive(Debug)]
pub enum Step {
    /// Nothing waits, or nothing can be done about it now.
    Done,
    /// There is more to do.
    More,
    /// This has to be run where nobody waits, and what comes of it to be brought back.
    Errand(Errand),
    /// Another process has vectors made; to be looked at again in a moment.
    Elsewhere,
}

impl Engine {
    /// Does a step of what there is to embed: a batch, when vectors are made here, or else what it takes to send one out.
    /// Nothing is done while another process indexes.
    pub fn embedding_step(&mut self) -> Result<Step, ToolError> {
        self.mending(|engine| match engine.place() {
            None => Ok(Step::Done),
            Some(WorkPlace::Here) => Ok(if engine.embed_batch()?.is_more { Step::More } else { Step::Done }),
            Some(WorkPlace::Elsewhere) => engine.next_errand(),
        })
    }

    /// Does a step of what makes searching faster, some milliseconds of work; whether there is more. Nothing is done while another
    /// process indexes.
    pub fn tending_step(&mut self) -> Result<bool, ToolError> {
        if *self.store.access() != Access::Full {
            return Ok(false);
        }
        self.mending(|engine| match engine.index.lock(Urgency::Now)? {
            Some(lock) => engine.index.tend(&lock),
            None => Ok(false),
        })
    }

    /// The same until there is no more, for as long as it may go on.
    pub(super) fn tend(&mut self, may_go_on: &dyn Fn() -> bool) -> Result<(), ToolError> {
        while *self.store.access() == Access::Full && may_go_on() {
            let Some(lock) = self.index.lock(Urgency::Now)? else { return Ok(()) };
            if !self.index.tend(&lock)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes in what an errand brought. `false`: another process indexes, and it has to be brought again.
    pub fn keep_vectors(&mut self, made: &Made) -> Result<bool, ToolError> {
        self.mending(|engine| {
            let Some(lock) = engine.index.lock(Urgency::Now)? else { return Ok(false) };
            engine.index.keep_vectors(&made.identity, &made.vectors, &lock)?;
            Ok(true)
        })
    }

    /// Gives vectors to a batch of the passages that wait, wherever they are made, and says whether more do. Whoever calls waits.
    pub fn embed_some(&mut self) -> Result<Worked, ToolError> {
        if self.place() != Some(WorkPlace::Elsewhere) {
            return self.mending(Self::embed_batch);
        }
        match self.embedding_step()? {
            Step::Done | Step::Elsewhere => Ok(Worked::default()),
            Step::More => Ok(Worked { embedded: 0, is_more: true }),
            Step::Errand(errand) => {
                let made = errand.run().map_err(|failed| failed.error)?;
                while !self.keep_vectors(&made)? {}
                Ok(Worked { embedded: made.vectors.len(), is_more: true })
            }
        }
    }

    /// Gives vectors to all that wait, as far as they are made here and for as long as it may go on, and answers how many that were.
    /// What is left is made in idle moments. `progress` hears how many are done after each batch, and how many there are.
    pub(super) fn embed_here(
        &mut self,
        progress: &mut dyn FnMut(usize, usize),
        may_go_on: &dyn Fn() -> bool,
    ) -> Result<usize, ToolError> {
        let (mut embedded, mut waiting) = (0, None);
        let mut is_more = self.place() == Some(WorkPlace::Here);
        while is_more && may_go_on() {
            let worked = self.embed_batch()?;
            embedded += worked.embedded;
            is_more = worked.is_more;
            // Counted after the first batch, before which it may not be known yet whose vectors they are.
            let total = match waiting {
                Some(total) => total,
                None => {
                    let left = usize::try_from(self.index.coverage()?.waiting).unwrap_or(usize::MAX);
                    *waiting.insert(embedded.saturating_add(left))
                }
            };
            // What somebody else embeds or captures meanwhile is not counted a second time.
            progress(embedded.min(total), total);
        }
        Ok(embedded)
    }

    /// Makes ready who makes the vectors, which may take long. What goes wrong is told by the next search.
    pub fn prepare_embedding(&self) {
        if let Some(meaning) = &self.meaning
            && let Err(error) = meaning.embedder.prepare()
        {
            meaning.trouble.met(&error);
        }
    }

    /// Has a vector made of a word, when vectors are made elsewhere: whether who makes them is reached and does what it should. `None`
    /// when they are made here, or not at all.
    pub fn reach_embedding(&self) -> Option<Result<(), String>> {
        let meaning = self.meaning.as_ref().filter(|meaning| meaning.embedder.place() == WorkPlace::Elsewhere)?;
        let made = meaning.embedder.prepare().and_then(|()| meaning.embedder.embed_query(PROBE));
        let is_comparable = |vector: &Vector| vector.is_some().then_some(()).ok_or_else(|| NO_VECTOR.to_owned());
        Some(made.map_err(|error| chain(&error)).and_then(|vector| is_comparable(&vector)))
    }

    /// What has to be asked before a search, by whoever can wait for it; `None` when nothing has to.
    pub fn question(&self, input: &SearchInput) -> Result<Option<Question>, ToolError> {
        let Some(meaning) = self.meaning.as_ref().filter(|_| self.place() == Some(WorkPlace::Elsewhere)) else {
            return Ok(None);
        };
        let is_comparable = meaning.embedder.readiness().is_ok() && self.index.uses(meaning.embedder.identity())?;
        if !is_comparable || Query::literal(&input.query).is_empty() {
            return Ok(None);
        }
        let beginning: String = input.query.chars().take(QUESTION).collect();
        Ok(Some(Question::new(meaning, self.screen.clean(&beginning).text.into_owned())))
    }

    fn place(&self) -> Option<WorkPlace> {
        self.meaning.as_ref().map(|meaning| meaning.embedder.place())
    }

    fn embed_batch(&mut self) -> Result<Worked, ToolError> {
        let Some(meaning) = self.meaning.as_ref().filter(|_| *self.store.access() == Access::Full) else {
            return Ok(Worked::default());
        };
        // Another process indexes: it is looked at again, as nobody tells when that is over.
        let Some(lock) = self.index.lock(Urgency::Glance)? else { return Ok(Worked { embedded: 0, is_more: true }) };
        self.index.renew_spoiled(&lock)?;
        self.index.take_in_memories(self.store.rows(), &lock)?;
        self.index.use_model(Some(meaning.embedder.identity()), &lock)?;
        self.index.embed_waiting(self.store.rows(), &*meaning.embedder, &str::to_owned, BATCH_HERE, &lock)
    }

    fn next_errand(&mut self) -> Result<Step, ToolError> {
        let Some(meaning) = self.meaning.clone().filter(|_| *self.store.access() == Access::Full) else {
            return Ok(Step::Done);
        };
        if meaning.embedder.readiness().is_err() {
            return Ok(Step::Errand(Errand::prepare(meaning)));
        }
        let own = match FileLock::acquire(&self.store.layout().embedding_lock(), Duration::ZERO) {
            Ok(own) => own,
            Err(LockError::Busy(_)) => {
                let waits = !self.index.uses(meaning.embedder.identity())? || self.index.is_anything_waiting()?;
                return Ok(if waits { Step::Elsewhere } else { Step::Done });
            }
            Err(error) => return Err(ToolError::Unavailable(crate::error::chain(&error))),
        };
        let Some(Gathered { worked, texts }) = self.gather(&meaning)? else { return Ok(Step::Done) };
        Ok(match texts.is_empty() {
            false => Step::Errand(Errand::embed(meaning, texts, own)),
            true if worked.is_more => Step::More,
            true => Step::Done,
        })
    }

    /// What waits and is not known, cleaned: it leaves this process, and often this machine.
    fn gather(&mut self, meaning: &Meaning) -> Result<Option<Gathered>, ToolError> {
        let Some(lock) = self.index.lock(Urgency::Now)? else { return Ok(None) };
        self.index.renew_spoiled(&lock)?;
        self.index.take_in_memories(self.store.rows(), &lock)?;
        self.index.use_model(Some(meaning.embedder.identity()), &lock)?;
        let clean = |text: &str| self.screen.clean(text).text.into_owned();
        self.index.gather(self.store.rows(), &*meaning.embedder, &clean, BATCH_ELSEWHERE, &lock).map(Some)
    }

    pub(super) fn tell_embedding(&self, output: &mut StatsOutput) -> Result<(), ToolError> {
        let Some(meaning) = &self.meaning else { return Ok(()) };
        output.problems.extend(meaning.trouble.message().map(|message| format!("embedding: {message}")));
        let identity = meaning.embedder.identity();
        let found = self.index.coverage()?;
        // Vectors of another model are as good as none.
        let Coverage { documents, with_vector, without, refused, waiting } = match self.index.uses(identity)? {
            true => found,
            false => Coverage { documents: found.documents, waiting: found.documents, ..Coverage::default() },
        };
        output.problems.extend((refused > 0).then(|| {
            let (provider, s) = (&identity.provider, if refused == 1 { "" } else { "s" });
            format!("embedding: {provider} refuses {refused} passage{s}, found by words alone; memory_reindex with full asks again")
        }));
        let share = with_vector as f64 / documents.max(1) as f64;
        output.embedding = EmbeddingStats {
            provider: identity.provider.clone(),
            model: Some(identity.model.clone()),
            coverage: (share * 1000.0).round() / 1000.0,
            pending: waiting,
            without,
        };
        Ok(())
    }
}
