//! The blocks of Markdown that matter for cutting it: headings, fenced code, tables, front matter, and plain lines.

use std::ops::Range;
use std::rc::Rc;

/// Lines that belong together.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Places in the run of lines.
    pub(super) lines: Range<usize>,
    pub(super) kind: Kind,
    /// Headings in force, this block's own included.
    pub(super) heading: Rc<str>,
    /// Headings above the section that the block belongs to.
    pub(super) parent: Rc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Heading,
    /// Code, a table or front matter, better not cut.
    Solid,
    Line,
    Blank,
}

impl Block {
    /// Whether it says nothing by itself: a heading, a blank line, a comment.
    pub(super) fn is_bare(&self, run: &[(usize, &str)]) -> bool {
        let comment = |line: &str| line.trim().starts_with("<!--") && line.trim().ends_with("-->");
        match self.kind {
            Kind::Heading | Kind::Blank => true,
            Kind::Solid => false,
            Kind::Line => comment(run[self.lines.start].1),
        }
    }
}

/// The headings in force, which outlive a gap between lines.
#[derive(Debug, Default)]
pub(super) struct Headings {
    stack: Vec<(usize, String)>,
    path: Rc<str>,
    parent: Rc<str>,
}

impl Headings {
    fn enter(&mut self, level: usize, title: &str) {
        self.stack.retain(|(above, _)| *above < level);
        self.parent = self.joined();
        self.stack.push((level, title.chars().take(LONGEST_TITLE).collect()));
        self.path = self.joined();
    }

    fn joined(&self) -> Rc<str> {
        let titles = self.stack.iter().map(|(_, title)| title.as_str()).filter(|title| !title.is_empty());
        titles.collect::<Vec<_>>().join(" > ").into()
    }
}

const LONGEST_TITLE: usize = 200;

/// The blocks of a run of neighbouring lines, without gaps between them.
pub(super) fn blocks(run: &[(usize, &str)], headings: &mut Headings) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut at = 0;
    // A one-line paragraph may turn out to be the text of an underlined heading.
    let mut paragraph_lines = 0;
    while at < run.len() {
        let line = run[at].1;
        let (length, kind) = if let Some(length) = front_matter(run, at).or_else(|| fenced(&run[at..])) {
            (length, Kind::Solid)
        } else if let Some((level, title)) = atx(line) {
            headings.enter(level, title);
            (1, Kind::Heading)
        } else if let Some(level) = run
            .get(at + 1)
            .and_then(|(_, next)| underline(next))
            .filter(|_| paragraph_lines == 0 && may_be_underlined(line))
        {
            headings.enter(level, line.trim());
            (2, Kind::Heading)
        } else {
            let rows = run[at..].iter().take_while(|(_, row)| row.trim_start().starts_with('|')).count();
            match rows {
                0 if line.trim().is_empty() => (1, Kind::Blank),
                0 => (1, Kind::Line),
                _ => (rows, Kind::Solid),
            }
        };
        paragraph_lines = if kind == Kind::Line { paragraph_lines + 1 } else { 0 };
        let (heading, parent) = (headings.path.clone(), headings.parent.clone());
        blocks.push(Block { lines: at..at + length, kind, heading, parent });
        at += length;
    }
    blocks
}

/// Number of lines of the front matter, when the file begins with one.
fn front_matter(run: &[(usize, &str)], at: usize) -> Option<usize> {
    if at != 0 || run[0].0 != 1 || run[0].1.trim_end() != "---" {
        return None;
    }
    let close =
        run.iter().take(MOST_FRONT_MATTER).skip(1).position(|(_, line)| matches!(line.trim_end(), "---" | "..."));
    close.map(|inside| inside + 2)
}

const MOST_FRONT_MATTER: usize = 200;

/// Number of lines of the fenced code at the beginning, up to the end of the lines when nothing closes it.
fn fenced(rest: &[(usize, &str)]) -> Option<usize> {
    let (mark, width) = fence(rest[0].1)?;
    if mark == '`' && rest[0].1.trim_start().trim_start_matches('`').contains('`') {
        return None;
    }
    let closes = |line: &str| {
        fence(line).is_some_and(|(other, length)| other == mark && length >= width)
            && line.trim().chars().all(|c| c == mark)
    };
    let inside = rest[1..].iter().position(|(_, line)| closes(line));
    Some(inside.map_or(rest.len(), |inside| inside + 2))
}

/// The character and the width of a fence. Fences in lists are indented, so indentation does not matter.
fn fence(line: &str) -> Option<(char, usize)> {
    let trimmed = line.trim_start();
    let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = trimmed.chars().take_while(|c| *c == mark).count();
    (width >= 3).then_some((mark, width))
}

/// Level and title of a heading such as `## Title ##`.
fn atx(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_start_matches(' ');
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let level = trimmed.bytes().take_while(|b| *b == b'#').count();
    let title = &trimmed[level..];
    let separate = title.is_empty() || title.starts_with([' ', '\t', '\r']);
    ((1..=6).contains(&level) && separate).then(|| {
        let title = title.trim();
        let bare = title.trim_end_matches('#');
        let closed = bare.is_empty() || bare.ends_with([' ', '\t']);
        (level, if closed { bare.trim_end() } else { title })
    })
}

/// The level that a line of `===` or `---` gives to the line above it.
fn underline(line: &str) -> Option<usize> {
    let trimmed = line.trim_end().trim_start_matches(' ');
    match trimmed.as_bytes() {
        [b'=', rest @ ..] if rest.iter().all(|b| *b == b'=') => Some(1),
        [b'-', rest @ ..] if rest.iter().all(|b| *b == b'-') => Some(2),
        _ => None,
    }
}

/// Whether a line is plain text, which `---` below it makes a heading; below a list or a quote it is a rule.
fn may_be_underlined(line: &str) -> bool {
    let trimmed = line.trim();
    let number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < trimmed.len() && number.starts_with([')', '.']);
    let marked =
        trimmed.starts_with(['>', '|', '<', '-', '=']) || trimmed.starts_with("* ") || trimmed.starts_with("+ ");
    !trimmed.is_empty() && !line.starts_with("    ") && !numbered && !marked
}
