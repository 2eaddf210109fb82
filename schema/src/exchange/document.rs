//! Exports that are one document, taken apart memory by memory, so that what is wrong with one keeps no other out.

use std::collections::HashMap;

use chrono::NaiveDate;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Exported, Unreadable};
use crate::daily_log::{LogKind, odd_fields, parse};
use crate::memory::MemoryId;
use crate::store::rank;

/// What the first line of a log says, without the day.
const TITLE: &str = "# ";

/// The title of long-term memory.
const LONG_TERM_TITLE: &str = "# Memory";

/// Before texts that Windows wrote.
const MARK: &str = "\u{feff}";

#[derive(Deserialize)]
struct Document {
    memories: Vec<Box<RawValue>>,
}

/// The memories of a document of JSON: an object with `memories`, or the bare list.
pub fn from_json(bytes: &[u8]) -> Result<Vec<Result<Exported, Unreadable>>, Unreadable> {
    let bytes = bytes.strip_prefix(MARK.as_bytes()).unwrap_or(bytes);
    let memories = match bytes.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(bytes),
        _ => serde_json::from_slice(bytes).map(|Document { memories }| memories),
    };
    let memories: Vec<Box<RawValue>> = memories.map_err(|error| Unreadable::Json(error.to_string()))?;
    Ok(memories.iter().map(|memory| Exported::parse(memory.get().as_bytes())).collect())
}

/// Logs in Markdown, one after the other, as memories.
#[derive(Debug, Clone, Default)]
pub struct Logs {
    memories: Vec<Exported>,
    /// Lines that people wrote, which are no memories.
    prose: usize,
    odd: Vec<String>,
}

impl Logs {
    /// Takes in a document that begins with the title of a log, as an export does, with everything that follows under further titles;
    /// else one that is the log which its name says. Answers whether it was one of both.
    pub fn add(&mut self, text: &str, named: Option<LogKind>) -> bool {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        let titles = titles(text);
        if titles.first().is_none_or(|(start, _)| *start > 0) {
            named.into_iter().for_each(|kind| self.add_log(text, kind));
            return named.is_some();
        }
        let ends = titles.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
        for ((start, kind), end) in titles.iter().zip(ends) {
            self.add_log(&text[*start..end], *kind);
        }
        true
    }

    /// Takes in a file of a store.
    pub fn add_log(&mut self, text: &str, kind: LogKind) {
        let parsed = parse(text, kind);
        let lines: Vec<&str> = text.lines().collect();
        let is_said = |number: &&usize| lines.get(**number - 1).is_some_and(|line| !line.starts_with('#'));
        self.prose += parsed.prose.iter().filter(is_said).count();
        let path = kind.file_name();
        let odd = odd_fields(text).into_iter().map(|(line, names)| format!("{path}:{line} {}", names.join(", ")));
        self.odd.extend(odd);
        self.memories.extend(parsed.entries.into_iter().map(|entry| Exported::of_memory(entry.memory, path.clone())));
    }

    /// How many lines were left out because people wrote them.
    pub fn prose(&self) -> usize {
        self.prose
    }

    /// The fields that cannot be used as they are, and their lines.
    pub fn odd(&self) -> &[String] {
        &self.odd
    }

    /// All of them, with the ids that they have in a store of these logs: of several that carry the same, one has it.
    pub fn into_memories(mut self) -> Vec<Exported> {
        let mut claimants: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, memory) in self.memories.iter().enumerate() {
            claimants.entry(memory.id.clone()).or_default().push(index);
        }
        for (id, indexes) in claimants.into_iter().filter(|(_, indexes)| indexes.len() > 1) {
            let Some(id) = MemoryId::parse(&id) else { continue };
            let path = |index: &usize| self.memories[*index].path.clone();
            let best = indexes.iter().map(|index| (rank_of(&self.memories[*index]), path(index))).min();
            let Some((_, best)) = best else { continue };
            for index in indexes.into_iter().filter(|index| path(index) != best).collect::<Vec<_>>() {
                let memory = &mut self.memories[index];
                memory.id = id.of_copy(&memory.path).to_string();
            }
        }
        self.memories
    }
}

fn rank_of(memory: &Exported) -> (bool, String) {
    let day = memory.at.get(..10).and_then(|day| day.parse::<NaiveDate>().ok()).unwrap_or_default();
    let (is_elsewhere, path) = rank(&memory.path, day);
    (is_elsewhere, path.to_owned())
}

/// Where lines begin that are the title of a log, and of which. No line of an entry is one, because all but its first are set in.
fn titles(text: &str) -> Vec<(usize, LogKind)> {
    let mut at = 0;
    let starts = text.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line.trim_end())
    });
    starts.filter_map(|(start, line)| Some((start, title(line)?))).collect()
}

fn title(line: &str) -> Option<LogKind> {
    if line == LONG_TERM_TITLE {
        return Some(LogKind::LongTerm);
    }
    LogKind::of(&format!("{}.md", line.strip_prefix(TITLE)?)).filter(|kind| *kind != LogKind::LongTerm)
}
