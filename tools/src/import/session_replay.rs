//! What the readers of the transcripts of different hosts have in common.

use std::io;

use schema::intake::prepare::PreparedMemory;

/// Prefix of the `meta` keys of completely read transcripts.
pub const IMPORT_MARK_PREFIX: &str = "imported ";

/// Reads one transcript of a host.
pub trait SessionReplay {
    /// The next memory, `None` at the end. A torn last line is ignored.
    fn next_memory(&mut self) -> io::Result<Option<PreparedMemory>>;
    fn state(&self) -> ReplayState;
}

/// The progress and the result of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayState {
    /// Approximate bytes read so far.
    pub position: u64,
    /// Whether it ended inside a turn that may continue.
    pub is_open: bool,
    /// Whether it ended inside a line.
    pub is_torn: bool,
    /// Unreadable lines, without a torn last one.
    pub unreadable_lines: usize,
}

impl ReplayState {
    /// Counts a line that is not valid JSON.
    pub(super) fn count_unreadable(&mut self, is_complete: bool) {
        if is_complete {
            self.unreadable_lines += 1;
        } else {
            self.is_torn = true;
        }
    }
}
