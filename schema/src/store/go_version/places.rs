//! Which entries of the logs the rows of the Go version are. Its logs carry no ids, so the type and the words tell, and the time.

use std::collections::{HashMap, HashSet};

use super::super::{Store, StoreError};
use super::rows::{Old, Time, of_local, of_utc};
use crate::daily_log::{Entry, LogKind, Parsed, parse};
use crate::log_file;
use crate::memory::MemoryType;

/// How far a row and its entry may be apart, in seconds: the entry of a conclusion says its day only.
const FAR: i64 = 48 * 3600;

/// How far the time of a row and that of its event may be apart, in seconds: they are written one after the other.
const NEAR: i64 = 5;

/// The logs as they were read.
pub(super) struct Places {
    logs: Vec<Log>,
    by_words: HashMap<Words, Vec<(usize, usize)>>,
    by_first_line: HashMap<Words, Vec<(usize, usize)>>,
    none: Log,
}

#[derive(Default)]
pub(super) struct Log {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) parsed: Parsed,
    /// The text from each line on.
    text: String,
    lines: Vec<usize>,
}

/// The entry of a row: a log and the number of an entry in it.
pub(super) struct Found {
    log: usize,
    pub(super) entry: usize,
    /// The last line of the text. The parser may have taken an earlier one for that.
    pub(super) end_line: usize,
}

/// A type and the words of a text.
type Words = (MemoryType, String);

fn words(kind: MemoryType, text: &str) -> Words {
    (kind, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

impl Places {
    pub(super) fn read(store: &Store) -> Result<Self, StoreError> {
        let mut places =
            Self { logs: Vec::new(), by_words: HashMap::new(), by_first_line: HashMap::new(), none: Log::default() };
        let listing = store.layout.markdown_files();
        for path in listing.map_err(|source| store.io("list", store.layout.dir(), source))? {
            if let Some(kind @ LogKind::Daily(_)) = LogKind::of(&path) {
                places.add(Log::new(log_file::read(&store.layout.file(&path))?, path, kind));
            }
        }
        Ok(places)
    }

    fn add(&mut self, log: Log) {
        for (index, Entry { memory, .. }) in log.parsed.entries.iter().enumerate() {
            let place = (self.logs.len(), index);
            let first = memory.content.lines().next().unwrap_or_default();
            self.by_words.entry(words(memory.kind, &memory.content)).or_default().push(place);
            self.by_first_line.entry(words(memory.kind, first)).or_default().push(place);
        }
        self.logs.push(log);
    }

    pub(super) fn log(&self, found: &Found) -> &Log {
        &self.logs[found.log]
    }

    /// The log with this path, empty if there is none.
    pub(super) fn log_at(&self, path: &str) -> &Log {
        self.logs.iter().find(|log| log.path == path).unwrap_or(&self.none)
    }

    pub(super) fn entry(&self, found: &Found) -> &Entry {
        &self.logs[found.log].parsed.entries[found.entry]
    }

    /// Decides whether the clocks of the rows are local, as the Go version writes them, or UTC: the times of the logs are local.
    pub(super) fn settle_clocks(&self, old: &mut [Old]) {
        let (mut local, mut utc) = (0, 0);
        for old in old.iter().filter(|old| old.memory.kind.is_session_data()) {
            let Time::Clock(clock) = old.time else { continue };
            for found in self.candidates(old) {
                let at = self.entry(&found).memory.at.unix();
                local += usize::from((of_local(clock).unix() - at).abs() <= NEAR);
                utc += usize::from((of_utc(clock).unix() - at).abs() <= NEAR);
            }
        }
        old.iter_mut().for_each(|old| old.set_clock(utc > local));
    }

    /// The entry of each row, if a log holds it. Every entry is of one row: somebody who said "yes" twice is found twice.
    pub(super) fn find(&self, old: &[Old]) -> Vec<Option<Found>> {
        let mut found: Vec<Option<Found>> = old.iter().map(|_| None).collect();
        let mut taken = HashSet::new();
        // The longest first: the lines of a text may look like entries.
        let mut order: Vec<usize> = (0..old.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(old[*index].raw.len()));
        for index in order {
            let old = &old[index];
            let distance = |found: &Found| match old.time {
                Time::Unreadable => 0,
                _ => (self.entry(found).memory.at.unix() - old.memory.at.unix()).abs(),
            };
            let is_of_session = |found: &Found| {
                let session = &self.entry(found).memory.session_id;
                session.is_empty() || *session == old.memory.session_id
            };
            let candidates =
                self.candidates(old).into_iter().filter(|found| !taken.contains(&(found.log, found.entry)));
            let best = candidates.filter(|found| is_of_session(found) && distance(found) <= FAR).min_by_key(distance);
            if let Some(best) = best {
                let lines = self.entry(&best).start_line..=best.end_line;
                let within = self.logs[best.log].parsed.entries.iter().enumerate();
                taken.extend(within.filter(|(_, entry)| lines.contains(&entry.start_line)).map(|(n, _)| (best.log, n)));
                found[index] = Some(best);
            }
        }
        found
    }

    /// The entries with the words of a row: as it was, without its secrets after an interrupted upgrade, and those that begin like it.
    fn candidates(&self, old: &Old) -> Vec<Found> {
        let kind = old.memory.kind;
        let at = |places: &HashMap<Words, Vec<(usize, usize)>>, words| places.get(&words).cloned().unwrap_or_default();
        let first = old.raw.lines().next().unwrap_or_default();
        let as_written = at(&self.by_first_line, words(kind, first)).into_iter().filter_map(|(log, entry)| {
            let end_line = self.logs[log].end_of(&self.logs[log].parsed.entries[entry], &old.raw)?;
            Some(Found { log, entry, end_line })
        });
        let by_words = [words(kind, &old.raw), words(kind, &old.memory.content)].map(|words| at(&self.by_words, words));
        let parsed = by_words.concat().into_iter().map(|(log, entry)| {
            let end_line = self.logs[log].parsed.entries[entry].end_line;
            Found { log, entry, end_line }
        });
        as_written.chain(parsed).collect()
    }
}

impl Log {
    fn new(bytes: Vec<u8>, path: String, kind: LogKind) -> Self {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let parsed = parse(&text, kind);
        let ends = text.match_indices('\n').map(|(newline, _)| newline + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { path, bytes, parsed, text, lines }
    }

    /// The last line of a text if it begins at an entry, as it is.
    fn end_of(&self, entry: &Entry, text: &str) -> Option<usize> {
        let item =
            self.text[*self.lines.get(entry.start_line - 1)?..].trim_start_matches('\u{feff}').strip_prefix("- ")?;
        let written = match entry.memory.kind.is_session_data() {
            true => item.split_once("**: ")?.1,
            false => item,
        };
        let rest = written.strip_prefix(text)?;
        let is_end = rest.is_empty() || rest.starts_with(['\n', '\r']);
        is_end.then(|| entry.start_line + text.matches('\n').count())
    }
}
