//! Fusion: combines the scores of words in context and of vectors into one relevance.
//!
//! Each leg goes from 0 to 1. The vector can lower the word score, but not below [`WORDS_ALONE`] of it. The size of the store changes the
//! weight of the vector and the calibration. The constants were measured; see docs/dev/retrieval.md.

mod features;

use std::collections::HashMap;

use schema::model::memory::MemoryType;
use schema::settings::LegWeights;
use schema::store::Store;

use super::candidate::{
    Breadth, Candidate, Passage, ScoreReasons, UnscoredPassage, is_echo, passes_filter, read_passage,
};
use super::context::{ContextPosition, add_context};
use super::dates::AskedTimes;
use super::leg_weights::{LegWeighting, PassageForm, relevance_by_nearness};
use super::questions;
use super::relevance::{RelevanceScorer, TermEvidence};
use super::request::{DEFAULT_SCORE, Scoring, SearchFilter, SearchOptions};
use super::text_features::MAX_UTTERANCE_TOKENS;
use super::vector_leg::VectorScores;
use crate::error::ToolError;
use crate::index::{Document, Index};
use crate::text::script::Script;
use features::{QuestionFeatures, passage_day};

/// Relevance of a passage of the day if nothing but the day is asked for.
const OF_DAY: f32 = 0.5;

/// Least relevance of a long passage with every word: enough to be a hit.
const HOLDS_ALL: f32 = 0.45;

/// Share of the word relevance that other legs cannot lower.
const WORDS_ALONE: f32 = 0.6;

/// The fused relevance that becomes the default threshold. See docs/dev/retrieval.md.
const AT_THRESHOLD: f32 = 0.455;
/// The fused relevance that becomes the default threshold in a very long passage, which has many words of the question by chance.
const AT_THRESHOLD_IN_VERY_LONG: f32 = 0.50;
/// A passage with more tokens is very long.
const VERY_LONG: u32 = 240;
const THRESHOLD: f32 = DEFAULT_SCORE as f32;

/// Added to the threshold for each factor e by which the store exceeds [`USUAL_STORE`] documents, because unrelated passages then score
/// more by chance.
const THRESHOLD_PER_STORE: f32 = 0.03;
const USUAL_STORE: f32 = 500.0;
/// Reached at 3,700 documents. From about there on, scores fall with the weight of the vectors.
const MAX_PER_STORE: f32 = 0.06;
/// Subtracted from the threshold for each factor e by which the question exceeds [`USUAL_WORDS`] words, because a passage says a smaller
/// share of a long question, such as a bug report.
const THRESHOLD_PER_LENGTH: f32 = 0.12;
const USUAL_WORDS: f32 = 10.0;
const MAX_PER_LENGTH: f32 = 0.2;

/// The legs of a search.
#[derive(Debug)]
pub(super) struct SearchLegs<'a> {
    filter: &'a SearchFilter,
    breadth: Breadth,
    relevance: &'a RelevanceScorer<'a>,
    nearness: Option<&'a VectorScores>,
    leg_weighting: LegWeighting,
    scoring: Scoring,
    features: QuestionFeatures<'a>,
    asked_times: &'a AskedTimes,
    /// Whether the question asks for all of these times.
    asks_only_when: bool,
    script: Script,
}

impl<'a> SearchLegs<'a> {
    pub(super) fn new(
        options: SearchOptions<'a>,
        question: &str,
        asked_times: &'a AskedTimes,
        filter: &'a SearchFilter,
        breadth: Breadth,
        relevance: &'a RelevanceScorer<'a>,
        nearness: Option<&'a VectorScores>,
    ) -> Self {
        Self {
            filter,
            breadth,
            relevance,
            nearness,
            leg_weighting: LegWeighting::new(options, relevance.documents),
            scoring: options.scoring,
            features: QuestionFeatures::new(question, asked_times),
            asks_only_when: asked_times.are_all(question),
            asked_times,
            script: Script::detect(question),
        }
    }
}

/// Scores of a passage.
struct PassageEvidence {
    passage: UnscoredPassage,
    evidence: TermEvidence,
    place: ContextPosition,
    script: Script,
}

impl PassageEvidence {
    fn is_long(&self) -> bool {
        self.evidence.length > MAX_UTTERANCE_TOKENS
    }
}

/// Scores the candidates together with the neighbours of the best.
pub(super) fn fuse_scores(
    store: &Store,
    index: &Index,
    gathered: Vec<UnscoredPassage>,
    legs: &SearchLegs<'_>,
) -> Result<Vec<Candidate>, ToolError> {
    let mut known: Vec<PassageEvidence> =
        gathered.into_iter().map(|gathered| legs.collect_evidence(gathered)).collect();
    if matches!(legs.scoring, Scoring::Full(_)) {
        add_neighbours(store, index, &mut known, legs)?;
    }
    Ok(legs.score(known))
}

impl SearchLegs<'_> {
    fn collect_evidence(&self, gathered: UnscoredPassage) -> PassageEvidence {
        let passage = &gathered.passage;
        let evidence = self.relevance.collect_evidence(&passage.title(), passage.text(), passage.also());
        let is_utterance = evidence.length <= MAX_UTTERANCE_TOKENS;
        let is_prompt = passage.memory().is_some_and(|memory| memory.kind == MemoryType::UserPrompt);
        let asks = if is_prompt { questions::is_question } else { questions::has_question_mark };
        let place = ContextPosition {
            origin: passage.origin(),
            is_question: is_utterance && asks(passage.text()),
            is_prompt,
            ..ContextPosition::default()
        };
        let script = Script::detect(passage.text());
        PassageEvidence { passage: gathered, evidence, place, script }
    }

    /// Indices of the passages with the best word scores, best first.
    fn best_by_words(&self, known: &[PassageEvidence]) -> Vec<usize> {
        let words: Vec<f32> = known.iter().map(|known| self.relevance.score_of(&known.evidence)).collect();
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|a, b| words[*b].total_cmp(&words[*a]));
        order.truncate(self.breadth.with_neighbours);
        order
    }

    fn score(&self, known: Vec<PassageEvidence>) -> Vec<Candidate> {
        let places: Vec<ContextPosition> = known.iter().map(|known| known.place.clone()).collect();
        let words: Vec<Vec<f32>> = known.iter().map(|known| known.evidence.strengths.clone()).collect();
        let words = if matches!(self.scoring, Scoring::Full(_)) { add_context(&words, &places) } else { words };
        let scored = known.into_iter().zip(&words).filter(|(known, _)| known.passage.is_answer);
        let scored = scored.map(|(known, words_in_context)| {
            let (relevance, reasons) = self.fused_relevance(&known, words_in_context);
            Candidate {
                matched: self.relevance.matched_words(&known.evidence),
                passage: known.passage.passage,
                tokens: known.evidence.tokens,
                relevance,
                reasons,
                phrasing: 0,
            }
        });
        scored.filter(|candidate| candidate.relevance > 0.0).collect()
    }

    fn fused_relevance(&self, known: &PassageEvidence, words_in_context: &[f32]) -> (f32, ScoreReasons) {
        let words = self.relevance.score_of(&known.evidence);
        let by_synonyms = words - self.relevance.score_in_context(&known.evidence, &known.evidence.literal);
        if self.scoring == Scoring::Words {
            return (words, ScoreReasons { words, synonyms: by_synonyms, ..ScoreReasons::default() });
        }
        let document = known.passage.document.map(Document::rowid);
        let vector = document.and_then(|document| self.nearness?.nearness(document));
        if self.scoring == Scoring::Stated {
            let relevance = self.stated_relevance(words, vector);
            return (relevance, ScoreReasons { words, synonyms: by_synonyms, vector, ..ScoreReasons::default() });
        }
        let form = PassageForm { is_long: known.is_long(), is_in_other_script: self.is_in_other_script(known) };
        // The model keeps languages apart, so its vector says nothing against a text in another script or with synonyms only.
        let has_only_synonyms = known.evidence.literal.iter().all(|strength| *strength <= 0.0);
        let may_be_far = form.is_in_other_script || has_only_synonyms;
        let vector_leg = vector.map(|vector| if may_be_far { vector.max(words) } else { vector });
        let without_context = self.leg_weighting.weighted_mean(form, words, vector_leg);
        let words_in_context = self.relevance.score_in_context(&known.evidence, words_in_context);
        let in_context = self.leg_weighting.weighted_mean(form, words_in_context, vector_leg);
        let bonus = self.features.bonus(&known.passage.passage, known.evidence.length, known.place.is_question);
        let mut relevance = calibrate(in_context + bonus, self.threshold_relevance(known));
        let deviations = self.cross_script_deviations(known);
        if let Some(deviations) = deviations {
            relevance =
                relevance_by_nearness(relevance, self.relevance.coverage(&known.evidence.strengths), deviations);
        }
        if self.asks_only_when
            && let Some(day) = passage_day(&known.passage.passage)
        {
            relevance = relevance.max(OF_DAY * self.asked_times.best_fit(day, ""));
        }
        relevance = relevance.max(self.word_floor(known, words));
        let reasons = ScoreReasons {
            words,
            synonyms: by_synonyms,
            vector,
            cross_script: deviations,
            context: in_context - without_context,
            features: bonus,
        };
        (relevance, reasons)
    }

    /// 0.7 of the vector score and 0.3 of the word score. Without any vectors, the word score.
    fn stated_relevance(&self, words: f32, vector: Option<f32>) -> f32 {
        if self.nearness.is_none() {
            return words;
        }
        let LegWeights { words: share, vector: of_vector } = LegWeights::VECTOR_HEAVY;
        (f32::from(of_vector) * vector.unwrap_or(0.0) + f32::from(share) * words) / f32::from(of_vector + share)
    }

    /// The least relevance by words alone: no other leg may hide what the words show, least of all if all of them match.
    fn word_floor(&self, known: &PassageEvidence, words: f32) -> f32 {
        let has_all = self.relevance.coverage(&known.evidence.literal) > 0.999;
        let of_all = if known.is_long() { words.min(HOLDS_ALL) } else { words };
        (words * WORDS_ALONE).max(if has_all { of_all } else { 0.0 })
    }

    fn threshold_relevance(&self, known: &PassageEvidence) -> f32 {
        let measured = if known.evidence.length > VERY_LONG { AT_THRESHOLD_IN_VERY_LONG } else { AT_THRESHOLD };
        let of_store = THRESHOLD_PER_STORE * (self.relevance.documents as f32 / USUAL_STORE).ln().max(0.0);
        let of_length = THRESHOLD_PER_LENGTH * (self.relevance.weights.len() as f32 / USUAL_WORDS).ln().max(0.0);
        measured * (1.0 + (of_store.min(MAX_PER_STORE) - of_length.min(MAX_PER_LENGTH)) / THRESHOLD)
    }

    fn is_in_other_script(&self, known: &PassageEvidence) -> bool {
        known.script != self.script && known.script != Script::None && self.script != Script::None
    }

    /// Standard deviations above usual for texts of its script; `None` in the question's script.
    fn cross_script_deviations(&self, known: &PassageEvidence) -> Option<f32> {
        self.nearness.filter(|_| self.is_in_other_script(known))?.deviations(known.passage.document?.rowid())
    }
}

/// Links the passages with the best word scores with their neighbours, which are read if missing.
fn add_neighbours(
    store: &Store,
    index: &Index,
    known: &mut Vec<PassageEvidence>,
    legs: &SearchLegs<'_>,
) -> Result<(), ToolError> {
    let mut places: HashMap<Document, usize> =
        known.iter().enumerate().filter_map(|(i, known)| Some((known.passage.document?, i))).collect();
    for at in legs.best_by_words(known) {
        let (before, after) = neighbour_documents(store, index, &known[at].passage)?;
        for (document, is_before) in [(before, true), (after, false)] {
            let Some(document) = document else { continue };
            let other = match places.get(&document) {
                Some(other) => *other,
                None => {
                    let Some(passage) = read_passage(store, index, document)? else { continue };
                    let is_answer = passes_filter(legs.filter, &passage);
                    if is_echo(legs.filter, &passage) {
                        continue;
                    }
                    known.push(legs.collect_evidence(UnscoredPassage { passage, document: Some(document), is_answer }));
                    places.insert(document, known.len() - 1);
                    known.len() - 1
                }
            };
            let (first, second) = if is_before { (other, at) } else { (at, other) };
            known[first].place.after = Some(second);
            known[second].place.before = Some(first);
        }
    }
    Ok(())
}

/// The previous and next document: in its session or in its file.
fn neighbour_documents(
    store: &Store,
    index: &Index,
    gathered: &UnscoredPassage,
) -> Result<(Option<Document>, Option<Document>), ToolError> {
    match (&gathered.passage, gathered.document) {
        (Passage::Memory(row), _) if row.memory.kind.is_event() && !row.memory.session_id.is_empty() => {
            let (before, after) = store.rows().neighbour_seqs(row)?;
            Ok((before.map(Document::Memory), after.map(Document::Memory)))
        }
        (Passage::Chunk(chunk), Some(Document::Chunk(id))) => {
            // Chunk ids of a file are in order.
            let of_file = |id: i64| -> Result<Option<Document>, ToolError> {
                let other = index.chunk(id)?.filter(|other| other.path == chunk.path);
                Ok(other.map(|_| Document::Chunk(id)))
            };
            Ok((of_file(id - 1)?, of_file(id + 1)?))
        }
        _ => Ok((None, None)),
    }
}

/// Maps a relevance to a score: `at_threshold` becomes [`THRESHOLD`]; 0 and 1 stay.
fn calibrate(relevance: f32, at_threshold: f32) -> f32 {
    if relevance < at_threshold {
        relevance * THRESHOLD / at_threshold
    } else {
        THRESHOLD + (relevance - at_threshold) * (1.0 - THRESHOLD) / (1.0 - at_threshold)
    }
}

#[cfg(test)]
mod tests;
