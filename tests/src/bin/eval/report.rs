//! What was measured, for people and as JSON, and what changed since a baseline.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is what this program is for")]

use serde_json::{Value, json as object};

use crate::measure::{Measured, NAMES};

pub(crate) fn complain(error: &str) {
    eprintln!("eval: {error}");
}

pub(crate) fn print(measured: &Measured) {
    let Measured { set, leg, questions, values, abstained, lost, milliseconds } = measured;
    print!("{set:20} {leg:10} {questions:5} questions");
    for (name, value) in NAMES.iter().zip(values) {
        let (low, high) = (100.0 * value.low, 100.0 * value.high);
        print!("  {name} {:.1} ({low:.1}–{high:.1})", 100.0 * value.mean);
    }
    if let Some(abstained) = abstained {
        print!("  abstained {:.1}", 100.0 * abstained);
    }
    println!("  lost {:.1}  p50 {milliseconds:.2} ms", 100.0 * lost);
}

pub(crate) fn json(measured: &[Measured]) -> String {
    let rows: Vec<Value> = measured.iter().map(row).collect();
    format!("{:#}\n", object!({ "measured": rows }))
}

fn row(measured: &Measured) -> Value {
    let values = NAMES.iter().zip(&measured.values).map(|(name, value)| {
        ((*name).to_owned(), object!({ "mean": value.mean, "low": value.low, "high": value.high }))
    });
    object!({
        "set": measured.set, "leg": measured.leg, "questions": measured.questions,
        "values": values.collect::<serde_json::Map<String, Value>>(),
        "abstained": measured.abstained, "lost": measured.lost, "milliseconds": measured.milliseconds,
    })
}

/// Prints how far each mean is from that of a baseline, which is a report of an earlier run.
pub(crate) fn compare(measured: &[Measured], baseline: &str) -> Result<(), String> {
    let baseline: Value = serde_json::from_str(baseline).map_err(|error| format!("the baseline: {error}"))?;
    let rows = baseline["measured"].as_array().ok_or("the baseline is no report of this program")?;
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
    }
    Ok(())
}
