//! Results with baselines and goals, as a table and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::growth::GrowthPoint;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }

    fn to_text(self) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", rounded(most)),
            Self::AtLeast(least) => format!("≥ {}", rounded(least)),
        }
    }
}

#[derive(Debug)]
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    /// The time that the machine needs for the same work without our programs, in the same unit.
    floor: Option<f64>,
    goal: Option<Goal>,
}

/// Results in order of measurement.
#[derive(Debug, Default)]
pub(crate) struct FigureTable(Vec<Figure>);

impl FigureTable {
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        floor: Option<f64>,
        goal: Option<Goal>,
    ) {
        self.0.push(Figure { name: name.into(), value, unit, floor, goal });
    }

    /// Adds percentiles in milliseconds with their goals.
    pub(crate) fn add_times(
        &mut self,
        name: &str,
        times: &mut [Duration],
        floor: Option<f64>,
        goals: &[(usize, Option<Goal>)],
    ) {
        times.sort_unstable();
        for (percent, goal) in goals {
            self.add(format!("{name}, p{percent}"), percentile(times, *percent), "ms", floor, *goal);
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text =
            format!("{:<58} {:>10} {:<10} {:>9} {:>10}  {}\n", "what", "value", "unit", "x floor", "goal", "");
        for figure in &self.0 {
            let ratio = figure.floor.map_or_else(String::new, |floor| rounded(figure.value / floor));
            let goal = figure.goal.map_or_else(String::new, Goal::to_text);
            let verdict = figure.goal.map_or("", |goal| if goal.is_met(figure.value) { "pass" } else { "FAIL" });
            let Figure { name, value, unit, .. } = figure;
            let value = rounded(*value);
            let _ = writeln!(text, "{name:<58} {value:>10} {unit:<10} {ratio:>9} {goal:>10}  {verdict}");
        }
        text
    }

    pub(crate) fn json(&self, grown: &[GrowthPoint]) -> Value {
        let figures = self.0.iter().map(|Figure { name, value, unit, floor, goal }| {
            json!({
                "name": name, "value": value, "unit": unit, "floor": floor,
                "goal": goal.map(Goal::to_text), "pass": goal.map(|goal| goal.is_met(*value)),
            })
        });
        let grown = grown.iter().map(|GrowthPoint { memories, p50, p95, p99, processor }| {
            json!({ "memories": memories, "p50": p50, "p95": p95, "p99": p99, "processor": processor })
        });
        json!({ "figures": figures.collect::<Vec<_>>(), "search": grown.collect::<Vec<_>>() })
    }
}

fn rounded(value: f64) -> String {
    match value {
        // Ratios and baselines can be tiny.
        _ if value > 0.0 && value < 0.1 => format!("{value:.4}"),
        _ if value < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

/// A percentile in milliseconds; `times` must be sorted.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> f64 {
    times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3
}
