//! The answer: hits as a model reads them, within its budget, and what it should know about them.

use schema::daily_log::LONG_TERM_FILE;
use schema::layout::STORE_DIR;
use schema::store::{CaughtUp, Locator, Store};
use schema::tool::{Confidence, Hit, HitSource, Mode, SearchOutput};

use super::Means;
use super::candidate::Passage;
use super::fusion::Reasons;
use super::matches::Matches;
use super::rank::{Lifts, Ranked};
use super::request::Request;
use super::snippet::snippet;
use crate::error::ToolError;
use crate::index::{Index, Urgency};

/// Characters of a snippet.
const SNIPPET: usize = 200;

/// Characters that a hit costs beside its texts: names of fields, quotes, numbers.
const OVERHEAD: usize = 185;

/// The nearest passages that are named when none is relevant, and how much is shown of each.
const NEAREST: usize = 3;
const TOPIC: usize = 60;

/// Makes the answer of what was ranked.
pub(super) fn answer(store: &mut Store, request: &Request, ranked: Vec<Ranked>) -> Result<SearchOutput, ToolError> {
    let (relevant, weak): (Vec<Ranked>, Vec<Ranked>) =
        ranked.into_iter().partition(|ranked| f64::from(ranked.score) >= request.min_score);
    let found = relevant.len();
    let mut notices = Vec::new();
    let mut results: Vec<Hit> = Vec::new();
    let mut left = request.max_tokens * 4;
    let mut locator = store.locator();
    for ranked in relevant.into_iter().take(request.limit) {
        let Some(hit) = hit(store, request, ranked, &mut locator)? else { continue };
        let written: usize = [&hit.heading, &hit.explanation].into_iter().flatten().map(String::len).sum();
        let cost = OVERHEAD + hit.snippet.chars().count() + hit.path.len() + written;
        if cost > left && !results.is_empty() {
            let more = found.min(request.limit) - results.len();
            notices.push(format!("{more} more hits left out to stay within maxTokens {}", request.max_tokens));
            break;
        }
        left = left.saturating_sub(cost);
        results.push(hit);
    }
    if results.is_empty() {
        notices.push(nothing(request, &weak));
    }
    if request.query.was_cut() {
        notices.push("the query is long; only its beginning was searched for".to_owned());
    }
    Ok(SearchOutput {
        count: results.len(),
        results,
        mode: Mode::Text,
        provider: "none".to_owned(),
        model: None,
        notice: (!notices.is_empty()).then(|| notices.join("; ")),
    })
}

fn nothing(request: &Request, weak: &[Ranked]) -> String {
    if request.query.is_empty() {
        return "nothing to search for: the query has no letters or digits".to_owned();
    }
    let narrowed = match request.narrowing.names().as_slice() {
        [] => String::new(),
        names => format!(" within {}; leave that out to search everything", names.join(", ")),
    };
    if weak.is_empty() {
        return format!("nothing remembered shares a word with this query{narrowed}");
    }
    let topics: Vec<String> = weak
        .iter()
        .take(NEAREST)
        .map(|ranked| {
            format!("{:?} ({:.2})", snippet(ranked.candidate.passage.text(), &request.query, TOPIC), ranked.score)
        })
        .collect();
    format!("nothing is relevant enough (minScore {}){narrowed}; nearest: {}", request.min_score, topics.join(", "))
}

/// A hit as it is answered, unless it is gone or says something else by now.
fn hit(store: &mut Store, request: &Request, ranked: Ranked, locator: &mut Locator) -> Result<Option<Hit>, ToolError> {
    let explanation = request.explain.then(|| explain(&ranked));
    let Some(passage) = current(store, request, ranked.candidate.passage)? else { return Ok(None) };
    let (start_line, end_line) = passage.lines(locator);
    let text = passage.text();
    let mut flags = Vec::new();
    if passage.superseded_by().is_some() {
        flags.push("superseded".to_owned());
    }
    if passage.path() == LONG_TERM_FILE {
        flags.push("long_term".to_owned());
    }
    if passage.memory().is_some_and(|memory| memory.attributes.pinned) {
        flags.push("pinned".to_owned());
    }
    let memory = passage.memory();
    let score = f64::from((ranked.score.min(1.0) * 1000.0).round()) / 1000.0;
    Ok(Some(Hit {
        id: passage.id().to_owned(),
        source: if memory.is_some() { HitSource::Memory } else { HitSource::Chunks },
        kind: memory.map(|memory| memory.kind),
        path: format!("{STORE_DIR}/{}", passage.path()),
        start_line,
        end_line,
        heading: match &passage {
            Passage::Chunk(chunk) => Some(chunk.heading.clone()).filter(|heading| !heading.is_empty()),
            Passage::Memory(_) => None,
        },
        date: passage.at().map(|at| match memory {
            Some(_) => at.local_second().replace('T', " "),
            None => at.date().to_string(),
        }),
        session_id: memory.map(|memory| memory.session_id.clone()).filter(|id| !id.is_empty()),
        snippet: snippet(text, &request.query, SNIPPET),
        score,
        confidence: Confidence::of(score),
        flags,
        explanation,
    }))
}

/// The passage as it stands now: where its log changed since, the rows catch up first. `None` when it is no longer there, or says
/// something else and holds no word of the query any more.
fn current(store: &mut Store, request: &Request, passage: Passage) -> Result<Option<Passage>, ToolError> {
    let Passage::Memory(row) = passage else { return Ok(Some(passage)) };
    match store.catch_up(&row.path, Urgency::Now.limit()) {
        Ok(CaughtUp::WithoutReading | CaughtUp::ByReading(_)) => {}
        Err(error) if error.is_damage() => return Err(error.into()),
        // Another process may be writing; then the text as it was is the best there is.
        Ok(CaughtUp::WasInStep | CaughtUp::NotYet) | Err(_) => return Ok(Some(Passage::Memory(row))),
    }
    let Some(again) = store.rows().by_id(&row.memory.id)? else { return Ok(None) };
    let mut matches = again.memory.content == row.memory.content;
    if !matches {
        Matches::new(&request.query).visit(&again.memory.content, |_| matches = true);
    }
    Ok(matches.then(|| Passage::Memory(Box::new(again))))
}

fn explain(ranked: &Ranked) -> String {
    let Reasons { words, otherwise, kin, vector, foreign, context, signs } = ranked.candidate.reasons;
    let mut text = format!("words {words:.3}");
    if otherwise >= 0.0005 {
        text.push_str(&format!(" ({otherwise:.3} in other words)"));
    }
    for (name, leg) in [("kindred words", kin), ("vector", vector)] {
        if let Some(leg) = leg {
            text.push_str(&format!(", {name} {leg:.3}"));
        }
    }
    if let Some(above) = foreign {
        text.push_str(&format!(", another script, {above:+.2} deviations"));
    }
    for (name, part) in [("context", context), ("signs", signs)] {
        if part.abs() >= 0.0005 {
            text.push_str(&format!(", {name} {part:+.3}"));
        }
    }
    text.push_str(&format!(" → {:.3}", ranked.candidate.relevance));
    let Lifts { curated, importance, recent } = ranked.lifts;
    for (name, lift) in [("curated", curated), ("importance", importance), ("recent", recent)] {
        if lift > 0.0 {
            text.push_str(&format!(", {name} +{:.0} %", lift * 100.0));
        }
    }
    text
}

/// Says who made the vectors, and what was degraded.
pub(super) fn tell_means(
    output: &mut SearchOutput,
    index: &Index,
    means: Means<'_>,
    fault: Option<String>,
) -> Result<(), ToolError> {
    let Some(meaning) = means.meaning else { return Ok(()) };
    let identity = meaning.embedder.identity();
    output.provider.clone_from(&identity.provider);
    output.model = Some(identity.model.clone());
    let mut notices: Vec<String> = output.notice.take().into_iter().collect();
    match fault {
        Some(cause) => notices.push(format!("searched by words alone: {cause}")),
        None if !index.uses(identity)? => {
            notices.push(format!("searched by words alone: vectors of {identity} are not made yet"));
        }
        None => {
            output.mode = Mode::Hybrid;
            let waiting = if index.is_anything_waiting()? { index.coverage()?.waiting } else { 0 };
            if waiting > 0 {
                notices.push(format!("{waiting} passages have no vector yet and are found by their words"));
            }
        }
    }
    output.notice = (!notices.is_empty()).then(|| notices.join("; "));
    Ok(())
}
