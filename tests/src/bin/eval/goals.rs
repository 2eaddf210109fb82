//! The goals of retrieval, and what was reached.

use schema::tool::Confidence;

use crate::measure::{FirstHits, LegMeasurement, TimeOrder, confidence_interval};

/// The suffix of sets whose questions have other phrasings.
pub(crate) const PHRASED: &str = " with also";

/// A figure of one leg of one or more sets, and its bound.
#[derive(Debug, Clone, Copy)]
struct RetrievalGoal {
    name: &'static str,
    sets: &'static [&'static str],
    leg: &'static str,
    bounds: &'static [Bound],
}

#[derive(Debug, Clone, Copy)]
struct Bound {
    figure: RetrievalFigure,
    limit: Limit,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    Least(f64),
    Most(f64),
}

/// Figures in per cent.
#[derive(Debug, Clone, Copy)]
enum RetrievalFigure {
    /// Recall in the first 1, 5 or 10, by its place among the values of a leg.
    Recall(usize),
    /// Questions with a right hit in the first 1, 3 or 5.
    Hits(usize),
    RightFirst,
    Lost,
    Abstained,
    FalselyHigh,
    /// `high` hits that are right.
    HighRight,
    NewerFirst,
}

const INSTALLED: &str = "installed";

const fn least(figure: RetrievalFigure, percent: f64) -> Bound {
    Bound { figure, limit: Limit::Least(percent) }
}

const fn most(figure: RetrievalFigure, percent: f64) -> Bound {
    Bound { figure, limit: Limit::Most(percent) }
}

const GOALS: [RetrievalGoal; 13] = [
    RetrievalGoal {
        name: "80 pairs with `also`, R@1 / R@5",
        sets: &["pairs with also", "pairs-held-out with also"],
        leg: "inst. + also",
        bounds: &[least(RetrievalFigure::Recall(0), 90.0), least(RetrievalFigure::Recall(1), 98.0)],
    },
    RetrievalGoal {
        name: "60 held-out pairs, R@5",
        sets: &["pairs-held-out"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Recall(1), 45.0)],
    },
    RetrievalGoal {
        name: "eight languages, hits in the first 1 / 3",
        sets: &["languages"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Hits(1), 50.0), least(RetrievalFigure::Hits(3), 65.0)],
    },
    RetrievalGoal {
        name: "LoCoMo turns without names, R@5 / R@10",
        sets: &["locomo_turn_dev without names"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Recall(1), 66.0), least(RetrievalFigure::Recall(2), 73.0)],
    },
    RetrievalGoal {
        name: "LoCoMo sessions, R@5 / R@10",
        sets: &["locomo_session_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Recall(1), 89.0), least(RetrievalFigure::Recall(2), 94.0)],
    },
    RetrievalGoal {
        name: "KorQuAD, R@5 / R@10",
        sets: &["korquad_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Recall(1), 98.5), least(RetrievalFigure::Recall(2), 98.9)],
    },
    RetrievalGoal {
        name: "sde-bench, right first / empty",
        sets: &["sde_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::RightFirst, 95.0), most(RetrievalFigure::Lost, 3.0)],
    },
    RetrievalGoal {
        name: "sde-bench, newer first",
        sets: &["sde_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::NewerFirst, 83.0)],
    },
    RetrievalGoal {
        name: "BEAM, any answer in the first 5",
        sets: &["beam100k_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Hits(5), 45.0)],
    },
    RetrievalGoal {
        name: "BEAM, newer first",
        sets: &["beam100k_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::NewerFirst, 60.0)],
    },
    RetrievalGoal {
        name: "BEAM, unanswerable with a `high` hit",
        sets: &["beam100k_dev"],
        leg: INSTALLED,
        bounds: &[most(RetrievalFigure::FalselyHigh, 30.0)],
    },
    RetrievalGoal {
        name: "questions of others: empty / answers lost",
        sets: &["locomo_turn_dev", "locomo_turn_dev without names", "locomo_session_dev"],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::Abstained, 65.0), most(RetrievalFigure::Lost, 3.0)],
    },
    RetrievalGoal {
        name: "`high` hits that are right",
        sets: &[
            "project",
            "languages",
            "beam100k_dev",
            "locomo_turn_dev without names",
            "locomo_session_dev",
            "korquad_dev",
        ],
        leg: INSTALLED,
        bounds: &[least(RetrievalFigure::HighRight, 90.0)],
    },
];

impl Limit {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Least(limit) => value >= limit - 0.05,
            Self::Most(limit) => value <= limit + 0.05,
        }
    }

    fn cell(self) -> String {
        match self {
            Self::Least(limit) => format!("≥ {limit}"),
            Self::Most(limit) => format!("≤ {limit}"),
        }
    }
}

impl RetrievalFigure {
    /// In per cent; `None` if nothing was measured.
    fn of(self, measured: &[&LegMeasurement]) -> Option<f64> {
        let firsts = || {
            measured.iter().fold(FirstHits::default(), |mut all, of_set| {
                all.answerable.extend(&of_set.firsts.answerable);
                all.strange.extend(&of_set.firsts.strange);
                all
            })
        };
        let questions = || measured.iter().flat_map(|of_set| &of_set.of_questions);
        let share = |counts: &dyn Fn(&[f64; 5]) -> f64| {
            let count = questions().count();
            (count > 0).then(|| questions().map(counts).sum::<f64>() / count as f64)
        };
        let of_all = match self {
            Self::Recall(place) => share(&|values| values[place]),
            // A reciprocal rank of 1/3 or more is a hit in the first three.
            Self::Hits(depth) => share(&|values| f64::from(values[3] * depth as f64 >= 1.0 - 1e-9)),
            Self::RightFirst => Some(firsts().right_first()),
            Self::Lost => Some(firsts().lost()),
            Self::Abstained => firsts().abstained(),
            Self::FalselyHigh => firsts().falsely_high(),
            Self::HighRight => Some(firsts().calibration_of_own(Confidence::High).1),
            Self::NewerFirst => newer_first(measured),
        };
        of_all.map(|share| 100.0 * share)
    }
}

fn newer_first(measured: &[&LegMeasurement]) -> Option<f64> {
    let sum = measured.iter().fold(TimeOrder::default(), |sum, of_set| sum.plus(of_set.order));
    (sum.questions > 0).then(|| sum.newer_first as f64 / sum.questions as f64)
}

/// The goals whose sets were measured, as lines of a table.
pub(crate) fn table(measured: &[LegMeasurement]) -> Vec<String> {
    let mut lines = vec!["| figure | goal | reached | |".to_owned(), "| --- | --- | --- | --- |".to_owned()];
    for goal in GOALS {
        let of_goal: Vec<&LegMeasurement> = measured
            .iter()
            .filter(|of_set| of_set.leg == goal.leg && goal.sets.contains(&of_set.set.as_str()))
            .collect();
        let reached: Vec<(Bound, f64)> =
            goal.bounds.iter().filter_map(|bound| Some((*bound, bound.figure.of(&of_goal)?))).collect();
        if of_goal.is_empty() || reached.len() < goal.bounds.len() {
            continue;
        }
        let limits = goal.bounds.iter().map(|bound| bound.limit.cell()).collect::<Vec<_>>().join(", ");
        let values = reached.iter().map(|(_, value)| format!("{value:.1}")).collect::<Vec<_>>().join(", ");
        let is_met = reached.iter().all(|(bound, value)| bound.limit.holds(*value));
        lines.push(format!("| {} | {limits} | {values} | {} |", goal.name, if is_met { "yes" } else { "no" }));
    }
    lines.extend(worse_than_text(measured));
    lines
}

/// A line with the sets and measures by which search as installed is worse than by text, by more than chance.
fn worse_than_text(measured: &[LegMeasurement]) -> Option<String> {
    let pairs = measured.chunk_by(|a, b| a.set == b.set).filter_map(|of_set| {
        let by = |leg: &str| of_set.iter().find(|of_leg| of_leg.leg == leg);
        Some((by("text")?, by(INSTALLED)?))
    });
    let mut compared = 0;
    let mut worse = Vec::new();
    for (text, installed) in pairs {
        compared += 1;
        for (name, place) in [("R@5", 1), ("R@10", 2), ("MRR", 3)] {
            let differences = installed
                .of_questions
                .iter()
                .zip(&text.of_questions)
                .map(|(with, without)| with[place] - without[place]);
            let change = confidence_interval(&differences.collect::<Vec<_>>());
            if change.high < 0.0 {
                worse.push(format!("{} {name} {:+.1}", text.set, 100.0 * change.mean));
            }
        }
    }
    let told = if worse.is_empty() { "none".to_owned() } else { worse.join("; ") };
    let met = if worse.is_empty() { "yes" } else { "no" };
    (compared > 0)
        .then(|| format!("| sets where installed is worse than text, of {compared} | none | {told} | {met} |"))
}
