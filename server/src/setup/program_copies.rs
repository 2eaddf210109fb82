//! Copies of our programs for host files, made when `init` runs from a cache that is cleaned up.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tools::error::ToolError;

use super::host_dirs::HostDirs;

/// Programs to copy, each with its destination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProgramCopies(pub(super) Vec<(PathBuf, PathBuf)>);

impl ProgramCopies {
    /// Whether all copies have the content of their originals.
    pub(crate) fn are_made(&self) -> bool {
        self.0.iter().all(|(from, to)| is_same(from, to))
    }

    /// A note for the user before the copies are made.
    pub(crate) fn note(&self, places: &HostDirs) -> Option<String> {
        let folder = self.0.first()?.1.parent()?;
        Some(format!(
            "the programs run from a cache that is cleaned up, so they are copied to {}; run this again after an update",
            places.display_path(folder)
        ))
    }

    /// Makes the copies that are missing or differ.
    pub(crate) fn make(&self) -> Result<(), ToolError> {
        for (from, to) in self.0.iter().filter(|(from, to)| !is_same(from, to)) {
            copy_program(from, to)
                .map_err(|cause| ToolError::Unavailable(format!("cannot write {}: {cause}", to.display())))?;
        }
        Ok(())
    }
}

/// The copies of earlier runs.
pub(crate) fn existing_copies(places: &HostDirs) -> Vec<PathBuf> {
    let folder = places.copies_dir().and_then(|folder| fs::read_dir(folder).ok());
    folder.into_iter().flatten().filter_map(|item| Some(item.ok()?.path())).collect()
}

/// Deletes the copies of earlier runs, and their folders if those are empty.
pub(crate) fn delete_copies(places: &HostDirs) -> Result<(), ToolError> {
    for path in existing_copies(places) {
        fs::remove_file(&path)
            .map_err(|cause| ToolError::Unavailable(format!("cannot delete {}: {cause}", path.display())))?;
    }
    if let Some(folder) = places.copies_dir() {
        // A folder with files of others stays.
        for folder in folder.ancestors().take(2) {
            let _ = fs::remove_dir(folder);
        }
    }
    Ok(())
}

fn is_same(from: &Path, to: &Path) -> bool {
    let size = |path: &Path| fs::metadata(path).map(|found| found.len()).ok();
    size(from).is_some_and(|bytes| size(to) == Some(bytes))
        && matches!((fs::read(from), fs::read(to)), (Ok(left), Ok(right)) if left == right)
}

/// Renames a complete copy, so that a server that runs the old one stays intact.
fn copy_program(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(Path::new("")))?;
    let fresh = to.with_extension("new");
    fs::copy(from, &fresh)?;
    let renamed = fs::rename(&fresh, to);
    if renamed.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_made_updated_and_deleted() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("own");
        let places = HostDirs::for_tests(&own, std::iter::empty());
        let from = root.path().join("cache");
        let copies = ProgramCopies(vec![(from.clone(), own.join("bin/jikime-memory"))]);
        for version in ["first", "later", "later"] {
            fs::write(&from, version).unwrap();
            copies.make().unwrap();
            assert!(copies.are_made());
            assert_eq!(fs::read_to_string(own.join("bin/jikime-memory")).unwrap(), version);
        }
        fs::write(&from, "other").unwrap();
        assert!(!copies.are_made());
        assert_eq!(existing_copies(&places), [own.join("bin/jikime-memory")]);
        delete_copies(&places).unwrap();
        assert!(!own.exists());
    }
}
