//! Fusion: one relevance from what words, kindred words and vectors say of a passage in its context.
//!
//! Each leg goes from 0 to 1 and means the same in every store; none ever lowers what another found. docs/retrieval.md has the
//! measurements that the constants are from.

use std::collections::{HashMap, HashSet};

use schema::store::Store;

use super::candidate::{Candidate, Gathered, Passage, admits, read};
use super::context::{Place, in_context};
use super::dates::{self, Asked};
use super::function_words;
use super::kin::{self, ALIKE, ALIKE_IN_LONG, Kin};
use super::manner::{self, UTTERANCE};
use super::near::{Nearness, in_words};
use super::part::Parts;
use super::relevance::{Evidence, Relevance};
use super::request::Narrowing;
use super::weighing::Weighings;
use super::{Means, Scoring};
use crate::error::ToolError;
use crate::index::{Document, Index};
use crate::text::script::Script;

/// Passages in which kindred words are looked for: the best by words, and the nearest.
const CLOSELY: usize = 100;
const CLOSELY_NEAR: usize = 50;

/// Passages whose neighbours are looked up, and the nearest part of which is looked for if they are long.
const PROMISING: usize = 40;

/// What a passage loses for being so short that it says little, at most.
const SHORT: f32 = 0.15;
/// Tokens from which on a passage is not short.
const ENOUGH: f32 = 60.0;
/// What an utterance that only asks loses.
const ASKS: f32 = 0.065;
/// What an utterance gains that tells a time when one is asked for, and one said by somebody whom the question names.
const TELLS_TIME: f32 = 0.08;
const SAID_BY: f32 = 0.07;
/// What a passage gains for being of a day that the question names.
const OF_THE_DAY: f32 = 0.3;

/// The relevance that a long passage has at least which holds every word: enough to be answered.
const HOLDS_ALL: f32 = 0.45;

/// The share of the relevance of words that stays whatever else is told.
const WORDS_ALONE: f32 = 0.6;

/// The fused relevance that stands for the default threshold of a score: of passages that are utterances, and of long ones; with
/// kindred words, and without. docs/retrieval.md says how they were found.
const AT_THRESHOLD: [[f32; 2]; 2] = [[0.40, 0.42], [0.49, 0.52]];
const THRESHOLD: f32 = 0.35;

/// How many deviations nearer than usual a text in another script has to be, and what more of them are worth. There, words and
/// signs tell nothing.
const FOREIGN: f32 = 3.3;
/// And how many more than the nearest of as many unrelated texts is expected to be, which is about `√(2·ln n)`.
const FOREIGN_BEYOND: f32 = 0.4;
const FOREIGN_SLOPE: f32 = 0.09;
const FOREIGN_MOST: f32 = 0.8;
/// What the relevance of words, which are in other words there, is worth in deviations.
const FOREIGN_WORDS: f32 = 2.0;
/// What the words take away that the glossary lists other words for in that script, none of which is there.
const FOREIGN_MISSED: f32 = 0.5;
/// The share of a question that unrelated texts in another script seem to say, in 99 of 100 cases, and what more of it is worth.
const FOREIGN_SHARE: f32 = 0.19;
const FOREIGN_SHARE_SLOPE: f32 = 1.5;

/// How a relevance came about.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Reasons {
    /// What the passage itself says, by each leg.
    pub(super) words: f32,
    /// What of the words is said in other words, from the glossary.
    pub(super) otherwise: f32,
    pub(super) kin: Option<f32>,
    pub(super) vector: Option<f32>,
    /// How many deviations nearer it is than usual, when it is in another script.
    pub(super) foreign: Option<f32>,
    /// What its context added to words and kindred words, and what signs such as dates changed.
    pub(super) context: f32,
    pub(super) signs: f32,
}

/// The legs of one search, and what its question asks for.
#[derive(Debug)]
pub(super) struct Legs<'a> {
    narrowing: &'a Narrowing,
    relevance: &'a Relevance<'a>,
    kin: Option<Kin<'a>>,
    parts: Option<Parts<'a>>,
    nearness: Option<&'a Nearness>,
    weighings: Weighings,
    scoring: Scoring,
    asks_when: bool,
    names: HashSet<String>,
    dates: Vec<Asked>,
    script: Script,
}

impl<'a> Legs<'a> {
    pub(super) fn new(
        means: Means<'a>,
        question: &str,
        narrowing: &'a Narrowing,
        relevance: &'a Relevance<'a>,
        nearness: Option<&'a Nearness>,
    ) -> Self {
        let said = function_words::without(question);
        Self {
            narrowing,
            relevance,
            kin: means.meaning.and_then(|meaning| Kin::new(&meaning.words, &said)),
            parts: means.meaning.and_then(|meaning| Parts::new(&meaning.words, &said)),
            nearness,
            weighings: Weighings::new(means),
            scoring: means.scoring,
            asks_when: manner::asks_when(question),
            names: manner::names(question),
            dates: dates::dates(question),
            script: Script::of(question),
        }
    }
}

/// What is known of a passage.
struct Known {
    gathered: Gathered,
    evidence: Evidence,
    /// The nearest to each piece of the question, as cosines.
    nearest: Vec<f32>,
    /// The pieces of the model in it, when it is long and was read closely.
    pieces: Vec<u32>,
    /// The cosine of its nearest part, when that was looked for.
    part: Option<f32>,
    place: Place,
    script: Script,
}

impl Known {
    fn is_long(&self) -> bool {
        self.evidence.length > UTTERANCE
    }

    /// How strongly the passage says each piece of the question in kindred words.
    fn kindred(&self) -> Vec<f32> {
        let alike = if self.is_long() { ALIKE_IN_LONG } else { ALIKE };
        self.nearest.iter().map(|cosine| kin::strength(*cosine, alike)).collect()
    }
}

/// Scores what was gathered, together with what stands beside the best of it.
pub(super) fn fuse(
    store: &Store,
    index: &Index,
    gathered: Vec<Gathered>,
    legs: &Legs<'_>,
) -> Result<Vec<Candidate>, ToolError> {
    let mut known: Vec<Known> = gathered.into_iter().map(|gathered| legs.know(gathered)).collect();
    legs.read_closely(&mut known);
    if legs.scoring == Scoring::Full {
        let order = legs.by_promise(&known);
        let promising = &order[..order.len().min(PROMISING)];
        legs.find_parts(promising, &mut known);
        add_neighbours(store, index, &mut known, promising, legs)?;
    }
    Ok(legs.score(known))
}

/// Links the most promising passages with those right before and after them, which are read when they are not there yet.
fn add_neighbours(
    store: &Store,
    index: &Index,
    known: &mut Vec<Known>,
    promising: &[usize],
    legs: &Legs<'_>,
) -> Result<(), ToolError> {
    let mut places: HashMap<Document, usize> =
        known.iter().enumerate().filter_map(|(i, known)| Some((known.gathered.document?, i))).collect();
    for &at in promising {
        let (before, after) = beside(store, index, &known[at].gathered)?;
        for (document, is_before) in [(before, true), (after, false)] {
            let Some(document) = document else { continue };
            let other = match places.get(&document) {
                Some(other) => *other,
                None => {
                    let Some(passage) = read(store, index, document)? else { continue };
                    let is_answer = admits(legs.narrowing, &passage);
                    let mut neighbour = legs.know(Gathered { passage, document: Some(document), is_answer });
                    legs.read(&mut neighbour);
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

/// The documents right before and after a passage: in its session what was said, in its file the next passage.
fn beside(
    store: &Store,
    index: &Index,
    gathered: &Gathered,
) -> Result<(Option<Document>, Option<Document>), ToolError> {
    match (&gathered.passage, gathered.document) {
        (Passage::Memory(row), _) if row.memory.kind.is_session_data() && !row.memory.session_id.is_empty() => {
            let (before, after) = store.rows().beside(row)?;
            Ok((before.map(Document::Memory), after.map(Document::Memory)))
        }
        (Passage::Chunk(chunk), Some(Document::Chunk(id))) => {
            // The chunks of a file are numbered in its order.
            let of_file = |id: i64| -> Result<Option<Document>, ToolError> {
                let other = index.chunk(id)?.filter(|other| other.path == chunk.path);
                Ok(other.map(|_| Document::Chunk(id)))
            };
            Ok((of_file(id - 1)?, of_file(id + 1)?))
        }
        _ => Ok((None, None)),
    }
}

impl Legs<'_> {
    fn know(&self, gathered: Gathered) -> Known {
        let passage = &gathered.passage;
        let evidence = self.relevance.evidence(&passage.title(), passage.text());
        let (nearest, pieces) = (vec![0.0; self.kin.as_ref().map_or(0, Kin::pieces)], Vec::new());
        let is_utterance = evidence.length <= UTTERANCE;
        let place = Place {
            origin: origin(passage),
            is_question: is_utterance && manner::asks(passage.text()),
            ..Place::default()
        };
        let script = Script::of(passage.text());
        Known { gathered, evidence, nearest, pieces, part: None, place, script }
    }

    /// Looks for kindred words in the passages that hold the most words of the question, and in those that are nearest to it.
    /// That takes longer than all the rest, and what is behind them on both counts is not found by it either.
    fn read_closely(&self, known: &mut [Known]) {
        if self.kin.is_none() {
            return;
        }
        let words: Vec<f32> = known.iter().map(|known| self.relevance.score_of(&known.evidence)).collect();
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|a, b| words[*b].total_cmp(&words[*a]));
        let nearest = self.nearness.map_or(&[][..], |nearness| &nearness.nearest);
        let near: HashSet<i64> = nearest.iter().take(CLOSELY_NEAR).copied().collect();
        for (rank, at) in order.into_iter().enumerate() {
            let document = known[at].gathered.document.map(Document::rowid);
            if rank < CLOSELY || document.is_some_and(|document| near.contains(&document)) {
                self.read(&mut known[at]);
            }
        }
    }

    fn read(&self, known: &mut Known) {
        let Some(kin) = &self.kin else { return };
        (known.nearest, known.pieces) = match &known.gathered.passage {
            Passage::Chunk(chunk) if !chunk.heading.is_empty() => {
                kin.nearest(&format!("{}\n{}", chunk.heading, chunk.text))
            }
            passage => kin.nearest(passage.text()),
        };
    }

    /// Looks for the nearest part of the long passages among these. In another script nearness means something else.
    fn find_parts(&self, promising: &[usize], known: &mut [Known]) {
        let Some(parts) = &self.parts else { return };
        for at in promising {
            let known = &mut known[*at];
            if known.is_long() && known.script == self.script && !known.pieces.is_empty() {
                known.part = Some(parts.nearest(&known.pieces));
            }
        }
    }

    /// Passages by what they promise, the most promising first.
    fn by_promise(&self, known: &[Known]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..known.len()).collect();
        let promise: Vec<f32> = known.iter().map(|known| self.promise(known)).collect();
        order.sort_by(|a, b| promise[*b].total_cmp(&promise[*a]));
        order
    }

    /// What a passage promises before its context is known.
    fn promise(&self, known: &Known) -> f32 {
        let strengths = known.kindred();
        let words = self.relevance.score_of(&known.evidence);
        self.kin.as_ref().map_or(words, |kin| words + kin.share(&strengths))
    }

    fn score(&self, known: Vec<Known>) -> Vec<Candidate> {
        let places: Vec<Place> = known.iter().map(|known| known.place.clone()).collect();
        let words: Vec<Vec<f32>> = known.iter().map(|known| known.evidence.strengths.clone()).collect();
        let kin: Vec<Vec<f32>> = known.iter().map(Known::kindred).collect();
        let is_full = self.scoring == Scoring::Full;
        let (words_there, kin_there) =
            if is_full { (in_context(&words, &places), in_context(&kin, &places)) } else { (words, kin.clone()) };
        let scored = known.into_iter().zip(kin).zip(words_there.iter().zip(&kin_there));
        let scored = scored.filter(|((known, _), _)| known.gathered.is_answer).map(
            |((known, kin), (words_there, kin_there))| {
                let (relevance, reasons) = self.relevance_of(&known, &kin, words_there, kin_there);
                Candidate { passage: known.gathered.passage, tokens: known.evidence.tokens, relevance, reasons }
            },
        );
        scored.filter(|candidate| candidate.relevance > 0.0).collect()
    }

    fn relevance_of(&self, known: &Known, kin: &[f32], words_there: &[f32], kin_there: &[f32]) -> (f32, Reasons) {
        let words = self.relevance.score_of(&known.evidence);
        let otherwise = words - self.relevance.score_in_context(&known.evidence, &known.evidence.literal);
        if self.scoring == Scoring::Words {
            return (words, Reasons { words, otherwise, ..Reasons::default() });
        }
        // Kindred words know nothing of those that the glossary found.
        let share = |strengths: &[f32]| self.kin.as_ref().map(|kin| kin.share(strengths).max(known.evidence.otherwise));
        let document = known.gathered.document.map(Document::rowid);
        let whole = document.and_then(|document| self.nearness?.of(document));
        let vector = match (whole, known.part.map(in_words)) {
            (Some(whole), Some(part)) => Some(whole.max(part)),
            (whole, part) => whole.or(part),
        };
        let weighing = self.weighings.in_passage(known.is_long());
        let alone = weighing.mean(words, share(kin), vector);
        let words_there = self.relevance.score_in_context(&known.evidence, words_there);
        let there = weighing.mean(words_there, share(kin_there), vector);
        let signs = self.signs(known);
        let mut relevance = calibrated(there + signs, self.at_threshold(known));
        let deviations = self.foreign_deviations(known);
        if let Some(above) = deviations {
            relevance = relevance.max(self.foreign(known, above));
        }
        // What the words tell is never hidden by what another leg makes of it, least of all where all of them are there.
        let has_all = self.relevance.coverage(&known.evidence) > 0.999;
        relevance = relevance.max(words * WORDS_ALONE);
        if has_all {
            relevance = relevance.max(if known.is_long() { words.min(HOLDS_ALL) } else { words });
        }
        let reasons =
            Reasons { words, otherwise, kin: share(kin), vector, foreign: deviations, context: there - alone, signs };
        (relevance, reasons)
    }

    fn at_threshold(&self, known: &Known) -> f32 {
        AT_THRESHOLD[usize::from(known.is_long())][usize::from(self.kin.is_none())]
    }

    /// What can be told without understanding.
    fn signs(&self, known: &Known) -> f32 {
        let passage = &known.gathered.passage;
        let (text, length) = (passage.text(), known.evidence.length);
        let mut signs = -SHORT * (1.0 - ((length as f32).ln_1p() / ENOUGH.ln()).min(1.0));
        if length <= UTTERANCE {
            signs -= if known.place.is_question { ASKS } else { 0.0 };
            signs += if self.asks_when && manner::tells_time(text) { TELLS_TIME } else { 0.0 };
            signs += if manner::is_said_by(text, &self.names) { SAID_BY } else { 0.0 };
        }
        if !self.dates.is_empty()
            && let Some(day) = day(passage)
        {
            signs += OF_THE_DAY * dates::fit(&self.dates, day);
        }
        signs
    }

    /// How many deviations nearer a passage is than is usual for texts of its script, when that is not the question's.
    fn foreign_deviations(&self, known: &Known) -> Option<f32> {
        let script = known.script;
        let is_foreign = script != self.script && script != Script::None && self.script != Script::None;
        self.nearness.filter(|_| is_foreign)?.deviations(known.gathered.document?.rowid())
    }

    /// The relevance of a passage in another script than the question's: how near it is by its vector among texts of its script, what
    /// it says of the question in words of the glossary, and, as long as there are few texts to compare with, in kindred words.
    fn foreign(&self, known: &Known, above: f32) -> f32 {
        let Some(nearness) = self.nearness else { return 0.0 };
        let script = known.script;
        let share = self.kin.as_ref().map_or(0.0, |kin| kin.share(&known.nearest));
        // What is listed for the question's words in that script should be there.
        let missed = (self.relevance.listed_in(script) - known.evidence.there).max(0.0);
        let above = above + FOREIGN_WORDS * self.relevance.score_of(&known.evidence) - FOREIGN_MISSED * missed;
        // The nearest of many is nearer than that of few, by chance.
        let unusual = FOREIGN.max(FOREIGN_BEYOND + (2.0 * (nearness.count(script) as f32).max(1.0).ln()).sqrt());
        let by_vector =
            if above < unusual { THRESHOLD * above / unusual } else { THRESHOLD + FOREIGN_SLOPE * (above - unusual) };
        let by_words = THRESHOLD + FOREIGN_SHARE_SLOPE * (share - FOREIGN_SHARE);
        let trust = nearness.trust(script);
        (trust * by_vector + (1.0 - trust) * by_words).clamp(0.0, FOREIGN_MOST)
    }
}

/// The session or file that a passage belongs to.
fn origin(passage: &Passage) -> Option<String> {
    match passage {
        Passage::Memory(row) if row.memory.session_id.is_empty() => None,
        Passage::Memory(row) => Some(format!("session {}", row.memory.session_id)),
        Passage::Chunk(chunk) => Some(format!("file {}", chunk.path)),
    }
}

/// The day of a passage: of its capture or log, or one that its headings or its file name.
fn day(passage: &Passage) -> Option<chrono::NaiveDate> {
    passage.at().map(|at| at.date()).or_else(|| match passage {
        Passage::Chunk(chunk) => dates::day_of(&chunk.heading).or_else(|| dates::day_of(&chunk.path)),
        Passage::Memory(_) => None,
    })
}

/// A fused relevance as a score: stretched so that the default threshold means what was measured for it.
fn calibrated(relevance: f32, at_threshold: f32) -> f32 {
    if relevance < at_threshold {
        relevance * THRESHOLD / at_threshold
    } else {
        THRESHOLD + (relevance - at_threshold) * (1.0 - THRESHOLD) / (1.0 - at_threshold)
    }
}

#[cfg(test)]
mod tests;
