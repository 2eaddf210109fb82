//! Measures of a set by each leg.

use std::collections::BTreeMap;
use std::time::Instant;

use harness::evaluation::{Answer, Filled, Group, Question, Set};
use schema::settings::{Provider, Settings, Weights};

/// Questions of every other store that are asked as ones that nothing answers.
const STRANGE: usize = 40;

/// The score under which nothing is answered when nothing is said.
pub(crate) const MIN_SCORE: f64 = 0.35;

/// Samples of which an interval is made.
const SAMPLES: usize = 1_000;

/// How the legs are called, and who makes embeddings for each: nobody, the model inside the binary, and one in a file.
fn legs(model: Option<&str>, weights: Option<Weights>) -> Vec<(&'static str, Settings)> {
    let by = |embedding_provider, model: Option<&str>| Settings {
        embedding_provider,
        embedding_model: model.map(str::to_owned),
        search_weights: weights,
        ..Settings::default()
    };
    let mut legs = vec![("text", by(Provider::None, None)), ("installed", by(Provider::Local, None))];
    legs.extend(model.map(|path| ("by path", by(Provider::Local, Some(path)))));
    legs
}

/// What a set gave by one leg.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) set: String,
    pub(crate) leg: &'static str,
    pub(crate) questions: usize,
    /// Recall in the first 1, 5 and 10, mean reciprocal rank and normalised gain in the first 10, from 0 to 1.
    pub(crate) values: [Interval; 5],
    /// The same for each question.
    pub(crate) of_questions: Vec<[f64; 5]>,
    /// How many questions each class has, and their recall in the first 5; none when there is one class.
    pub(crate) classes: Vec<(String, usize, f64)>,
    /// The share of strange questions that got no answer, and of the others, at the default threshold.
    pub(crate) abstained: Option<f64>,
    pub(crate) lost: f64,
    /// Milliseconds of a search, at the median.
    pub(crate) milliseconds: f64,
    pub(crate) firsts: Firsts,
    /// How many questions of each store are in the lists above: of its own, and of others.
    pub(crate) of_stores: Vec<(usize, usize)>,
}

/// The scores of first hits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Firsts {
    /// Of questions that something answers, and whether the hit is of what does.
    pub(crate) answerable: Vec<(f64, bool)>,
    /// Of questions that nothing answers; 0 where there was no hit.
    pub(crate) strange: Vec<f64>,
}

pub(crate) const NAMES: [&str; 5] = ["R@1", "R@5", "R@10", "MRR", "nDCG"];

/// A mean and the bounds of nineteen samples in twenty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

pub(crate) fn measure(set: &Set, model: Option<&str>, weights: Option<Weights>) -> Result<Vec<Measured>, String> {
    let stores = set.groups.iter().map(|group| Filled::new(group, set.shape)).collect::<Result<Vec<_>, _>>()?;
    legs(model, weights).iter().map(|(leg, settings)| leg_of(set, &stores, leg, settings)).collect()
}

fn leg_of(set: &Set, stores: &[Filled], leg: &'static str, settings: &Settings) -> Result<Measured, String> {
    let (mut of_questions, mut times): (Vec<[f64; 5]>, Vec<f64>) = Default::default();
    let mut classes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut firsts = Firsts::default();
    let mut of_stores = Vec::new();
    for (place, (group, store)) in set.groups.iter().zip(stores).enumerate() {
        let mut engine = store.engine(settings)?;
        let before = (firsts.answerable.len(), firsts.strange.len());
        for question in group.questions.iter().filter(|question| !question.relevant.is_empty()) {
            let started = Instant::now();
            let Answer { first, found } = store.ask(&mut engine, &question.text)?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
            let values = values_of(&found, question);
            classes.entry(&question.class).or_default().push(values[1]);
            of_questions.push(values);
            firsts.answerable.push((first, values[0] > 0.0));
        }
        for question in strangers(&set.groups, place) {
            firsts.strange.push(store.ask(&mut engine, &question.text)?.first);
        }
        of_stores.push((firsts.answerable.len() - before.0, firsts.strange.len() - before.1));
    }
    times.sort_by(f64::total_cmp);
    let share = |count: usize, all: usize| count as f64 / all.max(1) as f64;
    let abstained = firsts.strange.iter().filter(|score| **score < MIN_SCORE).count();
    let lost = firsts.answerable.iter().filter(|(score, _)| *score < MIN_SCORE).count();
    let classes = classes.into_iter().filter(|(_, of_class)| of_class.len() < of_questions.len());
    Ok(Measured {
        set: set.name.clone(),
        leg,
        questions: of_questions.len(),
        values: std::array::from_fn(|i| interval(&of_questions.iter().map(|value| value[i]).collect::<Vec<_>>())),
        classes: classes.map(|(class, found)| (class.to_owned(), found.len(), interval(&found).mean)).collect(),
        abstained: (!firsts.strange.is_empty()).then(|| share(abstained, firsts.strange.len())),
        lost: share(lost, of_questions.len()),
        of_questions,
        milliseconds: times.get(times.len() / 2).copied().unwrap_or_default(),
        firsts,
        of_stores,
    })
}

/// Questions that nothing in a store answers: its own such ones, and some of the other stores.
fn strangers(groups: &[Group], place: usize) -> Vec<&Question> {
    let own = groups[place].questions.iter().filter(|question| question.relevant.is_empty());
    let others = groups.iter().enumerate().filter(|(other, _)| *other != place);
    own.chain(others.flat_map(|(_, group)| {
        let step = (group.questions.len() / STRANGE).max(1);
        group.questions.iter().step_by(step).take(STRANGE)
    }))
    .collect()
}

pub(crate) fn values_of(found: &[(String, f64)], question: &Question) -> [f64; 5] {
    let relevant = question.relevant.len() as f64;
    let is_relevant: Vec<bool> = found.iter().take(10).map(|(id, _)| question.relevant.contains(id)).collect();
    let recall = |k: usize| is_relevant.iter().take(k).filter(|is| **is).count() as f64 / relevant;
    let first = is_relevant.iter().position(|is| *is).map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let gained: f64 = is_relevant.iter().enumerate().filter(|(_, is)| **is).map(|(rank, _)| gain(rank)).sum();
    let most: f64 = (0..question.relevant.len().min(10)).map(gain).sum();
    [recall(1), recall(5), recall(10), first, (gained / most).max(0.0)]
}

/// The mean, and between which values it lies when questions are drawn again and again from those that were asked.
pub(crate) fn interval(values: &[f64]) -> Interval {
    let count = values.len().max(1);
    let mean = values.iter().fold(0.0, |sum, value| sum + value) / count as f64;
    // A generator of its own, so that the same measurement prints the same bounds.
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| (0..count).map(|_| values.get(draw()).copied().unwrap_or_default()).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    Interval { mean, low: means[SAMPLES / 40], high: means[SAMPLES - 1 - SAMPLES / 40] }
}
