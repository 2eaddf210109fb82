//! What is chosen by all stores of a set but one, and measured on that one: the threshold under which nothing is answered, and the
//! weights of the legs. Tells how much of a figure is owed to what it was chosen by.

use harness::evaluation::{Filled, Group, Question, Set};
use schema::settings::{Provider, Settings, Weights};

use crate::measure::{Measured, values_of};

/// Fewer stores are no sample.
const FEWEST: usize = 3;

/// The share of answers that a threshold may lose where it is chosen.
const MAY_BE_LOST: f64 = 0.01;

/// Weights that are tried: of kindred words and of the vector, beside 65 of words.
const WORDS: u16 = 65;
const KIN: [u16; 5] = [15, 25, 35, 50, 65];
const VECTOR: [u16; 3] = [0, 5, 15];

/// Shares of questions, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Thresholds {
    pub(crate) lost: f64,
    pub(crate) abstained: f64,
    /// The lowest and the highest that was chosen.
    pub(crate) chosen: (f64, f64),
}

/// With the score that loses one answer in a hundred in all other stores, on each store.
pub(crate) fn thresholds(measured: &Measured) -> Option<Thresholds> {
    if measured.of_stores.len() < FEWEST {
        return None;
    }
    let (mut own, mut other) = (&measured.firsts.answerable[..], &measured.firsts.strange[..]);
    let mut stores: Vec<(Vec<f64>, &[f64])> = Vec::new();
    for (of_own, of_other) in &measured.of_stores {
        stores.push((own[..*of_own].iter().map(|(score, _)| *score).collect(), &other[..*of_other]));
        (own, other) = (&own[*of_own..], &other[*of_other..]);
    }
    let below = |scores: &[f64], bound: f64| scores.iter().filter(|score| **score < bound).count() as f64;
    let (mut lost, mut abstained, mut chosen) = (0.0, 0.0, Vec::new());
    for (place, (own, other)) in stores.iter().enumerate() {
        let others = stores.iter().enumerate().filter(|(store, _)| *store != place);
        let mut scores: Vec<f64> = others.flat_map(|(_, (own, _))| own.iter().copied()).collect();
        scores.sort_by(f64::total_cmp);
        let bound = scores.get((scores.len() as f64 * MAY_BE_LOST) as usize).copied().unwrap_or_default();
        lost += below(own, bound);
        abstained += below(other, bound);
        chosen.push(bound);
    }
    chosen.sort_by(f64::total_cmp);
    Some(Thresholds {
        lost: lost / measured.firsts.answerable.len().max(1) as f64,
        abstained: abstained / measured.firsts.strange.len().max(1) as f64,
        chosen: (chosen[0], chosen[chosen.len() - 1]),
    })
}

/// Recall in the first 5 and 10.
pub(crate) type Recall = [f64; 2];

/// What weights give.
#[derive(Debug, Clone)]
pub(crate) struct Fitted {
    /// Each store with the weights that are best in all others.
    pub(crate) held_out: Recall,
    /// All stores with the weights that are best in all, and which these are.
    pub(crate) fitted: Recall,
    pub(crate) best: Weights,
    /// All stores with the weights that are the default.
    pub(crate) default: Recall,
}

/// Recall with weights chosen by all other stores, on each store.
pub(crate) fn weights(set: &Set) -> Result<Option<Fitted>, String> {
    if set.groups.len() < FEWEST {
        return Ok(None);
    }
    let stores = set.groups.iter().map(|group| Filled::new(group, set.shape)).collect::<Result<Vec<_>, _>>()?;
    let grid = KIN.into_iter().flat_map(|kin| VECTOR.map(|vector| Weights { words: WORDS, kin, vector }));
    let mut tried: Vec<Weights> = grid.collect();
    tried.retain(|weights| *weights != Weights::MEASURED);
    tried.insert(0, Weights::MEASURED);
    // For each weights the sums of every store.
    let mut found: Vec<Vec<Recall>> = Vec::new();
    for weights in &tried {
        found.push(
            set.groups
                .iter()
                .zip(&stores)
                .map(|(group, store)| sums(group, store, *weights))
                .collect::<Result<_, _>>()?,
        );
    }
    let counts: Vec<usize> = set.groups.iter().map(|group| asked(group).count()).collect();
    let all = counts.iter().sum::<usize>().max(1) as f64;
    let sum = |row: &[Recall], but: Option<usize>| {
        let counted = row.iter().enumerate().filter(|(store, _)| Some(*store) != but);
        counted.fold([0.0; 2], |sum, (_, recall)| [sum[0] + recall[0], sum[1] + recall[1]])
    };
    let best_but = |but: Option<usize>| {
        let worth = |row: &Vec<Recall>| sum(row, but).iter().sum::<f64>();
        (0..tried.len()).max_by(|a, b| worth(&found[*a]).total_cmp(&worth(&found[*b])).then(b.cmp(a))).unwrap_or(0)
    };
    let held: Vec<Recall> = (0..counts.len()).map(|store| found[best_but(Some(store))][store]).collect();
    let share = |recall: Recall| recall.map(|sum| sum / all);
    let best = best_but(None);
    Ok(Some(Fitted {
        held_out: share(sum(&held, None)),
        fitted: share(sum(&found[best], None)),
        best: tried[best],
        default: share(sum(&found[0], None)),
    }))
}

fn asked(group: &Group) -> impl Iterator<Item = &Question> {
    group.questions.iter().filter(|question| !question.relevant.is_empty())
}

fn sums(group: &Group, store: &Filled, weights: Weights) -> Result<Recall, String> {
    let settings =
        Settings { embedding_provider: Provider::Local, search_weights: Some(weights), ..Settings::default() };
    let mut engine = store.engine(&settings)?;
    let mut sums = [0.0; 2];
    for question in asked(group) {
        let values = values_of(&store.ask(&mut engine, &question.text)?.found, question);
        sums = [sums[0] + values[1], sums[1] + values[2]];
    }
    Ok(sums)
}
