//! Tests each rule of the resolver in its own directory tree.

use std::fs;

use rstest::rstest;
use tempfile::TempDir;

use super::*;

/// A directory tree with `home/` and the entries of a test case. Paths are relative to the top of the tree.
struct ProjectTree {
    top: TempDir,
}

impl ProjectTree {
    /// Creates the entries: `name/` is a directory, `name: text` a file, and `{top}` stands for the path of the tree.
    fn new(entries: &[&str]) -> Self {
        let sandbox = Self { top: TempDir::new().unwrap() };
        fs::create_dir_all(sandbox.path("home")).unwrap();
        for entry in entries {
            match entry.split_once(": ") {
                Some((file, text)) => sandbox.write(file, text),
                None if entry.ends_with(".git/") => sandbox.write(&format!("{entry}HEAD"), "ref: refs/heads/main"),
                None => fs::create_dir_all(sandbox.path(entry)).unwrap(),
            }
        }
        sandbox
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.path(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let top = self.top.path().display().to_string();
        fs::write(file, format!("{}\n", text.replace("{top}", &top))).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        normalize(&self.top.path().join(path))
    }

    fn context(&self, start: &str) -> ProjectContext {
        ProjectContext {
            working_directory: self.path(start),
            home: Some(self.path("home")),
            ..ProjectContext::default()
        }
    }

    fn check(&self, request: &ProjectContext, expected: &str, reason: ProjectReason) {
        let expected = Project { root: self.path(expected), reason };
        assert_eq!(resolve(request).unwrap(), expected);
    }
}

#[rstest]
#[case::nothing_above(&["w/a/b/"], "w/a/b", "w/a/b", ProjectReason::Start)]
#[case::store_here(&["w/a/.jikime/"], "w/a", "w/a", ProjectReason::Store)]
#[case::store_above(&["w/.jikime/", "w/a/b/"], "w/a/b", "w", ProjectReason::Store)]
#[case::nearest_store(&["w/.jikime/", "w/a/.jikime/", "w/a/b/"], "w/a/b", "w/a", ProjectReason::Store)]
#[case::git_root(&["w/.git/", "w/a/b/"], "w/a/b", "w", ProjectReason::GitRoot)]
#[case::store_below_the_git_root(&["w/.git/", "w/a/.jikime/", "w/a/b/"], "w/a/b", "w/a", ProjectReason::Store)]
#[case::store_in_the_git_root(&["w/.git/", "w/.jikime/", "w/a/"], "w/a", "w", ProjectReason::Store)]
#[case::store_above_the_git_root(&["w/.jikime/", "w/a/.git/", "w/a/b/"], "w/a/b", "w/a", ProjectReason::GitRoot)]
#[case::store_that_is_a_file(&["w/.git/", "w/a/.jikime: text"], "w/a", "w", ProjectReason::GitRoot)]
#[case::empty_git_folder(&["w/.git/", "w/a/b/", "w/a/.git/x/"], "w/a/b", "w", ProjectReason::GitRoot)]
#[case::in_home(&["home/a/b/"], "home/a/b", "home/a/b", ProjectReason::Start)]
#[case::repository_in_home(&["home/a/.git/", "home/a/b/"], "home/a/b", "home/a", ProjectReason::GitRoot)]
#[case::store_of_home(&["home/.jikime/", "home/a/b/"], "home/a/b", "home/a/b", ProjectReason::Start)]
#[case::repository_of_home(&["home/.git/", "home/a/b/"], "home/a/b", "home/a/b", ProjectReason::Start)]
#[case::repository_above_home(&[".git/", "home/a/b/"], "home/a/b", "home/a/b", ProjectReason::Start)]
#[case::store_above_both(&[".jikime/", "w/a/"], "w/a", "w/a", ProjectReason::Start)]
fn nearest_store_wins_over_git_root_and_start(
    #[case] entries: &[&str],
    #[case] start: &str,
    #[case] expected: &str,
    #[case] reason: ProjectReason,
) {
    let sandbox = ProjectTree::new(entries);
    sandbox.check(&sandbox.context(start), expected, reason);
}

#[rstest]
#[case::absolute(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: {top}/m/.git/worktrees/l", "l/a/"],
    "l/a", "m", ProjectReason::Worktree
)]
#[case::relative(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/worktrees/l"],
    "l", "m", ProjectReason::Worktree
)]
#[case::without_commondir(&["m/.git/", "m/.git/worktrees/l/", "l/.git: gitdir: ../m/.git/worktrees/l"], "l", "m", ProjectReason::Worktree)]
#[case::inside_the_main_one(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "m/.worktrees/l/.git: gitdir: {top}/m/.git/worktrees/l"],
    "m/.worktrees/l", "m", ProjectReason::Worktree
)]
#[case::main_one_with_a_store(
    &["m/.git/", "m/.jikime/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/worktrees/l"],
    "l", "m", ProjectReason::Worktree
)]
#[case::settings_but_no_store_of_its_own(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/worktrees/l", "l/.jikime/"],
    "l", "m", ProjectReason::Worktree
)]
#[case::store_of_its_own(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/worktrees/l", "l/.jikime/memory/track/"],
    "l", "l", ProjectReason::Store
)]
#[case::files_of_a_team_but_no_store_of_its_own(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/worktrees/l", "l/.jikime/memory/team/"],
    "l", "m", ProjectReason::Worktree
)]
#[case::store_in_a_folder_of_the_linked_one(
    &["m/.git/", "m/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/worktrees/l", "l/a/.jikime/"],
    "l/a", "l/a", ProjectReason::Store
)]
#[case::bare_repository(
    &["r.git/HEAD: x", "r.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../r.git/worktrees/l"],
    "l", "l", ProjectReason::GitRoot
)]
#[case::submodule(&["m/.git/", "m/.git/modules/s/HEAD: x", "m/s/.git: gitdir: ../.git/modules/s", "m/s/a/"], "m/s/a", "m/s", ProjectReason::GitRoot)]
#[case::worktree_of_a_submodule(
    &["m/.git/modules/s/worktrees/l/commondir: ../..", "l/.git: gitdir: ../m/.git/modules/s/worktrees/l"],
    "l", "l", ProjectReason::GitRoot
)]
#[case::main_worktree_gone(&["l/.git: gitdir: ../m/.git/worktrees/l", "l/a/"], "l/a", "l", ProjectReason::GitRoot)]
#[case::main_worktree_is_home(
    &["home/.git/", "home/.git/worktrees/l/commondir: ../..", "l/.git: gitdir: ../home/.git/worktrees/l"],
    "l", "l", ProjectReason::GitRoot
)]
#[case::git_file_of_something_else(&["l/.git: hello", "l/a/"], "l/a", "l", ProjectReason::GitRoot)]
#[case::git_file_without_a_path(&["l/.git: gitdir:", "l/a/"], "l/a", "l", ProjectReason::GitRoot)]
fn linked_worktree_uses_the_store_of_its_main_worktree(
    #[case] entries: &[&str],
    #[case] start: &str,
    #[case] expected: &str,
    #[case] reason: ProjectReason,
) {
    let sandbox = ProjectTree::new(entries);
    sandbox.check(&sandbox.context(start), expected, reason);
}

#[test]
fn invalid_git_file_still_marks_a_root() {
    let sandbox = ProjectTree::new(&["l/a/"]);
    fs::write(sandbox.path("l/.git"), [0xff, 0xfe, 0x00]).unwrap();
    sandbox.check(&sandbox.context("l/a"), "l", ProjectReason::GitRoot);
}

#[test]
fn flag_wins_over_environment_and_host() {
    let sandbox = ProjectTree::new(&["w/.git/", "w/f/", "e/.git/", "e/e/", "c/.git/", "c/c/"]);
    let mut request = sandbox.context("w");
    request.claude_project_dir = Some(sandbox.path("c/c"));
    sandbox.check(&request, "c", ProjectReason::GitRoot);
    request.environment = Some(sandbox.path("e/e"));
    sandbox.check(&request, "e/e", ProjectReason::Environment);
    request.flag = Some(PathBuf::from("f"));
    sandbox.check(&request, "w/f", ProjectReason::Flag);
}

#[rstest]
#[case::relative("a", "w/a")]
#[case::dots("./a/../b", "w/b")]
#[case::above("../x", "x")]
#[case::home("../home", "home")]
fn named_project_is_used_as_given_and_made_absolute(#[case] flag: &str, #[case] expected: &str) {
    let sandbox = ProjectTree::new(&["w/.git/", "w/a/", "w/b/", "x/"]);
    let request = ProjectContext { flag: Some(flag.into()), ..sandbox.context("w") };
    sandbox.check(&request, expected, ProjectReason::Flag);
}

#[test]
fn empty_variable_counts_as_unset() {
    let sandbox = ProjectTree::new(&["w/"]);
    let empty = Some(PathBuf::new());
    let request = ProjectContext {
        flag: empty.clone(),
        environment: empty.clone(),
        claude_project_dir: empty,
        ..sandbox.context("w")
    };
    sandbox.check(&request, "w", ProjectReason::Start);
}

#[rstest]
#[case::flag(|request: &mut ProjectContext, path| request.flag = path, "--project")]
#[case::environment(|request: &mut ProjectContext, path| request.environment = path, "JIKIME_PROJECT_DIR")]
#[case::host(|request: &mut ProjectContext, path| request.claude_project_dir = path, "CLAUDE_PROJECT_DIR")]
fn missing_directory_error_names_its_path(
    #[case] set: fn(&mut ProjectContext, Option<PathBuf>),
    #[case] named_by: &str,
) {
    let sandbox = ProjectTree::new(&["w/", "w/file: text"]);
    for missing in ["gone", "file"] {
        let mut request = sandbox.context("w");
        set(&mut request, Some(missing.into()));
        let message = resolve(&request).unwrap_err().to_string();
        let path = sandbox.path("w").join(missing);
        assert_eq!(message, format!("the directory {} named by {named_by} does not exist", path.display()));
    }
}

#[rstest]
#[case::home("home")]
#[case::above_home(".")]
#[case::home_through_dots("home/a/..")]
fn home_directory_is_refused_as_a_start(#[case] start: &str) {
    let sandbox = ProjectTree::new(&["home/a/", "home/.jikime/", "home/.git/"]);
    let error = resolve(&sandbox.context(start)).unwrap_err();
    assert!(matches!(error, ProjectError::Home { .. }), "{error}");
    assert!(error.to_string().contains("pass --project"), "{error}");
}

#[test]
fn home_directory_is_used_if_the_environment_names_it() {
    let sandbox = ProjectTree::new(&[]);
    let request = ProjectContext { environment: Some(sandbox.path("home")), ..sandbox.context("home") };
    sandbox.check(&request, "home", ProjectReason::Environment);
}

#[test]
fn walk_without_a_home_reaches_the_file_system_root() {
    let sandbox = ProjectTree::new(&["w/.jikime/", "w/a/"]);
    let request = ProjectContext { home: None, ..sandbox.context("w/a") };
    sandbox.check(&request, "w", ProjectReason::Store);
}

#[cfg(unix)]
#[test]
fn home_directory_is_recognised_through_links() {
    use std::os::unix::fs::symlink;
    let sandbox = ProjectTree::new(&["home/.jikime/", "home/a/"]);
    symlink(sandbox.path("home"), sandbox.path("link")).unwrap();
    assert!(matches!(resolve(&sandbox.context("link")), Err(ProjectError::Home { .. })));
    sandbox.check(&sandbox.context("link/a"), "link/a", ProjectReason::Start);
    let request = ProjectContext { home: Some(sandbox.path("link")), ..sandbox.context("home/a") };
    sandbox.check(&request, "home/a", ProjectReason::Start);
}

#[cfg(unix)]
#[test]
fn parent_of_a_linked_path_is_left_to_the_file_system() {
    let sandbox = ProjectTree::new(&["far/away/", "w/"]);
    std::os::unix::fs::symlink(sandbox.path("far/away"), sandbox.path("w/link")).unwrap();
    let request = ProjectContext { flag: Some("link/..".into()), ..sandbox.context("w") };
    let project = resolve(&request).unwrap();
    assert_eq!(project.root.canonicalize().unwrap(), sandbox.path("far").canonicalize().unwrap());
}

#[test]
fn each_reason_has_a_readable_text() {
    for reason in [
        ProjectReason::Flag,
        ProjectReason::Environment,
        ProjectReason::Store,
        ProjectReason::GitRoot,
        ProjectReason::Worktree,
        ProjectReason::Start,
    ] {
        assert!(reason.to_string().contains(' '), "{reason}");
    }
}

#[rstest]
#[case::data(Some("/data"), Some("/home/me"), Some("/data"))]
#[case::home(None, Some("/home/me"), Some("/home/me/.local/share"))]
#[case::relative(Some("data"), Some("/home/me"), Some("/home/me/.local/share"))]
#[case::nothing(None, None, None)]
#[cfg(unix)]
fn personal_memory_is_in_the_user_data_directory(
    #[case] data: Option<&str>,
    #[case] home: Option<&str>,
    #[case] expected: Option<&str>,
) {
    let found = personal_project_in(data.map(PathBuf::from), home.map(PathBuf::from)).ok();
    let root = expected.map(|data| Path::new(data).join("jikime-memory/personal"));
    assert_eq!(found, root.map(|root| Project { root, reason: ProjectReason::Personal }));
}
