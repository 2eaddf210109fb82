//! Search: from a request to a ranked list with reasons.
//!
//! Pipeline: request → candidates by words and vectors, and unindexed rows → relevance of words, similar tokens and
//! vectors, in context → fusion → rank → answer.

mod answer;
mod candidate;
mod context;
mod dates;
mod fusion;
mod korean_stem;
mod leg_weights;
mod passage_part;
pub mod query;
mod rank;
mod relative_dates;
pub mod relevance;
mod request;
pub mod snippet;
mod stop_words;
mod term_matcher;
mod text_features;
mod token_similarity;
mod vector_leg;

use std::thread;

use schema::model::moment::Moment;
use schema::store::Store;
use schema::tool::{SearchInput, SearchOutput};

use crate::embed::EmbeddingLocation;
use crate::error::ToolError;
use crate::index::{Index, IndexLock, IndexLockWait};
use candidate::{VECTOR_CANDIDATES, VECTOR_CANDIDATES_FILTERED};
pub use leg_weights::{Scoring, SearchOptions};
use relevance::RelevanceScorer;
use request::SearchRequest;
use vector_leg::VectorComparison;

/// Documents that a search embeds itself if the embedder is local: recent captures.
const EMBEDDED_AT_ONCE: usize = 200;

/// Reason for a search by words although there is a model.
const UNKNOWN: &str = "the model does not know the script of this query";

pub fn search(
    store: &mut Store,
    index: &mut Index,
    means: SearchOptions<'_>,
    input: &SearchInput,
    now: &Moment,
) -> Result<SearchOutput, ToolError> {
    search_while(store, index, means, input, now, &mut |_, _| true)
}

/// The same with `go_on`, which is called with the done and total number of unindexed rows and decides whether to continue.
pub fn search_while(
    store: &mut Store,
    index: &mut Index,
    means: SearchOptions<'_>,
    input: &SearchInput,
    now: &Moment,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<SearchOutput, ToolError> {
    let mut request = SearchRequest::from_input(input)?;
    // New captures are indexed first. If that is impossible, because another process has the lock or the store is
    // read-only, they are scanned.
    if let Ok(Some(lock)) = index.lock(IndexLockWait::Short) {
        match index_pending(store, index, means, &lock, go_on) {
            // On a full disk, for example, they are scanned too.
            Ok(()) | Err(ToolError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    // Longer text was pasted, and its start says what it is about.
    let question = query::truncated_query(&input.query);
    let mut corpus = index.fulltext().corpus(request.query.all_terms())?;
    if request.query.add_spellings(index.fulltext(), &corpus)? {
        corpus = index.fulltext().corpus(request.query.all_terms())?;
    }
    let relevance = RelevanceScorer::new(&request.query, &corpus);
    let here = means.model.filter(|meaning| meaning.embedder.location() == EmbeddingLocation::InProcess);
    let is_unknown = here.is_some_and(|meaning| !token_similarity::is_known_question(&meaning.local_model, question));
    let means_of_query = if is_unknown { SearchOptions { model: None, ..means } } else { means };
    let (comparison, mut fault) = match prepare_comparison(index, means_of_query, &request, question) {
        Ok(comparison) => (comparison, is_unknown.then(|| UNKNOWN.to_owned())),
        Err(ToolError::Unavailable(cause)) => (None, Some(cause)),
        Err(error) => return Err(error),
    };
    let asked_times = dates::AskedTimes::parse(question, now.date());
    let days = if asked_times.are_all(question) { asked_times.days(now.date()) } else { Vec::new() };
    let ranked = {
        // One transaction, so that all statements see one state and lock only once.
        let _rows = store.snapshot()?;
        let _index = index.snapshot()?;
        let near = if request.filter.excludes_something() { VECTOR_CANDIDATES_FILTERED } else { VECTOR_CANDIDATES };
        let by_words = || candidate::gather_by_words(store, index, &request, &corpus);
        let (by_words, scanned) = match &comparison {
            Some(comparison) if comparison.is_slow() => run_both(by_words, || Some(comparison.scan(near))),
            Some(comparison) => (by_words(), Some(comparison.scan(near))),
            None => (by_words(), None),
        };
        let nearness = match comparison.as_ref().zip(scanned) {
            Some((comparison, Ok(scanned))) => Some(comparison.rescore_nearest(scanned, index)?),
            Some((_, Err(ToolError::Unavailable(cause)))) => {
                fault = Some(cause);
                None
            }
            Some((_, Err(error))) => return Err(error),
            None => None,
        };
        let gathered = candidate::add_remaining(store, index, &request, by_words?, nearness.as_ref(), &days)?;
        let legs = fusion::SearchLegs::new(
            means_of_query,
            question,
            &request.filter,
            &relevance,
            nearness.as_ref(),
            asked_times,
        );
        let candidates = fusion::fuse_scores(store, index, gathered, &legs)?;
        rank::rank(candidates, now, text_features::asks_for_past(question), &|words| relevance.weight_of(words))
    };
    let mut output = answer::build_output(store, &request, ranked)?;
    answer::add_provider_notice(&mut output, index, means, fault)?;
    Ok(output)
}

fn index_pending(
    store: &Store,
    index: &mut Index,
    means: SearchOptions<'_>,
    lock: &IndexLock,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<(), ToolError> {
    index.index_memories_while(store.rows(), lock, go_on)?;
    if let Some(meaning) = means.model.filter(|meaning| meaning.embedder.location() == EmbeddingLocation::InProcess) {
        index.use_model(Some(meaning.embedder.identity()), lock)?;
        if index.has_pending_vectors()? {
            index.embed_pending(store.rows(), &*meaning.embedder, &str::to_owned, EMBEDDED_AT_ONCE, lock)?;
        }
    }
    Ok(())
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

/// The comparison for the vector leg; `None` without vectors or question.
fn prepare_comparison(
    index: &mut Index,
    means: SearchOptions<'_>,
    request: &SearchRequest,
    question: &str,
) -> Result<Option<VectorComparison>, ToolError> {
    let Some(meaning) = means.model.filter(|_| !request.query.is_empty()) else { return Ok(None) };
    vector_leg::prepare_comparison(index, meaning, question)
}
