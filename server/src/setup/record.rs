//! What is written down of a set-up, so that it can be taken back byte for byte: which files were there before, and what of each is
//! ours. It holds no text of others but what ours replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use schema::memory::content_hash;
use schema::own_file::{self, private_file};
use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::host::Host;

/// The record of one project, or of one user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Record {
    /// By their paths, relative to the project where they lie in it.
    pub(super) files: BTreeMap<String, Changed>,
    /// Folders that had to be made, outer ones first.
    pub(super) folders: Vec<PathBuf>,
}

/// One file that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Changed {
    /// For whom.
    pub(super) hosts: BTreeSet<Host>,
    /// Whether it held anything of anybody's before.
    pub(super) existed: bool,
    /// The hash of the text that was written. Another text was written by somebody else.
    hash: String,
    undo: Vec<Hunk>,
}

/// A place in the text that was written: `length` bytes from `at` on were `before`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Hunk {
    at: usize,
    length: usize,
    before: String,
}

impl Changed {
    pub(super) fn new(hosts: BTreeSet<Host>, existed: bool, before: &str, after: &str) -> Self {
        Self { hosts, existed, hash: content_hash(after), undo: hunks(before, after) }
    }

    /// The text as it was before, when `text` is what was written.
    pub(super) fn undo(&self, text: &str) -> Option<String> {
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

impl Record {
    /// The record at `path`. One that cannot be read is as good as none: what is ours is then told by what it says.
    pub(super) fn read(path: &Path) -> Self {
        own_file::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Writes it, or removes the file when there is nothing to write down.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        if self.files.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let beside = path.with_extension("json.new");
        let mut file = private_file().create(true).truncate(true).open(&beside)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    }
}

/// Where `after` differs from `before`, as narrow as lines and their ends allow.
fn hunks(before: &str, after: &str) -> Vec<Hunk> {
    let lines = |text: &'_ str| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let bytes = |lines: &[String]| lines.iter().map(String::len).sum::<usize>();
    let mut hunks: Vec<Hunk> = Vec::new();
    for operation in capture_diff_slices(Algorithm::Patience, &old, &new) {
        if operation.tag() == DiffTag::Equal {
            continue;
        }
        let (at, length) = (bytes(&new[..operation.new_range().start]), bytes(&new[operation.new_range()]));
        let text = old[operation.old_range()].concat();
        match hunks.last_mut().filter(|last| last.at + last.length == at) {
            Some(last) => {
                last.length += length;
                last.before.push_str(&text);
            }
            None => hunks.push(Hunk { at, length, before: text }),
        }
    }
    hunks.iter().map(|hunk| narrowed(hunk, after)).collect()
}

/// Without what both texts begin and end with, which may be a secret of somebody's.
fn narrowed(hunk: &Hunk, after: &str) -> Hunk {
    let text = &after[hunk.at..hunk.at + hunk.length];
    let same = |left: &mut dyn Iterator<Item = char>, right: &mut dyn Iterator<Item = char>| -> usize {
        left.zip(right).take_while(|(left, right)| left == right).map(|(c, _)| c.len_utf8()).sum()
    };
    let start = same(&mut text.chars(), &mut hunk.before.chars());
    let (text, before) = (&text[start..], &hunk.before[start..]);
    let end = same(&mut text.chars().rev(), &mut before.chars().rev());
    Hunk { at: hunk.at + start, length: text.len() - end, before: before[..before.len() - end].to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_written_is_undone_exactly(before in "[ab\r\n가]{0,12}", after in "[ab\r\n가]{0,12}") {
            let changed = Changed::new(BTreeSet::new(), true, &before, &after);
            prop_assert_eq!(changed.undo(&after), Some(before));
            prop_assert_eq!(changed.undo(&format!("{after}x")), None);
        }
    }

    #[test]
    fn no_text_of_others_is_written_down() {
        let before = "{\n  \"token\": \"secret\"\n}\n";
        let after = "{\n  \"token\": \"secret\",\n  \"ours\": 1\n}\n";
        let changed = Changed::new(BTreeSet::new(), true, before, after);
        assert!(!format!("{changed:?}").contains("secret"), "{changed:?}");
    }

    #[test]
    fn a_record_comes_back_and_one_that_says_nothing_goes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("setup.json");
        let changed = Changed::new([Host::Codex, Host::Cursor].into(), false, "", "x");
        let record = Record { files: [("AGENTS.md".to_owned(), changed)].into(), folders: vec![".codex".into()] };
        record.write(&path).unwrap();
        assert_eq!(Record::read(&path), record);
        Record::default().write(&path).unwrap();
        assert!(!path.exists() && Record::read(&path) == Record::default());
    }
}
