//! Search: from a request to a ranked list with reasons.
//!
//! Pipeline: request → for each phrasing candidates by words and vectors, and unindexed rows → relevance of words and
//! vectors, in context → fusion → phrasings merged → rank → answer.

mod answer;
mod answers_first;
mod candidate;
mod context;
mod current_state_first;
mod dates;
mod echo;
mod fusion;
mod korean_stem;
mod leg_weights;
mod past_first;
mod phrasing_pass;
mod phrasings;
pub mod query;
mod query_parts;
mod questions;
mod rank;
mod ranked_candidate;
mod relative_dates;
pub mod relevance;
mod request;
pub mod snippet;
mod stop_words;
mod tags;
mod term_matcher;
mod text_features;
mod vector_leg;

use std::iter;
use std::sync::Arc;

use schema::model::memory::MemoryId;
use schema::model::moment::Moment;
use schema::model::state_note::{REVIEW_UNTIL, REVIEW_WITH, StateChange, StateNote};
use schema::store::Store;
use schema::tool::{SearchInput, SearchOutput};
use serde_json::Value;

use crate::control::{Control, MEMORIES};
use crate::embed::{EmbeddingLocation, EmbeddingModel};
use crate::error::ToolError;
use crate::fulltext::CorpusStats;
use crate::index::{Index, IndexLock, IndexLockWait, Vectors};
use answer::Ranking;
pub use answer::{append_notice, hit_cost};
use candidate::{Breadth, Candidate};
use echo::{AskedText, EchoFilter};
use phrasing_pass::{PhrasingPass, split_cause};
use ranked_candidate::RankContext;
pub use request::{Asker, Scoring, SearchOptions};
use request::{Phrasing, SearchRequest};
use vector_leg::VectorLeg;

/// How many documents a model's search embeds itself if the embedder is local: recent captures, because a model does not wait.
const MAX_EMBEDDED_FOR_MODEL: usize = 200;

/// The same for a person's search, which may be the first after an import.
const MAX_EMBEDDED_FOR_PERSON: usize = 20_000;

/// How many documents are embedded between two reports of progress.
const EMBEDDING_BATCH: usize = 200;

/// Searches the store. Reports the progress of indexing new rows, which can be stopped.
pub fn search(
    store: &mut Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    input: &SearchInput,
    now: &Moment,
    control: &mut Control<'_>,
) -> Result<SearchOutput, ToolError> {
    let mut request = SearchRequest::from_input(input)?;
    // New captures are indexed first. If that is impossible, because another process has the lock or the store is
    // read-only, they are scanned.
    if let Ok(Some(lock)) = index.lock(IndexLockWait::Short) {
        match index_pending(store, index, options, &lock, control) {
            // On a full disk, for example, they are scanned too.
            Ok(()) | Err(ToolError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if request.query().is_truncated {
        let parts = query_parts::best_parts(index, &input.query)?;
        request.parts = parts.len();
        request.phrasings.extend(parts);
    }
    if options.asker == Asker::Model {
        let asked = AskedText::of(request.phrasings.iter().map(Phrasing::question));
        request.filter.echo = Some(EchoFilter::new(store, options.session_id, asked, now)?);
    }
    let fallback = find_fallback(store, index, options, &request)?;
    let effective_options =
        fallback.as_ref().map_or(options, |fallback| SearchOptions { model: Some(&fallback.model), ..options });
    let (leg, leg_cause) = split_cause(vector_leg(index, effective_options, fallback.as_ref(), &request))?;
    let leg = leg.flatten();
    let mut corpora = Vec::with_capacity(request.phrasings.len());
    for phrasing in &mut request.phrasings {
        corpora.push(corpus_with_spellings(index, phrasing)?);
    }
    let breadths = iter::once(Breadth::QUESTION).chain(iter::repeat(Breadth::OTHER_PHRASING));
    let mut passes = Vec::with_capacity(request.phrasings.len());
    for ((phrasing, corpus), breadth) in request.phrasings.iter().zip(corpora).zip(breadths) {
        passes.push(PhrasingPass::prepare(leg.as_ref(), effective_options, phrasing, corpus, breadth, now)?);
    }
    let (ranking, cause) = {
        // One transaction, so that all statements see one state and lock only once.
        let _rows = store.snapshot()?;
        let _index = index.snapshot()?;
        let (found, scan_cause) = phrasing_pass::search_phrasings(store, index, &request, leg.as_ref(), &passes)?;
        let ranking = rank_results(store, &request, &passes, found, now)?;
        (ranking, passes[0].cause.clone().or(scan_cause).or(leg_cause))
    };
    let mut output = answer::build_output(store, &request, ranking, now)?;
    match fallback {
        Some(fallback) => answer::add_fallback_notice(&mut output, &fallback.model, &fallback.cause),
        None => answer::add_provider_notice(&mut output, index, options, cause)?,
    }
    Ok(output)
}

fn index_pending(
    store: &Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    lock: &IndexLock,
    control: &mut Control<'_>,
) -> Result<(), ToolError> {
    index.index_memories(store.rows(), lock, control)?;
    if let Some(model) = options.model.filter(|model| model.embedder.location() == EmbeddingLocation::InProcess) {
        index.use_model(model.embedder.identity(), lock)?;
        let most = if options.asker == Asker::Person { MAX_EMBEDDED_FOR_PERSON } else { MAX_EMBEDDED_FOR_MODEL };
        let (mut embedded, mut is_more) = (0, index.has_pending_vectors()?);
        while is_more && embedded < most {
            let limit = EMBEDDING_BATCH.min(most - embedded);
            let done = index.embed_pending(store.rows(), &*model.embedder, limit, lock)?;
            embedded += limit;
            if done.has_more {
                control.report(embedded, most, MEMORIES);
            }
            is_more = done.has_more && !control.is_cancelled();
        }
    }
    Ok(())
}

/// The built-in model in place of a service that fails.
struct FallbackModel {
    model: EmbeddingModel,
    vectors: Arc<Vectors>,
    cause: String,
}

/// Finds a model to use instead of a service that cannot embed the question, or whose vectors are not there yet.
fn find_fallback(
    store: &Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    request: &SearchRequest,
) -> Result<Option<FallbackModel>, ToolError> {
    let service = options.model.filter(|model| model.embedder.location() == EmbeddingLocation::Remote);
    let Some(model) = service.filter(|_| !request.query().is_empty()) else { return Ok(None) };
    let cause = match model.embedder.embed_query(request.phrasings[0].question()) {
        Err(error) => error.to_string(),
        Ok(_) if !index.is_current_model(model.embedder.identity())? => {
            format!("{} has no vectors yet", model.embedder.identity())
        }
        Ok(_) => return Ok(None),
    };
    let model = model.built_in();
    let vectors = index.local_vectors(store.rows(), &model.local_model)?;
    Ok(Some(FallbackModel { model, vectors, cause }))
}

/// The vectors to compare with; `None` if no phrasing can be compared.
fn vector_leg<'m>(
    index: &mut Index,
    options: SearchOptions<'m>,
    fallback: Option<&'m FallbackModel>,
    request: &SearchRequest,
) -> Result<Option<VectorLeg<'m>>, ToolError> {
    if let Some(fallback) = fallback {
        return Ok(Some(VectorLeg::from_fallback(&fallback.vectors, &fallback.model)));
    }
    let can_compare =
        |model: &&EmbeddingModel| request.phrasings.iter().any(|phrasing| phrasing_pass::can_compare(model, phrasing));
    match options.model.filter(can_compare) {
        Some(model) => VectorLeg::from_index(index, model),
        None => Ok(None),
    }
}

/// The frequencies of a phrasing's terms, to which the nearest spellings of unknown words are added.
fn corpus_with_spellings(index: &Index, phrasing: &mut Phrasing) -> Result<CorpusStats, ToolError> {
    let corpus = index.fulltext().corpus(phrasing.query.all_terms())?;
    if phrasing.query.add_spellings(index.fulltext(), &corpus)? {
        return Ok(index.fulltext().corpus(phrasing.query.all_terms())?);
    }
    Ok(corpus)
}

/// The order of what the phrasings found.
fn rank_results(
    store: &Store,
    request: &SearchRequest,
    passes: &[PhrasingPass<'_>],
    found: Vec<Vec<Candidate>>,
    now: &Moment,
) -> Result<Ranking, ToolError> {
    let question = request.question();
    let PhrasingPass { options: SearchOptions { scoring, .. }, relevance, asked_times, .. } = &passes[0];
    let weights: Vec<Vec<f32>> = passes.iter().map(|pass| pass.relevance.weights.clone()).collect();
    let context = RankContext {
        now,
        scoring: *scoring,
        asks_past: text_features::asks_for_past(question),
        only_times: Some(asked_times).filter(|times| times.are_all(question)),
        asks_decision: text_features::asks_for_decision(question),
        identifier: text_features::identifier(question),
        weights: &weights,
    };
    let is_kept = |older: &MemoryId, newer: &MemoryId| {
        let notes = store.rows().notes_about(older).unwrap_or_default();
        notes.iter().any(|note| keeps_both(note, newer))
    };
    let mut ranked = rank::rank(phrasings::merge(found, request.parts), &context, &is_kept);
    if context.asks_past {
        past_first::reorder(store, &request.filter, &mut ranked, question)?;
    }
    let lead = answer::lead_of_first(&ranked);
    let asked = AskedText::of(request.phrasings.iter().map(Phrasing::question));
    answers_first::put_answers_first(&asked, &mut ranked, question, request.min_score);
    // A question about the past, a time or an identifier does not ask for the current state.
    let asks_of_time = context.asks_past || !asked_times.is_empty();
    let prefers_newest = *scoring != Scoring::Stated && !asks_of_time && context.identifier.is_none();
    Ok(Ranking { candidates: ranked, lead, documents: relevance.documents, prefers_newest })
}

/// Whether a review decided for good that a memory is kept next to a newer one.
fn keeps_both(note: &StateNote, newer: &MemoryId) -> bool {
    let StateChange::Reviewed(fields) = &note.change else { return false };
    let with = fields.get(REVIEW_WITH).and_then(Value::as_str);
    with == Some(newer.as_str()) && !fields.contains_key(REVIEW_UNTIL)
}
