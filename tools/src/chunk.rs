//! Chunks: the passages of a Markdown file that are indexed, with their line numbers.
//!
//! A chunk follows headings, keeps code and tables whole if they fit, and holds whole lines. Only a line larger than the
//! maximum is split.

mod blocks;
mod packing;

use packing::ChunkPiece;

/// A passage of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// First and last line, from 1.
    pub start_line: usize,
    pub end_line: usize,
    /// The lines, joined by a line feed, or a part of an overlong line.
    pub text: String,
    /// Path of headings: `A > B > C`.
    pub heading: String,
}

/// Splits a Markdown text into chunks, in order.
pub fn chunk_text(text: &str) -> Vec<Chunk> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines: Vec<(usize, &str)> = text.split('\n').enumerate().map(|(i, line)| (i + 1, line)).collect();
    chunk_lines(&lines)
}

/// Splits numbered lines of a file into chunks.
///
/// A chunk never spans a gap in the numbers. If there are gaps, lines with only headings and comments make no chunk.
pub fn chunk_lines(lines: &[(usize, &str)]) -> Vec<Chunk> {
    let mut headings = blocks::HeadingStack::default();
    let mut chunks = Vec::new();
    let runs: Vec<&[(usize, &str)]> = lines.chunk_by(|before, after| before.0 + 1 == after.0).collect();
    for run in &runs {
        let blocks = blocks::split_blocks(run, &mut headings);
        if runs.len() == 1 || blocks.iter().any(|block| !block.is_without_content(run)) {
            chunks.extend(packing::pack_blocks(run, &blocks).into_iter().map(|piece| into_chunk(run, piece)));
        }
    }
    chunks
}

fn into_chunk(run: &[(usize, &str)], piece: ChunkPiece) -> Chunk {
    let lines = &run[piece.lines.clone()];
    let text = match piece.part {
        Some(bytes) => lines[0].1[bytes].to_owned(),
        None => lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n"),
    };
    Chunk { start_line: lines[0].0, end_line: lines[lines.len() - 1].0, text, heading: piece.heading.to_string() }
}

#[cfg(test)]
mod tests;
