//! Search: from a request to a ranked list with reasons.
//!
//! Pipeline: request → for each phrasing candidates by words and vectors, and unindexed rows → relevance of words,
//! similar tokens and vectors, in context → fusion → phrasings merged → rank → answer.

mod answer;
mod answers_first;
mod candidate;
mod context;
mod dates;
mod echo;
mod fusion;
mod korean_stem;
mod leg_weights;
mod options;
mod other_script;
mod passage_part;
mod phrasings;
pub mod query;
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
mod token_similarity;
mod vector_leg;

use std::sync::Arc;
use std::thread;

use schema::model::memory::MemoryId;
use schema::model::moment::Moment;
use schema::model::state_note::{REVIEW_UNTIL, REVIEW_WITH, StateChange, StateNote};
use schema::store::Store;
use schema::tool::{SearchInput, SearchOutput};
use serde_json::Value;

use crate::embed::{EmbeddingLocation, EmbeddingModel};
use crate::error::ToolError;
use crate::fulltext::CorpusStats;
use crate::index::{Index, IndexLock, IndexLockWait, Vectors};
use answer::Ranking;
use candidate::{Breadth, Candidate};
use dates::AskedTimes;
use echo::EchoFilter;
use fusion::{SearchLegs, SearchQuestion};
pub use options::{Asker, Scoring, SearchOptions};
use ranked_candidate::RankContext;
use relevance::RelevanceScorer;
use request::{Phrasing, SearchRequest};
use vector_leg::{VectorComparison, VectorScores};

/// Documents that a search embeds itself if the embedder is local: recent captures for a model, which does not wait, and an import for a
/// person, whose search may be the first since.
const EMBEDDED_AT_ONCE: usize = 200;
const MAX_EMBEDDED_FOR_PERSON: usize = 20_000;

/// Reason for a search by words although there is a model.
const UNKNOWN: &str = "the model does not know the script of this query";

pub fn search(
    store: &mut Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    input: &SearchInput,
    now: &Moment,
) -> Result<SearchOutput, ToolError> {
    search_while(store, index, options, input, now, &mut |_, _| true)
}

/// The same with `go_on`, which is called with the done and total number of unindexed rows and decides whether to continue.
pub fn search_while(
    store: &mut Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    input: &SearchInput,
    now: &Moment,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<SearchOutput, ToolError> {
    let mut request = SearchRequest::from_input(input)?;
    // New captures are indexed first. If that is impossible, because another process has the lock or the store is
    // read-only, they are scanned.
    if let Ok(Some(lock)) = index.lock(IndexLockWait::Short) {
        match index_pending(store, index, options, &lock, go_on) {
            // On a full disk, for example, they are scanned too.
            Ok(()) | Err(ToolError::Unavailable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if let Asker::Model { session_id } = options.asker {
        let questions: Vec<&str> = request.phrasings.iter().map(Phrasing::question).collect();
        request.filter.echo = Some(EchoFilter::new(store, session_id, &questions, now)?);
    }
    let replaced = replace_failed_service(store, index, options, &request)?;
    let used = replaced.as_ref().map_or(options, |replaced| SearchOptions { model: Some(&replaced.model), ..options });
    let vectors = replaced.as_ref().map(|replaced| &replaced.vectors);
    let mut corpora = Vec::with_capacity(request.phrasings.len());
    for phrasing in &mut request.phrasings {
        corpora.push(corpus_with_spellings(index, phrasing)?);
    }
    let mut passes = Vec::with_capacity(request.phrasings.len());
    for (phrasing, corpus) in request.phrasings.iter().zip(corpora) {
        passes.push(PhrasingPass::prepare(index, used, vectors, phrasing, corpus, now)?);
    }
    let (ranking, fault) = {
        // One transaction, so that all statements see one state and lock only once.
        let _rows = store.snapshot()?;
        let _index = index.snapshot()?;
        let results = search_phrasings(store, index, &request, &mut passes)?;
        let (lists, weights): (Vec<_>, Vec<_>) =
            results.into_iter().map(|result| (result.candidates, result.weights)).unzip();
        let asks_past = text_features::asks_for_past(request.question());
        let asks_decision = text_features::asks_for_decision(request.question());
        let asked_times = AskedTimes::parse(request.question(), now.date());
        let only_times = Some(&asked_times).filter(|times| times.are_all(request.question()));
        let is_kept = |older: &MemoryId, newer: &MemoryId| {
            let notes = store.rows().notes_about(older).unwrap_or_default();
            notes.iter().any(|note| keeps_both(note, newer))
        };
        let context =
            RankContext { only_times, now, scoring: options.scoring, asks_past, asks_decision, weights: &weights };
        let mut ranked = rank::rank(phrasings::merge(lists), &context, &is_kept);
        let lead = answer::lead_of_first(&ranked);
        answers_first::put_answers_first(
            request.filter.echo.as_ref(),
            &mut ranked,
            request.question(),
            request.min_score,
        );
        let documents = passes.first().map_or(0, |pass| pass.corpus.documents);
        (Ranking { candidates: ranked, lead, documents }, passes.first_mut().and_then(|pass| pass.fault.take()))
    };
    let mut output = answer::build_output(store, &request, ranking)?;
    match replaced {
        Some(replaced) => answer::add_replacement_notice(&mut output, &replaced.model, &replaced.cause),
        None => answer::add_provider_notice(&mut output, index, options, fault)?,
    }
    Ok(output)
}

fn index_pending(
    store: &Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    lock: &IndexLock,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<(), ToolError> {
    index.index_memories_while(store.rows(), lock, go_on)?;
    if let Some(model) = options.model.filter(|model| model.embedder.location() == EmbeddingLocation::InProcess) {
        index.use_model(model.embedder.identity(), lock)?;
        let most = if options.asker == Asker::Person { MAX_EMBEDDED_FOR_PERSON } else { EMBEDDED_AT_ONCE };
        let (mut embedded, mut is_more) = (0, index.has_pending_vectors()?);
        while is_more && embedded < most {
            let limit = EMBEDDED_AT_ONCE.min(most - embedded);
            let done = index.embed_pending(store.rows(), &*model.embedder, limit, lock)?;
            embedded += limit;
            is_more = done.has_more && go_on(embedded, most);
        }
    }
    Ok(())
}

/// The built-in model in place of a service that fails.
struct ReplacedService {
    model: EmbeddingModel,
    vectors: Arc<Vectors>,
    cause: String,
}

/// Replaces a service that cannot embed the question, or whose vectors are not there yet.
fn replace_failed_service(
    store: &Store,
    index: &mut Index,
    options: SearchOptions<'_>,
    request: &SearchRequest,
) -> Result<Option<ReplacedService>, ToolError> {
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
    Ok(Some(ReplacedService { model, vectors, cause }))
}

/// A phrasing of the question with what its search needs.
struct PhrasingPass<'s> {
    phrasing: &'s Phrasing,
    /// Without a model if that does not know the script.
    options: SearchOptions<'s>,
    corpus: CorpusStats,
    asked_times: AskedTimes,
    comparison: Option<VectorComparison>,
    /// Why there is no comparison although there is a model.
    fault: Option<String>,
}

impl<'s> PhrasingPass<'s> {
    /// Compares with `vectors`, or with those of the index.
    fn prepare(
        index: &mut Index,
        options: SearchOptions<'s>,
        vectors: Option<&Arc<Vectors>>,
        phrasing: &'s Phrasing,
        corpus: CorpusStats,
        now: &Moment,
    ) -> Result<Self, ToolError> {
        let here = options.model.filter(|model| model.embedder.location() == EmbeddingLocation::InProcess);
        let is_unknown =
            here.is_some_and(|model| !token_similarity::is_known_question(&model.local_model, phrasing.question()));
        let options = if is_unknown { SearchOptions { model: None, ..options } } else { options };
        let (comparison, fault) = match prepare_comparison(index, options, vectors, phrasing) {
            Ok(comparison) => (comparison, is_unknown.then(|| UNKNOWN.to_owned())),
            Err(ToolError::Unavailable(cause)) => (None, Some(cause)),
            Err(error) => return Err(error),
        };
        let asked_times = AskedTimes::parse(phrasing.question(), now.date());
        Ok(Self { phrasing, options, corpus, asked_times, comparison, fault })
    }

    /// The scored candidates of this phrasing.
    fn candidates(
        &mut self,
        store: &Store,
        index: &Index,
        request: &SearchRequest,
        breadth: Breadth,
    ) -> Result<PhrasingResult, ToolError> {
        let Self { phrasing, corpus, comparison, .. } = &*self;
        let near = breadth.near(&request.filter);
        let by_words = || candidate::gather_by_words(store, index, request, &phrasing.query, corpus, breadth);
        let (by_words, scanned) = match comparison {
            Some(comparison) if comparison.is_slow() => run_both(by_words, || Some(comparison.scan(near))),
            Some(comparison) => (by_words(), Some(comparison.scan(near))),
            None => (by_words(), None),
        };
        let nearness = match comparison.as_ref().zip(scanned) {
            Some((comparison, Ok(scanned))) => Some(comparison.rescore_nearest(scanned, index)?),
            Some((_, Err(ToolError::Unavailable(cause)))) => {
                self.fault = Some(cause);
                None
            }
            Some((_, Err(error))) => return Err(error),
            None => None,
        };
        let days = self.asked_times.all_days(self.phrasing.question());
        let gathered = candidate::add_remaining(store, index, request, by_words?, nearness.as_ref(), &days)?;
        let relevance = RelevanceScorer::new(&self.phrasing.query, &self.corpus);
        let question = SearchQuestion { text: self.phrasing.question(), asked_times: &self.asked_times };
        let legs = SearchLegs::new(self.options, question, &request.filter, breadth, &relevance, nearness.as_ref());
        let candidates = fusion::fuse_scores(store, index, gathered, &legs)?;
        Ok(PhrasingResult { candidates, weights: relevance.weights().to_vec(), nearness })
    }
}

/// Whether a review decided for good that a memory is kept beside a newer one.
fn keeps_both(note: &StateNote, newer: &MemoryId) -> bool {
    let StateChange::Reviewed(fields) = &note.change else { return false };
    let with = fields.get(REVIEW_WITH).and_then(Value::as_str);
    with == Some(newer.as_str()) && !fields.contains_key(REVIEW_UNTIL)
}

/// What one phrasing found.
struct PhrasingResult {
    candidates: Vec<Candidate>,
    /// The weights of its words.
    weights: Vec<f32>,
    nearness: Option<VectorScores>,
}

/// What each phrasing found. All share the vectors in memory.
fn search_phrasings(
    store: &Store,
    index: &Index,
    request: &SearchRequest,
    passes: &mut [PhrasingPass<'_>],
) -> Result<Vec<PhrasingResult>, ToolError> {
    let mut results: Vec<PhrasingResult> = Vec::with_capacity(passes.len());
    for (number, pass) in passes.iter_mut().enumerate() {
        let known = results.iter().find_map(|result| result.nearness.as_ref());
        if let (Some(nearness), Some(comparison)) = (known, &mut pass.comparison) {
            comparison.use_vectors(nearness.vectors());
        }
        let breadth = if number == 0 { Breadth::QUESTION } else { Breadth::OTHER_PHRASING };
        results.push(pass.candidates(store, index, request, breadth)?);
    }
    Ok(results)
}

/// The frequencies of a phrasing's terms, to which the nearest spellings of unknown words are added.
fn corpus_with_spellings(index: &Index, phrasing: &mut Phrasing) -> Result<CorpusStats, ToolError> {
    let corpus = index.fulltext().corpus(phrasing.query.all_terms())?;
    if phrasing.query.add_spellings(index.fulltext(), &corpus)? {
        return Ok(index.fulltext().corpus(phrasing.query.all_terms())?);
    }
    Ok(corpus)
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
    options: SearchOptions<'_>,
    vectors: Option<&Arc<Vectors>>,
    phrasing: &Phrasing,
) -> Result<Option<VectorComparison>, ToolError> {
    let Some(model) = options.model.filter(|_| !phrasing.query.is_empty()) else { return Ok(None) };
    let translations = phrasing.query.translations();
    match vectors {
        Some(vectors) => vector_leg::compare_locally(vectors, model, phrasing.question(), translations),
        None => vector_leg::prepare_comparison(index, model, phrasing.question(), translations),
    }
}
