//! Finds out which files git ignores.

use std::path::{Path, PathBuf};

use crate::files::regular_file;
use crate::privacy::exclude::{ExcludeList, normalize};

/// The longest list that is read, in bytes.
const LIST_LIMIT: u64 = 64 * 1024;

/// Whether git ignores a file of the project, according to `.gitignore` in its folder or one above, or to `.git/info/exclude`.
pub(in crate::host::hook) fn is_ignored(file: &Path, project: &Path) -> bool {
    let (file, project) = (normalize(file), normalize(project));
    let Ok(inside) = file.strip_prefix(&project) else { return false };
    let mut folders: Vec<PathBuf> = inside.ancestors().skip(1).map(|folder| project.join(folder)).collect();
    // The list nearest to the file decides.
    folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    for folder in folders {
        if let Some(ignores) = decision(&folder.join(".gitignore"), &file, &folder) {
            return ignores;
        }
    }
    decision(&project.join(".git/info/exclude"), &file, &project).unwrap_or(false)
}

/// Returns what a list decides about a file, if it has a matching line.
fn decision(list: &Path, file: &Path, folder: &Path) -> Option<bool> {
    let bytes = regular_file::read(list, LIST_LIMIT).ok()?;
    let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    // Lines that are not globs are skipped.
    let (globs, _) = ExcludeList::new(&lines);
    globs.decision(file, folder)
}
