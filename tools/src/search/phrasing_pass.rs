//! Searches for each phrasing of a question: candidates by words, and by vectors for all phrasings at once.

use std::thread;

use schema::model::moment::Moment;
use schema::store::Store;

use super::candidate::{self, Breadth, Candidate, UnscoredPassage};
use super::dates::AskedTimes;
use super::fusion::{self, SearchLegs};
use super::relevance::RelevanceScorer;
use super::request::{Phrasing, SearchOptions, SearchRequest};
use super::vector_leg::{VectorLeg, VectorQuestion, VectorScores};
use crate::embed::{EmbeddingLocation, EmbeddingModel};
use crate::error::ToolError;
use crate::fulltext::CorpusStats;
use crate::index::Index;

/// Why a search with a model uses words only.
const UNKNOWN: &str = "the model does not know the script of this query";

/// Least share of a question that the built-in model must know, because single letters are in every text.
const MIN_COVERAGE: f32 = 0.5;

/// A phrasing of the question with what its search needs.
pub(super) struct PhrasingPass<'s> {
    phrasing: &'s Phrasing,
    pub(super) options: SearchOptions<'s>,
    corpus: CorpusStats,
    pub(super) relevance: RelevanceScorer<'s>,
    pub(super) asked_times: AskedTimes,
    breadth: Breadth,
    vector_question: Option<VectorQuestion>,
    /// Why this phrasing uses words only although there is a model.
    pub(super) cause: Option<String>,
}

/// Whether a model has vectors for the words of a phrasing.
pub(super) fn can_compare(model: &EmbeddingModel, phrasing: &Phrasing) -> bool {
    !phrasing.query.is_empty() && knows_script(model, phrasing)
}

fn knows_script(model: &EmbeddingModel, phrasing: &Phrasing) -> bool {
    model.embedder.location() == EmbeddingLocation::Remote
        || model.local_model.coverage(phrasing.question()) >= MIN_COVERAGE
}

/// Separates the reason why something is unavailable from real errors.
pub(super) fn split_cause<T>(result: Result<T, ToolError>) -> Result<(Option<T>, Option<String>), ToolError> {
    match result {
        Ok(value) => Ok((Some(value), None)),
        Err(ToolError::Unavailable(cause)) => Ok((None, Some(cause))),
        Err(error) => Err(error),
    }
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
        let is_unknown = options.model.is_some_and(|model| !knows_script(model, phrasing));
        let leg = leg.filter(|_| !is_unknown && !phrasing.query.is_empty());
        let embedded = leg.map(|leg| leg.embed(phrasing.question(), &phrasing.query.translations)).transpose();
        let (embedded, cause) = split_cause(embedded)?;
        let cause = cause.or_else(|| is_unknown.then(|| UNKNOWN.to_owned()));
        let relevance = RelevanceScorer::new(&phrasing.query, &corpus);
        let asked_times = AskedTimes::parse(phrasing.question(), now.date());
        let vector_question = embedded.flatten().flatten();
        Ok(Self { phrasing, options, corpus, relevance, asked_times, breadth, vector_question, cause })
    }

    /// Adds candidates by vectors to those by words, and scores all.
    fn score(
        &self,
        store: &Store,
        index: &Index,
        request: &SearchRequest,
        by_words: Vec<UnscoredPassage>,
        nearness: Option<&VectorScores>,
    ) -> Result<Vec<Candidate>, ToolError> {
        let (question, asked_times) = (self.phrasing.question(), &self.asked_times);
        let days = asked_times.all_days(question);
        let gathered = candidate::add_remaining(store, index, &request.filter, by_words, nearness, &days)?;
        let (filter, relevance) = (&request.filter, &self.relevance);
        let legs = SearchLegs::new(self.options, question, asked_times, filter, self.breadth, relevance, nearness);
        fusion::fuse_scores(store, index, gathered, &legs)
    }
}

/// Returns the candidates of each phrasing, and why vectors could not be compared. A second thread compares the vectors of all phrasings
/// while this one reads the index.
pub(super) fn search_phrasings(
    store: &Store,
    index: &Index,
    request: &SearchRequest,
    leg: Option<&VectorLeg<'_>>,
    passes: &[PhrasingPass<'_>],
) -> Result<(Vec<Vec<Candidate>>, Option<String>), ToolError> {
    let by_words = |pass: &PhrasingPass<'_>| {
        candidate::gather_by_words(store, index, request, &pass.phrasing.query, &pass.corpus, pass.breadth)
    };
    let gather = || passes.iter().map(by_words).collect::<Vec<_>>();
    let questions: Vec<(&VectorQuestion, usize)> = passes
        .iter()
        .filter_map(|pass| Some((pass.vector_question.as_ref()?, pass.breadth.vector_limit(&request.filter))))
        .collect();
    let (gathered, scanned) = match leg.filter(|_| !questions.is_empty()) {
        Some(leg) if leg.is_slow() => run_both(gather, || leg.scan(&questions)),
        Some(leg) => (gather(), leg.scan(&questions)),
        None => (gather(), Ok(Vec::new())),
    };
    let (scanned, cause) = split_cause(scanned)?;
    let mut scanned = scanned.unwrap_or_default().into_iter();
    let score = |(pass, by_words): (&PhrasingPass<'_>, Result<Vec<UnscoredPassage>, ToolError>)| {
        let nearness = match (leg, &pass.vector_question) {
            (Some(leg), Some(question)) => {
                scanned.next().map(|near| leg.rescore_nearest(question, near, index)).transpose()?
            }
            _ => None,
        };
        pass.score(store, index, request, by_words?, nearness.as_ref())
    };
    let results = passes.iter().zip(gathered).map(score).collect::<Result<Vec<_>, _>>()?;
    Ok((results, cause))
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
