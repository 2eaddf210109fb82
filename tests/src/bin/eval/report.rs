//! Prints results, writes JSON and compares with a baseline.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program is for")]

use harness::evaluation::EvalPair;
use schema::tool::Confidence;
use serde_json::{Value, json as object};

use crate::held_out::{self, FittedWeights};
use crate::measure::{LegMeasurement, NAMES, TimeOrder, confidence_interval};

pub(crate) fn print_error(error: &str) {
    eprintln!("eval: {error}");
}

pub(crate) fn print(measured: &LegMeasurement) {
    let LegMeasurement { set, leg, questions, values, firsts, milliseconds, .. } = measured;
    print!("{set:20} {leg:10} {questions:5} questions");
    for (name, value) in NAMES.iter().zip(values) {
        let (low, high) = (100.0 * value.low, 100.0 * value.high);
        print!("  {name} {:.1} ({low:.1}–{high:.1})", 100.0 * value.mean);
    }
    println!("  p50 {milliseconds:.2} ms");
    print!("    shown: right first {:.1}  empty {:.1}", 100.0 * firsts.right_first(), 100.0 * firsts.lost());
    for confidence in [Confidence::High, Confidence::Suggested] {
        let (count, right) = firsts.calibration_of_own(confidence);
        print!("  {} {count}, right {:.1}", confidence.as_str(), 100.0 * right);
    }
    if let Some((abstained, high)) = firsts.abstained().zip(firsts.falsely_high()) {
        print!("  unanswerable {}: empty {:.1}, high {:.1}", firsts.strange.len(), 100.0 * abstained, 100.0 * high);
    }
    println!();
    for (class, count, recall) in &measured.classes {
        println!("    {class:16} {count:4} questions  R@5 {:.1}", 100.0 * recall);
    }
}

/// Prints a table of all sets, text alone beside as installed.
pub(crate) fn print_table(measured: &[LegMeasurement]) {
    println!(
        "\n| set | R@1 | R@5 / R@10 | any in 5 | right first | empty | newer / older first | `high` right | `suggested` right | unanswerable: empty | `high` |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for of_set in measured.chunk_by(|a, b| a.set == b.set) {
        let cells = |cell: &dyn Fn(&LegMeasurement) -> String| of_set.iter().map(cell).collect::<Vec<_>>().join(" · ");
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        let calibrated = |confidence| {
            move |of_leg: &LegMeasurement| {
                let (count, right) = of_leg.firsts.calibration_of_own(confidence);
                if count == 0 { "–".to_owned() } else { format!("{} of {count}", percent(right)) }
            }
        };
        let columns = [
            cells(&|of_leg| percent(of_leg.values[0].mean)),
            cells(&|of_leg| format!("{} / {}", percent(of_leg.values[1].mean), percent(of_leg.values[2].mean))),
            cells(&|of_leg| percent(of_leg.firsts.any_in_five as f64 / of_leg.questions.max(1) as f64)),
            cells(&|of_leg| percent(of_leg.firsts.right_first())),
            cells(&|of_leg| percent(of_leg.firsts.lost())),
            cells(&|of_leg| match of_leg.order {
                TimeOrder { questions: 0, .. } => "–".to_owned(),
                TimeOrder { questions, newer_first, older_first } => {
                    format!("{newer_first} / {older_first} of {questions}")
                }
            }),
            cells(&calibrated(Confidence::High)),
            cells(&calibrated(Confidence::Suggested)),
            cells(&|of_leg| of_leg.firsts.abstained().map_or("–".to_owned(), percent)),
            cells(&|of_leg| of_leg.firsts.falsely_high().map_or("–".to_owned(), percent)),
        ];
        println!("| {} | {} |", of_set[0].set, columns.join(" | "));
    }
    println!("\nEach cell: text alone · as installed.");
}

/// Prints a note about the data of this run.
pub(crate) fn print_note(note: &str) {
    println!("note: {note}");
}

/// Prints a table.
pub(crate) fn print_lines(lines: &[String]) {
    println!("\n{}", lines.join("\n"));
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
    let best = format!("{}/{}", best.words, best.vector);
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
        "abstained": measured.firsts.abstained(), "lost": measured.firsts.lost(), "milliseconds": measured.milliseconds,
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
