//! Packs blocks into chunks and splits sections that are too long.

use std::ops::Range;
use std::rc::Rc;

use super::blocks::{BlockKind, MarkdownBlock};

/// Tokens of a chunk, and of the overlap between two pieces of a long section.
pub(super) const BUDGET: usize = 400;

pub(super) const OVERLAP: usize = 80;

/// Code, a table or a line stays whole up to this size, in tokens.
pub(super) const MAX_WHOLE: usize = 2 * BUDGET;

/// Tokens from which on a piece of a long section may end at a blank line.
const LEAST_PIECE: usize = BUDGET / 2;

/// A chunk with fewer bytes is merged with a neighbour.
pub(super) const MIN_SIZE: usize = 50;

/// The content of a chunk: indices into the run of lines, or bytes of a single line.
#[derive(Debug, Clone)]
pub(super) struct ChunkPiece {
    pub(super) lines: Range<usize>,
    pub(super) part: Option<Range<usize>>,
    pub(super) heading: Rc<str>,
}

/// Splits a run of lines into pieces, in order. Each non-blank line is in a piece.
pub(super) fn pack_blocks(run: &[(usize, &str)], blocks: &[MarkdownBlock]) -> Vec<ChunkPiece> {
    let atoms: Vec<CutUnit<'_>> = blocks.iter().flat_map(|block| cut_units(run, block)).collect();
    let mut pieces = Vec::new();
    for section in atoms.chunk_by(|_, after| after.kind != BlockKind::Heading) {
        if section.iter().map(|atom| atom.tokens).sum::<usize>() <= BUDGET {
            pieces.extend(into_piece(section));
        } else {
            cut_section(run, section, &mut pieces);
        }
    }
    join_small_pieces(run, pieces)
}

/// A unit that is never split, with its size.
#[derive(Debug, Clone)]
struct CutUnit<'b> {
    lines: Range<usize>,
    tokens: usize,
    kind: BlockKind,
    block: &'b MarkdownBlock,
}

/// Returns a block as one atom, or one atom per line if it is too large.
fn cut_units<'b>(run: &[(usize, &str)], block: &'b MarkdownBlock) -> Vec<CutUnit<'b>> {
    // The line feed counts too, so that a chunk cannot collect endless blank lines.
    let size = |i: usize| tokens(run[i].1) + 1;
    let whole: usize = block.lines.clone().map(size).sum();
    if whole <= MAX_WHOLE || block.lines.len() == 1 {
        return vec![CutUnit { lines: block.lines.clone(), tokens: whole, kind: block.kind, block }];
    }
    block.lines.clone().map(|i| CutUnit { lines: i..i + 1, tokens: size(i), kind: BlockKind::Line, block }).collect()
}

/// One piece of these atoms, without blank lines around them.
fn into_piece(atoms: &[CutUnit<'_>]) -> Option<ChunkPiece> {
    let first = atoms.iter().find(|atom| atom.kind != BlockKind::Blank)?;
    let last = atoms.iter().rfind(|atom| atom.kind != BlockKind::Blank)?;
    Some(ChunkPiece { lines: first.lines.start..last.lines.end, part: None, heading: first.block.heading.clone() })
}

/// Splits a long section into overlapping pieces.
fn cut_section(run: &[(usize, &str)], atoms: &[CutUnit<'_>], pieces: &mut Vec<ChunkPiece>) {
    let mut start = 0;
    while start < atoms.len() {
        if atoms[start].lines.len() == 1 && atoms[start].tokens > MAX_WHOLE {
            cut_long_line(run, &atoms[start], pieces);
            start += 1;
            continue;
        }
        let end = piece_end(atoms, start);
        pieces.extend(into_piece(&atoms[start..end]));
        start = if end < atoms.len() { overlap_start(atoms, start, end) } else { end };
    }
}

/// End of the piece that begins at `start`: at the budget, or at a blank line shortly before it.
fn piece_end(atoms: &[CutUnit<'_>], start: usize) -> usize {
    let mut size = atoms[start].tokens;
    let mut end = start + 1;
    let mut paragraph = None;
    while let Some(atom) = atoms.get(end).filter(|atom| size + atom.tokens <= BUDGET) {
        if atom.kind == BlockKind::Blank && size >= LEAST_PIECE {
            paragraph = Some(end);
        }
        size += atom.tokens;
        end += 1;
    }
    if end == atoms.len() { end } else { paragraph.unwrap_or(end) }
}

/// Start of the next piece: before `end` by the overlap, unless that leaves no room for new text.
fn overlap_start(atoms: &[CutUnit<'_>], start: usize, end: usize) -> usize {
    let fresh =
        atoms[end..].iter().take(OVERLAP).find(|atom| atom.kind != BlockKind::Blank).map_or(0, |atom| atom.tokens);
    let room = OVERLAP.min(BUDGET.saturating_sub(fresh));
    // A piece does not start with blank lines, so the next one must start after this one's first line.
    let first =
        atoms[start..end].iter().position(|atom| atom.kind != BlockKind::Blank).map_or(end, |blank| start + blank);
    let mut size = 0;
    let mut next = end;
    while next > first + 1 && size + atoms[next - 1].tokens <= room && atoms[next - 1].kind != BlockKind::Heading {
        next -= 1;
        size += atoms[next].tokens;
    }
    next
}

/// Splits an overlong line, preferably at spaces.
fn cut_long_line(run: &[(usize, &str)], atom: &CutUnit<'_>, pieces: &mut Vec<ChunkPiece>) {
    let line = run[atom.lines.start].1;
    let mut start = 0;
    while start < line.len() {
        let end = line_piece_end(&line[start..]).map_or(line.len(), |length| start + length);
        let heading = atom.block.heading.clone();
        pieces.push(ChunkPiece { lines: atom.lines.clone(), part: Some(start..end), heading });
        if end == line.len() {
            break;
        }
        start = line_overlap_start(line, start, end);
    }
}

/// Bytes that hold [`BUDGET`] tokens, `None` if the text is hardly longer.
fn line_piece_end(text: &str) -> Option<usize> {
    let mut size = 0;
    let mut cut = None;
    let mut space = None;
    for (i, c) in text.char_indices() {
        if size >= BUDGET * 12 && cut.is_none() {
            cut = Some(i);
        }
        // A remainder smaller than the overlap would have no new text.
        if size >= (BUDGET + OVERLAP) * 12 {
            return space.or(cut);
        }
        if c.is_whitespace() && cut.is_none() && size >= BUDGET * 10 {
            space = Some(i);
        }
        size += twelfths(c);
    }
    None
}

/// Start of the next part of a line, so that it overlaps the part that ended at `end`.
fn line_overlap_start(line: &str, start: usize, end: usize) -> usize {
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

/// Merges pieces that are too small to be found with the next one, or else with the previous one.
fn join_small_pieces(run: &[(usize, &str)], pieces: Vec<ChunkPiece>) -> Vec<ChunkPiece> {
    let is_small = |piece: &ChunkPiece| piece.part.is_none() && piece_bytes(run, piece) < MIN_SIZE;
    let mut joined: Vec<ChunkPiece> = Vec::with_capacity(pieces.len());
    for mut piece in pieces {
        if piece.part.is_none()
            && let Some(small) = joined.pop_if(|before| is_small(before))
        {
            piece.lines.start = small.lines.start;
        } else {
            join_last_if(is_small, &mut joined);
        }
        joined.push(piece);
    }
    join_last_if(is_small, &mut joined);
    joined
}

/// Merges the last piece with the one before it.
fn join_last_if(is_small: impl Fn(&ChunkPiece) -> bool, pieces: &mut Vec<ChunkPiece>) {
    if let [.., before, last] = pieces.as_mut_slice()
        && before.part.is_none()
        && is_small(last)
    {
        before.lines.end = before.lines.end.max(last.lines.end);
        pieces.pop();
    }
}

/// Bytes of a piece of whole lines; stops counting once the answer is known.
fn piece_bytes(run: &[(usize, &str)], piece: &ChunkPiece) -> usize {
    let mut bytes = 0;
    for (_, line) in &run[piece.lines.clone()] {
        bytes += line.len() + 1;
        if bytes > MIN_SIZE {
            break;
        }
    }
    bytes.saturating_sub(1)
}

/// Estimated tokens: one for four ASCII characters, one and a half CJK characters, or two others.
pub(super) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let twelfths = if ascii == text.len() { ascii * ASCII } else { text.chars().map(twelfths).sum() };
    twelfths.div_ceil(12)
}

fn twelfths(c: char) -> usize {
    match c as u32 {
        0..0x80 => ASCII,
        0x1100..=0x11FF | 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF => 8,
        _ => 6,
    }
}

const ASCII: usize = 3;
