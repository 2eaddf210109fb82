//! Exchanges lines of the team's files with other copies of them, for a server of the team.

use std::collections::{BTreeMap, HashSet};
use std::io;

use schema::files::store_file;
use schema::log::{TEAM_FILE_LIMIT, TeamAction, TeamFile};
use schema::model::memory::MemoryId;
use schema::model::sharing::{is_author, team_path};
use schema::store::StoreError;

use super::Engine;
use super::team::{append_lines, create_team_dir, unavailable, without_entries};
use crate::error::ToolError;

/// In `memory.db`: up to where the records of a server were read.
const POSITION: &str = "team_position";

/// A record of the team: one line of the file of its author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamLine {
    pub author: String,
    pub line: String,
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

    /// Adds records of others, and of the user from another machine, to their files. Returns how many were new. Removes the texts that a
    /// new record forgets.
    pub fn add_team_lines(&mut self, lines: &[TeamLine]) -> Result<usize, ToolError> {
        self.store.require_writable()?;
        let layout = self.store.layout().clone();
        let mut by_author: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for TeamLine { author, line } in lines.iter().filter(|line| is_author(&line.author)) {
            by_author.entry(author).or_default().push(line);
        }
        let (mut count, mut forgotten) = (0, HashSet::new());
        for (author, lines) in by_author {
            let _lock = self.store.lock().map_err(StoreError::from)?;
            let text = self.team_text(author)?;
            let mut known: HashSet<&str> = records(&text).collect();
            let new: Vec<&str> = lines.into_iter().flat_map(records).filter(|line| known.insert(line)).collect();
            if new.is_empty() {
                continue;
            }
            let added: String = new.iter().map(|line| format!("{line}\n")).collect();
            if (text.len() + added.len()) as u64 > TEAM_FILE_LIMIT {
                return Err(ToolError::Invalid(format!("{} would be too large to be read", team_path(author))));
            }
            create_team_dir(&layout)
                .and_then(|()| append_lines(&layout, author, &added))
                .map_err(|error| unavailable(&format!("write {}", team_path(author)), &error))?;
            count += new.len();
            let notes = TeamFile::parse(&added).notes.into_iter().filter(|note| note.act == TeamAction::Forget);
            forgotten.extend(notes.map(|note| note.about));
        }
        self.remove_from_team(&forgotten.iter().collect())?;
        self.catch_up_with_team()?;
        Ok(count)
    }

    /// Removes the lines of some shared memories from the files of all authors.
    pub(super) fn remove_from_team(&mut self, ids: &HashSet<&MemoryId>) -> Result<(), ToolError> {
        if ids.is_empty() {
            return Ok(());
        }
        for author in self.store.team_files()?.into_keys() {
            let _lock = self.store.lock().map_err(StoreError::from)?;
            self.store.rewrite_log(&team_path(&author), |bytes| without_entries(bytes, ids))?;
        }
        Ok(())
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
            Err(error) => Err(unavailable(&format!("read {}", team_path(author)), &error)),
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
