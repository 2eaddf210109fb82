//! Markdown blocks that matter for splitting: headings, fenced code, tables, front matter and plain lines.

use std::ops::Range;
use std::rc::Rc;

#[derive(Debug, Clone)]
pub(super) struct MarkdownBlock {
    /// Indices into the run of lines.
    pub(super) lines: Range<usize>,
    pub(super) kind: BlockKind,
    /// Path of headings, including the block's own.
    pub(super) heading: Rc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Heading,
    /// Code, a table or front matter, which should stay whole.
    Solid,
    Line,
    Blank,
}

impl MarkdownBlock {
    /// Whether it has no text of its own: a heading, a blank line, a comment.
    pub(super) fn is_without_content(&self, run: &[(usize, &str)]) -> bool {
        let comment = |line: &str| line.trim().starts_with("<!--") && line.trim().ends_with("-->");
        match self.kind {
            BlockKind::Heading | BlockKind::Blank => true,
            BlockKind::Solid => false,
            BlockKind::Line => comment(run[self.lines.start].1),
        }
    }
}

/// The current headings, which stay valid across a gap between lines.
#[derive(Debug, Default)]
pub(super) struct HeadingStack {
    stack: Vec<(usize, String)>,
    path: Rc<str>,
}

impl HeadingStack {
    fn push(&mut self, level: usize, title: &str) {
        self.stack.retain(|(above, _)| *above < level);
        self.stack.push((level, title.chars().take(MAX_TITLE_LENGTH).collect()));
        let titles = self.stack.iter().map(|(_, title)| title.as_str()).filter(|title| !title.is_empty());
        self.path = titles.collect::<Vec<_>>().join(" > ").into();
    }
}

/// In characters.
const MAX_TITLE_LENGTH: usize = 200;

/// Splits consecutive lines into blocks.
pub(super) fn split_blocks(run: &[(usize, &str)], headings: &mut HeadingStack) -> Vec<MarkdownBlock> {
    let mut blocks = Vec::new();
    let mut at = 0;
    // A one-line paragraph may be the text of an underlined heading.
    let mut paragraph_lines = 0;
    while at < run.len() {
        let line = run[at].1;
        let (length, kind) = if let Some(length) = front_matter_length(run, at).or_else(|| fenced_length(&run[at..])) {
            (length, BlockKind::Solid)
        } else if let Some((level, title)) = parse_atx_heading(line) {
            headings.push(level, title);
            (1, BlockKind::Heading)
        } else if let Some(level) = run
            .get(at + 1)
            .and_then(|(_, next)| underline_level(next))
            .filter(|_| paragraph_lines == 0 && is_plain_line(line))
        {
            headings.push(level, line.trim());
            (2, BlockKind::Heading)
        } else {
            let rows = run[at..].iter().take_while(|(_, row)| row.trim_start().starts_with('|')).count();
            match rows {
                0 if line.trim().is_empty() => (1, BlockKind::Blank),
                0 => (1, BlockKind::Line),
                _ => (rows, BlockKind::Solid),
            }
        };
        paragraph_lines = if kind == BlockKind::Line { paragraph_lines + 1 } else { 0 };
        let heading = headings.path.clone();
        blocks.push(MarkdownBlock { lines: at..at + length, kind, heading });
        at += length;
    }
    blocks
}

/// Number of lines of front matter at the start of the file.
fn front_matter_length(run: &[(usize, &str)], at: usize) -> Option<usize> {
    if at != 0 || run[0].0 != 1 || run[0].1.trim_end() != "---" {
        return None;
    }
    let close =
        run.iter().take(MAX_FRONT_MATTER_LINES).skip(1).position(|(_, line)| matches!(line.trim_end(), "---" | "..."));
    close.map(|inside| inside + 2)
}

const MAX_FRONT_MATTER_LINES: usize = 200;

/// Number of lines of fenced code at the start. Unclosed code reaches to the end.
fn fenced_length(rest: &[(usize, &str)]) -> Option<usize> {
    let (mark, width) = parse_fence(rest[0].1)?;
    if mark == '`' && rest[0].1.trim_start().trim_start_matches('`').contains('`') {
        return None;
    }
    let closes = |line: &str| {
        parse_fence(line).is_some_and(|(other, length)| other == mark && length >= width)
            && line.trim().chars().all(|c| c == mark)
    };
    let inside = rest[1..].iter().position(|(_, line)| closes(line));
    Some(inside.map_or(rest.len(), |inside| inside + 2))
}

/// The character and the width of a fence. Fences in lists are indented, so indentation does not matter.
fn parse_fence(line: &str) -> Option<(char, usize)> {
    let trimmed = line.trim_start();
    let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = trimmed.chars().take_while(|c| *c == mark).count();
    (width >= 3).then_some((mark, width))
}

/// Level and title of a heading such as `## Title ##`.
fn parse_atx_heading(line: &str) -> Option<(usize, &str)> {
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

/// Heading level that a line of `===` or `---` gives to the line above.
fn underline_level(line: &str) -> Option<usize> {
    let trimmed = line.trim_end().trim_start_matches(' ');
    match trimmed.as_bytes() {
        [b'=', rest @ ..] if rest.iter().all(|b| *b == b'=') => Some(1),
        [b'-', rest @ ..] if rest.iter().all(|b| *b == b'-') => Some(2),
        _ => None,
    }
}

/// Whether `---` below makes this line a heading; below a list or a quote it is a rule.
fn is_plain_line(line: &str) -> bool {
    let trimmed = line.trim();
    let number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < trimmed.len() && number.starts_with([')', '.']);
    let marked =
        trimmed.starts_with(['>', '|', '<', '-', '=']) || trimmed.starts_with("* ") || trimmed.starts_with("+ ");
    !trimmed.is_empty() && !line.starts_with("    ") && !numbered && !marked
}
