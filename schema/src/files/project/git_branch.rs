//! Finds out from git's files alone whether a branch was merged into the one that is checked out.
//!
//! Only git itself knows the history, and starting it takes too long for a search. In doubt a branch counts as merged.

use std::cell::OnceCell;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::files::project::git::{Repository, head_of, repository_of, tip_of};
use crate::files::regular_file;

/// How many bytes at the end of a reflog are read.
const REFLOG_TAIL_BYTES: u64 = 64 * 1024;

/// The longest file that names the default branch of a remote, in bytes.
const REMOTE_HEAD_LIMIT: u64 = 4 * 1024;

/// Branches into which others are merged.
const COMMON_BRANCHES: [&str; 5] = ["main", "master", "trunk", "develop", "dev"];

/// The branch that a directory has checked out, and the repository.
#[derive(Debug)]
pub(crate) struct CheckedOutBranch {
    repository: Repository,
    branch: String,
    merged: OnceCell<MergedCommits>,
}

/// The commits that came to the branch or to a common branch, according to their reflogs.
#[derive(Debug, Default)]
struct MergedCommits {
    commits: Vec<String>,
    messages: Vec<String>,
}

impl CheckedOutBranch {
    /// Returns `None` outside a repository, and if no branch is checked out, such as during a rebase.
    pub(crate) fn read(directory: &Path) -> Option<Self> {
        let branch = head_of(directory).branch?;
        Some(Self { repository: repository_of(directory)?, branch, merged: OnceCell::new() })
    }

    /// Whether a branch exists that was not merged. After a merge, most people delete it.
    pub(crate) fn has_unmerged(&self, branch: &str) -> bool {
        if branch == self.branch || self.is_default(branch) {
            return false;
        }
        let Some(tip) = tip_of(&self.repository, &format!("refs/heads/{branch}")) else { return false };
        let merged = self.merged.get_or_init(|| self.read_merged());
        // Its first entry is the commit from which the branch was made.
        let own = self.read_reflog(&format!("refs/heads/{branch}"));
        let own = own.iter().skip(1).filter_map(|line| line.split(' ').nth(1));
        let contains = |commit: &str| merged.commits.iter().any(|known| known.starts_with(commit));
        !merged.commits.is_empty()
            && !contains(&tip)
            && !own.into_iter().any(contains)
            && !merged.messages.iter().any(|message| says_merged(message, branch))
    }

    fn is_default(&self, branch: &str) -> bool {
        let head = self.repository.common_dir.join("refs/remotes/origin/HEAD");
        COMMON_BRANCHES.contains(&branch)
            || regular_file::read_text(&head, REMOTE_HEAD_LIMIT)
                .is_ok_and(|head| head.trim().strip_prefix("ref: refs/remotes/origin/") == Some(branch))
    }

    fn read_merged(&self) -> MergedCommits {
        let mut merged = MergedCommits::default();
        let others = COMMON_BRANCHES.iter().map(|name| format!("refs/heads/{name}"));
        let current = format!("refs/heads/{}", self.branch);
        for line in others.chain([current]).flat_map(|name| self.read_reflog(&name)) {
            let (head, message) = line.split_once('\t').unwrap_or((&line, ""));
            merged.commits.extend(head.split(' ').nth(1).map(str::to_owned));
            merged.messages.push(message.to_owned());
        }
        merged
    }

    /// Returns the last lines of the reflog of a reference.
    fn read_reflog(&self, reference: &str) -> Vec<String> {
        let path = self.repository.common_dir.join("logs").join(reference);
        let read = || {
            let mut file = regular_file::open(&path)?;
            let start = file.metadata()?.len().saturating_sub(REFLOG_TAIL_BYTES);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(REFLOG_TAIL_BYTES).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(bytes)
        };
        let bytes = read().unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }
}

/// Whether a reflog message says that a branch was merged, such as `merge fix/a: Fast-forward` or `… Merge branch 'fix/a'`.
fn says_merged(message: &str, branch: &str) -> bool {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ':' | ',');
    let is_branch =
        |word: &str| word == branch || word.strip_suffix(branch).is_some_and(|before| before.ends_with('/'));
    let is_merge = message.starts_with("merge ") || message.contains("Merge ");
    is_merge && message.split(is_separator).any(is_branch)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rstest::rstest;

    use super::*;

    /// A line of a reflog from one commit to another. A commit is one digit.
    fn line((from, to, message): &(char, char, &str)) -> String {
        let commit = |digit: &char| digit.to_string().repeat(40);
        format!("{} {} Ann <ann@example.com> 1769563800 +0900\t{message}\n", commit(from), commit(to))
    }

    type Reflog<'l> = &'l [(char, char, &'l str)];

    const MADE: (char, char, &str) = ('0', '1', "branch: Created from main");

    #[rstest]
    #[case::open(&[('0', '1', "commit (initial): a")], &[MADE, ('1', '2', "commit: b")], true)]
    #[case::without_commits(&[('0', '1', "commit (initial): a")], &[MADE], false)]
    #[case::fast_forward(&[('0', '1', "a"), ('1', '2', "pull: Fast-forward")], &[MADE, ('1', '2', "commit: b")], false)]
    #[case::merged(&[('0', '1', "a"), ('1', '3', "merge fix/a: Merge made by the 'ort' strategy.")], &[MADE, ('1', '2', "commit: b")], false)]
    #[case::merged_by_a_service(&[('0', '1', "a"), ('1', '3', "commit: Merge pull request #7 from ann/fix/a")], &[MADE, ('1', '2', "b")], false)]
    #[case::another_merged(&[('0', '1', "a"), ('1', '3', "merge other/fix/ab: Fast-forward")], &[MADE, ('1', '2', "b")], true)]
    #[case::made_on_it(&[('0', '2', "branch: Created from HEAD")], &[MADE, ('1', '2', "commit: b"), ('2', '4', "commit: c")], false)]
    #[case::without_a_log(&[], &[MADE, ('1', '2', "commit: b")], false)]
    fn branch_that_was_never_merged_is_found(
        #[case] current: Reflog<'_>,
        #[case] other: Reflog<'_>,
        #[case] expected: bool,
    ) {
        let root = tempfile::tempdir().unwrap();
        let git = root.path().join(".git");
        let write = |path: &str, text: String| {
            fs::create_dir_all(git.join(path).parent().unwrap()).unwrap();
            fs::write(git.join(path), text).unwrap();
        };
        write("HEAD", "ref: refs/heads/topic\n".to_owned());
        for (name, log) in [("topic", current), ("fix/a", other), ("main", &[][..])] {
            let tip = log.last().map_or('9', |(_, to, _)| *to);
            write(&format!("refs/heads/{name}"), tip.to_string().repeat(40));
            if !log.is_empty() {
                write(&format!("logs/refs/heads/{name}"), log.iter().map(line).collect());
            }
        }
        let checked_out = CheckedOutBranch::read(root.path()).unwrap();
        assert_eq!(checked_out.has_unmerged("fix/a"), expected);
        for merged in ["topic", "main", "deleted", "../fix/a"] {
            assert!(!checked_out.has_unmerged(merged), "{merged}");
        }
        write("HEAD", "1".repeat(40));
        assert!(CheckedOutBranch::read(root.path()).is_none(), "no branch is checked out");
    }
}
