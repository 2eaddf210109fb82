//! Search time by size of the store.

use std::fmt::Write as _;

/// Search times in a store of one size, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrowthPoint {
    pub(crate) memories: usize,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    /// Processor time of a search on all threads, in milliseconds.
    pub(crate) processor: f64,
}

pub(crate) fn render_text(grown: &[GrowthPoint]) -> String {
    let mut text = format!(
        "{:>10} {:>8} {:>8} {:>8} {:>14}   milliseconds of a search\n",
        "memories", "p50", "p95", "p99", "processor"
    );
    for GrowthPoint { memories, p50, p95, p99, processor } in grown {
        let _ = writeln!(text, "{memories:>10} {p50:>8.2} {p95:>8.2} {p99:>8.2} {processor:>14.2}");
    }
    text
}

/// Name, colour and value of a line.
type PlotLine = (&'static str, &'static str, fn(&GrowthPoint) -> f64);

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 60.0;

/// Plots p50, p95 and p99 on logarithmic axes.
pub(crate) fn render_svg(grown: &[GrowthPoint]) -> String {
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        WIDTH + 2.0 * MARGIN,
        HEIGHT + 2.0 * MARGIN
    );
    let sizes = grown.iter().map(|grown| (grown.memories as f64).log10());
    let (least, most) = sizes.fold((f64::MAX, f64::MIN), |(least, most), size| (least.min(size), most.max(size)));
    let across = |memories: usize| MARGIN + WIDTH * ((memories as f64).log10() - least) / (most - least).max(1e-9);
    // From 0.1 ms to 1 s.
    let up = |milliseconds: f64| MARGIN + HEIGHT * (1.0 - (milliseconds.max(0.1).log10() + 1.0) / 4.0);
    for step in [0.1, 1.0, 10.0, 100.0, 1000.0] {
        let (y, end) = (up(step), MARGIN + WIDTH);
        let _ = writeln!(text, "<line x1=\"{MARGIN}\" x2=\"{end}\" y1=\"{y}\" y2=\"{y}\" stroke=\"#ddd\"/>");
        let _ = writeln!(text, "<text x=\"8\" y=\"{y}\">{step} ms</text>");
    }
    for GrowthPoint { memories, .. } in grown {
        let (x, y) = (across(*memories), MARGIN + HEIGHT + 18.0);
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{memories}</text>");
    }
    let lines: [PlotLine; 3] = [
        ("p50", "#1b6ca8", |grown| grown.p50),
        ("p95", "#d68910", |grown| grown.p95),
        ("p99", "#c0392b", |grown| grown.p99),
    ];
    for (place, (name, colour, of)) in lines.into_iter().enumerate() {
        let points: Vec<String> =
            grown.iter().map(|grown| format!("{:.1},{:.1}", across(grown.memories), up(of(grown)))).collect();
        let _ = writeln!(text, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", points.join(" "));
        let x = MARGIN + 50.0 * place as f64;
        let _ = writeln!(text, "<text x=\"{x}\" y=\"{}\" fill=\"{colour}\">{name}</text>", MARGIN - 14.0);
    }
    let _ = writeln!(text, "<text x=\"{}\" y=\"{}\">memories in the store</text>", MARGIN + 200.0, MARGIN - 14.0);
    text + "</svg>\n"
}
