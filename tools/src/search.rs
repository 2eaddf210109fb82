//! Search: from what was asked to a ranked list with its reasons.
//!
//! The flow: request → candidates by words and by vectors, and rows not indexed yet → relevance of words, kindred words and
//! vectors, in context → fusion → rank → answer.

mod answer;
mod candidate;
mod context;
mod dates;
mod function_words;
mod fusion;
mod kin;
mod korean;
mod manner;
mod matches;
mod near;
mod part;
pub mod query;
mod rank;
pub mod relevance;
mod request;
pub mod snippet;
mod weighing;

use std::thread;

use schema::moment::Moment;
use schema::settings::Weights;
use schema::store::Store;
use schema::tool::{SearchInput, SearchOutput};

use crate::embed::{Meaning, WorkPlace};
use crate::error::ToolError;
use crate::index::{Index, IndexLock, Urgency};
use candidate::{FEW_NEAR, MANY_NEAR};
use near::Comparison;
use relevance::Relevance;
use request::Request;

/// Documents that get a vector while a search waits, when vectors are made here: what was captured a moment ago.
const EMBEDDED_AT_ONCE: usize = 200;

/// Why a search goes by words although there is a model.
const UNKNOWN: &str = "the model does not know the script of this query";

/// What a search goes by.
#[derive(Debug, Clone, Copy)]
pub struct Means<'m> {
    /// `None`: by words alone.
    pub meaning: Option<&'m Meaning>,
    /// `None`: what did best with the kind of model that is in use.
    pub weights: Option<Weights>,
    pub scoring: Scoring,
}

/// How relevance is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scoring {
    /// By everything that is known.
    Full,
    /// By the words of the passage and nothing around it.
    Words,
}

/// Finds what is remembered about a query.
pub fn search(
    store: &mut Store,
    index: &mut Index,
    means: Means<'_>,
    input: &SearchInput,
    now: &Moment,
) -> Result<SearchOutput, ToolError> {
    search_while(store, index, means, input, now, &mut |_, _| true)
}

/// The same, and of many rows that are not indexed yet it tells `go_on` how many are and how many there are, and goes on if it may.
pub fn search_while(
    store: &mut Store,
    index: &mut Index,
    means: Means<'_>,
    input: &SearchInput,
    now: &Moment,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<SearchOutput, ToolError> {
    let request = Request::of(input)?;
    // What was captured a moment ago is found: rows are taken in first, or scanned when another process indexes, or when nothing can
    // be locked because the store may not be written any more.
    if let Ok(Some(lock)) = index.lock(Urgency::Now) {
        match take_in(store, index, means, &lock, go_on) {
            // A full disk, for example; then they are scanned as well.
            Ok(()) | Err(ToolError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    // What is longer was pasted, and says what it is about at its beginning.
    let question = query::beginning(&input.query);
    let corpus = index.fulltext().corpus(&request.query)?;
    let relevance = Relevance::new(&request.query, &corpus);
    let here = means.meaning.filter(|meaning| meaning.embedder.place() == WorkPlace::Here);
    let is_unknown = here.is_some_and(|meaning| !kin::knows(&meaning.words, question));
    let means_of_query = if is_unknown { Means { meaning: None, ..means } } else { means };
    let (comparison, mut fault) = match comparison(index, means_of_query, &request, question) {
        Ok(comparison) => (comparison, is_unknown.then(|| UNKNOWN.to_owned())),
        Err(ToolError::Unavailable(cause)) => (None, Some(cause)),
        Err(error) => return Err(error),
    };
    let ranked = {
        // Each statement by itself would take and leave the locks of its database, and might see another state of it.
        let _rows = store.rows().0.unchecked_transaction()?;
        let _index = index.snapshot()?;
        let near = if request.narrowing.is_any() { MANY_NEAR } else { FEW_NEAR };
        let by_words = || candidate::by_words(store, index, &request, &corpus);
        let (by_words, scanned) = match &comparison {
            Some(comparison) if comparison.is_long() => at_once(by_words, || Some(comparison.scan(near))),
            Some(comparison) => (by_words(), Some(comparison.scan(near))),
            None => (by_words(), None),
        };
        let nearness = match comparison.as_ref().zip(scanned) {
            Some((comparison, Ok(scanned))) => Some(comparison.look_closely(scanned, index)?),
            Some((_, Err(ToolError::Unavailable(cause)))) => {
                fault = Some(cause);
                None
            }
            Some((_, Err(error))) => return Err(error),
            None => None,
        };
        let gathered = candidate::complete(store, index, &request, by_words?, nearness.as_ref())?;
        let legs = fusion::Legs::new(means_of_query, question, &request.narrowing, &relevance, nearness.as_ref());
        let candidates = fusion::fuse(store, index, gathered, &legs)?;
        rank::rank(candidates, now)
    };
    let mut output = answer::answer(store, &request, ranked)?;
    answer::tell_means(&mut output, index, means, fault)?;
    Ok(output)
}

fn take_in(
    store: &Store,
    index: &mut Index,
    means: Means<'_>,
    lock: &IndexLock,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<(), ToolError> {
    index.take_in_memories_while(store.rows(), lock, go_on)?;
    if let Some(meaning) = means.meaning.filter(|meaning| meaning.embedder.place() == WorkPlace::Here) {
        index.use_model(Some(meaning.embedder.identity()), lock)?;
        if index.is_anything_waiting()? {
            index.embed_waiting(store.rows(), &*meaning.embedder, &str::to_owned, EMBEDDED_AT_ONCE, lock)?;
        }
    }
    Ok(())
}

/// Runs two things at once, the second on a thread of its own if there can be one.
fn at_once<A, B: Send>(first: impl FnOnce() -> A, second: impl Fn() -> B + Sync) -> (A, B) {
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

/// What the vector leg compares, unless there is none or nothing to ask.
fn comparison(
    index: &mut Index,
    means: Means<'_>,
    request: &Request,
    question: &str,
) -> Result<Option<Comparison>, ToolError> {
    let Some(meaning) = means.meaning.filter(|_| !request.query.is_empty()) else { return Ok(None) };
    near::prepare(index, meaning, question)
}
