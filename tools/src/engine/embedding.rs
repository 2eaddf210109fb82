//! Embedding as work for idle moments: a batch at a time, so that whoever calls can do something else in between.

use schema::store::Access;
use schema::tool::{EmbeddingStats, StatsOutput};

use super::Engine;
use crate::embed::WorkPlace;
use crate::error::ToolError;
use crate::index::{Coverage, Urgency, Worked};

/// Documents of a batch: some milliseconds of work here, one request elsewhere.
const BATCH_HERE: usize = 256;
const BATCH_ELSEWHERE: usize = 64;

impl Engine {
    /// Gives vectors to a batch of the passages that wait, and says whether more do. Nothing is done while another process indexes.
    pub fn embed_some(&mut self) -> Result<Worked, ToolError> {
        self.mending(Self::embed_batch)
    }

    /// Gives vectors to all that wait, as far as they are made here, and answers how many that were.
    pub(super) fn embed_here(&mut self) -> Result<usize, ToolError> {
        let is_here = self.meaning.as_ref().is_some_and(|meaning| meaning.embedder.place() == WorkPlace::Here);
        let mut embedded = 0;
        let mut is_more = is_here;
        while is_more {
            let worked = self.embed_batch()?;
            embedded += worked.embedded;
            is_more = worked.is_more;
        }
        Ok(embedded)
    }

    fn embed_batch(&mut self) -> Result<Worked, ToolError> {
        let Some(meaning) = self.meaning.as_ref().filter(|_| *self.store.access() == Access::Full) else {
            return Ok(Worked::default());
        };
        let Some(lock) = self.index.lock(Urgency::Now)? else { return Ok(Worked::default()) };
        self.index.take_in_memories(self.store.rows(), &lock)?;
        self.index.use_model(Some(meaning.embedder.identity()), &lock)?;
        let limit = match meaning.embedder.place() {
            WorkPlace::Here => BATCH_HERE,
            WorkPlace::Elsewhere => BATCH_ELSEWHERE,
        };
        let clean = |text: &str| match meaning.embedder.place() {
            WorkPlace::Here => text.to_owned(),
            WorkPlace::Elsewhere => self.screen.clean(text).text.into_owned(),
        };
        self.index.embed_waiting(self.store.rows(), &*meaning.embedder, &clean, limit, &lock)
    }

    pub(super) fn tell_embedding(&self, output: &mut StatsOutput) -> Result<(), ToolError> {
        output.problems.extend(self.meaning_fault.clone());
        let Some(meaning) = &self.meaning else { return Ok(()) };
        let identity = meaning.embedder.identity();
        let found = self.index.coverage()?;
        // Vectors of another model are as good as none.
        let Coverage { documents, with_vector, without, waiting } = match self.index.uses(identity)? {
            true => found,
            false => Coverage { documents: found.documents, waiting: found.documents, ..Coverage::default() },
        };
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
