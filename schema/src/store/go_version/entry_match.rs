//! Matches rows of the Go version to entries in its logs. These have no ids, so the type, the words and the time decide.

use std::collections::{HashMap, HashSet};

use super::super::{Store, StoreError};
use super::rows::{GoMemory, GoTime, local_moment, utc_moment};
use crate::log::log_file;
use crate::log::{LogEntry, LogKind, ParsedLog, parse};
use crate::model::memory::MemoryType;

/// The most seconds between a row and its entry. The entry of a conclusion shows only its day.
const MAX_CLOCK_DIFFERENCE: i64 = 48 * 3600;

/// The most seconds between a row and its event, which are written one after the other.
const MAX_TIME_DIFFERENCE: i64 = 5;

/// All logs, as they were read.
#[derive(Default)]
pub(super) struct LogEntries {
    logs: Vec<GoLog>,
    by_words: HashMap<TypedWords, Vec<(usize, usize)>>,
    by_first_line: HashMap<TypedWords, Vec<(usize, usize)>>,
}

#[derive(Default)]
pub(super) struct GoLog {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) parsed: ParsedLog,
    /// The content as text. `lines` has the offset of each line in it.
    text: String,
    lines: Vec<usize>,
}

/// An entry of a log, both given by their index.
pub(super) struct EntryRef {
    log: usize,
    pub(super) entry: usize,
    /// The last line of the text. The parser may have stopped at an earlier one.
    pub(super) end_line: usize,
}

/// A type and the words of a text.
type TypedWords = (MemoryType, String);

fn typed_words(kind: MemoryType, text: &str) -> TypedWords {
    (kind, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl LogEntries {
    pub(super) fn read(store: &Store) -> Result<Self, StoreError> {
        let mut places = Self::default();
        let listing = store.layout.markdown_files();
        for path in listing.map_err(StoreError::io("list", store.layout.store_dir()))? {
            if let Some(kind @ LogKind::Daily(_)) = LogKind::from_path(&path) {
                places.add(GoLog::new(log_file::read(&store.layout.store_path(&path))?, path, kind));
            }
        }
        Ok(places)
    }

    fn add(&mut self, log: GoLog) {
        for (index, LogEntry { memory, .. }) in log.parsed.entries.iter().enumerate() {
            let place = (self.logs.len(), index);
            let first = memory.content.lines().next().unwrap_or_default();
            self.by_words.entry(typed_words(memory.kind, &memory.content)).or_default().push(place);
            self.by_first_line.entry(typed_words(memory.kind, first)).or_default().push(place);
        }
        self.logs.push(log);
    }

    pub(super) fn log_of(&self, found: &EntryRef) -> &GoLog {
        &self.logs[found.log]
    }

    pub(super) fn log_by_path(&self, path: &str) -> Option<&GoLog> {
        self.logs.iter().find(|log| log.path == path)
    }

    pub(super) fn entry_of(&self, found: &EntryRef) -> &LogEntry {
        &self.logs[found.log].parsed.entries[found.entry]
    }

    /// Decides whether the clocks of the rows are local, as the Go version writes them, or UTC. The times in the logs are local.
    pub(super) fn decide_clocks(&self, old: &mut [GoMemory]) {
        let (mut local, mut utc) = (0, 0);
        for old in old.iter().filter(|old| old.memory.kind.is_event()) {
            let GoTime::Clock(clock) = old.time else { continue };
            for found in self.candidates(old) {
                let at = self.entry_of(&found).memory.at.unix();
                local += usize::from((local_moment(clock).unix() - at).abs() <= MAX_TIME_DIFFERENCE);
                utc += usize::from((utc_moment(clock).unix() - at).abs() <= MAX_TIME_DIFFERENCE);
            }
        }
        old.iter_mut().for_each(|old| old.set_clock(utc > local));
    }

    /// Returns the entry of each row, if a log has it. An entry belongs to one row only, so two equal rows need two entries.
    pub(super) fn match_rows(&self, old: &[GoMemory]) -> Vec<Option<EntryRef>> {
        let mut found: Vec<Option<EntryRef>> = old.iter().map(|_| None).collect();
        let mut taken = HashSet::new();
        // Longest first, because the lines of a text may look like entries.
        let mut order: Vec<usize> = (0..old.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(old[*index].raw.len()));
        for index in order {
            let old = &old[index];
            let distance = |found: &EntryRef| match old.time {
                GoTime::Unreadable => 0,
                _ => (self.entry_of(found).memory.at.unix() - old.memory.at.unix()).abs(),
            };
            let is_of_session = |found: &EntryRef| {
                let session = &self.entry_of(found).memory.session_id;
                session.is_empty() || *session == old.memory.session_id
            };
            let candidates =
                self.candidates(old).into_iter().filter(|found| !taken.contains(&(found.log, found.entry)));
            let best = candidates
                .filter(|found| is_of_session(found) && distance(found) <= MAX_CLOCK_DIFFERENCE)
                .min_by_key(distance);
            if let Some(best) = best {
                let lines = self.entry_of(&best).start_line..=best.end_line;
                let within = self.logs[best.log].parsed.entries.iter().enumerate();
                taken.extend(within.filter(|(_, entry)| lines.contains(&entry.start_line)).map(|(n, _)| (best.log, n)));
                found[index] = Some(best);
            }
        }
        found
    }

    /// Returns the entries that have the words of a row, its words without secrets (after an interrupted upgrade), or its first line.
    fn candidates(&self, old: &GoMemory) -> Vec<EntryRef> {
        let kind = old.memory.kind;
        let at =
            |places: &HashMap<TypedWords, Vec<(usize, usize)>>, words| places.get(&words).cloned().unwrap_or_default();
        let first = old.raw.lines().next().unwrap_or_default();
        let as_written = at(&self.by_first_line, typed_words(kind, first)).into_iter().filter_map(|(log, entry)| {
            let end_line = self.logs[log].text_end(&self.logs[log].parsed.entries[entry], &old.raw)?;
            Some(EntryRef { log, entry, end_line })
        });
        let by_words = [typed_words(kind, &old.raw), typed_words(kind, &old.memory.content)]
            .map(|words| at(&self.by_words, words));
        let parsed = by_words.concat().into_iter().map(|(log, entry)| {
            let end_line = self.logs[log].parsed.entries[entry].end_line;
            EntryRef { log, entry, end_line }
        });
        as_written.chain(parsed).collect()
    }
}

impl GoLog {
    fn new(bytes: Vec<u8>, path: String, kind: LogKind) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let parsed = parse(&text, kind);
        let ends = text.match_indices('\n').map(|(newline, _)| newline + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { path, bytes, parsed, text, lines }
    }

    /// Returns the last line of `text` if the log has it unchanged at this entry.
    fn text_end(&self, entry: &LogEntry, text: &str) -> Option<usize> {
        let item =
            self.text[*self.lines.get(entry.start_line - 1)?..].trim_start_matches('\u{feff}').strip_prefix("- ")?;
        let written = match entry.memory.kind.is_event() {
            true => item.split_once("**: ")?.1,
            false => item,
        };
        let rest = written.strip_prefix(text)?;
        let is_end = rest.is_empty() || rest.starts_with(['\n', '\r']);
        is_end.then(|| entry.start_line + text.matches('\n').count())
    }
}
