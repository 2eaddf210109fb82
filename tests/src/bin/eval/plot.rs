//! Plots the calibration of scores as SVG.

use std::fmt::Write as _;

use crate::measure::{FirstHit, FirstHits, LegMeasurement};

/// Pixels of a panel and its margin.
const SIDE: f64 = 300.0;
const MARGIN: f64 = 50.0;

/// The minimum number of hits per point in the left panel.
const FEWEST: usize = 5;

/// Renders two panels. Left: how often a first hit of a score is right. Right: the share of questions whose first hit reaches a score, for
/// answerable and unanswerable ones.
pub(crate) fn render_svg(measured: &[LegMeasurement]) -> String {
    let installed: Vec<&LegMeasurement> = measured.iter().filter(|measured| measured.leg == "installed").collect();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        2.0 * (SIDE + 2.0 * MARGIN),
        SIDE + 2.0 * MARGIN + 14.0 * installed.len() as f64
    );
    let right = SIDE + 2.0 * MARGIN;
    draw_frame(&mut text, MARGIN, "first hits that are right, by score");
    draw_frame(&mut text, MARGIN + right, "questions whose first hit reaches a score (dashed: nothing answers them)");
    for (place, of_set) in installed.iter().enumerate() {
        let colour = COLOURS[place % COLOURS.len()];
        draw_line(&mut text, MARGIN, &reliability_points(&of_set.firsts), colour, "");
        draw_line(&mut text, MARGIN + right, &share_above(&of_set.firsts.answerable), colour, "");
        draw_line(&mut text, MARGIN + right, &share_above(&of_set.firsts.strange), colour, " stroke-dasharray=\"4 3\"");
        let y = SIDE + 2.0 * MARGIN + 14.0 * place as f64;
        let _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{colour}\">{}</text>", of_set.set);
    }
    text + "</svg>\n"
}

const COLOURS: [&str; 6] = ["#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#555555"];

fn draw_frame(text: &mut String, x: f64, title: &str) {
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

fn draw_line(text: &mut String, x: f64, points: &[(f64, f64)], colour: &str, style: &str) {
    let points: Vec<String> = points
        .iter()
        .map(|(across, up)| format!("{:.1},{:.1}", x + across * SIDE, MARGIN + (1.0 - up) * SIDE))
        .collect();
    if !points.is_empty() {
        let _ = writeln!(text, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"{style}/>", points.join(" "));
    }
}

/// Returns the share of right first hits per tenth of the score.
fn reliability_points(firsts: &FirstHits) -> Vec<(f64, f64)> {
    (0..10)
        .filter_map(|tenth| {
            let low = f64::from(tenth) / 10.0;
            let is_of_tenth = |first: &&FirstHit| first.score >= low && (first.score < low + 0.1 || tenth == 9);
            let right: Vec<bool> = firsts.answerable.iter().filter(is_of_tenth).map(|first| first.is_right).collect();
            let share = right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64;
            (right.len() >= FEWEST).then_some((low + 0.05, share))
        })
        .collect()
}

/// Returns the share of questions whose first hit reaches each score.
fn share_above(firsts: &[FirstHit]) -> Vec<(f64, f64)> {
    if firsts.is_empty() {
        return Vec::new();
    }
    (0..=50)
        .map(|step| {
            let threshold = f64::from(step) / 50.0;
            let reach = firsts.iter().filter(|first| first.score >= threshold).count();
            (threshold, reach as f64 / firsts.len() as f64)
        })
        .collect()
}
