//! The kinds of file that hold memories, and what is read in one.

use chrono::NaiveDate;

use crate::model::memory::Memory;
use crate::model::state_note::StateNote;

/// The file of curated, long-term memory.
pub const LONG_TERM_FILE: &str = "MEMORY.md";

/// How many files a day has at most; see [`LogKind::file_names`].
const FILES: usize = 9;

/// Which of the two kinds of file that hold memories this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// `YYYY-MM-DD.md`, and `YYYY-MM-DD.2.md` where the day goes on: every entry is a memory, with our comment or without.
    Daily(NaiveDate),
    /// `MEMORY.md`: only entries with our comment are memories.
    LongTerm,
}

impl LogKind {
    /// The kind of a file by its path relative to the store, or `None` for Markdown that holds no memories.
    pub fn from_path(path: &str) -> Option<Self> {
        if path == LONG_TERM_FILE {
            return Some(Self::LongTerm);
        }
        let stem = path.strip_suffix(".md")?;
        let stem = match stem.split_once('.') {
            Some((day, number)) if (2..=FILES).any(|file| file.to_string() == number) => day,
            _ => stem,
        };
        // The round trip refuses what chrono tolerates, such as `2026-1-28`.
        let date = NaiveDate::parse_from_str(stem, "%Y-%m-%d").ok()?;
        (date.to_string() == stem).then_some(Self::Daily(date))
    }

    /// The file name of this kind.
    pub fn file_name(self) -> String {
        match self {
            Self::Daily(date) => format!("{date}.md"),
            Self::LongTerm => LONG_TERM_FILE.to_owned(),
        }
    }

    /// The files of this kind: a day goes on in the next one while another program keeps writing the one before.
    pub fn file_names(self) -> Vec<String> {
        let mut names = vec![self.file_name()];
        if let Self::Daily(date) = self {
            names.extend((2..=FILES).map(|number| format!("{date}.{number}.md")));
        }
        names
    }

    /// Whether an entry carries the id of its memory. An event does not: its line says all that its id is derived from.
    pub fn has_id(self, memory: &Memory) -> bool {
        self == Self::LongTerm || !memory.kind.is_event()
    }
}

/// What a file holds: its memories, and the lines that are none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedLog {
    /// The memories in the order of the file.
    pub entries: Vec<LogEntry>,
    /// The numbers of the lines, from 1, that a person wrote as prose.
    pub prose: Vec<usize>,
    /// The changes of states, of memories of this file or of others.
    pub notes: Vec<StateNote>,
}

/// A memory and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The memory itself. Its id is the one that the entry lays claim to, unique in this file; where an entry of another file
    /// has the better claim, the store gives it [`MemoryId::for_copy`](crate::model::memory::MemoryId::for_copy).
    pub memory: Memory,
    /// Its first line, from 1.
    pub start_line: usize,
    /// Its last line, included.
    pub end_line: usize,
}
