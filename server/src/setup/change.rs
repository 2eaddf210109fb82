//! Changes of several files that are made all or not at all.

use std::io;
use std::path::{Path, PathBuf};

use tools::error::ToolError;

use super::file;

/// What a file is to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// As people write its path.
    pub(crate) shown: String,
    pub(super) real: PathBuf,
    /// `None`: there is no file.
    pub(crate) before: Option<String>,
    /// `None`: there will be none.
    pub(crate) after: Option<String>,
}

impl Change {
    pub(crate) fn is_none(&self) -> bool {
        self.before == self.after
    }

    /// In a word.
    pub(crate) fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (before, after) if before == after => "unchanged",
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "changed",
        }
    }
}

/// Makes all changes, or none where one fails. Answers the folders that had to be made.
pub(super) fn make(changes: &[Change]) -> Result<Vec<PathBuf>, ToolError> {
    let mut folders = Vec::new();
    for (done, change) in changes.iter().enumerate() {
        match apply(&change.real, change.before.as_deref(), change.after.as_deref()) {
            Ok(made) => folders.extend(made),
            Err(cause) => {
                let text = format!("cannot write {}: {cause}", change.shown);
                let left = take_back(&changes[..done], &folders);
                let rest =
                    if left.is_empty() { "nothing was changed".to_owned() } else { format!("left changed: {left}") };
                return Err(ToolError::Unavailable(format!("{text}; {rest}")));
            }
        }
    }
    Ok(folders)
}

fn apply(real: &Path, before: Option<&str>, after: Option<&str>) -> io::Result<Vec<PathBuf>> {
    if before == after { Ok(Vec::new()) } else { file::change(real, before, after) }
}

/// Takes changes back, the last first, and answers the files where that failed.
fn take_back(done: &[Change], folders: &[PathBuf]) -> String {
    let failed = done
        .iter()
        .rev()
        .filter(|change| apply(&change.real, change.after.as_deref(), change.before.as_deref()).is_err());
    let failed = failed.map(|change| change.shown.clone()).collect::<Vec<_>>().join(", ");
    remove_empty(folders);
    failed
}

/// Removes those of the folders that are empty, inner ones first, and answers which are left.
pub(super) fn remove_empty(folders: &[PathBuf]) -> Vec<PathBuf> {
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
    fn where_one_change_fails_none_is_made() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::write(path("old"), "old").unwrap();
        fs::write(path("other"), "edited meanwhile").unwrap();
        let change = |name: &str, before: Option<&str>, after: Option<&str>| Change {
            shown: name.to_owned(),
            real: path(name),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let changes = [
            change("old", Some("old"), Some("new")),
            change("folder/new", None, Some("new")),
            change("other", Some("other"), Some("new")),
        ];
        let error = make(&changes).unwrap_err().to_string();
        assert!(
            error.contains("cannot write other: it was changed meanwhile") && error.contains("nothing was"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(path("old")).unwrap(), "old");
        assert!(!path("folder").exists());
        assert_eq!(make(&changes[..2]).unwrap(), [path("folder")]);
        assert_eq!(fs::read_to_string(path("folder/new")).unwrap(), "new");
    }
}
