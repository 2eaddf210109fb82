//! Fusion: combines the scores of words, similar tokens and vectors in context into one relevance.
//!
//! Each leg goes from 0 to 1 and means the same in every store; no leg lowers the score of another. The constants were
//! measured; see docs/dev/retrieval.md.

mod features;
mod neighbours;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use schema::model::memory::MemoryType;
use schema::settings::LegWeights;
use schema::store::Store;

use super::candidate::{
    Breadth, Candidate, Passage, ScoreReasons, UnscoredPassage, is_echo, passes_filter, read_passage,
};
use super::context::{ContextPosition, add_context};
use super::dates::AskedTimes;
use super::leg_weights::PassageWeightings;
use super::options::{Scoring, SearchOptions};
use super::other_script::{TranslatedTokens, relevance_by_nearness};
use super::passage_part::PartMatcher;
use super::relevance::{RelevanceScorer, TermEvidence};
use super::request::SearchFilter;
use super::stop_words;
use super::text_features::{self, UTTERANCE};
use super::token_similarity::{self, MIN_COSINE, MIN_COSINE_IN_LONG, TokenSimilarity};
use super::vector_leg::{VectorScores, similarity_in_script};
use crate::error::ToolError;
use crate::index::{Document, Index};
use crate::text::script::Script;
use features::{QuestionFeatures, passage_day};
use neighbours::neighbour_documents;

/// Relevance of a passage of the day if nothing but the day is asked for.
const OF_DAY: f32 = 0.5;

/// Least relevance of a long passage with every word: enough to be a hit.
const HOLDS_ALL: f32 = 0.45;

/// Share of the word relevance that other legs cannot lower.
const WORDS_ALONE: f32 = 0.6;

/// The fused relevance that equals the default threshold: for utterances and for long passages, with and without similar
/// tokens. See docs/dev/retrieval.md.
const AT_THRESHOLD: [[f32; 2]; 2] = [[0.40, 0.42], [0.49, 0.52]];
const THRESHOLD: f32 = 0.35;

/// In a store of more documents, the best of unrelated passages scores more by chance. Score per unit of the logarithm.
const THRESHOLD_PER_STORE: f32 = 0.03;
const USUAL_STORE: f32 = 500.0;
const MAX_PER_STORE: f32 = 0.1;
/// A passage says a smaller share of a long question, such as a bug report. Score per unit of the logarithm.
const THRESHOLD_PER_LENGTH: f32 = 0.12;
const USUAL_WORDS: f32 = 10.0;
const MAX_PER_LENGTH: f32 = 0.2;

/// A question and the times that it asks about.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchQuestion<'a> {
    pub(super) text: &'a str,
    pub(super) asked_times: &'a AskedTimes,
}

/// The legs of a search.
#[derive(Debug)]
pub(super) struct SearchLegs<'a> {
    filter: &'a SearchFilter,
    breadth: Breadth,
    relevance: &'a RelevanceScorer<'a>,
    token_similarity: Option<TokenSimilarity<'a>>,
    translated_tokens: Option<TranslatedTokens<'a>>,
    parts: Option<PartMatcher<'a>>,
    nearness: Option<&'a VectorScores>,
    leg_weights: PassageWeightings,
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
        SearchQuestion { text: question, asked_times }: SearchQuestion<'a>,
        narrowing: &'a SearchFilter,
        breadth: Breadth,
        relevance: &'a RelevanceScorer<'a>,
        nearness: Option<&'a VectorScores>,
    ) -> Self {
        let said = stop_words::strip_stop_words(question);
        Self {
            filter: narrowing,
            breadth,
            relevance,
            token_similarity: options.model.and_then(|model| TokenSimilarity::new(&model.local_model, &said)),
            translated_tokens: options
                .model
                .map(|model| TranslatedTokens::new(&model.local_model, relevance.translations())),
            parts: options.model.and_then(|model| PartMatcher::new(&model.local_model, &said)),
            nearness,
            leg_weights: PassageWeightings::new(options),
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
    /// Cosine of the nearest token for each piece of the question.
    nearest: Vec<f32>,
    /// The share of the translated question in similar tokens, for a passage in another script.
    translated: Option<f32>,
    /// The model's pieces of a long passage that was examined.
    pieces: Vec<u32>,
    /// Cosine of its nearest part, if computed.
    part: Option<f32>,
    place: ContextPosition,
    script: Script,
}

impl PassageEvidence {
    fn is_long(&self) -> bool {
        self.evidence.length > UTTERANCE
    }

    /// Least cosine of related pieces.
    fn alike(&self) -> f32 {
        if self.is_long() { MIN_COSINE_IN_LONG } else { MIN_COSINE }
    }

    /// Strength of each piece of the question in similar tokens.
    fn token_strengths(&self) -> Vec<f32> {
        let alike = self.alike();
        self.nearest.iter().map(|cosine| token_similarity::match_strength(*cosine, alike)).collect()
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
    legs.add_token_similarity(&mut known);
    if legs.scoring != Scoring::Words {
        let order = legs.order_by_promise(&known);
        let promising = &order[..order.len().min(legs.breadth.with_neighbours)];
        legs.add_nearest_parts(promising, &mut known);
        if matches!(legs.scoring, Scoring::Full(_)) {
            add_neighbours(store, index, &mut known, promising, legs)?;
        }
    }
    Ok(legs.score(known))
}

impl SearchLegs<'_> {
    fn collect_evidence(&self, gathered: UnscoredPassage) -> PassageEvidence {
        let passage = &gathered.passage;
        let evidence = self.relevance.collect_evidence_also(&passage.title(), passage.text(), passage.also());
        let (nearest, pieces) =
            (vec![0.0; self.token_similarity.as_ref().map_or(0, TokenSimilarity::pieces)], Vec::new());
        let is_utterance = evidence.length <= UTTERANCE;
        let place = ContextPosition {
            origin: passage_origin(passage),
            is_question: is_utterance && text_features::is_question(passage.text()),
            is_prompt: passage.memory().is_some_and(|memory| memory.kind == MemoryType::UserPrompt),
            ..ContextPosition::default()
        };
        let script = Script::detect(passage.text());
        PassageEvidence { passage: gathered, evidence, nearest, translated: None, pieces, part: None, place, script }
    }

    /// Looks for similar tokens in the best passages by words and the nearest by vector. This is the slowest step, and
    /// other passages would gain nothing from it.
    fn add_token_similarity(&self, known: &mut [PassageEvidence]) {
        if self.token_similarity.is_none() {
            return;
        }
        let words: Vec<f32> = known.iter().map(|known| self.relevance.score_of(&known.evidence)).collect();
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|a, b| words[*b].total_cmp(&words[*a]));
        let nearest = self.nearness.map_or(&[][..], |nearness| &nearness.nearest);
        let near: HashSet<i64> = nearest.iter().take(self.breadth.compared_by_vectors).copied().collect();
        for (rank, at) in order.into_iter().enumerate() {
            let document = known[at].passage.document.map(Document::rowid);
            if rank < self.breadth.compared_by_words || document.is_some_and(|document| near.contains(&document)) {
                self.compare_tokens(&mut known[at]);
            }
        }
    }

    fn compare_tokens(&self, known: &mut PassageEvidence) {
        let Some(similarity) = &self.token_similarity else { return };
        let passage = &known.passage.passage;
        let text = match passage {
            Passage::Chunk(chunk) if !chunk.heading.is_empty() => format!("{}\n{}", chunk.heading, chunk.text).into(),
            passage if !passage.also().is_empty() => format!("{}\n{}", passage.text(), passage.also()).into(),
            passage => Cow::Borrowed(passage.text()),
        };
        if known.script != self.script
            && let Some(translated) = &self.translated_tokens
        {
            known.translated = translated.matched_share(known.script, &text, known.alike());
            // Words for asking may be in the question's language.
            if known.translated.is_some() && passage.also().is_empty() {
                return;
            }
        }
        (known.nearest, known.pieces) = similarity.nearest_tokens(&text);
    }

    /// Computes the nearest part of long passages. Excludes other scripts, where nearness means something else.
    fn add_nearest_parts(&self, promising: &[usize], known: &mut [PassageEvidence]) {
        let Some(parts) = &self.parts else { return };
        for at in promising {
            let known = &mut known[*at];
            if known.is_long() && known.script == self.script && !known.pieces.is_empty() {
                known.part = Some(parts.nearest_cosine(&known.pieces));
            }
        }
    }

    /// Passages by promise, descending.
    fn order_by_promise(&self, known: &[PassageEvidence]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..known.len()).collect();
        let promise: Vec<f32> = known.iter().map(|known| self.promise(known)).collect();
        order.sort_by(|a, b| promise[*b].total_cmp(&promise[*a]));
        order
    }

    /// Score of a passage before its context is known.
    fn promise(&self, known: &PassageEvidence) -> f32 {
        let strengths = known.token_strengths();
        let words = self.relevance.score_of(&known.evidence);
        let share = |similarity: &TokenSimilarity<'_>| {
            similarity.matched_share(&strengths).max(known.translated.unwrap_or_default())
        };
        words + self.token_similarity.as_ref().map_or(0.0, share)
    }

    fn score(&self, known: Vec<PassageEvidence>) -> Vec<Candidate> {
        let places: Vec<ContextPosition> = known.iter().map(|known| known.place.clone()).collect();
        let words: Vec<Vec<f32>> = known.iter().map(|known| known.evidence.strengths.clone()).collect();
        let tokens: Vec<Vec<f32>> = known.iter().map(PassageEvidence::token_strengths).collect();
        let is_full = matches!(self.scoring, Scoring::Full(_));
        let (words_there, tokens_there) = if is_full {
            (add_context(&words, &places), add_context(&tokens, &places))
        } else {
            (words, tokens.clone())
        };
        let scored = known.into_iter().zip(tokens).zip(words_there.iter().zip(&tokens_there));
        let scored = scored.filter(|((known, _), _)| known.passage.is_answer).map(
            |((known, tokens), (words_there, tokens_there))| {
                let (relevance, reasons) = self.fused_relevance(&known, &tokens, words_there, tokens_there);
                Candidate {
                    matched: self.relevance.matched_words(&known.evidence),
                    passage: known.passage.passage,
                    tokens: known.evidence.tokens,
                    relevance,
                    reasons,
                    phrasing: 0,
                }
            },
        );
        scored.filter(|candidate| candidate.relevance > 0.0).collect()
    }

    fn fused_relevance(
        &self,
        known: &PassageEvidence,
        tokens: &[f32],
        words_there: &[f32],
        tokens_there: &[f32],
    ) -> (f32, ScoreReasons) {
        let words = self.relevance.score_of(&known.evidence);
        let otherwise = words - self.relevance.score_in_context(&known.evidence, &known.evidence.literal);
        if self.scoring == Scoring::Words {
            return (words, ScoreReasons { words, synonyms: otherwise, ..ScoreReasons::default() });
        }
        // Similar tokens do not cover matches from the glossary.
        let otherwise_said = known.evidence.synonyms.max(known.translated.unwrap_or_default());
        let share = |strengths: &[f32]| {
            self.token_similarity.as_ref().map(|similarity| similarity.matched_share(strengths).max(otherwise_said))
        };
        let document = known.passage.document.map(Document::rowid);
        let whole = document.and_then(|document| self.nearness?.nearness(document));
        let vector = match (whole, known.part.map(similarity_in_script)) {
            (Some(whole), Some(part)) => Some(whole.max(part)),
            (whole, part) => whole.or(part),
        };
        if self.scoring == Scoring::Stated {
            let relevance = self.stated_relevance(words, vector).max(self.word_floor(known, words));
            return (relevance, ScoreReasons { words, synonyms: otherwise, vector, ..ScoreReasons::default() });
        }
        let weighing = self.leg_weights.for_passage(known.is_long());
        let alone = weighing.weighted_mean(words, share(tokens), vector);
        let words_there = self.relevance.score_in_context(&known.evidence, words_there);
        let there = weighing.weighted_mean(words_there, share(tokens_there), vector);
        let bonus = self.features.bonus(&known.passage.passage, known.evidence.length, known.place.is_question);
        let mut relevance = calibrate(there + bonus, self.threshold_relevance(known));
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
            synonyms: otherwise,
            token_similarity: share(tokens),
            vector,
            cross_script: deviations,
            context: there - alone,
            features: bonus,
        };
        (relevance, reasons)
    }

    /// 0.7 of the vector score and 0.3 of the word score. Without any vectors, the word score.
    fn stated_relevance(&self, words: f32, vector: Option<f32>) -> f32 {
        if self.nearness.is_none() {
            return words;
        }
        let LegWeights { words: share, vector: of_vector, .. } = LegWeights::VECTOR_HEAVY;
        (f32::from(of_vector) * vector.unwrap_or(0.0) + f32::from(share) * words) / f32::from(of_vector + share)
    }

    /// The least relevance by words alone: no other leg may hide what the words show, least of all if all of them match.
    fn word_floor(&self, known: &PassageEvidence, words: f32) -> f32 {
        let has_all = self.relevance.coverage(&known.evidence.literal) > 0.999;
        let of_all = if known.is_long() { words.min(HOLDS_ALL) } else { words };
        (words * WORDS_ALONE).max(if has_all { of_all } else { 0.0 })
    }

    fn threshold_relevance(&self, known: &PassageEvidence) -> f32 {
        let measured = AT_THRESHOLD[usize::from(known.is_long())][usize::from(self.token_similarity.is_none())];
        let of_store = THRESHOLD_PER_STORE * (self.relevance.documents() as f32 / USUAL_STORE).ln().max(0.0);
        let of_length = THRESHOLD_PER_LENGTH * (self.relevance.words() as f32 / USUAL_WORDS).ln().max(0.0);
        measured * (1.0 + (of_store.min(MAX_PER_STORE) - of_length.min(MAX_PER_LENGTH)) / THRESHOLD)
    }

    /// Standard deviations above usual for texts of its script; `None` in the question's script.
    fn cross_script_deviations(&self, known: &PassageEvidence) -> Option<f32> {
        let script = known.script;
        let is_foreign = script != self.script && script != Script::None && self.script != Script::None;
        self.nearness.filter(|_| is_foreign)?.deviations(known.passage.document?.rowid())
    }
}

/// Links the most promising passages with their neighbours, which are read if missing.
fn add_neighbours(
    store: &Store,
    index: &Index,
    known: &mut Vec<PassageEvidence>,
    promising: &[usize],
    legs: &SearchLegs<'_>,
) -> Result<(), ToolError> {
    let mut places: HashMap<Document, usize> =
        known.iter().enumerate().filter_map(|(i, known)| Some((known.passage.document?, i))).collect();
    for &at in promising {
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
                    let mut neighbour =
                        legs.collect_evidence(UnscoredPassage { passage, document: Some(document), is_answer });
                    legs.compare_tokens(&mut neighbour);
                    known.push(neighbour);
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

/// The session or file of a passage.
fn passage_origin(passage: &Passage) -> Option<String> {
    match passage {
        Passage::Memory(row) if row.memory.session_id.is_empty() => None,
        Passage::Memory(row) => Some(format!("session {}", row.memory.session_id)),
        Passage::Chunk(chunk) => Some(format!("file {}", chunk.path)),
    }
}

/// Stretches a fused relevance so that the default threshold has its measured meaning.
fn calibrate(relevance: f32, at_threshold: f32) -> f32 {
    if relevance < at_threshold {
        relevance * THRESHOLD / at_threshold
    } else {
        THRESHOLD + (relevance - at_threshold) * (1.0 - THRESHOLD) / (1.0 - at_threshold)
    }
}

#[cfg(test)]
mod tests;
