//! Lines of any length, with bounded memory.

use std::io;
use std::mem;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Bytes kept of a line that is too long for a message, to read its id. Longer lines are dropped.
const MAX_KEPT_BUFFER: usize = 32 * 1024 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct InputLine {
    /// The whole line without its end, or empty if it was too long.
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
}

#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: BufReader<R>,
    line: InputLine,
    max_buffer: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader: BufReader::new(reader), line: InputLine::default(), max_buffer: MAX_KEPT_BUFFER }
    }

    /// The next line, or `None` at the end. Text after the last line end is a line too. Safe to cancel: a partial line stays for the next
    /// call.
    pub(super) async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                let rest = mem::take(&mut self.line);
                return Ok((rest.length > 0).then_some(rest));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            self.line.length += piece.len();
            if self.line.length <= self.max_buffer {
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
    async fn lines_are_whole_and_the_last_may_lack_its_end() {
        let mut lines = LineReader { max_buffer: 8, ..LineReader::new(&b"one\n\n12345678\n123456789\nhalf"[..]) };
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push((String::from_utf8(line.bytes).unwrap(), line.length));
        }
        let seen: Vec<(&str, usize)> = seen.iter().map(|(text, length)| (text.as_str(), *length)).collect();
        assert_eq!(seen, [("one", 3), ("", 0), ("12345678", 8), ("", 9), ("half", 4)]);
    }
}
