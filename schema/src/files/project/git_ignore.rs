//! Finds out which files git ignores, with git's own matching (`gix-ignore`) and without starting git.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gix_ignore::glob::Pattern;
use gix_ignore::glob::pattern::Case;
use gix_ignore::glob::wildmatch::Mode;
use unicode_normalization::UnicodeNormalization as _;

use crate::files::project::git::{git_dir_kind, repository_of};
use crate::files::project::git_settings::GitSettings;
use crate::files::regular_file;

/// The longest list that is read, in bytes. Everything below a longer one counts as ignored.
const LIST_LIMIT: u64 = 4 * 1024 * 1024;

/// Whether git ignores a file, given by its absolute path without `.` and `..`. Outside a repository, the lists in `project` decide.
///
/// In doubt it does: if a list cannot be read, or if the path matches only in another case. A tracked file counts as ignored if a list names
/// it, because the index of git is not read.
pub(crate) fn is_ignored(file: &Path, project: &Path, settings: &GitSettings) -> bool {
    let folders = file.ancestors().skip(1);
    let repository = folders.clone().find(|folder| git_dir_kind(folder).is_some());
    let Some(root) = repository.or_else(|| file.starts_with(project).then_some(project)) else { return false };
    // The list nearest to the file decides.
    let in_folders = folders.take_while(|folder| folder.starts_with(root));
    let in_folders = in_folders.map(|folder| IgnoreList::read(&folder.join(".gitignore"), folder));
    let for_all = repository.map(|root| lists_for_all(root, settings)).unwrap_or_default();
    let for_all = for_all.iter().map(|list| IgnoreList::read(list, root));
    let Ok(lists) = in_folders.chain(for_all).collect::<Result<Vec<_>, _>>() else { return true };
    [Case::Sensitive, Case::Fold].into_iter().any(|case| matches_a_list(file, root, &lists, case))
}

/// Returns the lists that apply to all files of a worktree.
fn lists_for_all(root: &Path, settings: &GitSettings) -> Vec<PathBuf> {
    let Some(repository) = repository_of(root) else { return Vec::new() };
    let own = [repository.common_dir.join("config"), repository.git_dir.join("config.worktree")];
    let mut lists = vec![repository.common_dir.join("info/exclude")];
    lists.extend(settings.ignore_lists(root, own));
    lists
}

/// Whether the lists ignore a file or a folder above it. Nothing in an ignored folder can be included again.
fn matches_a_list(file: &Path, root: &Path, lists: &[IgnoreList], case: Case) -> bool {
    let above: Vec<&Path> = file.ancestors().take_while(|path| path.starts_with(root) && *path != root).collect();
    above.into_iter().rev().any(|path| {
        let is_folder = path != file;
        lists.iter().find_map(|list| list.decision(path, is_folder, case)).unwrap_or(false)
    })
}

/// A list and the folder that it applies to.
struct IgnoreList {
    folder: PathBuf,
    patterns: Vec<Pattern>,
}

impl IgnoreList {
    /// Reads a list. A missing one is empty.
    fn read(path: &Path, folder: &Path) -> io::Result<Self> {
        let bytes = match regular_file::read(path, LIST_LIMIT) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Vec::new(),
            read => read?,
        };
        let text = composed(&String::from_utf8_lossy(&bytes));
        // Some versions of git skip a list that is a link, so it must not include a file again.
        let is_link = !bytes.is_empty() && fs::symlink_metadata(path)?.is_symlink();
        let patterns = gix_ignore::parse(text.as_bytes(), false).map(|(pattern, ..)| pattern);
        let patterns = patterns.filter(|pattern| !(is_link && pattern.is_negative())).collect();
        Ok(Self { folder: folder.to_owned(), patterns })
    }

    /// Returns what the last matching line decides, or `None` if no line matches.
    fn decision(&self, path: &Path, is_folder: bool, case: Case) -> Option<bool> {
        let relative = path.strip_prefix(&self.folder).ok().filter(|relative| !relative.as_os_str().is_empty())?;
        let relative = composed(&relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"));
        let name = relative.rfind('/').map(|slash| slash + 1);
        let matches = |pattern: &&Pattern| {
            let mode = Mode::NO_MATCH_SLASH_LITERAL;
            pattern.matches_repo_relative_path(relative.as_bytes().into(), name, Some(is_folder), case, mode)
        };
        self.patterns.iter().rev().find(matches).map(|pattern| !pattern.is_negative())
    }
}

/// Some file systems store names decomposed.
fn composed(text: &str) -> String {
    // ASCII text has one form, and a hook should start fast.
    if text.is_ascii() { text.to_owned() } else { text.nfc().collect() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn write(path: &Path, text: impl AsRef<[u8]>) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn repository(root: &Path) {
        write(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    }

    fn ignored(file: &Path, project: &Path) -> bool {
        is_ignored(file, project, &GitSettings::default())
    }

    #[rstest]
    #[case::root("/out/\n", "out/a.txt", true)]
    #[case::below("*.log", "src/deep/x.log", true)]
    #[case::included_again("*.log\n!keep.log", "keep.log", false)]
    #[case::below_an_ignored_folder("secrets/\n!secrets/a.toml", "secrets/a.toml", true)]
    #[case::other("*.log", "src/a.rs", false)]
    #[case::file_is_no_folder("out/", "out", false)]
    #[case::stars_at_the_end("local**\n", "local.toml", true)]
    #[case::stars_in_a_name("conf/**.toml", "conf/local.toml", true)]
    #[case::stars_between("a/**/b.toml", "a/x/y/b.toml", true)]
    #[case::escaped_space("my\\ local.toml", "my local.toml", true)]
    #[case::escaped_mark("\\!local.toml", "!local.toml", true)]
    #[case::brackets("local.tom[l-l]", "local.toml", true)]
    #[case::line_ends("local.toml\r\n", "local.toml", true)]
    #[case::byte_order_mark("\u{feff}local.toml\n", "local.toml", true)]
    #[case::other_case("Local.toml", "local.toml", true)]
    #[case::decomposed("설정.toml", "\u{1109}\u{1165}\u{11af}\u{110c}\u{1165}\u{11bc}.toml", true)]
    fn files_are_ignored_as_by_git(#[case] list: &str, #[case] file: &str, #[case] expected: bool) {
        let project = tempfile::tempdir().unwrap();
        write(&project.path().join(".gitignore"), list);
        assert_eq!(ignored(&project.path().join(file), project.path()), expected);
        repository(project.path());
        assert_eq!(ignored(&project.path().join(file), project.path()), expected);
    }

    #[test]
    fn long_list_is_read_and_unreadable_one_hides_all() {
        let project = tempfile::tempdir().unwrap();
        let list = project.path().join(".gitignore");
        write(&list, "# comment\n".repeat(20_000) + "local.toml\n");
        assert!(ignored(&project.path().join("local.toml"), project.path()));
        assert!(!ignored(&project.path().join("a.rs"), project.path()));
        fs::File::create(&list).unwrap().set_len(LIST_LIMIT + 1).unwrap();
        assert!(ignored(&project.path().join("a.rs"), project.path()));
    }

    #[test]
    fn nearest_list_decides() {
        let project = tempfile::tempdir().unwrap();
        let inner = project.path().join("src/inner");
        write(&project.path().join(".gitignore"), "*.gen");
        write(&inner.join(".gitignore"), "!a.gen");
        assert!(!ignored(&inner.join("a.gen"), project.path()));
        assert!(ignored(&inner.join("b.gen"), project.path()));
        assert!(!ignored(Path::new("/elsewhere/b.gen"), project.path()));
    }

    #[test]
    fn lists_above_the_project_and_of_the_repository_decide() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("r");
        repository(&root);
        write(&root.join(".gitignore"), "above.toml");
        write(&root.join(".git/info/exclude"), "excluded.toml");
        for name in ["above.toml", "excluded.toml"] {
            assert!(ignored(&root.join("app").join(name), &root.join("app")), "{name}");
            assert!(ignored(&root.join("app").join(name), Path::new("/elsewhere")), "{name}");
        }
        repository(&root.join("app/inner"));
        assert!(!ignored(&root.join("app/inner/above.toml"), &root), "another repository");
    }

    #[test]
    fn linked_worktree_uses_its_own_lists_and_the_shared_one() {
        let home = tempfile::tempdir().unwrap();
        let (main, linked) = (home.path().join("main"), home.path().join("linked"));
        repository(&main);
        write(&main.join(".git/info/exclude"), "excluded.toml");
        write(&main.join(".git/worktrees/linked/HEAD"), "ref: refs/heads/fix\n");
        write(&main.join(".git/worktrees/linked/commondir"), "../..\n");
        write(&linked.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/linked").display()));
        write(&linked.join(".gitignore"), "local.toml");
        for (name, expected) in [("local.toml", true), ("excluded.toml", true), ("a.rs", false)] {
            assert_eq!(ignored(&linked.join(name), &main), expected, "{name}");
        }
    }

    #[test]
    fn lists_of_the_user_decide() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("r");
        repository(&root);
        write(&home.path().join("settings/ignore"), "usual.toml");
        write(&home.path().join(".gitconfig"), "[core]\nexcludesFile = ~/list\n");
        write(&home.path().join("list"), "named.toml");
        write(&root.join(".git/config"), format!("[core]\nexcludesFile = {}\n", home.path().join("own").display()));
        write(&home.path().join("own"), "own.toml");
        let settings = GitSettings {
            home: Some(home.path().to_owned()),
            directory: Some(home.path().join("settings")),
            files: vec![home.path().join(".gitconfig")],
        };
        for (name, expected) in [("usual.toml", true), ("named.toml", true), ("own.toml", true), ("a.rs", false)] {
            assert_eq!(is_ignored(&root.join(name), &root, &settings), expected, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn linked_list_only_hides() {
        let project = tempfile::tempdir().unwrap();
        write(&project.path().join(".gitignore"), "a.toml\n");
        write(&project.path().join("list"), "!a.toml\nb.toml\n");
        fs::create_dir(project.path().join("in")).unwrap();
        std::os::unix::fs::symlink("../list", project.path().join("in/.gitignore")).unwrap();
        for name in ["a.toml", "b.toml"] {
            assert!(ignored(&project.path().join("in").join(name), project.path()), "{name}");
        }
    }
}
