//! Search: from what was asked to a ranked list with its reasons.
//!
//! The flow: request → candidates of the full-text table and rows it does not know yet → relevance → rank → answer.

mod answer;
mod candidate;
mod function_words;
mod korean;
mod matches;
pub mod query;
mod rank;
pub mod relevance;
mod request;
pub mod snippet;

use schema::moment::Moment;
use schema::store::Store;
use schema::tool::{SearchInput, SearchOutput};

use crate::error::ToolError;
use crate::index::{Index, Urgency};
use relevance::Relevance;
use request::Request;

/// Finds what is remembered about a query.
pub fn search(
    store: &mut Store,
    index: &mut Index,
    input: &SearchInput,
    now: &Moment,
) -> Result<SearchOutput, ToolError> {
    let request = Request::of(input)?;
    // What was captured a moment ago is found: rows are taken in first, or scanned when another process indexes.
    if let Some(lock) = index.lock(Urgency::Now)? {
        match index.take_in_memories(store.rows(), &lock) {
            // A full disk, for example; then they are scanned as well.
            Ok(_) | Err(ToolError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let corpus = index.fulltext().corpus(&request.query)?;
    let relevance = Relevance::new(&request.query, &corpus);
    let candidates = candidate::collect(store, index, &request, &relevance)?;
    let ranked = rank::rank(candidates, now);
    answer::answer(store, &request, ranked)
}
