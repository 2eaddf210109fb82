//! Builds the output of a search from the ranked candidates: hits with snippets and confidence within the token budget, and notices.

use schema::files::layout::STORE_DIR;
use schema::log::LONG_TERM_FILE;
use schema::model::memory::{Memory, MemoryType};
use schema::model::moment::Moment;
use schema::model::sharing::SharedState;
use schema::settings::CHARACTERS_PER_TOKEN;
use schema::store::{CatchUpOutcome, Locator, Store};
use schema::tool::{Confidence, Hit, SearchMode, SearchOutput, SearchSource};

use super::candidate::{Passage, ScoreReasons};
use super::current_state_first;
use super::query::Query;
use super::ranked_candidate::{RankLifts, RankedCandidate};
use super::request::{SearchOptions, SearchRequest};
use super::snippet::snippet;
use super::term_matcher::TermMatcher;
use super::text_features;
use crate::embed::{EmbeddingModel, ModelIdentity};
use crate::error::ToolError;
use crate::index::{Index, IndexLockWait};

/// Characters of all hits together, so that six hits cost at most 600 tokens. More hits get the same share each, fewer have longer snippets.
const ALL_HITS: usize = 2_150;
const USUAL_HITS: usize = 6;
const LEAST_SNIPPET: usize = 60;
const LONGEST_SNIPPET: usize = 400;

/// Characters per hit besides its texts: field names, quotes, numbers.
const HIT_OVERHEAD: usize = 185;

/// Characters of a heading next to other hits.
const HEADING_OF_MANY: usize = 60;

/// Least lead of a first hit with high confidence: about nine of ten are right, fewer if the answer is in another language.
/// docs/dev/retrieval.md has the figures.
const HIGH_LEAD: f32 = 0.4;

/// Score and lead of a passage below the threshold that is shown nevertheless.
const SUGGESTED_FROM: f32 = 0.22;
const SUGGESTED_LEAD: f32 = 0.3;

/// With fewer hits, a search adds weak answers from these scores on: in sessions of hits or a small store, and elsewhere with words of the
/// question.
const FEW_HITS: usize = 3;
const ANSWER_FROM: f32 = 0.15;
/// Least content words of a question that shows the nearest answers of a small store whatever their scores.
const QUESTION_WORDS: usize = 3;
const OTHER_ANSWER_FROM: f32 = 0.2;

/// In a store with fewer passages, the nearest ones are seldom there by chance, and the right one is often among them.
const SMALL_STORE: u64 = 150;

/// Number of nearest passages named if none is relevant, and their length.
const MAX_SUGGESTED: usize = 3;
const TOPIC: usize = 60;

/// Ranked candidates and what their confidence depends on.
pub(super) struct Ranking {
    pub(super) candidates: Vec<RankedCandidate>,
    /// The lead of the first one, before `answers_first` reorders.
    pub(super) lead: f32,
    /// The number of indexed passages.
    pub(super) documents: u64,
    /// Whether the question asks for the current state, so that newer hits go before older ones.
    pub(super) prefers_newest: bool,
}

pub(super) fn build_output(
    store: &mut Store,
    request: &SearchRequest,
    ranking: Ranking,
    now: &Moment,
) -> Result<SearchOutput, ToolError> {
    let Ranking { candidates, lead, documents, prefers_newest } = ranking;
    let (mut relevant, mut weak): (Vec<RankedCandidate>, Vec<RankedCandidate>) =
        candidates.into_iter().partition(|ranked| f64::from(ranked.score) >= request.min_score);
    let mut notices = Vec::new();
    if relevant.is_empty() && is_suggested(request, &weak, lead) {
        notices.push(format!("nothing scores {} or more; the first hit clearly leads the others", request.min_score));
        relevant.push(weak.remove(0));
    }
    let is_small = (1..SMALL_STORE).contains(&documents);
    if request.has_default_score && relevant.len() < FEW_HITS && (is_small || !relevant.is_empty()) {
        let asks = request.query().content_words() >= QUESTION_WORDS;
        let least = if is_small && relevant.is_empty() && asks { 0.0 } else { ANSWER_FROM };
        let more = weak_answers(&relevant, &mut weak, is_small, least);
        if relevant.is_empty() && !more.is_empty() {
            notices.push(format!("nothing scores {} or more; these are the nearest", request.min_score));
        }
        relevant.extend(more);
    }
    let has_new_first = prefers_newest && current_state_first::reorder(&mut relevant);
    let found = relevant.len();
    let count = found.min(request.limit);
    let mut results: Vec<Hit> = Vec::new();
    let mut left = request.max_tokens.saturating_mul(CHARACTERS_PER_TOKEN);
    let mut locator = store.locator();
    for ranked in relevant.into_iter().take(request.limit) {
        // A first hit is `high` only if it also leads: among hits that are all nearly as good, most first ones are wrong.
        let may_be_high = results.is_empty() && lead >= HIGH_LEAD && !has_new_first;
        let hit = build_hit(store, request, ranked, count, may_be_high, &mut locator, now)?;
        let Some(hit) = hit else { continue };
        let cost = hit_cost(&hit);
        if cost > left && !results.is_empty() {
            let more = count - results.len();
            notices.push(format!("{more} more hits omitted to stay within maxTokens {}", request.max_tokens));
            break;
        }
        left = left.saturating_sub(cost);
        results.push(hit);
    }
    if results.is_empty() {
        notices.push(no_results_notice(request, &weak));
    }
    if request.query().is_truncated {
        notices.push("the query is long; its beginning and its best parts were used".to_owned());
    }
    Ok(SearchOutput {
        count: results.len(),
        results,
        mode: SearchMode::Text,
        provider: "none".to_owned(),
        model: None,
        notice: (!notices.is_empty()).then(|| notices.join("; ")),
    })
}

/// Takes the best answers and statements out of `weak`. A hit on a file or summary often leads to the session that answers in other words.
fn weak_answers(
    hits: &[RankedCandidate],
    weak: &mut Vec<RankedCandidate>,
    is_small: bool,
    least: f32,
) -> Vec<RankedCandidate> {
    let sessions: Vec<String> = hits.iter().filter_map(session_of).collect();
    let is_answer = |ranked: &mut RankedCandidate| {
        let memory = ranked.candidate.passage.memory();
        let is_near = is_small || session_of(ranked).is_some_and(|session| sessions.contains(&session));
        let is_said = ranked.candidate.matched != 0 && ranked.score >= OTHER_ANSWER_FROM;
        memory.is_some_and(states) && (is_said || is_near && ranked.score >= least)
    };
    weak.extract_if(.., is_answer).take(FEW_HITS - hits.len()).collect()
}

fn session_of(ranked: &RankedCandidate) -> Option<String> {
    ranked.candidate.passage.memory().map(|memory| memory.session_id.clone()).filter(|session| !session.is_empty())
}

/// Whether a memory says something by itself.
fn states(memory: &Memory) -> bool {
    match memory.kind {
        MemoryType::AssistantResponse | MemoryType::SubagentResult => true,
        MemoryType::UserPrompt => !text_features::is_request(&memory.content),
        MemoryType::SessionSummary => !memory.attributes.auto || memory.is_day_summary(),
        kind => !kind.is_event(),
    }
}

/// The share of its score by which the first hit leads the next one. A composed summary of the same session repeats the hit.
pub(super) fn lead_of_first(ranked: &[RankedCandidate]) -> f32 {
    let Some((first, others)) = ranked.split_first() else { return 0.0 };
    // A composed summary names much, so its lead says little.
    if first.candidate.passage.memory().is_some_and(Memory::is_composed_summary) {
        return 0.0;
    }
    let session = session_of(first);
    let repeats = |other: &&RankedCandidate| {
        let is_composed = other.candidate.passage.memory().is_some_and(|memory| memory.attributes.auto);
        is_composed && session.is_some() && session_of(other) == session
    };
    let score = |ranked: &RankedCandidate| ranked.score.min(1.0);
    let next = others.iter().find(|other| !repeats(other)).map_or(0.0, score);
    if score(first) > 0.0 { 1.0 - next / score(first) } else { 0.0 }
}

/// Whether the nearest passage is worth showing below the threshold.
fn is_suggested(request: &SearchRequest, weak: &[RankedCandidate], lead: f32) -> bool {
    let is_near = weak.first().is_some_and(|first| first.score >= SUGGESTED_FROM);
    request.has_default_score && is_near && lead >= SUGGESTED_LEAD
}

/// Estimated characters of a hit in the output.
pub fn hit_cost(hit: &Hit) -> usize {
    let written: usize = [&hit.heading, &hit.explanation].into_iter().flatten().map(String::len).sum();
    HIT_OVERHEAD + hit.snippet.chars().count() + hit.path.len() + written
}

fn no_results_notice(request: &SearchRequest, weak: &[RankedCandidate]) -> String {
    if request.query().is_empty() {
        return "nothing to search for: the query has no letters or digits".to_owned();
    }
    let narrowed = match request.filter.argument_names().as_slice() {
        [] => String::new(),
        names => format!(" within {}; omit that to search everything", names.join(", ")),
    };
    if weak.is_empty() {
        return format!("no memory of this project shares a word with this query{narrowed}");
    }
    let topic = |ranked: &RankedCandidate| {
        let query = request.query_of(ranked.candidate.phrasing);
        format!("{:?} ({:.2})", snippet(ranked.candidate.passage.text(), query, TOPIC), ranked.score)
    };
    let topics: Vec<String> = weak.iter().take(MAX_SUGGESTED).map(topic).collect();
    format!("nothing scores {} or more{narrowed}; nearest: {}", request.min_score, topics.join(", "))
}

/// Formats one of `count` hits; `None` if it is gone or changed.
fn build_hit(
    store: &mut Store,
    request: &SearchRequest,
    ranked: RankedCandidate,
    count: usize,
    may_be_high: bool,
    locator: &mut Locator,
    now: &Moment,
) -> Result<Option<Hit>, ToolError> {
    let explanation = request.explain.then(|| explain_score(&ranked));
    let query = request.query_of(ranked.candidate.phrasing);
    let Some(passage) = refresh_passage(store, query, ranked.candidate.passage)? else { return Ok(None) };
    let (start_line, end_line) = passage.lines(locator);
    let text = passage.text();
    let memory = passage.memory();
    let path = format!("{STORE_DIR}/{}", passage.path());
    let heading = match &passage {
        Passage::Chunk(chunk) if count > 1 => Some(end_of_heading(&chunk.heading)),
        Passage::Chunk(chunk) => Some(chunk.heading.clone()),
        Passage::Memory(_) => None,
    };
    let heading = heading.filter(|heading| !heading.is_empty());
    let named = HIT_OVERHEAD + path.len() + heading.as_deref().map_or(0, |heading| heading.chars().count());
    let most = request.max_tokens.saturating_mul(CHARACTERS_PER_TOKEN);
    let room = ALL_HITS.min(most) / count.clamp(1, USUAL_HITS);
    let snippet_length = room.saturating_sub(named).clamp(LEAST_SNIPPET, LONGEST_SNIPPET);
    let score = f64::from((ranked.score.min(1.0) * 1000.0).round()) / 1000.0;
    Ok(Some(Hit {
        id: passage.id().to_owned(),
        source: if memory.is_some() { SearchSource::Memory } else { SearchSource::Chunks },
        kind: memory.map(|memory| memory.kind),
        path,
        start_line,
        end_line,
        heading,
        date: passage.at().map(|at| match memory {
            Some(_) => at.local_second().replace('T', " "),
            None => at.date().to_string(),
        }),
        session_id: memory.map(|memory| memory.session_id.clone()).filter(|id| !id.is_empty()),
        snippet: snippet(text, query, snippet_length),
        score,
        confidence: if may_be_high { Confidence::from_score(score) } else { Confidence::Suggested },
        flags: hit_flags(&passage, now),
        superseded_by: passage.superseded_by().map(ToString::to_string),
        code: None,
        explanation,
    }))
}

/// The last title of a heading, which says most, shortened.
fn end_of_heading(heading: &str) -> String {
    if heading.chars().count() <= HEADING_OF_MANY {
        return heading.to_owned();
    }
    let last = heading.rsplit(" > ").next().unwrap_or(heading);
    match last.char_indices().nth(HEADING_OF_MANY) {
        Some((end, _)) => format!("{}…", last[..end].trim_end()),
        None => last.to_owned(),
    }
}

fn hit_flags(passage: &Passage, now: &Moment) -> Vec<String> {
    let mut flags = Vec::new();
    if passage.superseded_by().is_some() {
        flags.push("superseded");
    }
    if passage.path() == LONG_TERM_FILE {
        flags.push("long_term");
    }
    if let Some(row) = passage.row() {
        flags.extend(row.memory.attributes.pinned.then_some("pinned"));
        flags.extend((row.memory.kind == MemoryType::Task && !row.is_open_task()).then_some("done"));
        if let Some(state) = row.shared_state(now) {
            flags.push("shared");
            flags.extend((state != SharedState::Approved).then(|| state.name()));
        }
    }
    flags.into_iter().map(str::to_owned).collect()
}

/// The current passage. If its log changed, the rows are synchronised first. `None` if it is gone, or its new text has no
/// word of the query.
fn refresh_passage(store: &mut Store, query: &Query, passage: Passage) -> Result<Option<Passage>, ToolError> {
    let Passage::Memory(row) = passage else { return Ok(Some(passage)) };
    match store.catch_up(&row.path, IndexLockWait::Short.duration()) {
        Ok(CatchUpOutcome::SyncedUnread | CatchUpOutcome::SyncedByReading(_)) => {}
        Err(error) if error.is_damage() => return Err(error.into()),
        // Another process may be writing; then the old text is used.
        Ok(CatchUpOutcome::AlreadyInSync | CatchUpOutcome::Busy) | Err(_) => return Ok(Some(Passage::Memory(row))),
    }
    let Some(again) = store.rows().by_id(&row.memory.id)? else { return Ok(None) };
    let mut matches = again.memory.content == row.memory.content;
    if !matches {
        TermMatcher::new(query).visit(&again.memory.content, |_| matches = true);
    }
    Ok(matches.then(|| Passage::Memory(Box::new(again))))
}

fn explain_score(ranked: &RankedCandidate) -> String {
    let ScoreReasons { words, synonyms, vector, cross_script, context, features } = ranked.candidate.reasons;
    let mut text = format!("words {words:.3}");
    if synonyms >= 0.0005 {
        text.push_str(&format!(" ({synonyms:.3} from synonyms)"));
    }
    if let Some(vector) = vector {
        text.push_str(&format!(", vector {vector:.3}"));
    }
    if let Some(above) = cross_script {
        text.push_str(&format!(", another script, {above:+.2} standard deviations"));
    }
    for (name, part) in [("context", context), ("features", features)] {
        if part.abs() >= 0.0005 {
            text.push_str(&format!(", {name} {part:+.3}"));
        }
    }
    text.push_str(&format!(" → {:.3}", ranked.candidate.relevance));
    let RankLifts { kind, importance, recent, identifier } = ranked.lifts;
    let lifts = [("kind", kind), ("importance", importance), ("recent", recent), ("whole identifier", identifier)];
    for (name, lift) in lifts {
        if lift > 0.0 {
            text.push_str(&format!(", {name} +{:.0} %", lift * 100.0));
        }
    }
    text
}

/// Appends a text to the notice of a result.
pub fn append_notice(notice: &mut Option<String>, text: &str) {
    *notice = Some(notice.take().map_or(text.to_owned(), |notice| format!("{notice}; {text}")));
}

/// Adds that the built-in model replaced a service, and why.
pub(super) fn add_fallback_notice(output: &mut SearchOutput, model: &EmbeddingModel, cause: &str) {
    name_model(output, model.embedder.identity());
    output.mode = SearchMode::Hybrid;
    append_notice(&mut output.notice, &format!("searched with the built-in model: {cause}"));
}

/// Adds the embedder to the answer, and why the search went by words only.
pub(super) fn add_provider_notice(
    output: &mut SearchOutput,
    index: &Index,
    options: SearchOptions<'_>,
    cause: Option<String>,
) -> Result<(), ToolError> {
    let Some(model) = options.model else { return Ok(()) };
    let identity = model.embedder.identity();
    name_model(output, identity);
    let cause = match cause {
        None if !index.is_current_model(identity)? => Some(format!("{identity} has no vectors yet")),
        cause => cause,
    };
    if let Some(cause) = cause {
        append_notice(&mut output.notice, &format!("searched by words only: {cause}"));
        return Ok(());
    }
    output.mode = SearchMode::Hybrid;
    let waiting = if index.has_pending_vectors()? { index.coverage()?.pending } else { 0 };
    if waiting > 0 {
        let text = format!("{waiting} passages have no vector yet and are found by words only");
        append_notice(&mut output.notice, &text);
    }
    Ok(())
}

fn name_model(output: &mut SearchOutput, identity: &ModelIdentity) {
    output.provider.clone_from(&identity.provider);
    output.model = Some(identity.model.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_headings_are_shortened_to_their_last_title() {
        assert_eq!(end_of_heading("Deploys > Rollback"), "Deploys > Rollback");
        let above = "event sourcing for the order service in the warehouse domain";
        assert_eq!(end_of_heading(&format!("{above} > Context")), "Context");
        let long = end_of_heading(&format!("Context > {above} of the company"));
        assert!(
            long.starts_with("event sourcing") && long.ends_with('…') && long.chars().count() <= HEADING_OF_MANY + 1
        );
    }
}
