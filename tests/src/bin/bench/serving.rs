//! A search of our server, with the place of each hit.

use std::time::Duration;

use harness::peer::TimedServer;
use serde_json::{Value, json};

use crate::arguments::Outcome;

/// Searches and returns path and first line of each hit.
pub(crate) fn search(server: &mut TimedServer, query: &str) -> Outcome<(Duration, Vec<(String, usize)>)> {
    search_with_phrasings(server, query, &[])
}

/// Searches for a question and its other phrasings.
pub(crate) fn search_with_phrasings(
    server: &mut TimedServer,
    query: &str,
    also: &[&str],
) -> Outcome<(Duration, Vec<(String, usize)>)> {
    let asked = json!({ "query": query, "also": also, "maxResults": 10, "maxTokens": 4000 });
    let (took, result) = server.call("memory_search", &asked)?;
    let hits = result["structuredContent"]["results"].as_array().ok_or("no results")?;
    let place = |hit: &Value| Some((hit["path"].as_str()?.to_owned(), hit["start_line"].as_u64()? as usize));
    Ok((took, hits.iter().filter_map(place).collect()))
}
