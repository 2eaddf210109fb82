//! The directories of a project: the one with the store, the one with the files of hosts, and which files git tracks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Both directories are the same, except in a linked git worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectDirs {
    /// The directory with the store.
    pub(crate) project: PathBuf,
    /// The directory with host files. Each worktree has its own files and shares the store of the main worktree.
    pub(crate) files: PathBuf,
}

impl ProjectDirs {
    pub(crate) fn for_project(project: &Path) -> Self {
        Self { project: project.to_owned(), files: project.to_owned() }
    }

    /// Whether this worktree shares the memory of another one.
    pub(crate) fn is_linked_worktree(&self) -> bool {
        self.project != self.files
    }
}

/// Whether git tracks a file: then it is part of what people share, and not ours to delete. Where nobody can tell, it counts as that.
pub(super) fn is_tracked(file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return true };
    let Some(git) = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists()) else { return false };
    if git.is_dir() && !git.join("index").exists() {
        // Nothing was ever added.
        return false;
    }
    let mut command = Command::new("git");
    // These variables could name another repository, and fsmonitor could start a program of the repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.current_dir(folder).args(["-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--"]).arg(name);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map_or(true, |status| status.code() != Some(1))
}
