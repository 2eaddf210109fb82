//! The calibration of scores as SVG: what a first hit's score says about it, and what each threshold would leave out.

use std::fmt::Write as _;

use crate::measure::{Firsts, Measured};

/// Pixels of a panel and around it.
const SIDE: f64 = 300.0;
const MARGIN: f64 = 50.0;

/// First hits that share a point of the left panel at least.
const FEWEST: usize = 5;

/// Two panels of all sets as installed: left how often a first hit of a score is right, right the share of questions whose first
/// hit reaches a score, for those that something answers and for those that nothing does.
pub(crate) fn svg(measured: &[Measured]) -> String {
    let installed: Vec<&Measured> = measured.iter().filter(|measured| measured.leg == "installed").collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        2.0 * (SIDE + 2.0 * MARGIN),
        SIDE + 2.0 * MARGIN + 14.0 * installed.len() as f64
    );
    let right = SIDE + 2.0 * MARGIN;
    frame(&mut text, MARGIN, "first hits that are right, by score");
    frame(&mut text, MARGIN + right, "questions whose first hit reaches a score (dashed: nothing answers them)");
    for (place, of_set) in installed.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        line(&mut text, MARGIN, &reliability(&of_set.firsts), colour, "");
        let answerable: Vec<f64> = of_set.firsts.answerable.iter().map(|(score, _)| *score).collect();
        line(&mut text, MARGIN + right, &reaching(&answerable), colour, "");
        line(&mut text, MARGIN + right, &reaching(&of_set.firsts.strange), colour, " stroke-dasharray=\"4 3\"");
        let y = SIDE + 2.0 * MARGIN + 14.0 * place as f64;
        let _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{colour}\">{}</text>", of_set.set);
    }
    text + "</svg>\n"
}

const COLOURS: [&str; 6] = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#555555"];

fn frame(text: &mut String, x: f64, title: &str) {
    let _ = writeln!(text, "<text x=\"{x}\" y=\"{}\">{title}</text>", MARGIN - 14.0);
    let _ = writeln!(
        text,
        "<rect x=\"{x}\" y=\"{MARGIN}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#999\"/>"
    );
    for step in 0..=5 {
        let share = f64::from(step) / 5.0;
        let (across, up) = (x + share * SIDE, MARGIN + (1.0 - share) * SIDE);
        let _ = writeln!(text, "<text x=\"{across}\" y=\"{}\">{share:.1}</text>", MARGIN + SIDE + 14.0);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{up}\">{share:.1}</text>", x - 22.0);
    }
    let threshold = x + 0.35 * SIDE;
    let _ = writeln!(
        text,
        "<line x1=\"{threshold}\" x2=\"{threshold}\" y1=\"{MARGIN}\" y2=\"{}\" stroke=\"#bbb\"/>",
        MARGIN + SIDE
    );
}

fn line(text: &mut String, x: f64, points: &[(f64, f64)], colour: &str, style: &str) {
    let points: Vec<String> = points
        .iter()
        .map(|(across, up)| format!("{:.1},{:.1}", x + across * SIDE, MARGIN + (1.0 - up) * SIDE))
        .collect();
    if !points.is_empty() {
        let _ = writeln!(text, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"{style}/>", points.join(" "));
    }
}

/// How often first hits are right, by tenths of their score.
fn reliability(firsts: &Firsts) -> Vec<(f64, f64)> {
    (0..10)
        .filter_map(|tenth| {
            let low = f64::from(tenth) / 10.0;
            let of_tenth =
                firsts.answerable.iter().filter(|(score, _)| *score >= low && (*score < low + 0.1 || tenth == 9));
            let right: Vec<bool> = of_tenth.map(|(_, right)| *right).collect();
            let share = right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64;
            (right.len() >= FEWEST).then_some((low + 0.05, share))
        })
        .collect()
}

/// The share of questions whose first hit reaches each score.
fn reaching(scores: &[f64]) -> Vec<(f64, f64)> {
    if scores.is_empty() {
        return Vec::new();
    }
    (0..=50)
        .map(|step| {
            let threshold = f64::from(step) / 50.0;
            let reach = scores.iter().filter(|score| **score >= threshold).count();
            (threshold, reach as f64 / scores.len() as f64)
        })
        .collect()
}
