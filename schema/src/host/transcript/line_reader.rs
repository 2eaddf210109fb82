//! Reads the lines of a file forwards and backwards, without using more than `LINE_LIMIT` of memory for one.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::files::regular_file;

/// The longest line that is read, in bytes. Only lines with pasted images or whole files are longer.
pub const LINE_LIMIT: usize = 8 * 1024 * 1024;

/// How many bytes are read at once.
const BLOCK: u64 = 64 * 1024;

/// The lines from an offset on, in order. Longer ones than the limit are skipped.
#[derive(Debug)]
pub struct ForwardLines {
    file: BufReader<File>,
    line: Vec<u8>,
    is_line_complete: bool,
}

impl ForwardLines {
    pub fn open(path: &Path, start: u64) -> io::Result<Self> {
        let mut file = regular_file::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(Self { file: BufReader::with_capacity(BLOCK as usize, file), line: Vec::new(), is_line_complete: true })
    }

    /// Whether the line returned last has a newline. While the file is being written, the last line may be incomplete.
    pub fn is_line_complete(&self) -> bool {
        self.is_line_complete
    }

    /// Returns the next line without its newline, or `None` at the end of the file.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let (mut read, mut too_long, mut ended) = (0, false, false);
            while !ended {
                let block = self.file.fill_buf()?;
                if block.is_empty() {
                    break;
                }
                let end = memchr::memchr(b'\n', block);
                ended = end.is_some();
                let part = &block[..end.unwrap_or(block.len())];
                too_long |= self.line.len() + part.len() > LINE_LIMIT;
                if too_long {
                    self.line.clear();
                } else {
                    self.line.extend_from_slice(part);
                }
                let taken = part.len() + usize::from(ended);
                read += taken;
                self.file.consume(taken);
            }
            if read == 0 {
                return Ok(None);
            }
            if !self.line.is_empty() {
                self.is_line_complete = ended;
                return Ok(Some(&self.line));
            }
        }
    }
}

/// The lines from the end backwards, up to a number of bytes. Longer ones than the limit are skipped.
#[derive(Debug)]
pub(crate) struct BackwardLines {
    file: File,
    /// The offset where reading ends.
    reach_start: u64,
    /// The offset of `block` in the file.
    start: u64,
    block: Vec<u8>,
    /// The rest of the line that `block` ends in, last part first.
    later: Vec<Vec<u8>>,
    later_len: usize,
    is_too_long: bool,
}

impl BackwardLines {
    pub(crate) fn open(path: &Path, reach: u64) -> io::Result<Self> {
        let file = regular_file::open(path)?;
        let end = file.metadata()?.len();
        let floor = end.saturating_sub(reach);
        Ok(Self {
            file,
            reach_start: floor,
            start: end,
            block: Vec::new(),
            later: Vec::new(),
            later_len: 0,
            is_too_long: false,
        })
    }

    pub(crate) fn reach_start(&self) -> u64 {
        self.reach_start
    }

    /// Returns the line before the one returned last, with its offset, or `None` at the start of the file or of the reach. A line that
    /// begins before the reach is skipped.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            if self.block.is_empty() && !self.load_block()? {
                let whole = self.reach_start == 0;
                let line = self.finish_line(0).filter(|line| whole && !line.is_empty());
                return Ok(line.map(|line| (0, line)));
            }
            if let Some(end) = self.block.iter().rposition(|byte| *byte == b'\n') {
                let line = self.finish_line(end + 1);
                self.block.truncate(end);
                if let Some(line) = line.filter(|line| !line.is_empty()) {
                    return Ok(Some((self.start + end as u64 + 1, line)));
                }
            } else {
                self.later_len += self.block.len();
                self.is_too_long |= self.later_len > LINE_LIMIT;
                let part = std::mem::take(&mut self.block);
                if self.is_too_long {
                    self.later.clear();
                } else {
                    self.later.push(part);
                }
            }
        }
    }

    /// Reads the previous block, or returns `false` at the start.
    fn load_block(&mut self) -> io::Result<bool> {
        let size = BLOCK.min(self.start - self.reach_start);
        self.start -= size;
        self.block.resize(size as usize, 0);
        self.file.seek(SeekFrom::Start(self.start))?;
        self.file.read_exact(&mut self.block)?;
        Ok(size > 0)
    }

    /// Returns the line that begins at `from` in the block, or `None` if it is too long.
    fn finish_line(&mut self, from: usize) -> Option<Vec<u8>> {
        let mut line = self.block[from..].to_vec();
        for part in self.later.drain(..).rev() {
            line.extend_from_slice(&part);
        }
        self.later_len = 0;
        (!std::mem::take(&mut self.is_too_long) && line.len() <= LINE_LIMIT).then_some(line)
    }
}
