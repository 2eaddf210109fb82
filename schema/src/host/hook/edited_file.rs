//! Finds the name of an edited file in the memory, and excludes files that tools make.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::edit;
use crate::files::project::git::{GitDirKind, git_dir_kind};
use crate::files::project::git_ignore::is_ignored;
use crate::files::project::git_settings::GitSettings;
use crate::model::word_list::WordList;
use crate::privacy::exclude::{normalize, resolve_links};
use crate::privacy::sanitizer::Sanitizer;

/// Folders of dependencies, version control and tools, at any depth.
static TOOL_FOLDERS: WordList = WordList::words(
    ".cache .git .gradle .hg .idea .jikime .mypy_cache .next .nuxt .pytest_cache .ruff_cache .svelte-kit .svn \
     .terraform .tox .turbo .venv .yarn DerivedData Pods __pycache__ bower_components node_modules site-packages venv",
);

/// Folders of built or copied files. Within a folder of sources they are names of modules.
const BUILT: [&str; 6] = ["build", "coverage", "dist", "obj", "target", "vendor"];
const SOURCES: [&str; 10] = ["cmd", "docs", "include", "internal", "lib", "pkg", "source", "src", "test", "tests"];

/// Returns the name of a file in the memory, with its path separators: relative to the project, or to the worktree that the session works
/// in. The project may have several names through links. Returns `None` for a file that tools made.
pub(super) fn display_path(path: &str, directory: &Path, project: &Path) -> Option<PathBuf> {
    let whole = normalize(&directory.join(path));
    // Access the file system only if the path alone does not decide.
    let roots: [&dyn Fn() -> Option<PathBuf>; 3] =
        [&|| Some(normalize(project)), &|| fs::canonicalize(project).ok(), &|| {
            linked_worktree_root(directory, project)
        }];
    let mut is_inside = false;
    for root in roots {
        let Some(root) = root() else { continue };
        let Ok(relative) = whole.strip_prefix(root) else { continue };
        is_inside = true;
        if !is_in_made_folder(relative) {
            return Some(relative.to_owned());
        }
    }
    (!is_inside && !is_in_tool_folder(&whole)).then_some(whole)
}

/// Whether the content of a file may be recorded, by its name and by the file that it is a link to.
pub(super) fn may_show(file: &Path, project: &Path) -> bool {
    let named = (normalize(file), normalize(project));
    let real = resolve_links(&named.0).zip(resolve_links(&named.1));
    let Some(real) = real else { return false };
    let settings = GitSettings::from_environment();
    [named, real].iter().all(|(file, project)| {
        !is_ignored(file, project, &settings) && !edit::may_hold_secrets(&file.to_string_lossy())
    })
}

/// Whether a hash of a file may be recorded: its content may be, and people wrote it. `path` is relative to `root`.
pub(crate) fn is_recordable(path: &str, root: &Path, sanitizer: &Sanitizer) -> bool {
    !sanitizer.excludes(path, root, root)
        && !edit::is_made_by_tools(path)
        && display_path(path, root, root).is_some_and(|shown| shown.is_relative())
        && sanitizer.clean(path).text == path
        && may_show(&root.join(path), root)
}

/// Returns the root of the project's linked worktree that contains a directory. Files of other repositories keep their whole path.
pub(crate) fn linked_worktree_root(directory: &Path, project: &Path) -> Option<PathBuf> {
    let (root, kind) = directory.ancestors().find_map(|ancestor| Some((ancestor, git_dir_kind(ancestor)?)))?;
    let GitDirKind::Linked { main: Some(main) } = kind else { return None };
    let is_ours = main == project || fs::canonicalize(main).ok()? == fs::canonicalize(project).ok()?;
    is_ours.then(|| normalize(root))
}

/// Whether a file is in a folder of dependencies, version control or tools, or of built files.
pub(crate) fn is_in_made_folder(path: &Path) -> bool {
    is_in_tool_folder(path) || is_build_output(path)
}

fn is_in_tool_folder(path: &Path) -> bool {
    parent_folders(path).any(|folder| TOOL_FOLDERS.iter().any(|name| folder == *name))
}

fn is_build_output(path: &Path) -> bool {
    let is_one_of = |folder: &Path, names: &[&str]| names.iter().any(|name| folder == Path::new(name));
    parent_folders(path)
        .take_while(|folder| !is_one_of(folder, &SOURCES[..]))
        .any(|folder| is_one_of(folder, &BUILT[..]))
}

fn parent_folders(path: &Path) -> impl Iterator<Item = &Path> {
    let folders = path.parent().unwrap_or(path).components();
    folders.filter(|part| matches!(part, Component::Normal(_))).map(|part| Path::new(part.as_os_str()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("/p/src/a.rs", Some("src/a.rs"))]
    #[case::relative("a.rs", Some("app/a.rs"))]
    #[case::dots("/p/app/../b.rs", Some("b.rs"))]
    #[case::module_called_build("/p/src/build/mod.rs", Some("src/build/mod.rs"))]
    #[case::package_called_target("/p/internal/target/x.go", Some("internal/target/x.go"))]
    #[case::file_called_build("/p/build", Some("build"))]
    #[case::built("/p/target/debug/a.rs", None)]
    #[case::built_in_a_package("/p/packages/web/dist/a.js", None)]
    #[case::copied("/p/vendor/x/a.go", None)]
    #[case::dependency("/p/src/node_modules/x.js", None)]
    #[case::editor("/p/.idea/workspace.xml", None)]
    #[case::python("/p/.tox/py312/a.py", None)]
    #[case::outside("/etc/build/hosts", Some("/etc/build/hosts"))]
    #[case::dependency_outside("/usr/lib/python3/site-packages/x.py", None)]
    fn files_made_by_tools_are_excluded(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(display_path(path, Path::new("/p/app"), Path::new("/p")), expected.map(PathBuf::from));
    }

    #[test]
    fn project_below_a_build_folder_is_not_excluded() {
        let project = Path::new("/home/ann/build/vendor/p");
        let path = "/home/ann/build/vendor/p/a.rs";
        assert_eq!(display_path(path, project, project), Some("a.rs".into()));
    }

    #[test]
    fn file_in_linked_worktree_belongs_to_the_project() {
        let home = tempfile::tempdir().unwrap();
        let [project, other] = ["p", "other"].map(|name| home.path().join(name));
        let worktree = home.path().join("target/wt");
        fs::create_dir_all(worktree.join("app")).unwrap();
        fs::create_dir_all(project.join(".git/worktrees/wt")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(worktree.join(".git"), format!("gitdir: {}", project.join(".git/worktrees/wt").display())).unwrap();
        let path = |file: &str| worktree.join(file).to_str().unwrap().to_owned();
        let shown_in = |project: &Path, file: &str| display_path(&path(file), &worktree.join("app"), project);
        let shown = |file: &str| shown_in(&project, file);
        assert_eq!(shown("app/a.rs"), Some("app/a.rs".into()));
        assert_eq!(shown("target/a.rs"), None);
        assert_eq!(shown_in(&other, "app/a.rs"), Some(path("app/a.rs").into()));
    }

    #[cfg(unix)]
    #[test]
    fn linked_project_is_known_by_both_paths() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("target/p")).unwrap();
        std::os::unix::fs::symlink(home.join("target/p"), home.join("link")).unwrap();
        let path = home.join("target/p/a.rs");
        assert_eq!(display_path(path.to_str().unwrap(), &home, &home.join("link")), Some("a.rs".into()));
    }
}
