//! Draws screens as an animated SVG. Each run of characters has a fixed position and width, so that fonts do not shift wide
//! characters.

use std::fmt::Write as _;

use vt100::{Cell, Color, Screen};

/// Cell size in units of the picture.
const COLUMN: f32 = 8.4;
const ROW: f32 = 18.0;
const EDGE: f32 = 16.0;

/// Seconds per screen.
const STAY: usize = 5;

const PAPER: &str = "#16181d";
const INK: &str = "#d7dae0";
const PALETTE: [&str; 16] = [
    "#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0", "#7f848e", "#e06c75",
    "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff",
];

pub(crate) struct PictureFrame {
    drawn: String,
    size: (u16, u16),
}

#[derive(Clone, PartialEq)]
struct CellStyle {
    foreground: &'static str,
    background: Option<&'static str>,
    is_bold: bool,
    is_wide: bool,
}

impl CellStyle {
    fn from_cell(cell: &Cell) -> Self {
        let ink = css_colour(cell.fgcolor()).unwrap_or(INK);
        let paper = css_colour(cell.bgcolor());
        let (ink, paper) = if cell.inverse() { (paper.unwrap_or(PAPER), Some(ink)) } else { (ink, paper) };
        Self { foreground: ink, background: paper, is_bold: cell.bold(), is_wide: cell.is_wide() }
    }
}

fn css_colour(colour: Color) -> Option<&'static str> {
    match colour {
        Color::Idx(number) => PALETTE.get(usize::from(number)).copied(),
        Color::Default | Color::Rgb(..) => None,
    }
}

pub(crate) fn draw_frame(screen: &Screen, (columns, rows): (u16, u16)) -> PictureFrame {
    let mut drawn = String::new();
    for row in 0..rows {
        let mut runs: Vec<(u16, u16, CellStyle, String)> = Vec::new();
        let cells = (0..columns).filter_map(|column| Some((column, screen.cell(row, column)?)));
        for (column, cell) in cells.filter(|(_, cell)| !cell.is_wide_continuation()) {
            let style = CellStyle::from_cell(cell);
            let wide = if cell.is_wide() { 2 } else { 1 };
            let text = if cell.has_contents() { cell.contents() } else { " " };
            match runs.last_mut() {
                Some((_, end, known, run)) if *known == style && *end == column => {
                    run.push_str(text);
                    *end += wide;
                }
                _ => runs.push((column, column + wide, style, text.to_owned())),
            }
        }
        draw_backgrounds(&mut drawn, row, &runs);
        for (start, end, style, text) in runs {
            draw_run(&mut drawn, row, start, end, &style, &text);
        }
    }
    PictureFrame { drawn, size: (columns, rows) }
}

/// Draws backgrounds without seams.
fn draw_backgrounds(drawn: &mut String, row: u16, runs: &[(u16, u16, CellStyle, String)]) {
    for same in runs.chunk_by(|one, next| one.2.background == next.2.background) {
        let [(start, _, style, _), ..] = same else { continue };
        let (Some(paper), Some((_, end, ..))) = (style.background, same.last()) else { continue };
        let (x, y) = (EDGE + f32::from(*start) * COLUMN, EDGE + f32::from(row) * ROW);
        let wide = f32::from(end - start) * COLUMN;
        let _ = writeln!(drawn, r#"<rect x="{x:.1}" y="{y:.1}" width="{wide:.1}" height="{ROW}" fill="{paper}"/>"#);
    }
}

fn draw_run(drawn: &mut String, row: u16, start: u16, end: u16, style: &CellStyle, text: &str) {
    let (x, y) = (EDGE + f32::from(start) * COLUMN, EDGE + f32::from(row) * ROW);
    let kept = text.trim_end();
    if kept.is_empty() {
        return;
    }
    let blanks = u16::try_from(text.len() - kept.len()).unwrap_or_default();
    let wide = f32::from(end - start - blanks) * COLUMN;
    let lead = kept.len() - kept.trim_start().len();
    let x = x + lead as f32 * COLUMN;
    let wide = wide - lead as f32 * COLUMN;
    let bold = if style.is_bold { r#" font-weight="bold""# } else { "" };
    let ink = if style.foreground == INK { String::new() } else { format!(r#" fill="{}""#, style.foreground) };
    let text = kept.trim_start().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let base = y + ROW * 0.75;
    let _ = writeln!(drawn, r#"<text x="{x:.1}" y="{base:.1}" textLength="{wide:.1}"{bold}{ink}>{text}</text>"#);
}

/// Combines the frames. With reduced motion, the picture shows the second to last frame.
pub(crate) fn draw_picture(frames: &[PictureFrame]) -> String {
    let (columns, rows) = frames.first().map_or((80, 24), |frame| frame.size);
    let (wide, high) = (f32::from(columns) * COLUMN + 2.0 * EDGE, f32::from(rows) * ROW + 2.0 * EDGE);
    let whole = frames.len() * STAY;
    let share = 100.0 / frames.len().max(1) as f32;
    let still = frames.len().saturating_sub(2);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0} {high:.0}" width="{wide:.0}" height="{high:.0}" role="img" aria-label="jikime-memory in a terminal">
<style>
text {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Noto Sans Mono CJK KR", monospace; font-size: 14px; white-space: pre }}
.f {{ visibility: hidden; animation: show {whole}s step-end infinite }}
@keyframes show {{ 0% {{ visibility: visible }} {share:.3}% {{ visibility: hidden }} }}
@media (prefers-reduced-motion: reduce) {{ .f {{ animation: none }} #f{still} {{ visibility: visible }} }}
</style>
<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>
<g fill="{INK}" xml:space="preserve">
"#
    );
    for (at, frame) in frames.iter().enumerate() {
        let begin = at * STAY;
        let late = begin as i64 - whole as i64;
        let _ = write!(svg, "<g class=\"f\" id=\"f{at}\" style=\"animation-delay:{late}s\">\n{}</g>\n", frame.drawn);
    }
    svg + "</g>\n</svg>\n"
}
