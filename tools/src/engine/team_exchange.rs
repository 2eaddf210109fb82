//! Exchanges lines of the team's files with other copies of them, for a server of the team.

use std::collections::{BTreeMap, HashSet};
use std::io;

use schema::files::store_file;
use schema::log::{TEAM_FILE_LIMIT, TeamAction, TeamFile};
use schema::model::memory::{MemoryId, content_hash};
use schema::model::sharing::{is_author, team_path};
use schema::store::StoreError;

use super::team::{append_lines, without_entries};
use super::{Engine, OldDatabases};
use crate::error::ToolError;
use crate::index::CompactScope;

/// In `memory.db`: up to where the records of a server were read.
const POSITION: &str = "team_position";

/// A record of the team: one line of the file of its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamLine {
    pub author: String,
    pub line: String,
}

impl TeamLine {
    /// Identifies the line in the file of its author: SHA-256 in hexadecimal digits.
    pub fn key(&self) -> String {
        content_hash(&format!("{}\n{}", self.author, self.line))
    }
}

impl Engine {
    /// Returns the records in the user's own file: memories first, because notes may be about them.
    pub fn own_team_lines(&self) -> Result<Vec<TeamLine>, ToolError> {
        let author = self.author()?;
        let text = self.team_text(&author)?;
        let (notes, entries): (Vec<&str>, Vec<&str>) = records(&text).partition(|line| line.starts_with("<!--"));
        let line = |line: &str| TeamLine { author: author.clone(), line: line.to_owned() };
        Ok(entries.into_iter().chain(notes).map(line).collect())
    }

    /// Adds records of others, and of the user from another machine, to their files. Returns how many were new. A memory that any record
    /// forgets is not added, and is removed from all files.
    pub fn add_team_lines(&mut self, lines: &[TeamLine]) -> Result<usize, ToolError> {
        self.store.require_writable()?;
        let layout = self.store.layout().clone();
        let mut by_author: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for TeamLine { author, line } in lines.iter().filter(|line| is_author(&line.author)) {
            by_author.entry(author).or_default().extend(records(line));
        }
        let new_notes = by_author.values().flatten().flat_map(|line| TeamFile::parse(line).notes);
        let known_notes = self.store.team_files()?.into_values().flat_map(|file| file.notes);
        let forgotten: HashSet<MemoryId> =
            new_notes.chain(known_notes).filter(|note| note.act == TeamAction::Forget).map(|note| note.about).collect();
        let is_forgotten =
            |line: &str| TeamFile::parse(line).entries.iter().any(|entry| forgotten.contains(&entry.memory.id));
        let mut count = 0;
        for (author, lines) in by_author {
            let _lock = self.store.lock().map_err(StoreError::from)?;
            let text = self.team_text(author)?;
            let mut known: HashSet<&str> = records(&text).collect();
            let new = lines.into_iter().filter(|line| known.insert(line) && !is_forgotten(line));
            let new: Vec<&str> = new.collect();
            let added: String = new.iter().map(|line| format!("{line}\n")).collect();
            // Nobody reads a larger file, so one member must not keep the others from exchanging.
            if new.is_empty() || (text.len() + added.len()) as u64 > TEAM_FILE_LIMIT {
                continue;
            }
            append_lines(&layout, author, &added)?;
            count += new.len();
        }
        let has_removed = self.remove_from_team(&forgotten.iter().collect())?;
        self.catch_up_with_team()?;
        if has_removed {
            // The databases may still hold the texts in free pages.
            self.remove_traces(OldDatabases::Keep, CompactScope::All)?;
        }
        Ok(count)
    }

    /// The number of records in the files of all authors.
    pub fn count_team_lines(&self) -> Result<usize, ToolError> {
        Ok(self.store.team_files()?.values().map(|file| file.entries.len() + file.notes.len()).sum())
    }

    /// Removes the lines of some shared memories from the files of all authors. Returns whether there were any.
    pub(super) fn remove_from_team(&mut self, ids: &HashSet<&MemoryId>) -> Result<bool, ToolError> {
        let mut has_removed = false;
        if ids.is_empty() {
            return Ok(has_removed);
        }
        for author in self.store.team_files()?.into_keys() {
            let _lock = self.store.lock().map_err(StoreError::from)?;
            has_removed |= self.store.rewrite_log(&team_path(&author), |bytes| without_entries(bytes, ids))?;
        }
        Ok(has_removed)
    }

    /// Returns up to where the records of a server were read, as the server's client wrote it.
    pub fn team_position(&self) -> Result<Option<String>, ToolError> {
        Ok(self.store.rows().meta(POSITION)?)
    }

    pub fn set_team_position(&mut self, position: &str) -> Result<(), ToolError> {
        Ok(self.store.with_transaction(|rows| rows.set_meta(POSITION, position))?)
    }

    /// The text of an author's file. A missing file is empty.
    fn team_text(&self, author: &str) -> Result<String, ToolError> {
        match store_file::read(&self.store.layout().store_path(&team_path(author))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(ToolError::cannot(&format!("read {}", team_path(author)), &error)),
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

/// The lines of a text that are records.
fn records(text: &str) -> impl Iterator<Item = &str> {
    let is_record = |line: &&str| {
        let file = TeamFile::parse(line);
        file.entries.len() + file.notes.len() == 1
    };
    text.lines().map(str::trim_end).filter(is_record)
}
