//! Where a project is set up: where its store lies, and where the files of its hosts do.

use std::path::{Path, PathBuf};

/// The two places, which are one but in a linked git worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Site {
    /// The project, in which the store lies.
    pub(crate) project: PathBuf,
    /// Where hosts look for their files: a worktree has its own, and shares the store with the main one.
    pub(crate) files: PathBuf,
}

impl Site {
    /// Everything in one place.
    pub(crate) fn at(project: &Path) -> Self {
        Self { project: project.to_owned(), files: project.to_owned() }
    }

    /// Whether the files lie in a worktree that shares the memory of another one.
    pub(crate) fn is_linked(&self) -> bool {
        self.project != self.files
    }
}
