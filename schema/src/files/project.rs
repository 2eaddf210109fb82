//! Determines the project that a process works for. All entry points use this resolver.
//!
//! It reads a few small files and starts no process. It chooses the home directory only if that was named explicitly.

pub(crate) mod git;
pub(crate) mod git_branch;
pub(crate) mod git_ignore;
pub(crate) mod git_settings;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use crate::files::environment;
use git::normalize;
pub use git::{Head, head_of};
use std::path::{Path, PathBuf};

/// A project directory, and why it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The absolute path. The store is `.jikime/memory/` in it.
    pub root: PathBuf,
    pub reason: ProjectReason,
}

/// The rule that chose a project. Its `Display` completes the sentence "this project, because …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectReason {
    Flag,
    Environment,
    Store,
    GitRoot,
    Worktree,
    Start,
    Personal,
}

impl fmt::Display for ProjectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flag => "--project names it",
            Self::Environment => "JIKIME_PROJECT_DIR names it",
            Self::Store => "it is the nearest directory with a .jikime folder",
            Self::GitRoot => "it is the root of the git repository",
            Self::Worktree => "it is the main worktree of a linked git worktree",
            Self::Start => "the search started here, and no .jikime folder or git repository is above",
            Self::Personal => "--personal asks for the user's own memory",
        })
    }
}

/// The error when no project can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("the directory {} named by {named_by} does not exist", path.display())]
    Missing {
        /// The source of the name: `--project`, `JIKIME_PROJECT_DIR`, `CLAUDE_PROJECT_DIR` or the working directory.
        named_by: &'static str,
        path: PathBuf,
    },
    /// The search ended at the home directory or above it. A memory there would belong to everything.
    #[error(
        "{} is the home directory or above it: pass --project to use it as a project, or --personal for your own memory",
        path.display()
    )]
    Home { path: PathBuf },
    #[error("no place for your own memory: neither a data directory nor a home directory is set")]
    NoPlace,
}

/// The inputs from which a project is resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectContext {
    /// The value of `--project`.
    pub flag: Option<PathBuf>,
    /// The value of `JIKIME_PROJECT_DIR`.
    pub environment: Option<PathBuf>,
    /// The value of `CLAUDE_PROJECT_DIR`, which hosts set for their hooks and servers.
    pub claude_project_dir: Option<PathBuf>,
    /// The working directory of the process. Relative paths start here.
    pub working_directory: PathBuf,
    /// The user's home directory, if known.
    pub home: Option<PathBuf>,
}

impl ProjectContext {
    /// Collects the inputs from this process. Fails if the working directory no longer exists.
    pub fn from_environment(flag: Option<PathBuf>) -> io::Result<Self> {
        let variable = |name| environment::variable(name).map(PathBuf::from);
        Ok(Self {
            flag,
            environment: variable("JIKIME_PROJECT_DIR"),
            claude_project_dir: variable("CLAUDE_PROJECT_DIR"),
            working_directory: std::env::current_dir()?,
            home: home_dir(),
        })
    }

    /// Makes a path absolute. Returns `None` for an empty path.
    fn absolute(&self, path: Option<&Path>) -> Option<PathBuf> {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        Some(normalize(&self.working_directory.join(path)))
    }
}

/// Returns the user's home directory from the environment. Asking the user database as well would make hooks load the system's resolvers,
/// for a case in which shells do not know the home directory either.
pub fn home_dir() -> Option<PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    environment::path(variable)
}

/// Returns the path of the user's own settings file, which may not exist.
pub fn user_settings_file() -> Option<PathBuf> {
    let variable = if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" };
    let directory = environment::path(variable).or_else(|| home_dir().map(|home| home.join(".config")))?;
    Some(directory.join("jikime-memory").join("memory.toml"))
}

/// Chooses the project.
///
/// `--project`, then `JIKIME_PROJECT_DIR`, are used exactly as given. Otherwise the search walks up from `CLAUDE_PROJECT_DIR`, or from the
/// working directory. It takes the nearest directory with `.jikime/`, else the git root, else the directory where it started.
pub fn resolve(request: &ProjectContext) -> Result<Project, ProjectError> {
    if let Some(root) = request.absolute(request.flag.as_deref()) {
        return Ok(Project { root: require_existing(root, "--project")?, reason: ProjectReason::Flag });
    }
    if let Some(root) = request.absolute(request.environment.as_deref()) {
        return Ok(Project { root: require_existing(root, "JIKIME_PROJECT_DIR")?, reason: ProjectReason::Environment });
    }
    let start = match request.absolute(request.claude_project_dir.as_deref()) {
        Some(start) => require_existing(start, "CLAUDE_PROJECT_DIR")?,
        None => require_existing(normalize(&request.working_directory), "the working directory")?,
    };
    let homes = HomeDirs::from_context(request);
    if homes.is_home_or_above(&start) {
        return Err(ProjectError::Home { path: start });
    }
    Ok(walk_up(&start, &homes))
}

/// Returns the directory in which hosts work on a project: its root or, if a linked worktree shares the memory of the main one, the root of
/// that worktree.
pub fn checkout_dir(request: &ProjectContext, project: &Project) -> PathBuf {
    if project.reason != ProjectReason::Worktree {
        return project.root.clone();
    }
    let start = request.absolute(request.claude_project_dir.as_deref());
    let start = start.unwrap_or_else(|| normalize(&request.working_directory));
    let is_linked = |directory: &&Path| matches!(git::git_dir_kind(directory), Some(git::GitDirKind::Linked { .. }));
    start.ancestors().find(is_linked).unwrap_or(&project.root).to_owned()
}

/// Returns the user's own memory, for hosts without a project. It has the layout of a project, in the user's data directory.
pub fn personal_project() -> Result<Project, ProjectError> {
    let variable = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME" };
    personal_project_in(environment::path(variable), home_dir())
}

fn personal_project_in(data: Option<PathBuf>, home: Option<PathBuf>) -> Result<Project, ProjectError> {
    let usual = if cfg!(windows) { "AppData/Local" } else { ".local/share" };
    let data = data.filter(|data| data.is_absolute()).or_else(|| Some(home?.join(usual)));
    let root = data.ok_or(ProjectError::NoPlace)?.join("jikime-memory").join("personal");
    Ok(Project { root, reason: ProjectReason::Personal })
}

/// Walks up from `start`, which is below the home directory, until the git root, the home directory or the root of the file system.
fn walk_up(start: &Path, homes: &HomeDirs) -> Project {
    for directory in start.ancestors().take_while(|directory| !homes.is_home_or_above(directory)) {
        let holds_store = directory.join(".jikime").is_dir();
        match git::git_dir_kind(directory) {
            Some(git::GitDirKind::Linked { main: Some(main) })
                if !has_own_store(directory) && !homes.is_home_or_above(&main) =>
            {
                return Project { root: main, reason: ProjectReason::Worktree };
            }
            _ if holds_store => return Project { root: directory.to_owned(), reason: ProjectReason::Store },
            Some(_) => return Project { root: directory.to_owned(), reason: ProjectReason::GitRoot },
            None => {}
        }
    }
    Project { root: start.to_owned(), reason: ProjectReason::Start }
}

/// Whether somebody recorded in a directory. `MEMORY.md` and the files of a team may only be checked out there.
fn has_own_store(directory: &Path) -> bool {
    directory.join(".jikime").join("memory").join("track").is_dir()
}

fn require_existing(path: PathBuf, named_by: &'static str) -> Result<PathBuf, ProjectError> {
    if path.is_dir() { Ok(path) } else { Err(ProjectError::Missing { named_by, path }) }
}

/// The home directory as named, and with links resolved.
struct HomeDirs(Vec<PathBuf>);

impl HomeDirs {
    fn from_context(request: &ProjectContext) -> Self {
        let named = request.absolute(request.home.as_deref());
        let real = named.as_deref().and_then(|home| home.canonicalize().ok());
        Self(named.into_iter().chain(real).collect())
    }

    /// Whether a directory is the home directory or one of its ancestors, even through links.
    fn is_home_or_above(&self, directory: &Path) -> bool {
        let holds_home = |directory: &Path| self.0.iter().any(|home| home.starts_with(directory));
        holds_home(directory) || directory.canonicalize().is_ok_and(|real| holds_home(&real))
    }
}
