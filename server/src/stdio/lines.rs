//! Lines of any length, none of which takes more memory than it may.

use std::io;
use std::mem;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Bytes of a line that are kept, to tell its id when it is too long for a message. Of what is longer still, nothing is.
const KEPT: usize = 32 * 1024 * 1024;

/// A line without its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The whole line, or nothing when it was too long.
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
}

/// Reads line after line.
#[derive(Debug)]
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Line,
    kept: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: Line::default(), kept: KEPT }
    }

    /// The next line, or `None` at the end. What follows the last line end is a line too. Whoever stops waiting loses nothing: the
    /// part that was read stays for the next call.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                let rest = mem::take(&mut self.line);
                return Ok((rest.length > 0).then_some(rest));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            self.line.length += piece.len();
            if self.line.length <= self.kept {
                self.line.bytes.extend_from_slice(piece);
            } else {
                self.line.bytes = Vec::new();
            }
            let read = piece.len() + usize::from(end.is_some());
            self.reader.consume(read);
            if end.is_some() {
                return Ok(Some(mem::take(&mut self.line)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_and_the_last_one_without_its_end() {
        let mut lines = Lines { kept: 8, ..Lines::new(&b"one\n\n12345678\n123456789\nhalf"[..]) };
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push((String::from_utf8(line.bytes).unwrap(), line.length));
        }
        let seen: Vec<(&str, usize)> = seen.iter().map(|(text, length)| (text.as_str(), *length)).collect();
        assert_eq!(seen, [("one", 3), ("", 0), ("12345678", 8), ("", 9), ("half", 4)]);
    }
}
