//! What git's files say about a directory, without starting git.

use std::fs;
use std::path::{Path, PathBuf};

use super::tidy;
use crate::regular_file;

/// What a directory is to git.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A worktree that stands for itself: of a repository or of a submodule, or one whose `.git` cannot be read.
    Root,
    /// A linked worktree, and the main one when the repository has one (a bare repository has none).
    Linked { main: Option<PathBuf> },
}

/// What a directory is to git, `None` when it holds no `.git`.
pub(crate) fn kind_of(directory: &Path) -> Option<Kind> {
    let dot_git = directory.join(".git");
    let metadata = fs::metadata(&dot_git).ok()?;
    if metadata.is_dir() {
        // An empty folder of that name is no repository; every repository has a HEAD.
        return dot_git.join("HEAD").exists().then_some(Kind::Root);
    }
    let linked = read_path(&dot_git, "gitdir:", directory).and_then(|git_dir| linked_worktree(&git_dir));
    Some(linked.unwrap_or(Kind::Root))
}

/// Follows the git directory of a worktree to the repository it shares; a submodule shares none.
fn linked_worktree(git_dir: &Path) -> Option<Kind> {
    let common = read_path(&git_dir.join("commondir"), "", git_dir).or_else(|| parent_of_worktrees(git_dir))?;
    if !common.is_dir() {
        return None;
    }
    let main = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    Some(Kind::Linked { main: main.filter(|main| main.is_dir()).map(Path::to_owned) })
}

/// `<common>` of `<common>/worktrees/<name>`, for a worktree whose `commondir` is missing.
fn parent_of_worktrees(git_dir: &Path) -> Option<PathBuf> {
    let worktrees = git_dir.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "worktrees"))?;
    worktrees.parent().map(Path::to_owned)
}

/// Bytes of a file of git that holds one path.
const LIMIT: u64 = 64 * 1024;

/// The path that the first line of a small file holds behind a prefix, relative to a base.
fn read_path(file: &Path, prefix: &str, base: &Path) -> Option<PathBuf> {
    let text = regular_file::read_text(file, LIMIT).ok()?;
    let path = text.lines().next()?.strip_prefix(prefix)?.trim();
    (!path.is_empty()).then(|| tidy(&base.join(path)))
}
