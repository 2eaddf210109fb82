//! Prints results, writes JSON and compares with a baseline.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program is for")]

use harness::evaluation::EvalPair;
use serde_json::{Value, json as object};

use crate::held_out::{self, FittedWeights};
use crate::measure::{LegMeasurement, NAMES, confidence_interval};

pub(crate) fn print_error(error: &str) {
    eprintln!("eval: {error}");
}

pub(crate) fn print(measured: &LegMeasurement) {
    let LegMeasurement { set, leg, questions, values, abstained, lost, milliseconds, .. } = measured;
    print!("{set:20} {leg:10} {questions:5} questions");
    for (name, value) in NAMES.iter().zip(values) {
        let (low, high) = (100.0 * value.low, 100.0 * value.high);
        print!("  {name} {:.1} ({low:.1}–{high:.1})", 100.0 * value.mean);
    }
    if let Some(abstained) = abstained {
        print!("  abstained {:.1}", 100.0 * abstained);
    }
    println!("  lost {:.1}  p50 {milliseconds:.2} ms", 100.0 * lost);
    for (class, count, recall) in &measured.classes {
        println!("    {class:16} {count:4} questions  R@5 {:.1}", 100.0 * recall);
    }
}

/// Prints the result of cross-validated thresholds.
pub(crate) fn print_thresholds(measured: &LegMeasurement) {
    let Some(found) = held_out::held_out_thresholds(measured) else { return };
    let (lost, abstained, (low, high)) = (100.0 * found.lost, 100.0 * found.abstained, found.chosen);
    print!("    {} {}, threshold chosen by other stores, {low:.2} to {high:.2}:", measured.set, measured.leg);
    println!("  abstained {abstained:.1}  lost {lost:.1}");
}

/// Prints the result of cross-validated weights.
pub(crate) fn print_weights(set: &str, fitted: Option<&FittedWeights>) {
    let Some(FittedWeights { held_out, fitted, best, default }) = fitted else { return };
    let told = |recall: &[f64; 2]| format!("{:.1} / {:.1}", 100.0 * recall[0], 100.0 * recall[1]);
    let best = format!("{}/{}/{}", best.words, best.tokens, best.vector);
    print!("    {set} R@5 / R@10, weights chosen by other stores: {}", told(held_out));
    println!("  by all ({best}): {}  the default: {}", told(fitted), told(default));
}

/// Prints the rank of each pair's entry.
pub(crate) fn print_pairs(pairs: &[EvalPair], ranks: &[Option<usize>]) {
    println!("\n| pair | question | entry | rank |\n| --- | --- | --- | --- |");
    for (pair, rank) in pairs.iter().zip(ranks) {
        let rank = rank.map_or("–".to_owned(), |rank| rank.to_string());
        println!("| {} | {} | {} | {rank} |", pair.kind, pair.question, pair.entry);
    }
    let near = ranks.iter().filter(|rank| rank.is_some_and(|rank| rank <= 3)).count();
    println!("\n{near} of {} in the first three\n", pairs.len());
}

pub(crate) fn render_json(measured: &[LegMeasurement]) -> String {
    let rows: Vec<String> = measured.iter().map(|measured| json_row(measured).to_string()).collect();
    format!("{{\"measured\": [\n{}\n]}}\n", rows.join(",\n"))
}

fn json_row(measured: &LegMeasurement) -> Value {
    let rounded = |value: f64| (value * 10_000.0).round() / 10_000.0;
    let values = NAMES.iter().zip(&measured.values).map(|(name, value)| {
        let fields = object!({ "mean": rounded(value.mean), "low": rounded(value.low), "high": rounded(value.high) });
        ((*name).to_owned(), fields)
    });
    let of_questions = NAMES.iter().enumerate().filter(|(_, name)| COMPARED.contains(name)).map(|(i, name)| {
        let list: Vec<f64> = measured.of_questions.iter().map(|values| rounded(values[i])).collect();
        ((*name).to_owned(), object!(list))
    });
    object!({
        "set": measured.set, "leg": measured.leg, "questions": measured.questions,
        "values": values.collect::<serde_json::Map<String, Value>>(),
        "of_questions": of_questions.collect::<serde_json::Map<String, Value>>(),
        "abstained": measured.abstained, "lost": measured.lost, "milliseconds": measured.milliseconds,
    })
}

/// Measures that count as a drop.
const COMPARED: [&str; 2] = ["R@5", "nDCG"];

/// Prints the difference of each mean from the baseline, an earlier report. Returns significant drops: the 95 % interval of
/// the differences per question is below zero.
pub(crate) fn compare_with_baseline(measured: &[LegMeasurement], baseline: &str) -> Result<Vec<String>, String> {
    let baseline: Value = serde_json::from_str(baseline).map_err(|error| format!("the baseline: {error}"))?;
    let rows = baseline["measured"].as_array().ok_or("the baseline is not a report of this program")?;
    let mut worse = Vec::new();
    for now in measured {
        let before = rows.iter().find(|row| row["set"] == now.set.as_str() && row["leg"] == now.leg);
        let Some(before) = before else {
            println!("{:20} {:10} is not in the baseline", now.set, now.leg);
            continue;
        };
        let change = NAMES.iter().zip(&now.values).filter_map(|(name, value)| {
            Some(format!("{name} {:+.1}", 100.0 * (value.mean - before["values"][name]["mean"].as_f64()?)))
        });
        println!("{:20} {:10} since the baseline: {}", now.set, now.leg, change.collect::<Vec<_>>().join("  "));
        for (i, name) in NAMES.iter().enumerate().filter(|(_, name)| COMPARED.contains(name)) {
            let known: Vec<f64> =
                before["of_questions"][name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
            if known.len() != now.of_questions.len() {
                println!("{:20} {:10} different questions than in the baseline", now.set, now.leg);
                break;
            }
            let differences: Vec<f64> =
                now.of_questions.iter().zip(&known).map(|(now, known)| now[i] - known).collect();
            let change = confidence_interval(&differences);
            // A difference of rounding is not a drop.
            if change.high < -0.0001 {
                worse.push(format!("{} {} {name} by {:.1}", now.set, now.leg, -100.0 * change.mean));
            }
        }
    }
    Ok(worse)
}
