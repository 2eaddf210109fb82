//! Chunks: the passages of a Markdown file that are indexed and found, with the lines they stand in.
//!
//! A chunk follows headings, keeps code and tables whole where they fit, and always holds whole lines of the file, except
//! where one line alone is larger than a chunk may be.

mod blocks;
mod pieces;
mod size;

use pieces::Piece;

/// Size of a chunk in tokens, and of what two neighbouring pieces of one long section share.
const BUDGET: usize = 400;
const OVERLAP: usize = 80;
/// Code, a table or a line is kept whole up to this size.
const LARGEST_WHOLE: usize = 2 * BUDGET;
/// At the next heading, a chunk of this size is complete.
const LARGE_ENOUGH: usize = BUDGET / 2;
/// A smaller chunk, in bytes, joins a neighbour.
const SMALLEST: usize = 50;

/// A passage of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// First and last line, counted from 1.
    pub start_line: usize,
    pub end_line: usize,
    /// The lines, joined by a line feed; a part of the line when that line alone is too large.
    pub text: String,
    /// Headings in force at its start, the highest first: `A > B > C`.
    pub heading: String,
}

/// The chunks of a Markdown text, in its order.
pub fn chunks(text: &str) -> Vec<Chunk> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<(usize, &str)> = text.split('\n').enumerate().map(|(i, line)| (i + 1, line)).collect();
    chunks_of_lines(&lines)
}

/// The chunks of the given lines of a file, each with its number.
///
/// No chunk spans a gap in the numbers. Where there are gaps, what holds nothing but headings and comments makes no chunk.
pub fn chunks_of_lines(lines: &[(usize, &str)]) -> Vec<Chunk> {
    let mut headings = blocks::Headings::default();
    let mut chunks = Vec::new();
    let runs: Vec<&[(usize, &str)]> = lines.chunk_by(|before, after| before.0 + 1 == after.0).collect();
    for run in &runs {
        let blocks = blocks::blocks(run, &mut headings);
        if runs.len() == 1 || blocks.iter().any(|block| !block.is_bare(run)) {
            chunks.extend(pieces::pieces(run, &blocks).into_iter().map(|piece| chunk(run, piece)));
        }
    }
    chunks
}

fn chunk(run: &[(usize, &str)], piece: Piece) -> Chunk {
    let lines = &run[piece.lines.clone()];
    let text = match piece.part {
        Some(bytes) => lines[0].1[bytes].to_owned(),
        None => lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n"),
    };
    Chunk { start_line: lines[0].0, end_line: lines[lines.len() - 1].0, text, heading: piece.heading.to_string() }
}

#[cfg(test)]
mod tests;
