//! Reads a repository's git files without starting git.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::files::regular_file;

/// The role of a directory in git.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GitDirKind {
    /// An independent worktree: of a repository, of a submodule, or one whose `.git` is unreadable.
    Root,
    /// A linked worktree, and its main worktree if there is one. A bare repository has no main worktree.
    Linked { main: Option<PathBuf> },
}

/// Returns the role of a directory in git, or `None` if it has no `.git`.
pub(crate) fn git_dir_kind(directory: &Path) -> Option<GitDirKind> {
    let dot_git = directory.join(".git");
    let metadata = fs::metadata(&dot_git).ok()?;
    if metadata.is_dir() {
        // An empty directory named `.git` is not a repository. Every repository has a HEAD.
        return dot_git.join("HEAD").exists().then_some(GitDirKind::Root);
    }
    let linked = read_path(&dot_git, "gitdir:", directory).and_then(|git_dir| linked_worktree(&git_dir));
    Some(linked.unwrap_or(GitDirKind::Root))
}

/// Follows a worktree's git directory to the repository that it shares. Returns `None` for a submodule, which shares none.
fn linked_worktree(git_dir: &Path) -> Option<GitDirKind> {
    let common = read_path(&git_dir.join("commondir"), "", git_dir).or_else(|| worktrees_parent(git_dir))?;
    if !common.is_dir() {
        return None;
    }
    let main = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    Some(GitDirKind::Linked { main: main.filter(|main| main.is_dir()).map(Path::to_owned) })
}

/// Returns `<common>` for `<common>/worktrees/<name>`, if a worktree has no `commondir`.
fn worktrees_parent(git_dir: &Path) -> Option<PathBuf> {
    let worktrees = git_dir.parent().filter(|parent| parent.file_name().is_some_and(|name| name == "worktrees"))?;
    worktrees.parent().map(Path::to_owned)
}

/// The branch and commit that a worktree has checked out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The branch, unless HEAD is detached.
    pub branch: Option<String>,
    /// The beginning of the commit id, or `None` on a branch without commits.
    pub commit: Option<String>,
}

/// The digits of a shortened commit id.
const COMMIT_LENGTH: usize = 12;

/// The maximum size of a file of packed references, in bytes.
const PACKED_REFS_LIMIT: u64 = 1024 * 1024;

/// The git directories of a worktree. Only linked worktrees have two.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The directory with the worktree's own HEAD.
    pub(crate) git_dir: PathBuf,
    /// The directory with references, settings and lists that all worktrees share.
    pub(crate) common_dir: PathBuf,
}

/// Returns the repository of a directory's worktree.
pub(crate) fn repository_of(directory: &Path) -> Option<Repository> {
    let at = directory.ancestors().map(|at| at.join(".git")).find(|at| at.exists())?;
    let git_dir = if at.is_dir() { at } else { read_path(&at, "gitdir:", at.parent()?)? };
    let common_dir = read_path(&git_dir.join("commondir"), "", &git_dir).unwrap_or_else(|| git_dir.clone());
    Some(Repository { git_dir, common_dir })
}

/// Returns the branch and commit of a directory's worktree. Both are `None` outside a repository.
pub fn head_of(directory: &Path) -> Head {
    let Some(repository) = repository_of(directory) else { return Head::default() };
    let Ok(head) = regular_file::read_text(&repository.git_dir.join("HEAD"), SMALL_FILE_LIMIT) else {
        return Head::default();
    };
    let head = head.trim();
    let Some(reference) = head.strip_prefix("ref: ").map(str::trim) else {
        return Head { branch: None, commit: commit(head) };
    };
    let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
    Head { branch, commit: tip_of(&repository, reference) }
}

/// Returns the beginning of the commit id that a reference names.
pub(crate) fn tip_of(Repository { common_dir, .. }: &Repository, reference: &str) -> Option<String> {
    // A reference must not lead out of the repository.
    let is_plain = !reference.split('/').any(|part| part.is_empty() || part == "..");
    let loose = is_plain.then(|| regular_file::read_text(&common_dir.join(reference), SMALL_FILE_LIMIT).ok()).flatten();
    let packed = || {
        let text = regular_file::read_text(&common_dir.join("packed-refs"), PACKED_REFS_LIMIT).ok()?;
        text.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' ').and_then(commit))
    };
    loose.and_then(|text| commit(text.trim())).or_else(packed)
}

fn commit(text: &str) -> Option<String> {
    let is_id = text.len() >= COMMIT_LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text[..COMMIT_LENGTH].to_owned())
}

/// The maximum size of a git file that contains one path, in bytes.
const SMALL_FILE_LIMIT: u64 = 64 * 1024;

/// Reads the path after `prefix` in the first line of a small file, relative to `base`.
fn read_path(file: &Path, prefix: &str, base: &Path) -> Option<PathBuf> {
    let text = regular_file::read_text(file, SMALL_FILE_LIMIT).ok()?;
    let path = text.lines().next()?.strip_prefix(prefix)?.trim();
    (!path.is_empty()).then(|| normalize(&base.join(path)))
}

/// Resolves `.` and `..` in an absolute path lexically, so that its links stay as the user named them.
///
/// If a `..` follows a link, the lexical result differs from that of the file system, and the path is not changed.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut tidied = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if tidied.is_symlink() => return path.to_owned(),
            Component::ParentDir => {
                tidied.pop();
            }
            component => tidied.push(component),
        }
    }
    tidied
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn head(branch: Option<&str>, commit: Option<&str>) -> Head {
        Head { branch: branch.map(str::to_owned), commit: commit.map(str::to_owned) }
    }

    #[test]
    fn head_is_read_from_loose_and_packed_references() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join(".git");
        let inner = root.path().join("src");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(head_of(&inner), Head::default());
        write(&git.join("HEAD"), "ref: refs/heads/feature/a\n");
        assert_eq!(head_of(&inner), head(Some("feature/a"), None), "a new branch");
        write(
            &git.join("packed-refs"),
            &format!("# pack-refs\n{ID} refs/heads/other/feature/a\n{ID} refs/heads/feature/a\n"),
        );
        assert_eq!(head_of(&inner), head(Some("feature/a"), Some("0123456789ab")));
        write(&git.join("refs/heads/feature/a"), &format!("f{}\n", &ID[1..]));
        assert_eq!(head_of(&inner), head(Some("feature/a"), Some("f123456789ab")));
        write(&git.join("HEAD"), ID);
        assert_eq!(head_of(&inner), head(None, Some("0123456789ab")));
    }

    #[test]
    fn head_of_a_linked_worktree_is_its_own() {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join("main/.git");
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        write(&git.join("refs/heads/fix"), ID);
        write(&git.join("worktrees/fix/HEAD"), "ref: refs/heads/fix\n");
        write(&git.join("worktrees/fix/commondir"), "../..\n");
        let worktree = root.path().join("fix");
        write(&worktree.join(".git"), &format!("gitdir: {}\n", git.join("worktrees/fix").display()));
        assert_eq!(head_of(&worktree), head(Some("fix"), Some("0123456789ab")));
    }

    #[test]
    fn reference_outside_the_repository_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("id"), ID);
        write(&root.path().join(".git/HEAD"), "ref: ../id\n");
        assert_eq!(head_of(root.path()), head(None, None));
    }
}
