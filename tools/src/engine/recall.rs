//! Recall: what fits a prompt so well that it is worth showing unasked.

use schema::moment::Moment;
use schema::queue::Recalled;
use schema::store::Store;
use schema::tool::SearchInput;

use crate::error::ToolError;
use crate::index::Index;
use crate::search;

/// Memories at most.
const MOST: usize = 3;

/// The score from which a memory is shown unasked: about two thirds of what the prompt says is in it.
const CONFIDENT: f64 = 0.65;

/// Hits looked at, because those of the session itself are left out.
const LOOKED_AT: i64 = 12;

/// The memories of other sessions that fit a prompt well, best first.
pub(super) fn recall(
    store: &mut Store,
    index: &mut Index,
    prompt: &str,
    session_id: &str,
) -> Result<Vec<Recalled>, ToolError> {
    let input = SearchInput {
        query: prompt.to_owned(),
        max_results: Some(LOOKED_AT),
        min_score: Some(CONFIDENT),
        max_tokens: Some(4_000),
        ..SearchInput::default()
    };
    let found = search::search(store, index, &input, &Moment::now())?.results.into_iter();
    let from_elsewhere = found.filter(|hit| hit.session_id.as_deref().is_none_or(|session| session != session_id));
    let current = from_elsewhere.filter(|hit| !hit.flags.iter().any(|flag| flag == "superseded"));
    let recalled = current.map(|hit| Recalled { id: hit.id, path: hit.path, date: hit.date, text: hit.snippet });
    Ok(recalled.take(MOST).collect())
}
