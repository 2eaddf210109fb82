//! The kinds of files that hold memories, and the result of parsing one.

use chrono::NaiveDate;

use crate::model::memory::Memory;
use crate::model::sharing::is_team_file;
use crate::model::state_note::StateNote;

/// The file of curated, long-term memories.
pub const LONG_TERM_FILE: &str = "MEMORY.md";

/// The most files that a day can have; see [`LogKind::file_names`].
const FILES_PER_DAY: usize = 9;

/// A kind of file that holds memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// `YYYY-MM-DD.md`, continued in `YYYY-MM-DD.2.md`: every entry is a memory, with or without our comment.
    Daily(NaiveDate),
    /// `MEMORY.md`: only entries with our comment are memories.
    LongTerm,
    /// A file of the team, `team/AUTHOR.md`. Its memories follow from the files of all authors.
    Team,
}

impl LogKind {
    /// Returns the kind of a file from its path relative to the store, or `None` for Markdown without memories.
    pub fn from_path(path: &str) -> Option<Self> {
        if path == LONG_TERM_FILE {
            return Some(Self::LongTerm);
        }
        if is_team_file(path) {
            return Some(Self::Team);
        }
        let stem = path.strip_suffix(".md")?;
        let stem = match stem.split_once('.') {
            Some((day, number)) if (2..=FILES_PER_DAY).any(|file| file.to_string() == number) => day,
            _ => stem,
        };
        // The round trip rejects what chrono accepts, such as `2026-1-28`.
        let date = NaiveDate::parse_from_str(stem, "%Y-%m-%d").ok()?;
        (date.to_string() == stem).then_some(Self::Daily(date))
    }

    /// Returns the name of the first file of a day, or of `MEMORY.md`. A team has no file that stands for all.
    pub fn file_name(self) -> String {
        match self {
            Self::Daily(date) => format!("{date}.md"),
            Self::LongTerm => LONG_TERM_FILE.to_owned(),
            Self::Team => String::new(),
        }
    }

    /// Returns the names of all files of this kind, except those of a team. A day continues in the next file while another program keeps
    /// writing the current one.
    pub fn file_names(self) -> Vec<String> {
        let mut names: Vec<String> = (self != Self::Team).then(|| self.file_name()).into_iter().collect();
        if let Self::Daily(date) = self {
            names.extend((2..=FILES_PER_DAY).map(|number| format!("{date}.{number}.md")));
        }
        names
    }

    /// Whether an entry carries the id of its memory. An event does not: its id is derived from its line.
    pub fn has_id(self, memory: &Memory) -> bool {
        !matches!(self, Self::Daily(_)) || !memory.kind.is_event()
    }
}

/// The content of a file: memories, prose and notes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedLog {
    /// The memories in the order of the file.
    pub entries: Vec<LogEntry>,
    /// The numbers of the lines, from 1, that are prose of people.
    pub prose: Vec<usize>,
    /// The state changes of memories in this file or in others.
    pub notes: Vec<StateNote>,
}

/// A memory and its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The memory. Its id is the one that the entry claims, unique in this file. If an entry of another file has the better claim, the
    /// store gives this one [`MemoryId::for_copy`](crate::model::memory::MemoryId::for_copy).
    pub memory: Memory,
    /// The first line, from 1.
    pub start_line: usize,
    /// The last line, inclusive.
    pub end_line: usize,
}
