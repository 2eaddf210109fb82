//! Which project a process works for: the one resolver that every entry point uses.
//!
//! Reads a few small files and starts no process. Never takes the home directory unless it was named.

pub(crate) mod git;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;

use crate::files::environment;
use git::normalize;
pub use git::{Head, head_of};
use std::path::{Path, PathBuf};

/// The directory whose memory this is, and why it was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// An absolute path; the store is `.jikime/memory/` in it.
    pub root: PathBuf,
    /// The rule that chose it.
    pub reason: ProjectReason,
}

/// The rule by which a project was chosen. Its `Display` completes the sentence "this project, because …".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectReason {
    /// `--project` named it.
    Flag,
    /// `JIKIME_PROJECT_DIR` named it.
    Environment,
    /// It is the nearest directory that holds `.jikime/`.
    Store,
    /// It is the root of the git repository.
    GitRoot,
    /// It is the main worktree of the linked one in which the search started.
    Worktree,
    /// The search started here and found nothing better.
    Start,
    /// `--personal` asked for the user's own.
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

/// Why there is no project.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// A directory that was named is not there.
    #[error("no directory {} that {named_by} names", path.display())]
    Missing {
        /// What named it: `--project`, `JIKIME_PROJECT_DIR`, `CLAUDE_PROJECT_DIR` or the working directory.
        named_by: &'static str,
        /// The directory, absolute.
        path: PathBuf,
    },
    /// The search ended at the home directory or above it, whose memory would be that of everything.
    #[error(
        "{} is the home directory or above it: pass --project to use it as a project, or --personal for a memory of your own",
        path.display()
    )]
    Home {
        /// The directory that was refused.
        path: PathBuf,
    },
    /// Nothing tells where the user keeps what is his own.
    #[error("no place for a memory of your own: neither a directory for data nor a home directory is set")]
    NoPlace,
}

/// What a process knows when it asks for its project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectContext {
    /// The value of `--project`.
    pub flag: Option<PathBuf>,
    /// `JIKIME_PROJECT_DIR`.
    pub environment: Option<PathBuf>,
    /// `CLAUDE_PROJECT_DIR`, which hosts set for their hooks and servers.
    pub claude_project_dir: Option<PathBuf>,
    /// Where the process runs; relative paths start here.
    pub working_directory: PathBuf,
    /// The user's home directory, when there is one.
    pub home: Option<PathBuf>,
}

impl ProjectContext {
    /// What the environment of this process says. Fails when the working directory is gone.
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

    /// A path as an absolute one; an empty path is as good as none.
    fn absolute(&self, path: Option<&Path>) -> Option<PathBuf> {
        let path = path.filter(|path| !path.as_os_str().is_empty())?;
        Some(normalize(&self.working_directory.join(path)))
    }
}

/// The user's home directory as the environment tells it. Asking the user database as well would make the hooks client load
/// the system's resolvers, for a case in which shells do not know the home directory either.
pub fn home_dir() -> Option<PathBuf> {
    let variable = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    environment::path(variable)
}

/// The file of the user's own settings, whether it is there or not.
pub fn user_settings_file() -> Option<PathBuf> {
    let variable = if cfg!(windows) { "APPDATA" } else { "XDG_CONFIG_HOME" };
    let directory = environment::path(variable).or_else(|| home_dir().map(|home| home.join(".config")))?;
    Some(directory.join("jikime-memory").join("memory.toml"))
}

/// Chooses the project.
///
/// `--project`, then `JIKIME_PROJECT_DIR`, exactly as given. Otherwise the walk starts at `CLAUDE_PROJECT_DIR`, else at
/// the working directory, and takes the nearest ancestor with `.jikime/`, else the git root, else the start itself.
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

/// The directory in which hosts work on a project that was resolved: its root or, where a linked worktree shares its memory, that
/// worktree's own top.
pub fn checkout_dir(request: &ProjectContext, project: &Project) -> PathBuf {
    if project.reason != ProjectReason::Worktree {
        return project.root.clone();
    }
    let start = request.absolute(request.claude_project_dir.as_deref());
    let start = start.unwrap_or_else(|| normalize(&request.working_directory));
    let is_linked = |directory: &&Path| matches!(git::git_dir_kind(directory), Some(git::GitDirKind::Linked { .. }));
    start.ancestors().find(is_linked).unwrap_or(&project.root).to_owned()
}

/// The user's own memory, for hosts that know no project. It lies like that of a project, in the user's directory for data.
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

/// Walks from a start that is not the home directory up to the git root, to the home directory or to the top.
fn walk_up(start: &Path, homes: &HomeDirs) -> Project {
    for directory in start.ancestors().take_while(|directory| !homes.is_home_or_above(directory)) {
        let holds_store = directory.join(".jikime").is_dir();
        match git::git_dir_kind(directory) {
            Some(git::GitDirKind::Linked { main: Some(main) })
                if !directory.join(".jikime").join("memory").is_dir() && !homes.is_home_or_above(&main) =>
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

fn require_existing(path: PathBuf, named_by: &'static str) -> Result<PathBuf, ProjectError> {
    if path.is_dir() { Ok(path) } else { Err(ProjectError::Missing { named_by, path }) }
}

/// The home directory as it is named and as it is when links are followed.
struct HomeDirs(Vec<PathBuf>);

impl HomeDirs {
    fn from_context(request: &ProjectContext) -> Self {
        let named = request.absolute(request.home.as_deref());
        let real = named.as_deref().and_then(|home| home.canonicalize().ok());
        Self(named.into_iter().chain(real).collect())
    }

    /// Whether a directory is the home directory or one of its ancestors, by whatever links it was reached.
    fn is_home_or_above(&self, directory: &Path) -> bool {
        let holds_home = |directory: &Path| self.0.iter().any(|home| home.starts_with(directory));
        holds_home(directory) || directory.canonicalize().is_ok_and(|real| holds_home(&real))
    }
}
