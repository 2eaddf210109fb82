//! The directories in which hosts have their settings: those of the user, from the environment, and those of a project.

use std::env::consts::EXE_SUFFIX;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use schema::files::environment;
use schema::files::project::{home_dir, personal_project};
use tools::error::ToolError;

/// Directories of settings. Any of them may be unknown.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostDirs {
    pub(crate) home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, which moves all files of Claude Code.
    claude_dir: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub(super) codex_dir: Option<PathBuf>,
    /// The settings directory of desktop programs.
    pub(super) desktop: Option<PathBuf>,
    pub(super) zed: Option<PathBuf>,
    /// Our own data directory of the user.
    own_dir: Option<PathBuf>,
    pub(crate) path: Option<OsString>,
}

impl HostDirs {
    pub(crate) fn from_environment() -> Self {
        let variable = environment::path;
        let home = home_dir();
        let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let xdg = variable("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let desktop = if cfg!(windows) {
            variable("APPDATA").or_else(|| below("AppData/Roaming"))
        } else if cfg!(target_os = "macos") {
            below("Library/Application Support")
        } else {
            xdg.clone()
        };
        let zed = match &desktop {
            Some(desktop) if cfg!(windows) => Some(desktop.join("Zed")),
            _ if cfg!(target_os = "macos") => below(".config/zed"),
            _ => xdg.map(|config| config.join("zed")),
        };
        Self {
            claude_dir: variable("CLAUDE_CONFIG_DIR"),
            codex_dir: variable("CODEX_HOME").or_else(|| below(".codex")),
            desktop,
            zed,
            own_dir: personal_project().ok().and_then(|project| Some(project.root.parent()?.to_owned())),
            path: environment::variable("PATH"),
            home,
        }
    }

    /// The folder of Claude Code's settings and instructions.
    pub(crate) fn claude_dir(&self) -> Option<PathBuf> {
        self.claude_dir.clone().or_else(|| self.in_home(".claude"))
    }

    /// The file in which Claude Code lists servers.
    pub(crate) fn claude_json(&self) -> Option<PathBuf> {
        self.claude_dir.as_ref().map(|claude| claude.join(".claude.json")).or_else(|| self.in_home(".claude.json"))
    }

    /// Newer builds have no inner folder.
    pub(super) fn windsurf_dir(&self) -> Option<PathBuf> {
        let folder = self.in_home(".codeium")?;
        let inner = folder.join("windsurf");
        Some(if folder.join("mcp_config.json").exists() && !inner.join("mcp_config.json").exists() {
            folder
        } else {
            inner
        })
    }

    /// The folder for copies of programs that run from a cache.
    pub(crate) fn copies_dir(&self) -> Option<PathBuf> {
        self.own_dir.as_ref().map(|own| own.join("bin"))
    }

    /// The record of changes for all projects.
    pub(super) fn setup_record_file(&self) -> Option<PathBuf> {
        self.own_dir.as_ref().map(|own| own.join("setup.json"))
    }

    #[cfg(test)]
    pub(super) fn for_tests(own_dir: &Path, path: impl Iterator<Item = PathBuf>) -> Self {
        Self { own_dir: Some(own_dir.to_owned()), path: std::env::join_paths(path).ok(), ..Self::default() }
    }

    pub(super) fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// Fails if the home directory does not exist, because no host would read files there.
    pub(crate) fn require_home(&self) -> Result<(), ToolError> {
        match &self.home {
            Some(home) if home.is_dir() => Ok(()),
            Some(home) => {
                Err(ToolError::NotFound(format!("the home directory {} does not exist; check HOME", home.display())))
            }
            None => Err(ToolError::NotFound("no home directory is known; set HOME".to_owned())),
        }
    }

    /// A path for messages, with `~` for the home directory.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) if !rest.as_os_str().is_empty() => Path::new("~").join(rest).display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// A path for messages, relative to the project if it is in it.
    pub(crate) fn display_in_project(&self, path: &Path, project: Option<&Path>) -> String {
        match project.and_then(|project| path.strip_prefix(project).ok()) {
            Some(relative) => relative.to_string_lossy().replace('\\', "/"),
            None => self.display_path(path),
        }
    }
}

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

/// All programs of this name on `PATH`. A shell would start the first one.
pub(super) fn all_on_path(name: &str, path: Option<&OsStr>) -> impl Iterator<Item = PathBuf> {
    let file = format!("{name}{EXE_SUFFIX}");
    let folders = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    folders.map(move |folder| folder.join(&file)).filter(|path| is_program(path))
}

pub(super) fn is_program(path: &Path) -> bool {
    #[cfg(unix)]
    let may_run =
        |metadata: &std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = |_: &std::fs::Metadata| true;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && may_run(&metadata))
}
