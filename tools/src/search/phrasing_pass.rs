//! Searches for each phrasing of a question: candidates by words, and by vectors for all phrasings at once.

use std::thread;

use schema::model::moment::Moment;
use schema::store::Store;

use super::candidate::{self, Breadth, Candidate, UnscoredPassage};
use super::dates::AskedTimes;
use super::fusion::{self, SearchLegs, SearchQuestion};
use super::options::SearchOptions;
use super::relevance::RelevanceScorer;
use super::request::{Phrasing, SearchRequest};
use super::token_similarity;
use super::vector_leg::{VectorLeg, VectorQuestion, VectorScores};
use crate::embed::EmbeddingLocation;
use crate::error::ToolError;
use crate::fulltext::CorpusStats;
use crate::index::Index;

/// Why a search goes by words although there is a model.
const UNKNOWN: &str = "the model does not know the script of this query";

/// A phrasing of the question with what its search needs.
pub(super) struct PhrasingPass<'s> {
    phrasing: &'s Phrasing,
    /// Without a model if that does not know the script.
    options: SearchOptions<'s>,
    pub(super) corpus: CorpusStats,
    asked_times: AskedTimes,
    breadth: Breadth,
    vectors: Option<VectorQuestion>,
    /// Why it is not compared by vectors although there is a model.
    fault: Option<String>,
}

/// What one phrasing found.
pub(super) struct PhrasingResult {
    pub(super) candidates: Vec<Candidate>,
    /// The weights of its words.
    pub(super) weights: Vec<f32>,
    /// Why vectors were not compared although there is a model.
    pub(super) fault: Option<String>,
}

impl<'s> PhrasingPass<'s> {
    pub(super) fn prepare(
        leg: Option<&VectorLeg<'_>>,
        options: SearchOptions<'s>,
        phrasing: &'s Phrasing,
        corpus: CorpusStats,
        breadth: Breadth,
        now: &Moment,
    ) -> Result<Self, ToolError> {
        let here = options.model.filter(|model| model.embedder.location() == EmbeddingLocation::InProcess);
        let is_unknown =
            here.is_some_and(|model| !token_similarity::is_known_question(&model.local_model, phrasing.question()));
        let leg = leg.filter(|_| !is_unknown && !phrasing.query.is_empty());
        let embedded = leg.map(|leg| leg.embed(phrasing.question(), phrasing.query.translations())).transpose();
        let (vectors, fault) = match embedded {
            Ok(vectors) => (vectors.flatten(), is_unknown.then(|| UNKNOWN.to_owned())),
            Err(ToolError::Unavailable(cause)) => (None, Some(cause)),
            Err(error) => return Err(error),
        };
        let options = if is_unknown { SearchOptions { model: None, ..options } } else { options };
        let asked_times = AskedTimes::parse(phrasing.question(), now.date());
        Ok(Self { phrasing, options, corpus, asked_times, breadth, vectors, fault })
    }

    fn gather_by_words(
        &self,
        store: &Store,
        index: &Index,
        request: &SearchRequest,
    ) -> Result<Vec<UnscoredPassage>, ToolError> {
        candidate::gather_by_words(store, index, request, &self.phrasing.query, &self.corpus, self.breadth)
    }

    /// Adds candidates by vectors to those by words, and scores all.
    fn score(
        &self,
        store: &Store,
        index: &Index,
        request: &SearchRequest,
        by_words: Vec<UnscoredPassage>,
        nearness: Option<&VectorScores>,
    ) -> Result<PhrasingResult, ToolError> {
        let days = self.asked_times.all_days(self.phrasing.question());
        let gathered = candidate::add_remaining(store, index, request, by_words, nearness, &days)?;
        let relevance = RelevanceScorer::new(&self.phrasing.query, &self.corpus);
        let question = SearchQuestion { text: self.phrasing.question(), asked_times: &self.asked_times };
        let legs = SearchLegs::new(self.options, question, &request.filter, self.breadth, &relevance, nearness);
        let candidates = fusion::fuse_scores(store, index, gathered, &legs)?;
        Ok(PhrasingResult { candidates, weights: relevance.weights().to_vec(), fault: self.fault.clone() })
    }
}

/// What each phrasing finds. One thread compares vectors for all of them while this one reads the index.
pub(super) fn search_phrasings(
    store: &Store,
    index: &Index,
    request: &SearchRequest,
    leg: Option<&VectorLeg<'_>>,
    passes: &[PhrasingPass<'_>],
) -> Result<Vec<PhrasingResult>, ToolError> {
    let near = |pass: &PhrasingPass<'_>| pass.breadth.near(&request.filter);
    let gather = || passes.iter().map(|pass| pass.gather_by_words(store, index, request)).collect::<Vec<_>>();
    let questions: Vec<(&VectorQuestion, usize)> =
        passes.iter().filter_map(|pass| Some((pass.vectors.as_ref()?, near(pass)))).collect();
    let (gathered, scanned) = match leg.filter(|_| !questions.is_empty()) {
        Some(leg) if leg.is_slow() => run_both(gather, || leg.scan(&questions)),
        Some(leg) => (gather(), leg.scan(&questions)),
        None => (gather(), Ok(Vec::new())),
    };
    let (scanned, fault) = match scanned {
        Ok(scanned) => (scanned, None),
        Err(ToolError::Unavailable(cause)) => (Vec::new(), Some(cause)),
        Err(error) => return Err(error),
    };
    let mut scanned = scanned.into_iter();
    let score = |(pass, by_words): (&PhrasingPass<'_>, Result<Vec<UnscoredPassage>, ToolError>)| {
        let mut nearness = pass.vectors.as_ref().and_then(|_| scanned.next());
        if let (Some(leg), Some(question), Some(nearness)) = (leg, &pass.vectors, &mut nearness) {
            leg.rescore_nearest(question, nearness, index)?;
        }
        let result = pass.score(store, index, request, by_words?, nearness.as_ref())?;
        Ok(PhrasingResult { fault: result.fault.or_else(|| fault.clone()), ..result })
    };
    passes.iter().zip(gathered).map(score).collect()
}

/// Runs both in parallel if a second thread is available.
fn run_both<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync) -> (A, B) {
    thread::scope(|scope| {
        let started = thread::Builder::new().name("vectors".to_owned()).spawn_scoped(scope, &second);
        let first = first();
        match started.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(second)) => (first, second),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => (first, second()),
        }
    })
}
