//! Splits an export in one document into memories, so that an invalid one does not block the others.

use std::collections::HashMap;

use chrono::NaiveDate;
use schema::log::{LogKind, parse, unusable_fields};
use schema::model::memory::MemoryId;
use schema::model::state_note::StateNote;
use schema::store::claim_rank;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ExportLineError, ExportedMemory, without_id};

/// Start of a log's first line.
const TITLE: &str = "# ";

const LONG_TERM_TITLE: &str = "# Memory";

/// Byte order mark of Windows editors.
const MARK: &str = "\u{feff}";

#[derive(Deserialize)]
struct ExportDocument {
    memories: Vec<Box<RawValue>>,
}

/// Reads a JSON document: an object with `memories`, or a list.
pub fn from_json(bytes: &[u8]) -> Result<Vec<Result<ExportedMemory, ExportLineError>>, ExportLineError> {
    let bytes = bytes.strip_prefix(MARK.as_bytes()).unwrap_or(bytes);
    let memories = match bytes.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice(bytes),
        _ => serde_json::from_slice(bytes).map(|ExportDocument { memories }| memories),
    };
    let memories: Vec<Box<RawValue>> = memories.map_err(|error| ExportLineError::Json(error.to_string()))?;
    Ok(memories.iter().map(|memory| ExportedMemory::parse(memory.get().as_bytes())).collect())
}

/// Memories of concatenated Markdown logs.
#[derive(Debug, Clone, Default)]
pub struct MarkdownLogs {
    memories: Vec<ExportedMemory>,
    notes: Vec<StateNote>,
    /// Lines of prose, which are not memories.
    pub prose_lines: usize,
    /// Unusable fields and their lines.
    pub unusable_fields: Vec<String>,
}

impl MarkdownLogs {
    /// Adds a document that starts with the title of a log, including logs under further titles, or else a document whose
    /// name is that of a log. Returns whether it was either.
    pub fn add(&mut self, text: &str, named: Option<LogKind>) -> bool {
        let text = text.strip_prefix(MARK).unwrap_or(text);
        let titles = log_titles(text);
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

    /// Adds a log of a store.
    pub fn add_log(&mut self, text: &str, kind: LogKind) {
        let parsed = parse(text, kind);
        let lines: Vec<&str> = text.lines().collect();
        let is_said = |number: &&usize| lines.get(**number - 1).is_some_and(|line| !line.starts_with('#'));
        self.prose_lines += parsed.prose.iter().filter(is_said).count();
        let path = kind.file_name();
        let odd = unusable_fields(text).into_iter().map(|(line, names)| format!("{path}:{line} {}", names.join(", ")));
        self.unusable_fields.extend(odd);
        self.notes.extend(parsed.notes);
        self.memories
            .extend(parsed.entries.into_iter().map(|entry| ExportedMemory::from_memory(entry.memory, path.clone())));
    }

    /// All memories with the ids that a store of these logs gives them. Of several with the same id only one keeps it.
    pub fn into_memories(mut self) -> Vec<ExportedMemory> {
        let mut claimants: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, memory) in self.memories.iter().enumerate() {
            claimants.entry(memory.id.clone()).or_default().push(index);
        }
        for (id, indexes) in claimants.into_iter().filter(|(_, indexes)| indexes.len() > 1) {
            let Some(id) = MemoryId::parse(&id) else { continue };
            let ranks = indexes.iter().map(|index| id_rank(&self.memories[*index]));
            let Some((_, best)) = ranks.min() else { continue };
            for index in indexes {
                let memory = &mut self.memories[index];
                if memory.path != best {
                    memory.id = id.for_copy(&memory.path).to_string();
                }
            }
        }
        self.notes.sort_by_key(|note| note.at);
        let mut by_id: HashMap<&str, Vec<_>> = HashMap::new();
        for note in &self.notes {
            by_id.entry(note.about.as_str()).or_default().push(without_id(note));
        }
        for memory in &mut self.memories {
            memory.notes = by_id.get(memory.id.as_str()).cloned().unwrap_or_default();
        }
        self.memories
    }
}

fn id_rank(memory: &ExportedMemory) -> (bool, String) {
    let day = memory.at.get(..10).and_then(|day| day.parse::<NaiveDate>().ok()).unwrap_or_default();
    let (is_elsewhere, path) = claim_rank(&memory.path, day);
    (is_elsewhere, path.to_owned())
}

/// Offsets of lines that are titles of logs. Entries indent continuation lines, so they cannot contain one.
fn log_titles(text: &str) -> Vec<(usize, LogKind)> {
    let mut at = 0;
    let starts = text.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line.trim_end())
    });
    starts.filter_map(|(start, line)| Some((start, parse_title(line)?))).collect()
}

fn parse_title(line: &str) -> Option<LogKind> {
    if line == LONG_TERM_TITLE {
        return Some(LogKind::LongTerm);
    }
    LogKind::from_path(&format!("{}.md", line.strip_prefix(TITLE)?)).filter(|kind| *kind != LogKind::LongTerm)
}
