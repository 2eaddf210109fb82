//! Measures each leg on a set.

use std::collections::BTreeMap;
use std::time::Instant;

use harness::evaluation::{EvalGroup, EvalQuestion, EvalSet, EvalStore, RetrievedDocuments};
use schema::settings::{EmbeddingProvider, LegWeights, Settings};
use schema::tool::Confidence;
use tools::engine::Engine;

/// The number of questions from each other store that serve as unanswerable ones.
const STRANGE: usize = 40;

/// The number of bootstrap samples for an interval.
const SAMPLES: usize = 1_000;

/// The suffix of the names of legs that use other phrasings.
const ALSO: &str = "+ also";

/// Returns the legs and their embedders: none, the built-in model, and a model file.
pub(crate) fn measured_legs(
    set: &EvalSet,
    model: Option<&str>,
    weights: Option<LegWeights>,
) -> Vec<(&'static str, Settings)> {
    let by = |embedding_provider, model: Option<&str>| Settings {
        embedding_provider,
        embedding_model: model.map(str::to_owned),
        search_weights: weights,
        ..Settings::default()
    };
    let mut legs = vec![("text", by(EmbeddingProvider::None, None)), ("installed", by(EmbeddingProvider::Local, None))];
    if set.groups.iter().flat_map(|group| &group.questions).any(|question| !question.also.is_empty()) {
        legs.push(("text + also", by(EmbeddingProvider::None, None)));
        legs.push(("inst. + also", by(EmbeddingProvider::Local, None)));
    }
    legs.extend(model.map(|path| ("by path", by(EmbeddingProvider::Local, Some(path)))));
    legs
}

/// Results of one leg.
#[derive(Debug)]
pub(crate) struct LegMeasurement {
    pub(crate) set: String,
    pub(crate) leg: &'static str,
    pub(crate) questions: usize,
    /// Recall in the top 1, 5 and 10, mean reciprocal rank and nDCG in the top 10, from 0 to 1.
    pub(crate) values: [ConfidenceInterval; 5],
    /// These values per question.
    pub(crate) of_questions: Vec<[f64; 5]>,
    /// Size of each class and its recall in the top 5; empty for a single class.
    pub(crate) classes: Vec<(String, usize, f64)>,
    /// Median milliseconds of a search.
    pub(crate) milliseconds: f64,
    pub(crate) firsts: FirstHits,
    pub(crate) order: TimeOrder,
    /// Number of answerable and unanswerable questions per store.
    pub(crate) of_stores: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct FirstHits {
    pub(crate) answerable: Vec<FirstHit>,
    /// Questions that nothing in the store answers.
    pub(crate) strange: Vec<FirstHit>,
    /// Answerable questions with any relevant document in the first five.
    pub(crate) any_in_five: usize,
}

/// The first hit of a question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstHit {
    /// Its score without a threshold; 0 without a hit.
    pub(crate) score: f64,
    /// Its confidence with default arguments; `None` if the answer is empty.
    pub(crate) confidence: Option<Confidence>,
    /// Whether it is relevant.
    pub(crate) is_right: bool,
}

/// Questions with a newer and an older statement, and which of them comes first in the first ten.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TimeOrder {
    pub(crate) questions: usize,
    pub(crate) newer_first: usize,
    pub(crate) older_first: usize,
}

impl FirstHits {
    /// Share of answerable questions with an empty answer.
    pub(crate) fn lost(&self) -> f64 {
        share_of(&self.answerable, |first| first.confidence.is_none())
    }

    /// Share of unanswerable questions with an empty answer.
    pub(crate) fn abstained(&self) -> Option<f64> {
        (!self.strange.is_empty()).then(|| share_of(&self.strange, |first| first.confidence.is_none()))
    }

    /// Share of answerable questions whose shown first hit is right.
    pub(crate) fn right_first(&self) -> f64 {
        share_of(&self.answerable, |first| first.is_right && first.confidence.is_some())
    }

    /// Number of questions with this confidence, answerable or not, and the share that is right.
    pub(crate) fn calibration(&self, confidence: Confidence) -> (usize, f64) {
        let shown: Vec<FirstHit> = self.answerable.iter().chain(&self.strange).copied().collect();
        let shown: Vec<FirstHit> = shown.into_iter().filter(|first| first.confidence == Some(confidence)).collect();
        (shown.len(), share_of(&shown, |first| first.is_right))
    }

    /// Number of answerable questions with this confidence, and the share that is right.
    pub(crate) fn calibration_of_own(&self, confidence: Confidence) -> (usize, f64) {
        let own = Self { answerable: self.answerable.clone(), ..Self::default() };
        own.calibration(confidence)
    }

    /// Share of unanswerable questions with a first hit of high confidence.
    pub(crate) fn falsely_high(&self) -> Option<f64> {
        let is_high = |first: &FirstHit| first.confidence == Some(Confidence::High);
        (!self.strange.is_empty()).then(|| share_of(&self.strange, is_high))
    }
}

fn share_of(firsts: &[FirstHit], counts: impl Fn(&FirstHit) -> bool) -> f64 {
    firsts.iter().filter(|first| counts(first)).count() as f64 / firsts.len().max(1) as f64
}

pub(crate) const NAMES: [&str; 5] = ["R@1", "R@5", "R@10", "MRR", "nDCG"];

/// A mean and its 95 % bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfidenceInterval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Measures every leg on a set.
pub(crate) fn measure(
    set: &EvalSet,
    model: Option<&str>,
    weights: Option<LegWeights>,
) -> Result<Vec<LegMeasurement>, String> {
    let stores = set.groups.iter().map(|group| EvalStore::new(group, set.shape)).collect::<Result<Vec<_>, _>>()?;
    measured_legs(set, model, weights).iter().map(|(leg, settings)| measure_leg(set, &stores, leg, settings)).collect()
}

fn measure_leg(
    set: &EvalSet,
    stores: &[EvalStore],
    leg: &'static str,
    settings: &Settings,
) -> Result<LegMeasurement, String> {
    let (mut of_questions, mut times): (Vec<[f64; 5]>, Vec<f64>) = Default::default();
    let mut classes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut firsts, mut order) = (FirstHits::default(), TimeOrder::default());
    let mut of_stores = Vec::new();
    for (place, (group, store)) in set.groups.iter().zip(stores).enumerate() {
        let mut engine = store.engine(settings)?;
        let before = (firsts.answerable.len(), firsts.strange.len());
        for question in group.questions.iter().filter(|question| !question.relevant.is_empty()) {
            let started = Instant::now();
            let RetrievedDocuments { first, found } =
                store.ask_with(&mut engine, &question.text, phrasings(leg, question))?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
            let values = question_values(&found, question);
            classes.entry(&question.class).or_default().push(values[1]);
            of_questions.push(values);
            order.add(&found, question);
            firsts.any_in_five += usize::from(values[1] > 0.0);
            firsts.answerable.push(first_hit(store, &mut engine, question, phrasings(leg, question), first)?);
        }
        for question in unanswerable_questions(&set.groups, place) {
            let first = store.ask_with(&mut engine, &question.text, phrasings(leg, question))?.first;
            let nothing_is_right = EvalQuestion { relevant: Vec::new(), ..question.clone() };
            firsts.strange.push(first_hit(store, &mut engine, &nothing_is_right, phrasings(leg, question), first)?);
        }
        of_stores.push((firsts.answerable.len() - before.0, firsts.strange.len() - before.1));
    }
    times.sort_by(f64::total_cmp);
    let classes = classes.into_iter().filter(|(_, of_class)| of_class.len() < of_questions.len());
    Ok(LegMeasurement {
        set: set.name.clone(),
        leg,
        questions: of_questions.len(),
        values: std::array::from_fn(|i| {
            confidence_interval(&of_questions.iter().map(|value| value[i]).collect::<Vec<_>>())
        }),
        classes: classes
            .map(|(class, found)| (class.to_owned(), found.len(), confidence_interval(&found).mean))
            .collect(),
        of_questions,
        milliseconds: times.get(times.len() / 2).copied().unwrap_or_default(),
        firsts,
        order,
        of_stores,
    })
}

/// Returns the other phrasings that a leg uses.
fn phrasings<'q>(leg: &str, question: &'q EvalQuestion) -> &'q [String] {
    if leg.ends_with(ALSO) { &question.also } else { &[] }
}

fn first_hit(
    store: &EvalStore,
    engine: &mut Engine,
    question: &EvalQuestion,
    also: &[String],
    score: f64,
) -> Result<FirstHit, String> {
    let shown = store.first_shown(engine, &question.text, also)?;
    Ok(FirstHit {
        score,
        confidence: shown.as_ref().map(|shown| shown.confidence),
        is_right: shown.is_some_and(|shown| shown.documents.iter().any(|id| question.relevant.contains(id))),
    })
}

impl TimeOrder {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            questions: self.questions + other.questions,
            newer_first: self.newer_first + other.newer_first,
            older_first: self.older_first + other.older_first,
        }
    }

    fn add(&mut self, found: &[(String, f64)], question: &EvalQuestion) {
        if question.newer.is_empty() || question.older.is_empty() {
            return;
        }
        let rank = |ids: &[String]| found.iter().take(10).position(|(id, _)| ids.contains(id)).unwrap_or(usize::MAX);
        let (newer, older) = (rank(&question.newer), rank(&question.older));
        self.questions += 1;
        self.newer_first += usize::from(newer < older);
        self.older_first += usize::from(older < newer);
    }
}

/// Unanswerable questions for a store: its own, and some of the other stores.
pub(crate) fn unanswerable_questions(groups: &[EvalGroup], place: usize) -> Vec<&EvalQuestion> {
    let own = groups[place].questions.iter().filter(|question| question.relevant.is_empty());
    let others = groups.iter().enumerate().filter(|(other, _)| *other != place);
    own.chain(others.flat_map(|(_, group)| {
        let step = (group.questions.len() / STRANGE).max(1);
        group.questions.iter().step_by(step).take(STRANGE)
    }))
    .collect()
}

pub(crate) fn question_values(found: &[(String, f64)], question: &EvalQuestion) -> [f64; 5] {
    let relevant = question.relevant.len() as f64;
    let is_relevant: Vec<bool> = found.iter().take(10).map(|(id, _)| question.relevant.contains(id)).collect();
    let recall = |k: usize| is_relevant.iter().take(k).filter(|is| **is).count() as f64 / relevant;
    let first = is_relevant.iter().position(|is| *is).map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let gained: f64 = is_relevant.iter().enumerate().filter(|(_, is)| **is).map(|(rank, _)| gain(rank)).sum();
    let most: f64 = (0..question.relevant.len().min(10)).map(gain).sum();
    [recall(1), recall(5), recall(10), first, (gained / most).max(0.0)]
}

/// Returns the mean and its bootstrap interval.
pub(crate) fn confidence_interval(values: &[f64]) -> ConfidenceInterval {
    let count = values.len().max(1);
    let mean = values.iter().fold(0.0, |sum, value| sum + value) / count as f64;
    // A fixed seed, so that the same results have the same bounds.
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| (0..count).map(|_| values.get(draw()).copied().unwrap_or_default()).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    ConfidenceInterval { mean, low: means[SAMPLES / 40], high: means[SAMPLES - 1 - SAMPLES / 40] }
}
