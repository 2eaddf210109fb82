//! Changes several files, all or none.

use std::io;
use std::path::{Path, PathBuf};

use tools::error::ToolError;

use super::settings_file;

/// A planned change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    /// The path for messages.
    pub(crate) display_path: String,
    pub(super) real_path: PathBuf,
    /// What our part of the file is, for people.
    pub(crate) about: String,
    /// `None` if the file does not exist.
    pub(crate) before: Option<String>,
    /// `None` deletes the file.
    pub(crate) after: Option<String>,
}

impl FileChange {
    pub(crate) fn is_unchanged(&self) -> bool {
        self.before == self.after
    }

    /// A change for tests of the output.
    #[cfg(test)]
    pub(crate) fn example(path: &str, about: &str, before: Option<&str>, after: Option<&str>) -> Self {
        Self {
            display_path: path.to_owned(),
            real_path: PathBuf::new(),
            about: about.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        }
    }

    pub(crate) fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "changed",
        }
    }
}

/// Makes all changes, or none if one fails. Returns the folders that it created.
pub(super) fn apply_all(changes: &[FileChange]) -> Result<Vec<PathBuf>, ToolError> {
    let mut folders = Vec::new();
    for (done, change) in changes.iter().enumerate() {
        match apply_change(&change.real_path, change.before.as_deref(), change.after.as_deref()) {
            Ok(made) => folders.extend(made),
            Err(cause) => {
                let text = format!("cannot write {}: {cause}", change.display_path);
                let left = revert_changes(&changes[..done], &folders);
                let rest =
                    if left.is_empty() { "nothing was changed".to_owned() } else { format!("left changed: {left}") };
                return Err(ToolError::Unavailable(format!("{text}; {rest}")));
            }
        }
    }
    Ok(folders)
}

fn apply_change(real: &Path, before: Option<&str>, after: Option<&str>) -> io::Result<Vec<PathBuf>> {
    if before == after { Ok(Vec::new()) } else { settings_file::change_file(real, before, after) }
}

/// Reverts changes in reverse order. Returns the files that could not be reverted.
fn revert_changes(done: &[FileChange], folders: &[PathBuf]) -> String {
    let failed = done
        .iter()
        .rev()
        .filter(|change| apply_change(&change.real_path, change.after.as_deref(), change.before.as_deref()).is_err());
    let failed = failed.map(|change| change.display_path.clone()).collect::<Vec<_>>().join(", ");
    remove_empty_folders(folders);
    failed
}

/// Removes empty folders, innermost first. Returns the others.
pub(super) fn remove_empty_folders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut left: Vec<PathBuf> = folders
        .iter()
        .rev()
        .filter(|folder| std::fs::remove_dir(folder).is_err() && folder.exists())
        .cloned()
        .collect();
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn failed_change_reverts_the_others() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::write(path("old"), "old").unwrap();
        fs::write(path("other"), "edited meanwhile").unwrap();
        let change = |name: &str, before: Option<&str>, after: Option<&str>| FileChange {
            display_path: name.to_owned(),
            real_path: path(name),
            about: String::new(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let changes = [
            change("old", Some("old"), Some("new")),
            change("folder/new", None, Some("new")),
            change("other", Some("other"), Some("new")),
        ];
        let error = apply_all(&changes).unwrap_err().to_string();
        assert!(
            error.contains("cannot write other: another program changed it meanwhile") && error.contains("nothing was"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(path("old")).unwrap(), "old");
        assert!(!path("folder").exists());
        assert_eq!(apply_all(&changes[..2]).unwrap(), [path("folder")]);
        assert_eq!(fs::read_to_string(path("folder/new")).unwrap(), "new");
    }
}
