//! Packing: which blocks make one chunk, and where a section that is too long is cut.

use std::ops::Range;
use std::rc::Rc;

use super::blocks::{Block, Kind};
use super::size::{tokens, twelfths};
use super::{BUDGET, LARGE_ENOUGH, LARGEST_WHOLE, OVERLAP, SMALLEST};

/// What becomes a chunk: places in the run of lines, or some bytes of a single line.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) lines: Range<usize>,
    pub(super) part: Option<Range<usize>>,
    pub(super) heading: Rc<str>,
}

/// The pieces of a run of lines, in order. Every line that is not blank is in one of them.
pub(super) fn pieces(run: &[(usize, &str)], blocks: &[Block]) -> Vec<Piece> {
    let atoms: Vec<Atom<'_>> = blocks.iter().flat_map(|block| atoms(run, block)).collect();
    let mut pieces = Vec::new();
    for group in groups(&atoms) {
        if group.iter().map(|atom| atom.tokens).sum::<usize>() <= BUDGET {
            pieces.extend(piece(group));
        } else {
            cut(run, group, &mut pieces);
        }
    }
    join_small(run, pieces)
}

/// What a cut never goes through, with its size.
#[derive(Debug, Clone)]
struct Atom<'b> {
    lines: Range<usize>,
    tokens: usize,
    kind: Kind,
    block: &'b Block,
}

/// A block as one atom, or line by line when it is larger than anything kept whole.
fn atoms<'b>(run: &[(usize, &str)], block: &'b Block) -> Vec<Atom<'b>> {
    // The line feed is counted with its line, so that blank lines cannot pile up either.
    let size = |i: usize| tokens(run[i].1) + 1;
    let whole: usize = block.lines.clone().map(size).sum();
    if whole <= LARGEST_WHOLE || block.lines.len() == 1 {
        return vec![Atom { lines: block.lines.clone(), tokens: whole, kind: block.kind, block }];
    }
    block.lines.clone().map(|i| Atom { lines: i..i + 1, tokens: size(i), kind: Kind::Line, block }).collect()
}

/// Sections put together: each is a chunk of its own, or too long for one.
fn groups<'a, 'b>(atoms: &'a [Atom<'b>]) -> Vec<&'a [Atom<'b>]> {
    let mut groups = Vec::new();
    let mut start = 0;
    let mut size = 0;
    let mut next = 0;
    for section in atoms.chunk_by(|_, after| after.kind != Kind::Heading) {
        let tokens: usize = section.iter().map(|atom| atom.tokens).sum();
        if next > start && !(size < LARGE_ENOUGH && size + tokens <= BUDGET && related(&atoms[start], &section[0])) {
            groups.push(&atoms[start..next]);
            (start, size) = (next, 0);
        }
        next += section.len();
        size += tokens;
    }
    if next > start {
        groups.push(&atoms[start..next]);
    }
    groups
}

/// Whether a section stands beside or below the one that a group began with.
fn related(first: &Atom<'_>, section: &Atom<'_>) -> bool {
    let (above, here) = (&*section.block.parent, &*first.block.heading);
    let below = above.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with(" > "));
    section.block.parent == first.block.parent || below || here.is_empty()
}

/// One piece of these atoms without the blank lines around them.
fn piece(atoms: &[Atom<'_>]) -> Option<Piece> {
    let first = atoms.iter().find(|atom| atom.kind != Kind::Blank)?;
    let last = atoms.iter().rfind(|atom| atom.kind != Kind::Blank)?;
    Some(Piece { lines: first.lines.start..last.lines.end, part: None, heading: first.block.heading.clone() })
}

/// Cuts a long section into pieces that overlap.
fn cut(run: &[(usize, &str)], atoms: &[Atom<'_>], pieces: &mut Vec<Piece>) {
    let mut start = 0;
    while start < atoms.len() {
        if atoms[start].lines.len() == 1 && atoms[start].tokens > LARGEST_WHOLE {
            cut_line(run, &atoms[start], pieces);
            start += 1;
            continue;
        }
        let end = reach(atoms, start);
        pieces.extend(piece(&atoms[start..end]));
        start = if end < atoms.len() { step_back(atoms, start, end) } else { end };
    }
}

/// Where the piece that begins at `start` ends: at the budget, or at the last blank line if that is not far before it.
fn reach(atoms: &[Atom<'_>], start: usize) -> usize {
    let mut size = atoms[start].tokens;
    let mut end = start + 1;
    let mut paragraph = None;
    while let Some(atom) = atoms.get(end).filter(|atom| size + atom.tokens <= BUDGET) {
        if atom.kind == Kind::Blank && size >= LARGE_ENOUGH {
            paragraph = Some(end);
        }
        size += atom.tokens;
        end += 1;
    }
    if end == atoms.len() { end } else { paragraph.unwrap_or(end) }
}

/// Where the next piece begins: before `end` by what fits into the overlap, unless that leaves no room for new text.
fn step_back(atoms: &[Atom<'_>], start: usize, end: usize) -> usize {
    let fresh = atoms[end..].iter().take(OVERLAP).find(|atom| atom.kind != Kind::Blank).map_or(0, |atom| atom.tokens);
    let room = OVERLAP.min(BUDGET.saturating_sub(fresh));
    // Blank lines before a piece are not of it: the next one begins behind the first line of this one.
    let first = atoms[start..end].iter().position(|atom| atom.kind != Kind::Blank).map_or(end, |blank| start + blank);
    let mut size = 0;
    let mut next = end;
    while next > first + 1 && size + atoms[next - 1].tokens <= room && atoms[next - 1].kind != Kind::Heading {
        next -= 1;
        size += atoms[next].tokens;
    }
    next
}

/// Cuts a line that is larger than anything kept whole, at spaces where there are some.
fn cut_line(run: &[(usize, &str)], atom: &Atom<'_>, pieces: &mut Vec<Piece>) {
    let line = run[atom.lines.start].1;
    let mut start = 0;
    while start < line.len() {
        let end = line_reach(&line[start..], BUDGET).map_or(line.len(), |length| start + length);
        let heading = atom.block.heading.clone();
        pieces.push(Piece { lines: atom.lines.clone(), part: Some(start..end), heading });
        if end == line.len() {
            break;
        }
        start = line_back(line, start, end);
    }
}

/// Bytes of the text that make up so many tokens, `None` when hardly more than that is there.
fn line_reach(text: &str, budget: usize) -> Option<usize> {
    let mut size = 0;
    let mut cut = None;
    let mut space = None;
    for (i, c) in text.char_indices() {
        if size >= budget * 12 && cut.is_none() {
            cut = Some(i);
        }
        // A leftover smaller than the overlap would hold nothing of its own.
        if size >= (budget + OVERLAP) * 12 {
            return space.or(cut);
        }
        if c.is_whitespace() && cut.is_none() && size >= budget * 10 {
            space = Some(i);
        }
        size += twelfths(c);
    }
    None
}

/// Where the next part of a line begins, so that it shares the overlap with the one that ended at `end`.
fn line_back(line: &str, start: usize, end: usize) -> usize {
    let mut size = 0;
    let mut at = end;
    for (i, c) in line[start..end].char_indices().rev() {
        size += twelfths(c);
        if size > OVERLAP * 12 {
            break;
        }
        at = start + i;
    }
    at
}

/// Joins what is too small to be found by itself with its neighbour, the one before it if there is one.
fn join_small(run: &[(usize, &str)], pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let small = |piece: &Piece| piece.part.is_none() && bytes(run, piece) < SMALLEST;
        match joined.last_mut() {
            Some(before) if before.part.is_none() && piece.part.is_none() && (small(&piece) || small(before)) => {
                before.lines.end = before.lines.end.max(piece.lines.end);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// Bytes of a piece of whole lines, counted no further than needed.
fn bytes(run: &[(usize, &str)], piece: &Piece) -> usize {
    let mut bytes = 0;
    for (_, line) in &run[piece.lines.clone()] {
        bytes += line.len() + 1;
        if bytes > SMALLEST {
            break;
        }
    }
    bytes.saturating_sub(1)
}
