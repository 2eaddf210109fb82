//! Cross-validation: chooses threshold and weights on all stores of a set but one, and measures on that one. This shows how
//! much of a figure is overfitting.

use harness::evaluation::{EvalGroup, EvalQuestion, EvalSet, EvalStore};
use schema::settings::{EmbeddingProvider, LegWeights, Settings};

use crate::measure::{FirstHit, LegMeasurement, question_values};

/// With fewer stores, cross-validation is meaningless.
const FEWEST: usize = 3;

/// The share of answers that a threshold may lose on its training stores.
const MAY_BE_LOST: f64 = 0.01;

const WORDS: u16 = 65;
/// Candidate weights of the vector for this weight of words.
const VECTOR: [u16; 5] = [0, 3, 5, 10, 15];

/// The shares of questions that lose their answer and that are rightly not answered, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeldOutThresholds {
    pub(crate) lost: f64,
    pub(crate) abstained: f64,
    /// The lowest and highest chosen threshold.
    pub(crate) chosen: (f64, f64),
}

/// Chooses a threshold for each store that loses one answer in a hundred on the other stores.
pub(crate) fn held_out_thresholds(measured: &LegMeasurement) -> Option<HeldOutThresholds> {
    if measured.of_stores.len() < FEWEST {
        return None;
    }
    let (mut own, mut other) = (&measured.firsts.answerable[..], &measured.firsts.strange[..]);
    let mut stores: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for (of_own, of_other) in &measured.of_stores {
        stores.push((scores_of(&own[..*of_own]), scores_of(&other[..*of_other])));
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
    Some(HeldOutThresholds {
        lost: lost / measured.firsts.answerable.len().max(1) as f64,
        abstained: abstained / measured.firsts.strange.len().max(1) as f64,
        chosen: (chosen[0], chosen[chosen.len() - 1]),
    })
}

fn scores_of(firsts: &[FirstHit]) -> Vec<f64> {
    firsts.iter().map(|first| first.score).collect()
}

/// Recall in the top 5 and 10.
pub(crate) type RecallAtK = [f64; 2];

#[derive(Debug, Clone)]
pub(crate) struct FittedWeights {
    /// The recall of each store with the best weights of the others.
    pub(crate) held_out: RecallAtK,
    /// The recall of all stores with their best weights, and these weights.
    pub(crate) fitted: RecallAtK,
    pub(crate) best: LegWeights,
    /// The recall of all stores with the default weights.
    pub(crate) default: RecallAtK,
}

/// Measures the recall of each store with weights that were chosen on the others.
pub(crate) fn fit_weights(set: &EvalSet) -> Result<Option<FittedWeights>, String> {
    if set.groups.len() < FEWEST {
        return Ok(None);
    }
    let stores = set.groups.iter().map(|group| EvalStore::new(group, set.shape)).collect::<Result<Vec<_>, _>>()?;
    let mut tried = VECTOR.map(|vector| LegWeights { words: WORDS, vector }).to_vec();
    tried.retain(|weights| *weights != LegWeights::LOCAL_MODEL_DEFAULT);
    tried.insert(0, LegWeights::LOCAL_MODEL_DEFAULT);
    // Sums per weights and store.
    let mut found: Vec<Vec<RecallAtK>> = Vec::new();
    for weights in &tried {
        found.push(
            set.groups
                .iter()
                .zip(&stores)
                .map(|(group, store)| recall_sums(group, store, *weights))
                .collect::<Result<_, _>>()?,
        );
    }
    let counts: Vec<usize> = set.groups.iter().map(|group| answerable_questions(group).count()).collect();
    let all = counts.iter().sum::<usize>().max(1) as f64;
    let sum = |row: &[RecallAtK], but: Option<usize>| {
        let counted = row.iter().enumerate().filter(|(store, _)| Some(*store) != but);
        counted.fold([0.0; 2], |sum, (_, recall)| [sum[0] + recall[0], sum[1] + recall[1]])
    };
    let best_but = |but: Option<usize>| {
        let worth = |row: &Vec<RecallAtK>| sum(row, but).iter().sum::<f64>();
        (0..tried.len()).max_by(|a, b| worth(&found[*a]).total_cmp(&worth(&found[*b])).then(b.cmp(a))).unwrap_or(0)
    };
    let held: Vec<RecallAtK> = (0..counts.len()).map(|store| found[best_but(Some(store))][store]).collect();
    let share = |recall: RecallAtK| recall.map(|sum| sum / all);
    let best = best_but(None);
    Ok(Some(FittedWeights {
        held_out: share(sum(&held, None)),
        fitted: share(sum(&found[best], None)),
        best: tried[best],
        default: share(sum(&found[0], None)),
    }))
}

fn answerable_questions(group: &EvalGroup) -> impl Iterator<Item = &EvalQuestion> {
    group.questions.iter().filter(|question| !question.relevant.is_empty())
}

fn recall_sums(group: &EvalGroup, store: &EvalStore, weights: LegWeights) -> Result<RecallAtK, String> {
    let settings =
        Settings { embedding_provider: EmbeddingProvider::Local, search_weights: Some(weights), ..Settings::default() };
    let mut engine = store.engine(&settings)?;
    let mut sums = [0.0; 2];
    for question in answerable_questions(group) {
        let values = question_values(&store.ask(&mut engine, &question.text)?.found, question);
        sums = [sums[0] + values[1], sums[1] + values[2]];
    }
    Ok(sums)
}
