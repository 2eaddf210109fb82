//! The record of a setup, which allows a byte-for-byte undo. It contains no text of others except the text that ours replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schema::files::store_file::{self, options_for_private};
use schema::model::memory::content_hash;
use serde::{Deserialize, Serialize};

use super::host::Host;
use super::settings_file::if_present;
use crate::diff::{ChangedLines, differences};

/// The record of one project, or of one user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SetupRecord {
    /// Keys are paths, relative to the project if inside it.
    pub(super) files: BTreeMap<String, RecordedFile>,
    /// Folders that the setup created, outermost first.
    pub(super) folders: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedFile {
    pub(super) hosts: BTreeSet<Host>,
    /// Whether the file had content before.
    pub(super) existed: bool,
    /// The hash of the text that was written. If it differs, somebody else edited the file.
    hash: String,
    undo: Vec<UndoHunk>,
}

/// A replaced range of the written text: `length` bytes from `at` on replaced `before`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UndoHunk {
    at: usize,
    length: usize,
    before: String,
}

impl RecordedFile {
    pub(super) fn new(hosts: BTreeSet<Host>, existed: bool, before: &str, after: &str) -> Self {
        Self { hosts, existed, hash: content_hash(after), undo: diff_hunks(before, after) }
    }

    /// Restores the original if `text` is the written text.
    pub(super) fn undone(&self, text: &str) -> Option<String> {
        if content_hash(text) != self.hash {
            return None;
        }
        let mut before = text.to_owned();
        for hunk in self.undo.iter().rev() {
            before.get(hunk.at..hunk.at + hunk.length)?;
            before.replace_range(hunk.at..hunk.at + hunk.length, &hunk.before);
        }
        Some(before)
    }
}

impl SetupRecord {
    /// Reads the record. An invalid record counts as empty; our entries are then recognised by their text.
    pub(super) fn read(path: &Path) -> Self {
        store_file::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Writes the record, or deletes the file if the record is empty.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        if self.files.is_empty() {
            return if_present(fs::remove_file(path)).map(drop);
        }
        let beside = path.with_extension("json.new");
        let mut file = options_for_private().create(true).truncate(true).open(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    }
}

/// The differences of two texts, first by lines.
fn diff_hunks(before: &str, after: &str) -> Vec<UndoHunk> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let hunk = |ChangedLines { before, after: range }| {
        let (at, length) = (bytes(&new[..range.start]), bytes(&new[range]));
        narrow_hunk(&UndoHunk { at, length, before: old[before].concat() }, after)
    };
    differences(&old, &new).into_iter().map(hunk).collect()
}

/// Removes the common start and end, which may contain secrets of others.
fn narrow_hunk(hunk: &UndoHunk, after: &str) -> UndoHunk {
    let text = &after[hunk.at..hunk.at + hunk.length];
    let same = |left: &mut dyn Iterator<Item = char>, right: &mut dyn Iterator<Item = char>| -> usize {
        left.zip(right).take_while(|(left, right)| left == right).map(|(c, _)| c.len_utf8()).sum()
    };
    let start = same(&mut text.chars(), &mut hunk.before.chars());
    let (text, before) = (&text[start..], &hunk.before[start..]);
    let end = same(&mut text.chars().rev(), &mut before.chars().rev());
    UndoHunk { at: hunk.at + start, length: text.len() - end, before: before[..before.len() - end].to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn written_text_is_undone_exactly(before in "[ab\r\n가]{0,12}", after in "[ab\r\n가]{0,12}") {
            let changed = RecordedFile::new(BTreeSet::new(), true, &before, &after);
            prop_assert_eq!(changed.undone(&after), Some(before));
            prop_assert_eq!(changed.undone(&format!("{after}x")), None);
        }
    }

    #[test]
    fn record_has_no_text_of_others() {
        let before = "{\n  \"token\": \"secret\"\n}\n";
        let after = "{\n  \"token\": \"secret\",\n  \"ours\": 1\n}\n";
        let changed = RecordedFile::new(BTreeSet::new(), true, before, after);
        assert!(!format!("{changed:?}").contains("secret"), "{changed:?}");
    }

    #[test]
    fn record_round_trips_and_empty_record_is_deleted() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("setup.json");
        let changed = RecordedFile::new([Host::Codex, Host::Cursor].into(), false, "", "x");
        let record = SetupRecord { files: [("AGENTS.md".to_owned(), changed)].into(), folders: vec![".codex".into()] };
        record.write(&path).unwrap();
        assert_eq!(SetupRecord::read(&path), record);
        SetupRecord::default().write(&path).unwrap();
        assert!(!path.exists() && SetupRecord::read(&path) == SetupRecord::default());
    }
}
